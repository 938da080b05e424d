# SPDX-License-Identifier: Apache-2.0
"""Sandboxes of `duenna serve` over a restart of it."""
import os
import signal
import subprocess
import time

import pytest

from serve_bed import Gateway

API = '- allow: https://api.test/**\n  credential: api\n'
WEB = '- allow: https://ok.test/**\n'
TOKEN = 'a-token-of-this-sandbox-alone'


@pytest.fixture
def gateway(peers):
    it = Gateway(peers, {'api': API, 'web': WEB})
    yield it
    it.end()


def restart(it, number=signal.SIGTERM):
    said = it.stop(number)[1]
    if os.path.exists(it.socket):
        os.unlink(it.socket)  # start() waits for the next one
    it.start()
    return said


def kept(it):
    return sorted(os.listdir(it.state + '/sandboxes'))


def proxied(it, user):
    return subprocess.run(
        ['/usr/bin/curl', '-s', '-m', '20', '-o', '/dev/null', '-w',
         '%{http_code}', '--cacert', it.state + '/ca.pem', '-x',
         'http://127.0.0.1:3129', '--proxy-user', user, 'https://ok.test/'],
        capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_sandboxes_go_on_after_a_restart(gateway, number):
    it = gateway
    one, two = it.space(), it.space()
    told = it.attach('one', one, 'api', '--label', 'team=a')
    it.attach('two', two)
    field = 'authorization: Bearer ' + told['environment']['API_TOKEN']
    rules = two.run('/usr/sbin/nft', 'list', 'ruleset').stdout
    assert kept(it) == ['one', 'two']
    for name in kept(it):
        path = it.state + '/sandboxes/' + name
        assert os.stat(path).st_mode & 0o777 == 0o600
    restart(it, number)
    # Before anything else is asked: they are there when the socket is.
    assert it.curl(two, 'https://ok.test/a')[0] == 200
    before = len(it.peers_requests())
    assert it.curl(one, 'https://api.test/b', '-H', field)[0] == 200
    fields = {n.lower(): v for n, v in it.peers_requests()[before]['fields']}
    assert fields['authorization'] == 'Bearer ' + it.peers.canary
    assert it.curl(one, 'https://ok.test/c')[0] == 403
    assert two.run('/usr/sbin/nft', 'list', 'ruleset').stdout == rules
    assert it.attach('one', one, 'api', '--label', 'team=a') == told
    assert it.ask('detach', 'one')[0] == 0
    assert kept(it) == ['two']
    restart(it, number)
    assert it.curl(one, 'https://api.test/d')[0] == 0
    assert it.curl(two, 'https://ok.test/e')[0] == 200


def test_a_proxy_keeps_its_token_and_no_file_has_it(gateway):
    it = gateway
    secret = it.home + '/secret'
    with open(secret, 'w', encoding='utf-8') as f:
        f.write(TOKEN)
    os.chmod(secret, 0o600)
    line = ('attach', 'box', '--policy', 'web', '--listen', '127.0.0.1:3129',
            '--token', secret)
    assert it.ask(*line)[0] == 0
    restart(it)
    assert it.ask(*line)[0] == 0  # the same request: nothing is done
    assert proxied(it, 'u:' + TOKEN) == '200'
    assert proxied(it, 'u:another-token-that-is-long') == '000'
    with open(it.state + '/sandboxes/box', 'rb') as f:
        assert TOKEN.encode() not in f.read()


def test_what_cannot_come_back_is_said_and_the_others_do(gateway):
    it = gateway
    one, two, three = it.space(), it.space(), it.space()
    gone = it.space()
    for name, space in (('one', one), ('two', two), ('three', three),
                        ('gone', gone)):
        it.attach(name, space)
    it.attach('api', it.space(), 'api')
    it.stop()
    with open(it.state + '/sandboxes/one', 'r+b') as f:
        f.truncate(100)
    os.chmod(it.state + '/sandboxes/three', 0o644)
    os.unlink(it.conf + '/policies/api.yaml')
    gone.stop()
    it.start()
    assert it.curl(two, 'https://ok.test/')[0] == 200
    assert it.curl(one, 'https://ok.test/')[0] == 0
    assert it.curl(three, 'https://ok.test/')[0] == 0
    assert kept(it) == ['api', 'one', 'three', 'two']
    alarms = {r['sandbox']: r['duenna.detail'] for r in it.records()
              if r['event'] == 'alarm'}
    assert sorted(alarms) == ['api', 'gone']
    assert 'no such file in policies/' in alarms['api']
    said = it.stop()[1]
    assert 'sandboxes/one is skipped: it is no sandbox' in said
    assert 'sandboxes/three is skipped: others may read' in said
    assert 'sandbox `gone`: it is not attached again' in said


def configure(it, **boxes):
    """sandboxes: NAME=(policy, path of its namespace)"""
    text = 'version: 1\nsandboxes:\n' if boxes else 'version: 1\n'
    for name, (policy, path) in boxes.items():
        text += '  %s: {policy: %s, capture: netns, netns: %s}\n' % (
            name, policy, path)
    with open(it.conf + '/boxes.yaml', 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(it.conf + '/boxes.yaml', 0o600)


def test_sandboxes_of_the_configuration_are_attached_at_start(gateway):
    it = gateway
    one, two, late = it.space(), it.space(), it.home + '/late'
    it.attach('called', two)
    configure(it, one=('web', one.path), late=('web', late))
    restart(it)
    assert it.curl(one, 'https://ok.test/a')[0] == 200
    alarm, = [r for r in it.records() if r['event'] == 'alarm']
    assert alarm['sandbox'] == 'late'
    three = it.space()
    os.symlink(three.path, late)
    assert it.ask('reload')[0] == 0
    until = time.monotonic() + 20
    while it.ask('status', 'late')[0] != 0 or \
            it.curl(three, 'https://ok.test/b')[0] != 200:
        assert time.monotonic() < until
    assert kept(it) == ['called', 'late', 'one']

    # Another policy, and gone: the configuration counts, not what was kept.
    configure(it, one=('api', one.path))
    said = restart(it)
    assert 'sandbox `late`: it is not attached: ' in said
    assert kept(it) == ['called', 'one']
    assert it.curl(one, 'https://ok.test/c')[0] == 403
    assert it.curl(three, 'https://ok.test/d')[0] == 0
    assert it.curl(two, 'https://ok.test/e')[0] == 200
    assert 'sandbox `late` is another one in the configuration now, or ' \
        'gone from it' in it.stop()[1]
