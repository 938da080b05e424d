# SPDX-License-Identifier: Apache-2.0
"""An allowed origin that is hostile: in TLS, on a port of its own."""
import base64
import socket
import ssl
import struct
import threading
import time

import pytest

import pki
from bed import Bed
from canary import forms, in_bytes
from rawclient import get, one

HI = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'
OK = b'HTTP/1.1 200 OK\r\n'
CHUNKED = OK + b'Transfer-Encoding: chunked\r\n\r\n'
EMPTY = b'Content-Length: 0\r\n\r\n'


class Origin:
    """Every connection is `serve(origin, sock, number)`, then the end."""

    def __init__(self, peers, serve):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pki.leaf(peers.pki, 'api.test'))
        self.listener = socket.create_server(('0.0.0.0', 0))
        self.port = self.listener.getsockname()[1]
        self.serve, self.lines = serve, []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        number = 0
        while True:
            sock, number = self.listener.accept()[0], number + 1
            threading.Thread(target=self.connection, daemon=True,
                             args=(sock, number)).start()

    def connection(self, sock, number):
        try:
            with self.context.wrap_socket(sock, server_side=True) as sock:
                self.serve(self, sock, number)
        except OSError:
            pass  # we went away: that is what we are asked to do

    def head(self, sock):
        """The next request's head; b'' at the end."""
        head = b''
        while b'\r\n\r\n' not in head:
            part = sock.recv(65536)
            if not part:
                return b''
            head += part
        self.lines.append(head.split(b' HTTP/')[0])
        return head


def ask(bed, peers, serve, sends=(('GET', ''),), **more):
    """(origin, case, bed) of requests (method, body) on one connection."""
    origin = Origin(peers, serve)
    url = 'https://api.test:%d/**' % origin.port
    here = bed('- allow: %s\n  methods: any\n  credential: api' % url,
               Bed.config(only=url))
    host = 'api.test:%d' % origin.port
    case = one(here, name='api.test', port=origin.port, pause=0.3, **more,
               timeout=4, answers=len(sends), send=[
                   get('/%d' % i, host, method, body)
                   for i, (method, body) in enumerate(sends)])
    return origin, case, here


def closes_the_second(origin, sock, number):
    """Answers one request; of the next on that connection it reads the head."""
    while origin.head(sock):
        if number == 1 and len(origin.lines) == 2:
            return
        sock.sendall(HI)


@pytest.mark.parametrize('method, body, times', [
    ('POST', 'abc', 1), ('POST', '', 1), ('PUT', 'abc', 1), ('GET', '', 2)])
def test_a_stale_connection_repeats_what_may_be_and_nothing_else(
        bed, peers, method, body, times):
    origin, case, _ = ask(bed, peers, closes_the_second,
                          [('GET', ''), (method, body)])
    assert len(origin.lines) == 1 + times, (origin.lines, case)
    assert ('502' in case.got) == (times == 1), case


def test_what_comes_behind_an_answer_answers_nothing(bed, peers):
    def serve(origin, sock, number):
        while origin.head(sock):
            sock.sendall(HI + (HI.replace(b'hi', b'NO') if number == 1
                               else b''))
    _, case, _ = ask(bed, peers, serve, [('GET', '')] * 2)
    assert case.got.count('\r\n\r\nhi') == 2 and 'NO' not in case.got, case


# what is sent first, what without end; the detail of the record
FLOODS = {
    'hints': (b'', b'HTTP/1.1 102 Processing\r\n\r\n', 'too many 1xx'),
    'fields': (OK, b'X-A: a\r\n', 'too many fields'),
    'phrase': (b'HTTP/1.1 200 ', b'a' * 999, 'head over the limit'),
    'extension': (CHUNKED + b'1;', b'a' * 999, 'chunk extension over the limit'),
    'trailers': (CHUNKED + b'0\r\n', b'X-A: a\r\n', 'too many trailers'),
    'little data': (CHUNKED, b'1;' + b'a' * 200 + b'\r\na\r\n',
                    'chunks of little data'),
}


@pytest.mark.parametrize('how', FLOODS)
def test_an_answer_without_end_is_ended(bed, peers, how):
    first, more, detail = FLOODS[how]

    def serve(origin, sock, _):
        origin.head(sock)
        sock.sendall(first)
        while True:
            sock.sendall(more)
    _, case, _ = ask(bed, peers, serve)
    assert detail in [r.get('duenna.detail') for r in case.records], case
    assert case.end != 'timeout', case


def test_a_reset_inside_a_body_is_no_whole_answer(bed, peers):
    def serve(origin, sock, _):
        origin.head(sock)
        sock.sendall(OK + b'Content-Length: 100\r\n\r\nabc')
        time.sleep(0.2)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack('ii', 1, 0))
        sock.close()
    _, case, _ = ask(bed, peers, serve)
    assert case.logged() == ['up.response'] and case.end != 'timeout', case


# {T}: the token as it came; {P} percent-encoded; {B} Basic
ECHOES = {
    'phrase': b'HTTP/1.1 200 {T}\r\n' + EMPTY,
    'field': OK + b'X-A: {T}\r\n' + EMPTY,
    'name': OK + b'{T}: a\r\n' + EMPTY,
    'hint': b'HTTP/1.1 103 {T}\r\nLink: <{T}>\r\n\r\n' + HI,
    'switch': b'HTTP/1.1 101 {T}\r\nUpgrade: {T}\r\n\r\n{T}',
    'not modified': b'HTTP/1.1 304 No\r\nETag: "{T}"\r\n\r\n',
    'trailer': CHUNKED + b'1\r\na\r\n0\r\nX-A: {T}\r\n\r\n',
    'extension': CHUNKED + b'1;a={T}\r\na\r\n0\r\n\r\n',
    'cut': CHUNKED + b'fff\r\n{T}',
    'malformed': OK + b'{T}\r\n' + EMPTY,
    'percent': OK + b'Location: /?t={P}\r\n' + EMPTY,
    'basic': OK + b'X-A: {B}\r\n' + EMPTY,
    'encoded': OK + b'Content-Encoding: identity, gzip\r\n\r\n{T}',
    'part': b'HTTP/1.1 206 Part\r\nContent-Length: 99\r\n\r\n{T}',
    'extra': OK + EMPTY + b'{T}' + HI,
}


@pytest.mark.parametrize('how', ECHOES)
def test_a_token_comes_back_in_no_part_of_an_answer(bed, peers, how):
    def serve(origin, sock, _):
        token = origin.head(sock).split(b'Bearer ')[1].split(b'\r\n')[0]
        hexed = b''.join(b'%%%02x' % c for c in token)
        basic = base64.b64encode(b'user:' + token)
        sock.sendall(ECHOES[how].replace(b'{T}', token).replace(
            b'{P}', hexed).replace(b'{B}', basic))
    origin, case, here = ask(bed, peers, serve)
    assert origin.lines == [b'GET /0'] and case.records, case
    assert not in_bytes(case.got.encode('latin-1'), forms(here.canary)), case
