# SPDX-License-Identifier: Apache-2.0
"""ns/capture: a namespace that is there already is made ready for a sandbox,
or refused with the reason (DESIGN 3, mode netns)."""
import os
import shutil

import pytest

from bed import base
from capture_bed import NFT, Capture, Space, sh

pytestmark = pytest.mark.skipif(not shutil.which('nft'), reason='no nft(8)')


@pytest.fixture(name='space')
def make_space():
    one = Space()
    yield one
    one.close()


@pytest.fixture(name='capture')
def make_capture():
    made = []

    def start(*args):
        made.append(Capture(*args))
        return made[-1]
    yield start
    for one in made:
        one.kill()


def test_an_empty_namespace_is_made_ready(space, capture):
    it = capture('netns', space.path)
    assert it.ports, it.said
    assert space.python('print(tcp("203.0.113.9", 8443), udp("9.9.9.9", 53))'
                        ) == 'tcp 203.0.113.9 8443 hello'
    assert space.python('print(tcp("2001:db8::9", 22))') == \
        'tcp 2001:db8::9 22'
    # refused at once, and counted
    assert space.python('print(udp("203.0.113.9", 443))') == 'ECONNREFUSED'
    assert space.run(NFT, 'counters').stdout.startswith('udp 3\n')


def test_a_namespace_is_found_by_a_process(space, capture):
    it = capture('netns', 'pid:%d' % space.pid)
    assert it.ports, it.said
    assert space.python('print(tcp("203.0.113.9", 1))') == \
        'tcp 203.0.113.9 1'


def test_a_namespace_with_a_link_is_refused(space, capture):
    space.run('ip', 'link', 'add', 'eth0', 'type', 'bridge')
    it = capture('netns', space.path)
    assert it.said.startswith('fail the namespace has the link eth0;'), it.said
    assert space.nft('list', 'ruleset') == ''


def test_what_is_not_a_namespace_of_a_sandbox_is_refused(capture):
    pipe = base() + '/capture-pipe'
    os.mkfifo(pipe)  # to open it for reading would wait for ever
    gone = Space()
    gone.close()
    for where, want in [
            ('/proc/self/ns/net', "is duenna's own network namespace"),
            ('pid:%d' % os.getpid(), "is duenna's own network namespace"),
            ('/proc/self/ns/mnt', 'is a namespace, but not of networks'),
            ('/dev/null', 'is not the file of a namespace'),
            (pipe, 'is not the file of a namespace'),
            ('/run/netns/no-such', 'No such file'),
            ('pid:%d' % gone.pid, 'there is no process')]:
        it = capture('netns', where)
        assert it.said.startswith('fail ') and want in it.said, it.said


def test_the_machines_own_namespace_is_refused(space):
    """From a namespace of its own, where it is not duenna's too."""
    done = space.run(*Capture.command('netns', '/proc/1/ns/net'), check=False)
    assert "is the machine's own network namespace" in done.stdout, done
    assert sh('nft', 'list', 'tables').stdout == ''


def test_a_link_that_appears_later_is_told(space, capture):
    it = capture('netns', space.path)
    assert it.ports, it.said
    space.run('ip', 'link', 'add', 'late0', 'type', 'bridge')
    assert it.line() == 'cut the link late0 appeared'


def test_rules_that_let_a_packet_by_fail_the_probe(space, capture):
    """Somebody's table in there comes first, and ours never see the packet."""
    space.nft('add table inet other; add chain inet other out '
              '{ type filter hook output priority -300; policy accept; }; '
              'add rule inet other out meta l4proto udp drop')
    it = capture('netns', space.path)
    assert it.said.startswith('fail cannot send a datagram from inside') or \
        'was not seen by our rules' in it.said, it.said


def test_a_redirect_of_somebody_else_fails_the_probe(space, capture):
    space.nft('add table inet other; add chain inet other out '
              '{ type nat hook output priority -150; policy accept; }; '
              'add rule inet other out meta l4proto tcp redirect to :1')
    it = capture('netns', space.path)
    assert 'did not arrive at duenna' in it.said, it.said


def test_a_restart_takes_the_same_ports_again(space, capture):
    first = capture('netns', space.path)
    assert space.python('print(tcp("203.0.113.9", 1))') == \
        'tcp 203.0.113.9 1'
    first.kill()
    # nobody listens, and nothing leaves: the rules are there
    assert space.python('print(tcp("203.0.113.9", 1))') == 'ECONNREFUSED'
    second = capture('netns', space.path, '--again', *first.ports)
    assert second.ports == first.ports, second.said
    assert space.python('print(tcp("203.0.113.9", 1))') == \
        'tcp 203.0.113.9 1'


def test_the_port_is_nobody_elses(space, capture):
    """SO_REUSEADDR of ours does not share it (L3-29)."""
    it = capture('netns', space.path)
    assert space.python('''
for host in ('127.0.0.1', '0.0.0.0', '127.0.0.2'):
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            s.bind((host, %s))
            s.listen()
            print(host, 'taken')
        except OSError as e:
            print(host, errno.errorcode[e.errno])
''' % it.ports[0]).split('\n') == ['127.0.0.1 EADDRINUSE'] * 2 + \
        ['0.0.0.0 EADDRINUSE'] * 2 + ['127.0.0.2 taken'] * 2


def test_a_detach_takes_the_rules_away_and_no_others(space, capture):
    space.nft('add table ip other')
    it = capture('netns', space.path)
    assert 'table inet duenna' in space.nft('list', 'tables')
    assert it.end() == 'ended'
    assert space.nft('list', 'tables') == 'table ip other\n'


def test_without_its_program_nothing_is_made_ready(space):
    done = sh(*Capture.command('netns', space.path, nft='/no/such'),
              check=False)
    assert done.stdout.startswith('fail cannot execute /no/such'), done
