# SPDX-License-Identifier: Apache-2.0
"""Namespaces that a test makes, and capture-probe, which makes them ready as
the gateway would."""
import os
import subprocess

from bed import BUILD

NFT = os.path.join(BUILD, 'nft/duenna-nft')
PROBE = os.path.join(BUILD, 'tests/peers/capture-probe')
LINE = '''
import errno, socket, sys
def tcp(host, port):
    """What the other end of a connection says, or why there is none."""
    try:
        with socket.create_connection((host, port), 3) as s:
            return s.recv(100).decode().strip()
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
def udp(host, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(3)
        try:
            s.connect((host, port))
            s.send(b'hello')
            return s.recv(100).decode()
        except OSError as e:
            return errno.errorcode.get(e.errno, str(e))
'''


def sh(*command, check=True):
    return subprocess.run(command, check=check, text=True, timeout=30,
                          stdin=subprocess.DEVNULL, capture_output=True)


class Space:
    """A network namespace, alive as long as a process that waits in it."""

    def __init__(self):
        self.keeper = subprocess.Popen(
            ['unshare', '--net', 'sh', '-c', 'echo; exec cat'], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.keeper.stdout.readline()
        self.pid = self.keeper.pid
        self.path = '/proc/%d/ns/net' % self.pid

    def run(self, *command, check=True):
        return sh('nsenter', '--net=' + self.path, *command, check=check)

    def python(self, code):
        """What CODE prints in there."""
        return self.run('/usr/bin/python3', '-c', LINE + code).stdout.strip()

    def nft(self, *command):
        return self.run('nft', *command).stdout

    def close(self):
        self.keeper.kill()
        self.keeper.communicate()


class Capture:
    """A capture-probe at work; `said` is its first line."""

    def __init__(self, mode, where, *options):
        self.child = subprocess.Popen(
            self.command(mode, where, *options), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.said = self.child.stdout.readline().strip()
        self.ports = self.said.split()[1:] if self.said.startswith(
            'ready ') else None

    @staticmethod
    def command(mode, where, *options, nft=NFT):
        return [PROBE, nft, mode, where, *options]

    def line(self):
        return self.child.stdout.readline().strip()

    def kill(self):
        self.child.kill()
        self.child.communicate()

    def end(self):
        """Detach; what it says at its end."""
        out, _ = self.child.communicate('end\n', timeout=30)
        return out.strip()


RAW = '''
import socket, struct, sys
def checksum(data):
    data += b'\\0' * (len(data) % 2)
    n = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while n > 0xffff:
        n = (n & 0xffff) + (n >> 16)
    return ~n & 0xffff
def packet(proto, body=b'', src='10.0.0.7', dst='203.0.113.9', options=b'',
           fragment=0):
    """An IPv4 packet."""
    words = 5 + len(options) // 4
    head = struct.pack('!BBHHHBBH4s4s', 0x40 | words, 0,
                       words * 4 + len(body), 7, fragment, 64, proto, 0,
                       socket.inet_aton(src), socket.inet_aton(dst)) + options
    return head[:10] + struct.pack('!H', checksum(head)) + head[12:] + body
def syn(port=80, src_port=4000, src='10.0.0.7', dst='203.0.113.9'):
    """The first segment of a connection, with a right sum."""
    family = socket.AF_INET6 if ':' in src else socket.AF_INET
    seg = struct.pack('!HHIIBBHHH', src_port, port, 1, 0, 0x50, 2, 1000, 0, 0)
    pseudo = socket.inet_pton(family, src) + socket.inet_pton(family, dst) + \
        struct.pack('!HH', 6, len(seg))
    return seg[:16] + struct.pack('!H', checksum(pseudo + seg)) + seg[18:]
def udp(port=9, n=1):
    return struct.pack('!HHHH', 4000, port, 8 + n, 0) + b'x' * n
def packet6(proto, body, src='fe80::2', dst='2001:db8::9'):
    return struct.pack('!IHBB16s16s', 6 << 28, len(body), proto, 255,
                       socket.inet_pton(socket.AF_INET6, src),
                       socket.inet_pton(socket.AF_INET6, dst)) + body
def send(mac, *packets):
    """Past the kernel's own ideas of what may be sent, to this MAC."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind(('eth0', 0))
        for p in packets:
            kind = 0x86dd if p[0] >> 4 == 6 else 0x800
            s.send(bytes.fromhex(mac.replace(':', '')) + b'\\2\\0\\0\\0\\0\\2' +
                   struct.pack('!H', kind) + p)
'''


class Gate:
    """A sandbox behind a veth that ends in a gate; not attached yet."""
    mac = '02:00:00:00:00:01'

    def __init__(self):
        self.gate, self.guest = Space(), Space()
        sh('ip', 'link', 'add', 'host0', 'address', self.mac, 'netns',
           str(self.gate.pid), 'type', 'veth', 'peer', 'name', 'eth0', 'netns',
           str(self.guest.pid))
        self.guest.run('sh', '-c',
                       'ip addr add 10.0.0.7/24 dev eth0; ip link set eth0 up;'
                       'ip route add default via 10.0.0.1')
        self.options = ['--link', 'host0', '--address', '10.0.0.1', '24']

    def with_ipv6(self):
        """From now on; the sandbox's address is fd00::7."""
        self.guest.run('sh', '-c',
                       'ip addr add fd00::7/64 dev eth0 nodad;'
                       'ip -6 route add default via fd00::1')
        self.options += ['--address', 'fd00::1', '64']

    def send(self, *packets):
        """Python expressions, each of which is a packet."""
        self.guest.run('/usr/bin/python3', '-c', RAW + 'send(%r, %s)' % (
            self.mac, ', '.join(packets)))

    def counters(self):
        out = self.gate.run(NFT, 'counters').stdout
        return {k: int(v) for k, v in (x.split() for x in out.splitlines())}

    def more(self, before, but=('ipv6',)):
        """What has been counted since, without what was not."""
        # of IPv6 the sandbox's own kernel has something to say at any time
        return {k: n - before.get(k, 0) for k, n in self.counters().items()
                if n != before.get(k, 0) and k not in but}

    def close(self):
        self.gate.close()
        self.guest.close()
