# SPDX-License-Identifier: Apache-2.0
"""Floods of HTTP/2 frames: the connection that sends one ends, no other."""
import json

import pytest

import h2origin

PORT = 4443
ANY = '- allow: https://*.h2.test:4443/**\n  methods: any\n'

# Each kind on a connection of its own, beside one that is asked in between.
CLIENT = r"""
import json, socket, ssl
def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, 'big') + bytes([kind, flags]) + \
        stream.to_bytes(4, 'big') + payload
def literal(name, value):
    return b'\0' + bytes([len(name)]) + name + bytes([len(value)]) + value
HEAD = b''.join(literal(*f) for f in [
    (b':method', b'GET'), (b':scheme', b'https'), (b':path', b'/flood'),
    (b':authority', b'a.h2.test:4443')])
POST = HEAD.replace(b'\3GET', b'\4POST')
ids = range(1, 20001, 2)
BOMB = b'\x40\1a\x7f\xa1\x1e' + b'a' * 4000 + b'\xbe' * 10000
KINDS = {
    'rapid reset': b''.join(frame(1, 5, i, HEAD) + frame(3, 0, i, bytes(4))
                            for i in ids),
    'made you reset': b''.join(
        frame(1, 5, i, HEAD) + frame(8, 0, i, b'\x7f\xff\xff\xff')
        for i in ids),
    'ping': frame(6, 0, 0, bytes(8)) * 10000,
    'settings': frame(4, 0, 0, b'\0\4\0\0\0\1') * 10000,
    'continuation': frame(1, 1, 1, HEAD) + frame(9, 0, 1, b'') * 10000,
    'bomb': frame(1, 5, 1, HEAD + BOMB),
    'empty data': frame(1, 4, 1, POST) + frame(0, 0, 1, b'') * 10000,
    'windows': frame(8, 0, 0, b'\0\0\0\1') * 10000,
    'priority': frame(2, 0, 1, b'\0\0\0\3\20') * 10000,
    'unknown': frame(0xee, 0, 0, b'') * 10000,
    'push': frame(5, 4, 1, b'\0\0\0\2' + HEAD),
    'text': None,
}
ctx = ssl.create_default_context()
ctx.set_alpn_protocols(['h2'])
def connect():
    sock = ctx.wrap_socket(socket.create_connection(('a.h2.test', 4443)),
                           server_hostname='a.h2.test')
    sock.settimeout(8)
    return sock
def goaway(sock, data):
    got = b''
    try:
        sock.sendall(data)
    except OSError:
        pass
    try:
        while part := sock.recv(65536):
            got += part
    except OSError:
        pass
    code = None
    while len(got) >= 9:
        n = int.from_bytes(got[:3], 'big')
        if got[3] == 7:
            code = int.from_bytes(got[13:17], 'big')
        got = got[9 + n:]
    return code
BEGIN = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(4, 0, 0, b'')
beside, said = connect(), {}
beside.sendall(BEGIN)
for i, (name, flood) in enumerate(KINDS.items()):
    said[name] = goaway(connect(), b'GET / HTTP/1.1\r\n\r\n' if flood is None
                        else BEGIN + flood)
    beside.sendall(frame(1, 5, 2 * i + 1, HEAD))
    got = b''
    while b'GET /flood' not in got:
        got += beside.recv(65536)
print(json.dumps(said))
"""


@pytest.fixture
def origin(peers):
    with h2origin.Origin(PORT, peers.pki) as one:
        yield one


def test_floods_end_their_connection_alone(bed, origin):
    here = bed(ANY)
    here.write('project/flood.py', CLIENT)
    got = here.run('/usr/bin/python3 flood.py')
    said = json.loads(got.out)
    protocol = {'push', 'text'}
    assert said == {kind: 1 if kind in protocol else 11 for kind in said}, got
    ends = [r['reason'] for r in got.find(event='flow.end', verdict='deny')]
    assert ends.count('h2.abuse') == len(said) - len(protocol), got
    assert ends.count('h2.protocol') == len(protocol), got
    # Resets stop at their budget, long before 10,000; dials are one or two.
    assert len(origin.requests) < 1200, len(origin.requests)
    assert len(got.find(event='dial')) <= 4, got
