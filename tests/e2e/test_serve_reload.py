# SPDX-License-Identifier: Apache-2.0
"""Reloads of `duenna serve` while its sandboxes are at work (LC-06 to LC-08).

`DUENNA_RELOADS=1000` makes the one under load as long as it says."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import h2origin
from bed import OPEN, PEERS, program
from pass_bed import HOST, names, server  # noqa: F401
from serve_bed import Gateway

RELOADS = int(os.environ.get('DUENNA_RELOADS', '150'))
ALL = {
    'one': 'https://ok.test/**',
    'api': 'https://api.test/**',
    'two': 'https://a.h2.test:4443/**',
    'live': 'wss://live.test/**',
    'raw': 'tcp://db.test:5433',
}


def rules(leave_out=(), first=()):
    text = 'version: 1\npolicies:\n  test:\n    rules:\n'
    for name, where in [*first, *((n, w) for n, w in ALL.items()
                                  if n not in leave_out)]:
        text += '      - name: %s\n        allow: %s\n        addresses: ' \
            '[%s]\n' % (name, where, OPEN)
        if name == 'api':
            text += '        credential: api\n'
    return text


def echo(sock):
    while piece := sock.recv(65536):
        sock.sendall(piece)


@pytest.fixture
def gateway(peers, names):  # noqa: F811
    it = Gateway(peers, {'web': rules()})
    try:
        with h2origin.Origin(4443, peers.pki), server(5433, echo):
            yield it
            it.end()
    finally:
        it.end()


class Load:
    """What works in a sandbox meanwhile, and what it says in the end."""

    def __init__(self, it, space, token, *works):
        env = {'PATH': '/usr/bin:/bin', 'HOST': HOST, 'TOKEN': token,
               'SSL_CERT_FILE': it.state + '/ca.pem'}
        # pylint: disable-next=consider-using-with
        self.child = subprocess.Popen(
            ['/usr/bin/nsenter', '--net=' + space.path, sys.executable,
             PEERS + '/busy.py', *works], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.child.stdout.readline() == 'all at work\n'

    def wait_for(self, *works):
        """Until these have ended."""
        left = set(works)
        while left:
            line = self.child.stdout.readline()
            assert line, left
            left.discard(line.split()[-1])

    def stop(self):
        """Of each work: how often it came to its end, and what went wrong."""
        out = self.child.communicate('stop\n', timeout=60)[0]
        return json.loads(out.splitlines()[-1])


def begin(it, *works):
    space = it.space()
    token = it.attach('one', space)['environment']['API_TOKEN']
    return space, Load(it, space, token, *works)


def write(it, text, name='web'):
    """In one step, as a file that others read meanwhile has to be."""
    path = '%s/policies/%s' % (it.conf, name)
    new = '%s/%d' % (it.home, threading.get_ident())
    with open(new, 'w', encoding='utf-8') as f:
        f.write(text)
    os.rename(new, path + '.yaml')


def reload(it, text):
    write(it, text)
    code, _, err = it.ask('reload')
    assert code == 0, err


def ends(it):
    """Refusals of requests and connections, but for clients that went away."""
    return [(r['event'], r['reason'], r['url.domain'] if 'url.domain' in r
             else r.get('server.address')) for r in it.records()
            if r['event'] in ('request.end', 'flow.end') and
            r['verdict'] == 'deny' and r['reason'] != 'client.abort']


def generations(it):
    return [r['duenna.generation'] for r in it.records()
            if r['event'] == 'program' and r['sandbox'] == 'one']


WORKS = ['h1', 'h2', 'release', 'stream', 'half', 'socket', 'splice']


def test_no_reload_loses_a_request_that_both_allow(gateway):
    it = gateway
    _, load = begin(it, *WORKS)
    for i in range(RELOADS):
        more = [('more', 'https://%d.more.test/**' % (i % 7))] * (i % 2 == 0)
        reload(it, rules(first=more))
    said = load.stop()
    assert [said[w]['wrong'] for w in WORKS] == [None] * len(WORKS), said
    assert all(said[w]['count'] > 10 for w in ('h1', 'h2', 'release')), said
    assert generations(it) == list(range(1, RELOADS + 2))
    # A dial or a release may be asked for again; what was asked may not fail.
    assert not ends(it), ends(it)


def test_what_a_tighter_policy_refuses_ends_with_its_reason(gateway):
    it = gateway
    space, load = begin(it, *WORKS[3:], 'release')
    fewer = [('other', 'https://ok.test/other/**'),
             ('two', 'https://a.h2.test:4443/beside')]
    reload(it, rules(('one', 'two', 'live', 'raw'), fewer))
    load.wait_for('stream', 'half', 'socket', 'splice')
    said = load.stop()
    assert said['release']['wrong'] is None, said
    assert it.curl(space, 'https://ok.test/a')[0] == 403
    assert it.curl(space, 'https://ok.test/other/a')[0] == 200
    assert said['half']['wrong'] == 'EOFError: reset 2 alone', said
    assert sorted(
        (r['event'], r['server.address'], r.get('url.path'))
        for r in it.records() if r.get('reason') == 'policy.changed' and
        r['event'] in ('request.end', 'flow.end')) == [
            ('flow.end', 'db.test', None),
            ('request.end', 'a.h2.test', '/_half'),
            ('request.end', 'live.test', '/_ws'),
            ('request.end', 'ok.test', '/_drip/100000/20')]
    log_holds(it)


def log_holds(it):
    assert it.stop()[0] == 0
    log, = os.listdir(it.state + '/log')
    for line in ['verify'], ['replay', '--programs', it.state + '/programs']:
        done = subprocess.run(
            [program(), 'audit', *line, it.state + '/log/' + log],
            capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_bad_file_ends_nothing(gateway):
    it = gateway
    space, load = begin(it, *WORKS)
    write(it, rules(('one', 'two', 'raw')) + '        colour: red\n')
    for _ in range(20):
        code, _, err = it.ask('reload')
        assert code == 1 and 'web.yaml:12:9: unknown key `colour`' in err, err
    assert it.curl(space, 'https://ok.test/b')[0] == 200
    said = load.stop()
    assert not [w for w in WORKS if said[w]['wrong']], said
    assert generations(it) == [1] and not ends(it)


def test_reloads_that_race_come_into_force_one_after_another(gateway):
    it = gateway
    space, load = begin(it, *WORKS)
    done = []

    def call(which):
        for i in range(12):
            write(it, rules(first=[('x', 'https://%d.x.test/**' % (
                which * 100 + i))]))
            done.append(it.ask('reload'))
            it.child.send_signal(signal.SIGHUP)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for code, _, err in done:
        assert code == 0 or 'busy' in err, err
    assert sum(code == 0 for code, _, _ in done) > 1, done
    # What a signal asks for comes behind the reload that it meets.
    other = threading.Thread(target=it.ask, args=('reload',))
    other.start()
    write(it, rules(('one',), [('last', 'https://ok.test/last')]))
    it.child.send_signal(signal.SIGHUP)
    other.join()
    load.wait_for('h1', 'stream')
    assert it.curl(space, 'https://ok.test/last')[0] == 200
    assert it.curl(space, 'https://ok.test/a')[0] == 403
    said = load.stop()
    assert [w for w in WORKS if said[w]['wrong']] == ['h1', 'stream'], said
    found = generations(it)
    assert found == list(range(1, len(found) + 1)) and len(found) > 2, found
    log_holds(it)


@pytest.mark.parametrize('role', ['worker', 'dialer', 'keeper', 'clerk'])
def test_a_role_that_dies_in_the_middle_comes_back_with_the_new_policy(
        gateway, role):
    it = gateway
    space = it.space()
    it.attach('one', space)
    assert it.curl(space, 'https://ok.test/a')[0] == 200
    write(it, rules(('one',), [('last', 'https://ok.test/last')]))
    asks = subprocess.Popen(  # pylint: disable=consider-using-with
        [program(), 'reload', '--control', it.socket], text=True,
        stderr=subprocess.PIPE)
    for pid in it.roles().get(role, []):
        os.kill(pid, signal.SIGKILL)
    said = asks.communicate(timeout=30)[1]
    if asks.returncode != 0:
        assert role == 'clerk', said
        assert it.curl(space, 'https://ok.test/a')[0] == 200
        assert it.ask('reload')[0] == 0
    until = time.monotonic() + 20
    while it.curl(space, 'https://ok.test/last')[0] != 200:
        assert time.monotonic() < until
    assert it.curl(space, 'https://ok.test/a')[0] == 403
    assert generations(it) == [1, 2]
