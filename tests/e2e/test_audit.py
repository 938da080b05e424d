# SPDX-License-Identifier: Apache-2.0
"""The log as people use it: what it suggests, how it is followed."""
import signal
import subprocess

from bed import OPEN, as_user, program

REFUSED = '''
curl -sS -o /dev/null -w '%{http_code} ' https://ok.test/a
curl -sS -o /dev/null -w '%{http_code} ' -d x=1 'https://ok.test/b?k=v'
for i in 1 2 3; do
  curl -sS -o /dev/null -w '%{http_code} ' https://api.test/v1/items/$i
done
curl -sS -o /dev/null -w '%{http_code} ' http://plain.test/p
'''
BESIDE = '''
curl -sS -o /dev/null -w '%{http_code} ' https://ok.test/other
curl -sS -o /dev/null -w '%{http_code} ' -d x=1 https://ok.test/a
curl -sS -o /dev/null -w '%{http_code} ' https://api.test/v1/items/1/x
curl -sS -o /dev/null -w '%{http_code} ' https://plain.test/p
'''


def test_what_is_suggested_loads_and_allows_what_was_refused(bed):
    here = bed('- allow: https://ok.test/read/**')
    got = here.run(REFUSED)
    assert got.out == '403 ' * 6, got
    code, said, err = here.duenna('audit', 'suggest')
    assert code == 0 and err == '', err
    here.write('project/suggested.yaml', said)
    assert here.duenna('check', 'suggested.yaml')[0] == 0, said
    # the origins of the bed are not public
    here.write('project/duenna.yaml', said.replace(
        '        methods:', '        addresses: [%s]\n        methods:' % OPEN))
    got = here.run(REFUSED)
    assert got.out == '200 ' * 6, (said, got)
    got = here.run(BESIDE)
    assert got.out == '403 ' * 4, (said, got)


def test_nothing_refused_is_nothing_to_suggest(bed):
    here = bed('- allow: https://ok.test/**')
    here.run('curl -sS https://ok.test/')
    code, out, err = here.duenna('audit', 'suggest')
    assert (code, out) == (1, '') and 'nothing was refused' in err


def test_tail_sees_a_run_that_begins_later(bed):
    here = bed('- allow: https://ok.test/**')
    here.run('curl -sS https://first.test/')
    tail = subprocess.Popen(
        as_user([program(), 'audit', 'tail', '--denied', '--event',
                 'request.end']), stdout=subprocess.PIPE, text=True,
        env=here.environment())
    first = tail.stdout.readline()
    here.run('curl -sS https://second.test/')
    second = tail.stdout.readline()
    tail.send_signal(signal.SIGINT)
    assert tail.wait(20) == 0
    assert 'https://first.test/' in first, first
    assert 'https://second.test/' in second, second
