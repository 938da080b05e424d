# SPDX-License-Identifier: Apache-2.0
"""ns/capture, mode gate: a namespace that holds the host's end of a sandbox's
link; what leaves the sandbox comes to us, or goes nowhere (DESIGN 3)."""
import fcntl
import os
import shutil
import socket
import struct

import pytest

from capture_bed import Capture, Gate, Space, sh

pytestmark = pytest.mark.skipif(not shutil.which('nft'), reason='no nft(8)')


@pytest.fixture(name='made')
def make_list():
    made = []
    yield made
    for one in reversed(made):
        (one.kill if isinstance(one, Capture) else one.close)()


@pytest.fixture(name='gate')
def make_gate(made):
    made.append(Gate())
    return made[-1]


@pytest.fixture(name='attach')
def make_attach(made):
    def attach(gate):
        made.append(Capture('gate', gate.gate.path, *gate.options))
        return made[-1]
    return attach


def test_flows_of_the_sandbox_come_to_us(gate, attach):
    it = attach(gate)
    assert it.ports and 'unprobed' not in it.ports, it.said
    assert gate.guest.python(
        'print(tcp("203.0.113.9", 8443), tcp("203.0.113.9", 53),'
        ' udp("9.9.9.9", 53))') == \
        'tcp 203.0.113.9 8443 tcp 203.0.113.9 53 hello'


def test_ipv6_as_ipv4_where_it_was_given(gate, attach):
    gate.with_ipv6()
    it = attach(gate)
    assert it.ports, it.said
    assert gate.guest.python('print(tcp("2001:db8::9", 8443),'
                             'udp("2001:db8::53", 53, socket.AF_INET6),'
                             'tcp("203.0.113.9", 1))') == \
        'tcp 2001:db8::9 8443 hello tcp 203.0.113.9 1'


def test_other_datagrams_are_refused_at_once_and_counted(gate, attach):
    it = attach(gate)
    assert it.ports, it.said
    before = gate.counters()
    assert gate.guest.python('print(udp("203.0.113.9", 443))') == \
        'ECONNREFUSED'
    assert gate.more(before) == {'udp': 1}


@pytest.mark.parametrize('packet, counter', [
    ('packet(1, b"\\x08\\0" + b"\\0" * 60)', 'icmp'),
    ('packet(1, b"\\x05\\1" + b"\\0" * 60)', 'icmp'),  # a redirect
    ('packet(17, udp(), src="127.0.0.1")', 'spoof'),
    ('packet(6, syn(), src="10.0.0.1")', 'spoof'),
    ('packet(6, syn(), options=b"\\x83\\7\\4\\x0a\\0\\0\\1\\0")', 'other'),
    ('packet(136, udp())', 'other'),  # UDP-Lite
    ('packet6(6, syn())', 'ipv6'),
    ('packet6(58, b"\\x86" + b"\\0" * 20, dst="ff02::1")', 'ipv6'),
])
def test_what_is_no_flow_is_dropped_and_counted(gate, attach, packet, counter):
    it = attach(gate)
    assert it.ports, it.said
    before = gate.counters()
    gate.send(packet)
    if counter == 'ipv6':
        assert gate.more(before, ())['ipv6'] >= 1
    assert gate.more(before) == ({} if counter == 'ipv6' else {counter: 1})


def test_a_sandbox_without_ipv6_gets_no_answer_to_it(gate, attach):
    it = attach(gate)
    assert it.ports, it.said
    assert gate.gate.run('ip', '-6', 'addr', 'show', 'dev',
                         'host0').stdout == ''
    assert gate.gate.run('ip', '-6', 'route', 'show', 'dev',
                         'host0').stdout == ''


def test_no_protocol_but_tcp_gets_in(gate, attach):
    it = attach(gate)
    assert it.ports, it.said
    before = gate.counters()
    gate.send('*[packet(n, b"\\0" * 40) for n in range(256) '
              'if n not in (1, 6, 17)]')
    more = gate.more(before)
    # 58 is ICMP of the other family here, and no protocol of this one
    assert more == {'other': 252, 'icmp': 1}


def test_fragments_are_put_together_before_the_rules_or_dropped(gate, attach):
    it = attach(gate)
    assert it.ports, it.said
    before = gate.counters()
    # the first 8 bytes of a segment, then the rest: one SYN
    gate.send('packet(6, syn()[:8], fragment=0x2000)')
    assert gate.more(before) == {}
    gate.send('packet(6, syn()[8:], fragment=1)')
    assert gate.more(before).get('arrived4', 0) >= 1
    # a datagram to port 9 in two parts is one that is counted
    gate.send('packet(17, udp(9, 24)[:16], fragment=0x2000, src="10.0.0.3")',
              'packet(17, udp(9, 24)[16:], fragment=2, src="10.0.0.3")')
    assert gate.more(before).get('udp') == 1


def test_an_extension_header_of_ipv6_gets_nothing_in(gate, attach):
    gate.with_ipv6()
    it = attach(gate)
    assert it.ports, it.said
    before = gate.counters()
    segment = 'syn(80, 4000, "fd00::7", "2001:db8::9")'
    gate.send('packet6(60, b"\\x06\\0\\1\\4\\0\\0\\0\\0" + %s, '
              'src="fd00::7")' % segment)
    more = gate.more(before, ('ipv6', 'icmp'))  # routers are asked for
    assert more == {'other': 1}
    gate.send('packet6(6, %s, src="fd00::7")' % segment)
    assert gate.more(before).get('arrived6', 0) >= 1


def test_a_sandbox_has_so_many_flows_at_once(gate, attach):
    it = attach(gate)
    assert it.ports, it.said
    # from an address where nobody is, who would end them
    gate.send('*[packet(6, syn(n, 5000, "10.0.0.3"), src="10.0.0.3") '
              'for n in range(1000, 6000)]')
    assert gate.counters()['flows'] >= 5000 - 4096


def test_a_mark_is_no_exception(gate, attach):
    it = attach(gate)
    assert it.ports, it.said
    assert gate.guest.python('''
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, 36, 0x1234)  # SO_MARK
s.connect(('203.0.113.9', 7))
print(s.recv(100).decode())''') == 'tcp 203.0.113.9 7'


def test_equal_sandboxes_are_kept_apart(made, attach):
    gates = [Gate(), Gate()]
    made += gates
    ports = []
    for one in gates:
        it = attach(one)
        assert it.ports, it.said
        ports.append(it.ports)
    before = [one.counters()['arrived4'] for one in gates]
    assert gates[0].guest.python('print(tcp("203.0.113.9", 7))') == \
        'tcp 203.0.113.9 7'
    assert gates[0].counters()['arrived4'] > before[0]
    assert gates[1].counters()['arrived4'] == before[1]
    assert gates[1].guest.python('print(tcp("203.0.113.9", 8))') == \
        'tcp 203.0.113.9 8'


class Sniffer:
    """All that leaves a namespace by a link of ours."""

    def __init__(self, space):
        # the other end is here, where nothing else is
        space.run('ip', 'link', 'add', 'out0', 'type', 'veth', 'peer', 'name',
                  'seen0', 'netns', str(os.getpid()))
        sh('ip', 'link', 'set', 'seen0', 'up')
        space.run('sh', '-c', 'ip addr add 192.168.9.1/24 dev out0; ip link '
                  'set out0 up; ip route add default via 192.168.9.2; ip neigh '
                  'add 192.168.9.2 lladdr 02:00:00:00:00:09 dev out0')
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                    socket.htons(3))
        self.socket.bind(('seen0', 3))
        self.socket.setblocking(False)

    def of_guest(self):
        """Packets from or to the sandbox's address, so far."""
        found = []
        while True:
            try:
                data = self.socket.recv(2000)
            except BlockingIOError:
                return found
            if socket.inet_aton('10.0.0.7') in data[26:34]:
                found.append(data)

    def close(self):
        self.socket.close()
        sh('ip', 'link', 'del', 'seen0', check=False)


def test_without_our_rules_nothing_is_handed_on(gate, attach, made):
    """Somebody flushes them, and a way out appears (L3-23)."""
    it = attach(gate)
    assert it.ports, it.said
    made.append(Sniffer(gate.gate))
    assert it.line() == 'cut the link out0 appeared'
    gate.gate.nft('flush', 'ruleset')
    gate.send('packet(6, syn())', 'packet(17, udp())', 'packet(1, b"\\x08" + '
              'b"\\0" * 20)')
    assert gate.guest.python('print(tcp("203.0.113.9", 7))') in (
        'timed out', 'ENETUNREACH', 'EHOSTUNREACH')
    assert made[-1].of_guest() == []
    # the sniffer does see what leaves
    gate.gate.run('sh', '-c', 'ip addr add 10.0.0.7/32 dev lo; ping -c1 -W1 '
                  '-I 10.0.0.7 203.0.113.9', check=False)
    assert shutil.which('ping') is None or made[-1].of_guest() != []


def test_rules_outlive_who_made_them(gate, attach):
    """Between two lives of duenna's nothing leaves (L3-22)."""
    it = attach(gate)
    ports = it.ports
    assert ports, it.said
    it.kill()
    assert gate.guest.python('print(tcp("203.0.113.9", 7))') == 'ECONNREFUSED'
    gate.options += ['--again', *ports]
    second = attach(gate)
    assert second.ports == ports, second.said
    assert gate.guest.python('print(tcp("203.0.113.9", 7))') == \
        'tcp 203.0.113.9 7'


@pytest.mark.parametrize('break_it, want', [
    ('ip link add br0 type bridge', 'the namespace has the link br0 beside'),
    ('tc qdisc add dev host0 clsact', 'a program of tc takes the packets'),
    ('ip link set host0 name other0', 'the namespace has the link other0'),
    ('ip link del host0', 'the namespace has no link host0'),
    # what no check sees: the frame shows it
    ('nft "add table netdev n; add chain netdev n i { type filter hook '
     'ingress device host0 priority 0; policy drop; }"',
     'a datagram from the sandbox\'s side did not meet our rules'),
    ('nft "add table inet n; add chain inet n i { type filter hook '
     'prerouting priority -250; policy accept; }; add rule inet n i '
     'meta l4proto tcp drop"',
     'a connection from the sandbox\'s side did not meet our rules'),
])
def test_another_way_for_its_packets_is_refused(gate, attach, break_it, want):
    gate.gate.run('sh', '-c', break_it)
    it = attach(gate)
    assert it.said.startswith('fail ') and want in it.said, it.said


def test_a_link_without_an_address_is_refused(gate, attach):
    gate.options = gate.options[:2]
    it = attach(gate)
    assert 'has no address, and none was given' in it.said, it.said
    gate.gate.run('ip', 'addr', 'add', '10.0.0.1/24', 'dev', 'host0')
    it = attach(gate)
    assert it.ports, it.said


def test_the_other_end_in_the_gate_is_refused(attach, made):
    gate = Gate()
    made.append(gate)
    gate.gate.run('ip', 'link', 'del', 'host0')
    gate.gate.run('ip', 'link', 'add', 'host0', 'type', 'veth', 'peer', 'name',
                  'eth0')
    it = attach(gate)
    assert 'the namespace has the link eth0 beside host0' in it.said, it.said


@pytest.mark.parametrize('change, want', [
    ('ip link add br0 type bridge', 'the link br0 appeared'),
    ('tc qdisc add dev host0 clsact', 'programs of tc were hung'),
    ('ip link del host0', 'the link host0 is gone'),
])
def test_a_change_of_the_link_is_told(gate, attach, change, want):
    it = attach(gate)
    assert it.ports, it.said
    gate.gate.run('sh', '-c', change)
    assert want in it.line()


def test_a_link_that_becomes_a_port_is_told(gate, attach):
    it = attach(gate)
    assert it.ports, it.said
    gate.gate.run('sh', '-c', 'ip link add br0 type bridge && '
                  'ip link set host0 master br0')
    lines = [it.line()]
    while 'made a port' not in lines[-1]:
        assert 'br0 appeared' in lines[-1], lines
        lines.append(it.line())


class Tap:
    """The file of a tap, as a virtual machine has it."""

    def __init__(self, space):
        self.fd = os.open('/dev/net/tun', os.O_RDWR)
        me = os.open('/proc/self/ns/net', os.O_RDONLY)
        there = os.open(space.path, os.O_RDONLY)
        os.close(self.fd)
        libc = __import__('ctypes').CDLL(None)
        assert libc.setns(there, 0) == 0
        try:
            self.fd = os.open('/dev/net/tun', os.O_RDWR)
            fcntl.ioctl(self.fd, 0x400454ca,  # TUNSETIFF: tap, no head
                        struct.pack('16sH22x', b'tap0', 0x1002))
        finally:
            assert libc.setns(me, 0) == 0
            os.close(me)
            os.close(there)

    def close(self):
        os.close(self.fd)


def test_a_tap_is_tried_while_nobody_holds_it(made):
    space = Space()
    made.append(space)
    if not os.path.exists('/dev/net/tun'):
        pytest.skip('no /dev/net/tun')
    space.run('ip', 'tuntap', 'add', 'tap0', 'mode', 'tap')
    options = ['--link', 'tap0', '--address', '10.0.0.1', '30']
    it = Capture('gate', space.path, *options)
    made.append(it)
    assert it.ports and 'unprobed' not in it.ports, it.said
    it.kill()
    made.append(Tap(space))
    it = Capture('gate', space.path, *options)
    made.append(it)
    assert it.ports and it.ports[-1] == 'unprobed', it.said


def test_a_detach_takes_the_rules_away(gate, attach):
    it = attach(gate)
    assert it.ports, it.said
    assert it.end() == 'ended'
    assert gate.gate.nft('list', 'tables') == ''
