# SPDX-License-Identifier: Apache-2.0
"""The log as people use it: what it suggests, how it is followed, what becomes
of it when it is changed, killed, slow."""
import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import time

import pytest

from bed import OPEN, as_user, descendants, program

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


def test_another_program_reads_what_is_exported(bed):
    """As OTLP and as CSV: each record, each field."""
    here = bed('- allow: https://api.test/v1/**\n  credential: api')
    got = here.run('curl -sS https://api.test/v1/1; ' + REFUSED)
    code, out, err = here.duenna('audit', 'export')
    assert code == 0 and err == '', err
    rows = []
    for line in out.splitlines():
        resource, = json.loads(line)['resourceLogs']
        assert resource['resource']['attributes'] == [
            {'key': 'service.name', 'value': {'stringValue': 'duenna'}}]
        rows += resource['scopeLogs'][0]['logRecords']
    assert len(rows) == len(got.audit)
    for row, record in zip(rows, got.audit):
        said = {a['key']: list(a['value'].items())[0]
                for a in row['attributes']}
        want = {k if '.' in k else 'duenna.' + k: (
            ('boolValue', v) if isinstance(v, bool) else
            ('stringValue', v) if isinstance(v, str) else
            ('intValue', str(v)))
            for k, v in record.items() if k not in ('time', 'event')}
        assert said == want
        assert row['eventName'] == 'duenna.' + record['event']
    code, out, err = here.duenna('audit', 'export', '--format', 'csv')
    assert code == 0 and err == '', err
    table = list(csv.DictReader(io.StringIO(out, newline='')))
    assert len(table) == len(got.audit)
    for row, record in zip(table, got.audit):
        assert {k: v for k, v in row.items() if v} == {
            k: str(v).lower() if isinstance(v, bool) else str(v)
            for k, v in record.items()}


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


SSH = '''
import socket
for name in ("ok.test", "x.wild.test", "evil.test"):
    s = socket.create_connection((name, 22))
    s.sendall(b"SSH-2.0-OpenSSH_9.2\\r\\n")
    while s.recv(100):
        pass
idle = socket.create_connection(("ok.test", 443))
idle.close()
'''


def test_another_protocol_is_told_by_port_and_name(bed):
    here = bed('- allow: https://ok.test/**\n- allow: https://*.wild.test/**')
    got = here.run(['/usr/bin/python3', '-c', SSH])
    assert got.exit == 0, got
    rows = got.find(reason='dst.port')
    assert len(rows) == 3, got
    assert [r.get('duenna.destination') for r in rows] == \
        ['ok.test', '*.wild.test', None], rows
    code, out, _ = here.duenna('audit', 'show')
    assert code == 0 and 'http' not in out, out
    for what in (' ok.test:22', ' *.wild.test:22', ' 198.18.0.2:22',
                 ' ok.test:443'):
        assert what in out, (what, out)
    assert 'dst.port           ok.test:22\n' in got.err, got
    code, out, _ = here.duenna('audit', 'suggest')
    assert 'ok.test:22 (no HTTP; a tls:// or tcp:// rule' in out, out


WAITS = """
curl -sS -o /dev/null -w '%{http_code} ' https://ok.test/1
touch up; until [ -e go ]; do sleep 0.05; done
curl -sS -o /dev/null -w '%{http_code} ' https://ok.test/2
"""


def wait_for(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def while_it_runs(here, what, args=()):
    """WAITS, and `what(run)` between its requests."""
    for name in ('up', 'go'):
        if os.path.exists(here.project + '/' + name):
            os.unlink(here.project + '/' + name)
    run = here.start(['sh', '-c', WAITS], args)
    wait_for(lambda: os.path.exists(here.project + '/up'))
    what(run)
    with open(here.project + '/go', 'w', encoding='ascii'):
        pass
    return run.wait()


def remove(log):
    os.unlink(log)


def empty(log):
    os.truncate(log, 0)


def append(log):
    with open(log, 'a', encoding='ascii') as f:
        f.write('x')


@pytest.mark.parametrize('change, word', [
    (remove, 'removed'), (empty, 'changed'), (append, 'changed')])
def test_a_log_that_is_changed_while_it_is_written_ends_what_is_allowed(
        bed, change, word):
    here = bed('- allow: https://ok.test/**')
    log = here.home + '/mine.jsonl'
    got = while_it_runs(here, lambda _: change(log), ['--audit', log])
    assert got.out == '200 503 ', got
    assert 'the audit log was %s while it was written' % word in got.err, got
    assert not os.path.exists(log) or \
        here.duenna('audit', 'verify', log)[0] == 1


def test_a_log_that_is_renamed_is_the_same_log(bed):
    here = bed('- allow: https://ok.test/**')
    log, moved = here.home + '/mine.jsonl', here.home + '/moved.jsonl'
    got = while_it_runs(here, lambda _: os.rename(log, moved),
                        ['--audit', log])
    assert got.out == '200 200 ' and not os.path.exists(log), got
    assert here.duenna('audit', 'verify', moved)[0] == 0


def test_a_scribe_that_is_slow_holds_requests_back_and_refuses_none(bed):
    here = bed('- allow: https://ok.test/**')

    def stop_for_a_while(run):
        scribe, = run.roles()['scribe']
        os.kill(scribe, signal.SIGSTOP)
        subprocess.Popen(['sh', '-c', 'sleep 1; kill -CONT %d' % scribe])

    got = while_it_runs(here, stop_for_a_while)
    assert got.out == '200 200 ' and got.reasons() == [], got
    assert got.seconds > 1, got


def test_after_a_kill_all_up_to_the_last_checkpoint_is_proven(bed):
    here = bed('- allow: https://ok.test/**')
    log = here.home + '/mine.jsonl'

    def kill_all(run):
        with open(log, encoding='ascii') as f:
            wait_for(lambda: '"event":"checkpoint"' in f.read())
        for pid in sorted(descendants(run.child.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # it may die with the monitor

    while_it_runs(here, kill_all, ['--audit', log])
    code, out, _ = here.duenna('audit', 'verify', '--json', log)
    said = json.loads(out)
    assert code == 1 and said['problems'] == [] and not said['ended'], out
    assert said['covered'] > 0 and said['records'] > said['covered'], out
    code, out, _ = here.duenna('audit', 'verify', '--open', log)
    assert code == 0 and 'does not end in `stop`' in out, out
    # the torn end of a write, and another run that goes on
    with open(log, 'a', encoding='ascii') as f:
        f.write('{"seq":99,"ti')
    n = said['records']
    got = here.run('true', ['--audit', log])
    assert got.exit == 0, got
    with open(log, encoding='ascii') as f:
        start = json.loads(f.read().split('\n')[n])
    assert start['event'] == 'start' and start['duenna.detail'].startswith(
        'recovered: line %d was cut; its 13 bytes (sha256:' % (n + 1)), start
    code, out, _ = here.duenna('audit', 'verify', log)
    assert code == 1 and 'of 2 runs, 1 problem' in out, out
    assert here.duenna('audit', 'verify', '--open', log)[0] == 0


def test_a_scribe_that_is_killed_leaves_no_hole(bed):
    here = bed('- allow: https://ok.test/**')

    def kill_scribe(run):
        scribe, = run.roles()['scribe']
        os.kill(scribe, signal.SIGKILL)
        wait_for(lambda: run.roles().get('scribe', [scribe]) != [scribe])

    got = while_it_runs(here, kill_scribe)
    starts = got.find(event='start')
    assert len(starts) == 2 and starts[1]['duenna.repeated'], got
    assert starts[0]['duenna.key'] != starts[1]['duenna.key'], got
    assert here.duenna('audit', 'verify', got.log)[0] == 0


def test_a_log_that_others_may_change_is_not_written_to(bed):
    here = bed('- allow: https://ok.test/**')
    shared = here.home + '/shared'
    os.mkdir(shared)
    os.chmod(shared, 0o777)
    loose = here.write('loose.jsonl', '', 0o622)
    theirs = here.write('theirs.jsonl', '', 0o600)
    linked = here.write('linked.jsonl', '', 0o600)
    os.link(linked, here.project + '/inside')
    noise = here.write('noise.jsonl', 'no log\n', 0o600)
    for path in (loose, linked, noise, here.project + '/inside'):
        os.chown(path, os.stat(here.home).st_uid, os.stat(here.home).st_gid)
    for path, words in ((shared + '/log.jsonl', 'everybody may write'),
                        (loose, 'others may write it'),
                        (theirs, ''), (linked, 'a hard link'),
                        (noise, 'no whole audit log')):
        got = here.run('true', ['--audit', path])
        assert got.exit == 125 and words in got.err, (path, got)
        assert path not in (noise,) or open(noise).read() == 'no log\n'
