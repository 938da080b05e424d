# SPDX-License-Identifier: Apache-2.0
"""An origin that sends floods of HTTP/2 frames, or breaks its rules."""
import socket
import ssl
import threading

import hpack
import pki
import pytest

PORT = 4443
ANY = '- allow: https://*.h2.test:4443/**\n  methods: any\n'


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, 'big') + bytes([kind, flags]) + \
        stream.to_bytes(4, 'big') + payload


def literal(name, value):
    return b'\0' + bytes([len(name)]) + name + bytes([len(value)]) + value


OK = literal(b':status', b'200')
EARLY = literal(b':status', b'103')
BOMB = b'\x40\1a\x7f\xa1\x1e' + b'a' * 4000 + b'\xbe' * 10000
FLOODS = {
    '/ping': lambda i: frame(6, 0, 0, bytes(8)) * 10000,
    '/settings': lambda i: frame(4, 0, 0, b'\0\4\0\0\0\1') * 10000,
    '/windows': lambda i: frame(8, 0, 0, b'\0\0\0\1') * 10000,
    '/unknown': lambda i: frame(0xee, 0, 0, b'') * 10000,
    '/continuation': lambda i: frame(1, 0, i, OK) +
    frame(9, 0, i, b'') * 10000,
    '/bomb': lambda i: frame(1, 5, i, OK + BOMB),
    '/early': lambda i: frame(1, 4, i, EARLY) * 1000,
    '/push': lambda i: frame(4, 1, 0, b'') +
    frame(5, 4, i, b'\0\0\0\2' + OK),
    '/push_unacknowledged': lambda i: frame(5, 4, i, b'\0\0\0\2' + OK) +
    frame(1, 4, i, OK),
    '/data': lambda i: frame(0, 0, i, b'before a head'),
    '/field': lambda i: frame(1, 5, i, OK + literal(b'a', b'b\r\nc: d')),
    '/hop': lambda i: frame(1, 5, i, OK + literal(b'connection', b'x')),
    '/text': lambda i: b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
}


def serve(sock):
    """Answer each request on it with its flood, or well."""
    got, decoder = b'', hpack.Decoder()
    sock.sendall(frame(4, 0, 0, b''))
    while part := sock.recv(65536):
        got += part
        if got.startswith(b'PRI'):
            got = got[24:]
        while len(got) >= 9 and len(got) >= 9 + int.from_bytes(got[:3], 'big'):
            n = int.from_bytes(got[:3], 'big')
            stream = int.from_bytes(got[5:9], 'big')
            if got[3] == 1:
                path = dict(decoder.decode(got[9:9 + n]))[':path']
                flood = FLOODS.get(path, lambda i: frame(1, 4, i, OK) +
                                   frame(0, 1, i, b'well'))
                sock.sendall(flood(stream))
            got = got[9 + n:]


@pytest.fixture
def origin(peers):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(pki.leaf(pki.make(peers.pki), 'a.h2.test'))
    ctx.set_alpn_protocols(['h2'])
    listener = socket.create_server(('', PORT))

    def one(sock):
        try:
            with ctx.wrap_socket(sock, server_side=True) as tls:
                serve(tls)
        except (OSError, IndexError):
            pass

    def accept():
        while True:
            try:
                sock = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=one, args=[sock], daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    yield
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_a_hostile_origin_hurts_its_own_connection_alone(bed, origin):
    got = bed(ANY).run('; '.join(
        "curl -sS -o /dev/null -w '%%{http_code} ' https://a.h2.test:4443%s; "
        'curl -sS https://a.h2.test:4443/fine' % path for path in FLOODS))
    assert got.out == '502 well' * len(FLOODS), got
    assert got.reasons() == ['up.response'] * len(FLOODS), got
