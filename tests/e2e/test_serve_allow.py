# SPDX-License-Identifier: Apache-2.0
"""`duenna allow`: one more rule for a sandbox that runs, for some time."""
import os
import subprocess
import time

import pytest

from bed import program
from serve_bed import Gateway

WEB = '- allow: https://ok.test/**\n'
# Let in by a rule, then not dialled: the bed's addresses are private, and an
# added rule opens none.
LET_IN = 502
API = ('- allow: https://api.test/in/**\n  credential: api\n'
       '- deny: https://ok.test/no/**\n')


@pytest.fixture
def gateway(peers):
    made = []

    def make(**policies):
        made.append(Gateway(peers, policies))
        return made[-1]

    yield make
    for it in made:
        it.end()


def programs(it, name):
    return [r for r in it.records()
            if r['event'] == 'program' and r['sandbox'] == name]


def test_a_rule_is_added_recorded_and_outlives_a_reload(gateway):
    it = gateway(web=WEB)
    one, two = it.space(), it.space()
    it.attach('one', one)
    it.attach('two', two)
    assert it.curl(one, 'https://api.test/a')[0] == 403
    status, _, err = it.ask('allow', 'one', 'https://api.test/a', '--for',
                            '2h')
    assert status == 0, err
    assert it.curl(one, 'https://api.test/a')[0] == LET_IN
    assert it.curl(one, 'https://ok.test/')[0] == 200
    assert it.curl(one, 'https://api.test/b')[0] == 403
    assert it.curl(one, '-XPOST', 'https://api.test/a')[0] == 403
    assert it.curl(two, 'https://api.test/a')[0] == 403
    until = time.monotonic() + 5
    while not [r for r in it.records() if r['event'] == 'dial' and
               r['verdict'] == 'deny' and r['duenna.generation'] == 2]:
        assert time.monotonic() < until, it.records()
    first, second = programs(it, 'one')
    assert second['duenna.detail'] == \
        'user 0 allows, as added-1, for 7200s: https://api.test/a'
    assert second['duenna.generation'] == 2
    assert second['duenna.program'] != first['duenna.program']
    it.policy('web', '- allow: https://plain.test/**\n')
    assert it.ask('reload')[0] == 0
    assert it.curl(one, 'https://api.test/a')[0] == LET_IN
    assert it.curl(one, 'https://ok.test/')[0] == 403
    log = it.state + '/log/' + os.listdir(it.state + '/log')[0]
    assert it.stop()[0] == 0
    done = subprocess.run(
        [program(), 'audit', 'replay', '--programs', it.state + '/programs',
         log], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


def test_a_rule_ends_by_itself(gateway):
    it = gateway(web=WEB)
    one = it.space()
    it.attach('one', one)
    assert it.ask('allow', 'one', 'https://api.test/a', '--for', '3s')[0] == 0
    assert it.curl(one, 'https://api.test/a')[0] == LET_IN
    until = time.monotonic() + 15
    while it.curl(one, 'https://api.test/a')[0] != 403:
        assert time.monotonic() < until
        time.sleep(0.2)
    assert it.curl(one, 'https://ok.test/')[0] == 200


def test_an_added_rule_carries_no_credential_and_lifts_no_denial(gateway):
    it = gateway(api=API)
    one = it.space()
    told = it.attach('one', one, 'api')
    for url in ('https://api.test/out', 'https://ok.test/**'):
        assert it.ask('allow', 'one', url)[0] == 0
    field = 'authorization: Bearer ' + told['environment']['API_TOKEN']
    before = len(it.peers_requests())
    assert it.curl(one, 'https://api.test/in/a', '-H', field)[0] == 200
    assert it.curl(one, 'https://api.test/out', '-H', field)[0] == 403
    assert it.curl(one, 'https://api.test/out')[0] == 200
    assert it.curl(one, 'https://ok.test/no/a')[0] == 403
    assert it.curl(one, 'https://ok.test/a')[0] == LET_IN
    seen = it.peers_requests()[before:]
    assert [r['target'] for r in seen] == ['/in/a', '/out']
    assert it.peers.canary in str(seen[0])
    assert it.peers.canary not in str(seen[1])
    released, = [r for r in it.records() if r['event'] == 'release']
    assert released['rule'] == 'rule-1'


def test_what_cannot_be_added_changes_nothing(gateway):
    it = gateway(web=WEB)
    one = it.space()
    it.attach('one', one)
    for name, url, code in (
            ('none', 'https://api.test/', 'name.unknown'),
            ('one', 'gopher://api.test/', 'rule.wrong'),
            ('one', 'https://${x}.test/', 'rule.wrong'),
            ('one', 'https://x.test/", "credential": "api', 'rule.wrong'),
            ('one', 'https://10.96.0.1/**', 'rule.wrong')):
        status, _, err = it.ask('allow', name, url)
        assert status == 1 and code in err, (url, err)
    assert len(programs(it, 'one')) == 1
    for i in range(16):
        status, _, err = it.ask('allow', 'one', 'https://api.test/%d' % i)
        assert status == 0, err
    status, _, err = it.ask('allow', 'one', 'https://api.test/x')
    assert status == 1 and 'as many added rules as can be' in err
    assert it.curl(one, 'https://api.test/15')[0] == LET_IN
    assert it.curl(one, 'https://api.test/x')[0] == 403
    assert it.ask('reload')[0] == 0
