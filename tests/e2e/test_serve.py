# SPDX-License-Identifier: Apache-2.0
"""`duenna serve`: sandboxes come and go, each with its own policy."""
import os
import signal
import subprocess
import time

import pytest

from bed import program
from serve_bed import Gateway

API = '- allow: https://api.test/**\n  credential: api\n'
WEB = '- allow: https://ok.test/**\n'


@pytest.fixture
def gateway(peers):
    made = []

    def make(**policies):
        made.append(Gateway(peers, policies))
        return made[-1]

    yield make
    for it in made:
        it.end()


def test_each_sandbox_has_its_own_policy(gateway):
    it = gateway(api=API, web=WEB)
    one, two = it.space(), it.space()
    told = it.attach('one', one, 'api')
    it.attach('two', two, 'web')
    token = told['environment']['API_TOKEN']
    field = 'authorization: Bearer ' + token
    before = len(it.peers_requests())
    assert it.curl(one, 'https://api.test/a', '-H', field)[0] == 200
    assert it.curl(two, 'https://ok.test/b')[0] == 200
    status, body = it.curl(two, 'https://api.test/c')
    assert status == 403 and 'tls.sni_denied' in body
    assert it.curl(one, 'https://ok.test/d')[0] == 403
    seen = it.peers_requests()[before:]
    assert [r['target'] for r in seen] == ['/a', '/b']
    fields = {n.lower(): v for n, v in seen[0]['fields']}
    assert fields['authorization'] == 'Bearer ' + it.peers.canary
    names = {r['sandbox'] for r in it.records() if 'sandbox' in r}
    assert names == {'one', 'two'}
    log = it.state + '/log/' + os.listdir(it.state + '/log')[0]
    assert it.stop()[0] == 0
    assert it.records()[-2]['event'] == 'stop'
    for line in (['verify', log],
                 ['replay', '--programs', it.state + '/programs', log]):
        done = subprocess.run([program(), 'audit', *line],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done


def test_attach_is_idempotent_and_says_what_is_wrong(gateway):
    it = gateway(web=WEB, bad='- allow: https://x.test/**\n  colour: red\n')
    space = it.space()
    first = it.attach('one', space)
    assert it.attach('one', space) == first
    for args, code in ((('one', '--policy', 'bad', '--netns', space.path),
                        'name.taken'),
                       (('two', '--policy', 'web', '--netns', space.path),
                        'capture.taken'),
                       (('two', '--policy', 'none', '--netns', space.path),
                        'policy.unknown'),
                       (('two', '--policy', '../main', '--netns', space.path),
                        'request.wrong'),
                       (('two', '--policy', 'bad', '--netns',
                         it.space().path), 'policy.wrong'),
                       (('two', '--policy', 'web', '--netns',
                         '/proc/1/ns/net'), 'capture.failed'),
                       (('two', '--policy', 'web', '--netns',
                         '/proc/1/ns/mnt'), 'capture.failed')):
        status, _, err = it.ask('attach', *args)
        assert status == 1 and code in err, (args, err)
    assert 'bad.yaml:7:9: unknown key `colour`' in it.ask('attach', 'two', '--policy', 'bad',
                                   '--netns', it.space().path)[2]
    assert it.ask('detach', 'two')[0] == 1
    assert [r['sandbox'] for r in it.records()
            if r['event'] == 'attach'] == ['one']


def add_link(space):
    done = space.run('/usr/sbin/ip', 'link', 'add', 'v0', 'type', 'veth',
                     'peer', 'v1')
    assert done.returncode == 0, done


def test_a_namespace_with_a_link_is_not_taken(gateway):
    it = gateway(web=WEB)
    space = it.space()
    add_link(space)
    status, _, err = it.ask('attach', 'one', '--policy', 'web', '--netns',
                            space.path)
    assert status == 1 and 'link v' in err and 'capture.failed' in err
    assert it.ask('status', 'one')[0] == 1


def test_a_link_that_appears_cuts_the_sandbox_off(gateway):
    it = gateway(web=WEB)
    space, other = it.space(), it.space()
    it.attach('one', space)
    it.attach('two', other)
    add_link(space)
    until = time.monotonic() + 10
    while it.ask('status', 'one')[0] == 0:
        assert time.monotonic() < until
    alarm, = [r for r in it.records() if r['event'] == 'alarm']
    assert alarm['reason'] == 'l3.link' and alarm['sandbox'] == 'one'
    assert it.curl(space, 'https://ok.test/')[0] == 0
    assert it.curl(other, 'https://ok.test/')[0] == 200


def test_nothing_leaves_after_a_detach_or_a_kill(gateway):
    it = gateway(web=WEB)
    one, two = it.space(), it.space()
    it.attach('one', one)
    it.attach('two', two)
    assert it.curl(one, 'https://ok.test/')[0] == 200
    assert it.ask('detach', 'one')[0] == 0
    assert it.curl(one, 'https://ok.test/')[0] == 0
    assert it.curl(two, 'https://ok.test/')[0] == 200
    it.attach('one', it.space())  # the name is free again
    it.stop(signal.SIGKILL)
    assert it.curl(two, 'https://ok.test/')[0] == 0


def test_tenants_share_no_worker(gateway):
    it = gateway(web=WEB)
    for i, tenant in enumerate(('a', 'a', 'b')):
        it.attach('s%d' % i, it.space(), 'web', '--tenant', tenant)
    assert len(it.roles()['worker']) == 2
    assert len(it.roles()['dialer']) == 1


@pytest.mark.parametrize('role', ['worker', 'dialer', 'keeper', 'scribe',
                                  'porter', 'clerk'])
def test_a_role_that_dies_comes_back(gateway, role):
    it = gateway(web=WEB)
    space = it.space()
    it.attach('one', space)
    for pid in it.roles().get(role, []):
        os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 20
    while it.curl(space, 'https://ok.test/')[0] != 200:
        assert time.monotonic() < until
    it.attach('two', it.space())
    assert it.stop()[0] == 0


def test_a_worker_that_dies_again_and_again_is_cut_off_alone(gateway):
    it = gateway(web=WEB)
    one, two = it.space(), it.space()
    it.attach('one', one, 'web', '--tenant', 'a')
    mine, = it.roles()['worker']
    it.attach('two', two, 'web', '--tenant', 'b')
    other, = set(it.roles()['worker']) - {mine}
    until = time.monotonic() + 20
    while it.ask('status', 'one')[0] == 0:
        assert time.monotonic() < until
        for pid in set(it.roles().get('worker', [])) - {other}:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    assert it.curl(one, 'https://ok.test/')[0] == 0
    assert it.curl(two, 'https://ok.test/')[0] == 200


def test_what_is_changed_later_is_not_read(gateway):
    it = gateway(web=WEB)
    it.policy('web', '- allow: https://api.test/**\n')
    space = it.space()
    it.attach('one', space)
    assert it.curl(space, 'https://ok.test/')[0] == 200
    assert it.curl(space, 'https://api.test/')[0] == 403


def test_a_reload_reaches_what_is_attached(gateway):
    it = gateway(web=WEB, api=API)
    one, two = it.space(), it.space()
    it.attach('one', one)
    it.attach('two', two, 'api')
    it.policy('web', '- allow: https://api.test/**\n')
    status, _, err = it.ask('reload')
    assert status == 0, err
    assert it.curl(one, 'https://ok.test/')[0] == 403
    assert it.curl(one, 'https://api.test/')[0] == 200
    assert it.curl(two, 'https://api.test/')[0] == 200
    programs = [r for r in it.records() if r['event'] == 'program']
    assert [(r['sandbox'], r['duenna.generation']) for r in programs] == \
        [('one', 1), ('two', 1), ('one', 2)]
    it.attach('three', it.space())
    it.policy('web', WEB)
    it.child.send_signal(signal.SIGHUP)
    until = time.monotonic() + 10
    while it.curl(one, 'https://ok.test/')[0] != 200:
        assert time.monotonic() < until


def test_a_bad_file_changes_nothing_and_says_why(gateway):
    it = gateway(web=WEB, api=API)
    space = it.space()
    it.attach('one', space)
    it.attach('two', it.space(), 'api')
    it.policy('web', '- allow: https://api.test/**\n')
    it.policy('api', '- allow: https://x.test/**\n  colour: red\n')
    status, _, err = it.ask('reload')
    assert status == 1 and 'api.yaml:7:9: unknown key `colour`' in err, err
    assert it.curl(space, 'https://ok.test/')[0] == 200
    os.unlink(it.conf + '/policies/api.yaml')
    assert 'no such file' in it.ask('reload')[2]
    it.policy('api', API)
    with open(it.conf + '/main.yaml', 'a', encoding='utf-8') as f:
        f.write('# another\n')
    assert 'takes a restart' in it.ask('reload')[2]
    assert it.curl(space, 'https://ok.test/')[0] == 200
    assert it.stop()[0] == 0


def test_a_restart_keeps_the_ca_and_the_key(gateway):
    it = gateway(web=WEB)
    with open(it.state + '/ca.pem', encoding='utf-8') as f:
        ca = f.read()
    assert it.stop()[0] == 0
    it.start()
    with open(it.state + '/ca.pem', encoding='utf-8') as f:
        assert f.read() == ca
    space = it.space()
    it.attach('one', space)
    assert it.curl(space, 'https://ok.test/')[0] == 200


def start_fails(it, want):
    assert it.stop()[0] == 0
    done = subprocess.run(
        [program(), 'serve', '--config', it.conf, '--state', it.state,
         '--control', it.socket], capture_output=True, text=True, timeout=30,
        check=False)
    assert done.returncode == 125 and want in done.stderr, done


def test_files_that_others_may_write_end_the_start(gateway):
    it = gateway(web=WEB)
    os.chmod(it.conf + '/policies/web.yaml', 0o666)
    start_fails(it, 'policies/web.yaml: others may write it')


def test_a_wrong_configuration_ends_the_start(gateway):
    it = gateway(web=WEB)
    with open(it.conf + '/main.yaml', 'a', encoding='utf-8') as f:
        f.write('colour: red\n')
    start_fails(it, 'main.yaml:')


def test_one_gateway_a_state(gateway):
    it = gateway(web=WEB)
    done = subprocess.run(
        [program(), 'serve', '--config', it.conf, '--state', it.state,
         '--control', it.home + '/other.sock'], capture_output=True,
        text=True, timeout=30, check=False)
    assert done.returncode == 125 and 'another gateway has' in done.stderr


@pytest.mark.parametrize('kind', ['--mount', '--pid', '--user'])
def test_a_caller_in_another_namespace_is_refused(gateway, kind):
    it = gateway(web=WEB)
    done = subprocess.run(
        ['/usr/bin/unshare', kind, '--fork', program(), 'list', '--control',
         it.socket], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0
    assert it.ask('list')[0] == 0


def test_what_is_not_there_yet_is_refused(gateway):
    it = gateway(web=WEB)
    assert 'not there yet' in it.ask('attach', 'one', '--policy', 'web',
                                     '--netns', '/proc/self/ns/net',
                                     '--shared')[2]
