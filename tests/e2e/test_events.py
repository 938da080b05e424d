# SPDX-License-Identifier: Apache-2.0
"""Answers that go on: each piece arrives before the next one is sent."""
import re
import ssl
import threading

import pki

from pass_bed import HOST, server

RULES = '''\
- allow: https://api.test:9443/**
  methods: [GET, POST]
'''
CLIENT = '''
import http.client
events, other = (http.client.HTTPSConnection("api.test", 9443)
                 for _ in range(2))
events.request("GET", "/events", headers={"Accept": "text/event-stream"})
answer = events.getresponse()
got = []
while line := answer.readline():
    got.append(line)
    other.request("POST", "/got", line)
    other.getresponse().read()
print(len(got), got[0], got[-1])
'''
HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%s\r\n\r\n'
ROUNDS = 30


def head_of(sock):
    got = b''
    while b'\r\n\r\n' not in got:
        piece = sock.recv(1)
        if not piece:
            return b''
        got += piece
    return got


def send_events(sock, framed):
    """The next only when the one before it has come back."""
    sock.sendall(HEAD % (b'Transfer-Encoding: chunked' if framed else
                         b'Connection: close'))
    for i in range(ROUNDS):
        event = b'data: %d\n' % i
        came.clear()
        sock.sendall(b'%x\r\n%s\r\n' % (len(event), event) if framed else
                     event)
        if not came.wait(10):
            return
    if framed:
        sock.sendall(b'0\r\n\r\n')


def answer(ctx, framed):
    def one(raw):
        with ctx.wrap_socket(raw, server_side=True) as sock:
            while head := head_of(sock):
                if head.startswith(b'GET /events '):
                    send_events(sock, framed)
                    sock.unwrap()
                    return
                length = re.search(rb'(?i)content-length: (\d+)', head)
                for _ in range(int(length[1])):
                    sock.recv(1)
                came.set()
                sock.sendall(b'HTTP/1.1 204 No Content\r\n\r\n')
    return one


came = threading.Event()


def test_an_event_arrives_before_the_next_is_sent(bed, peers):
    peers.resolve({'api.test': [{'a': [HOST]}]})
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(pki.leaf(peers.pki, 'api.test'))
    here = bed(RULES)
    for framed in (True, False):
        with server(9443, answer(ctx, framed)):
            got = here.run(['/usr/bin/python3', '-c', CLIENT])
        assert got.out == "%d b'data: 0\\n' b'data: %d\\n'\n" % (
            ROUNDS, ROUNDS - 1), (framed, got)
        row = [r for r in got.find(event='request.end')
               if r['url.path'] == '/events']
        assert len(row) == 1 and row[0]['duenna.bytes.down'] > 250, got
