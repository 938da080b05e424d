# SPDX-License-Identifier: Apache-2.0
"""Who may ask a gateway over its control socket, and for what; what is sent to
it that is no call."""
import os
import re
import socket
import subprocess

import pytest

from bed import TREE, program
from serve_bed import Gateway

WEB = '- allow: https://ok.test/**\n'
POLICY = 'version: 1\npolicies: {p: {rules: [{allow: "https://ok.test/"}]}}\n'
VIEW, ATTACH, RULES, OTHER = 71001, 71002, 71003, 71009  # groups
GROUPS = 'version: 1\ncontrol: {view: %d, attach: [%d], policy: %d}\n' % (
    VIEW, ATTACH, RULES)


@pytest.fixture
def gateway(peers):
    made = []

    def make(control=None):
        made.append(Gateway(peers, {'web': WEB}))
        if control:
            it = made[-1]
            it.stop()
            configure(it, control)
            it.start()
        return made[-1]

    yield make
    for it in made:
        it.end()


def configure(it, text):
    with open(it.conf + '/control.yaml', 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(it.conf + '/control.yaml', 0o600)


def ask(it, before, *args):
    """A command, by a program that runs it in some other way."""
    return subprocess.run(
        [*before, program(), args[0], '--control', it.socket, *args[1:]],
        capture_output=True, text=True, timeout=30, check=False)


def member(*groups, user=70001):
    """A process of an ordinary user with these groups, the last its own."""
    more = ['--groups', ','.join(map(str, groups[:-1]))] \
        if len(groups) > 1 else ['--clear-groups']
    return ['/usr/bin/setpriv', '--reuid', str(user), '--regid',
            str(groups[-1]), *more, '--']


def test_groups_give_the_rights_that_the_owner_says(gateway):
    it = gateway(GROUPS)
    space = it.space()
    attach = ['attach', 'one', '--netns', space.path]
    own = it.home + '/own.yaml'
    with open(own, 'w', encoding='utf-8') as f:
        f.write(POLICY)
    view, both = member(VIEW), member(VIEW, RULES, ATTACH)
    assert ask(it, view, 'list').returncode == 0
    assert ask(it, member(VIEW, OTHER), 'status').returncode == 0
    for who, args in ((view, [*attach, '--policy', 'web']),
                      (view, ['detach', 'one']), (view, ['reload']),
                      (member(ATTACH), ['list']),
                      (member(ATTACH), [*attach, '--policy-file', own]),
                      (member(RULES), [*attach, '--policy', 'web'])):
        done = ask(it, who, *args)
        assert done.returncode == 1 and 'right.missing' in done.stderr, done
    assert ask(it, both, *attach, '--policy', 'web').returncode == 0
    assert ask(it, member(ATTACH), 'detach', 'one').returncode == 0


def test_who_has_no_right_is_not_heard(gateway):
    it = gateway(GROUPS)
    assert ask(it, member(OTHER), 'list').returncode == 125
    assert ask(it, member(0, OTHER), 'list').returncode == 125
    assert it.ask('list')[0] == 0
    assert 'who has no right, is refused' in it.stop()[1]


def test_without_groups_the_socket_is_the_owners(gateway):
    it = gateway()
    assert os.stat(it.socket).st_mode & 0o777 == 0o660
    done = ask(it, member(OTHER), 'list')
    assert done.returncode == 125 and 'Permission denied' in done.stderr


@pytest.mark.parametrize('kind', ['--pid --fork', '--mount', '--user --map-root'])
def test_a_caller_in_another_namespace_is_refused(gateway, kind):
    it = gateway()
    done = ask(it, ['/usr/bin/unshare', *kind.split()], 'list')
    assert done.returncode == 125, done
    assert it.ask('list')[0] == 0
    assert 'another PID, mount or user namespace' in it.stop()[1]


def test_a_group_that_is_not_there_ends_the_start(gateway):
    it = gateway()
    it.stop()
    configure(it, 'version: 1\ncontrol: {view: no-such-group}\n')
    done = subprocess.run(
        [program(), 'serve', '--config', it.conf, '--state', it.state,
         '--control', it.socket], capture_output=True, text=True, timeout=30,
        check=False)
    assert done.returncode == 125
    assert re.search('control.yaml:2:17: `no-such-group`: there is no such '
                     'group', done.stderr), done


def raw(it, data):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(it.socket)
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        got = b''
        while piece := s.recv(65536):
            got += piece
    return got


@pytest.mark.parametrize('data, wanted', [
    (b'', b''),
    (b'GET /v1/status HTTP/1.1\r\n', b''),
    (b'\x16\x03\x01\x02\x00', b'400'),
    (b'GET /v1/status HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n'
     b'Content-Length: 3\r\n\r\n', b'400'),
    (b'PUT /v1/sandboxes/a HTTP/1.1\r\nHost: a\r\nContent-Type: '
     b'application/json\r\nContent-Length: 9\r\n\r\n{"a":1,,}', b'400'),
    (b'PUT /v1/sandboxes/../x HTTP/1.1\r\nHost: a\r\n\r\n', b'404'),
    (b'BREW /v1/status HTTP/1.1\r\nHost: a\r\n\r\n', b'405'),
    (b'GET /v1/status HTTP/1.1\r\nHost: a\r\nX: ' + b'x' * 20000, b'413')],
    ids=lambda v: repr(v[:24]))
def test_what_is_no_call_is_refused_and_nothing_breaks(gateway, data, wanted):
    it = gateway()
    got = raw(it, data)
    assert got[9:12] == wanted, got
    assert raw(it, b'GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n')[9:12] == b'200'


def test_the_unit_leaves_it_all_that_it_needs(gateway):
    """With the capabilities of dist/duenna.service and no others."""
    it = gateway()
    it.stop()
    with open(TREE + '/dist/duenna.service.in', encoding='utf-8') as f:
        caps = re.search('^CapabilityBoundingSet=(.*)$', f.read(), re.M)[1]
    left = ','.join(['-all', *('+' + c[4:].lower() for c in caps.split())])
    it.before = ['/usr/bin/setpriv', '--no-new-privs', '--bounding-set', left]
    it.start()
    space = it.space()
    it.attach('one', space)
    assert it.curl(space, 'https://ok.test/a')[0] == 200
    assert it.ask('detach', 'one')[0] == 0
    assert it.stop()[0] == 0
