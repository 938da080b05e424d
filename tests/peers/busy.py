#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Works that go on until they are told to stop, or go wrong.

usage: busy.py WORK...

Prints `all at work` when each has had its first answer, `ended: WORK` when one
goes wrong, and when it is told a line an object: of each work how many answers
it had, and what went wrong with it, or null.  The works:
    h1          requests on a connection that is kept
    release     the same, with a credential ($TOKEN is its placeholder)
    h2          streams, some at once, on one connection
    stream      an answer that does not end
    half        a stream of HTTP/2 that does not end, and others beside it
    socket      a WebSocket
    splice      bytes that pass unread, and come back
"""
import http.client
import json
import os
import socket
import ssl
import sys
import threading
import time

import h2.config
import h2.connection
import h2.events

STOP = threading.Event()
TARGET = 'a.h2.test'


def connect(name, port, *protocols):
    sock = socket.create_connection((name, port), 20)
    context = ssl.create_default_context()
    context.set_alpn_protocols(list(protocols))
    return context.wrap_socket(sock, server_hostname=name)


def requests(name, path, want, fields):
    conn = http.client.HTTPSConnection(
        name, timeout=20, context=ssl.create_default_context())
    while True:
        conn.request('GET', path, headers=fields)
        answer = conn.getresponse()
        body = answer.read().decode()
        if answer.status != 200 or want not in body:
            raise ValueError('%d %s' % (answer.status, body))
        yield


def h1():
    return requests('ok.test', '/a', 'hello from ok.test/a', {})


def release():
    return requests('api.test', '/_whoami', '"good"',
                    {'Authorization': 'Bearer ' + os.environ['TOKEN']})


class Streams:
    """A connection of HTTP/2."""

    def __init__(self):
        self.sock = connect(TARGET, 4443, 'h2')
        self.conn = h2.connection.H2Connection(
            h2.config.H2Configuration(header_encoding='utf-8'))
        self.conn.initiate_connection()
        self.left = {}   # stream: what it has said
        self.reset = {}  # stream: the code

    def ask(self, path):
        number = self.conn.get_next_available_stream_id()
        self.conn.send_headers(number, [
            (':method', 'GET'), (':scheme', 'https'), (':path', path),
            (':authority', TARGET + ':4443')], end_stream=True)
        self.left[number] = ''
        return number

    def step(self):
        """Take what comes; those that ended."""
        self.sock.sendall(self.conn.data_to_send())
        data, ended = self.sock.recv(65536), []
        if not data:
            raise EOFError('the connection ended')
        for event in self.conn.receive_data(data):
            number = getattr(event, 'stream_id', None)
            if isinstance(event, h2.events.DataReceived):
                self.left[number] += event.data.decode()
            elif isinstance(event, h2.events.StreamReset):
                self.reset[number] = int(event.error_code)
            elif isinstance(event, h2.events.ConnectionTerminated):
                raise EOFError('goaway %d' % event.error_code)
            elif isinstance(event, h2.events.StreamEnded):
                ended.append(self.left.pop(number))
        return ended

    def all_of(self, *paths):
        mine = [self.ask(path) for path in paths]
        left = sorted('GET %s\n' % p for p in paths)
        while left:
            for body in self.step():
                if body not in left:
                    raise ValueError(body)
                left.remove(body)
            if set(mine) & set(self.reset):
                raise EOFError('reset')


def streams():
    conn = Streams()
    while True:
        conn.all_of('/1', '/2', '/3')
        yield


def half():
    conn = Streams()
    number = conn.ask('/_half')
    while True:
        conn.all_of('/beside')
        if number in conn.reset:
            conn.all_of('/beside')
            raise EOFError('reset %d alone' % conn.reset[number])
        if conn.left[number] != '12345':
            raise ValueError(conn.left[number])
        yield


def stream():
    conn = http.client.HTTPSConnection(
        'ok.test', timeout=20, context=ssl.create_default_context())
    conn.request('GET', '/_drip/100000/20')
    answer, at = conn.getresponse(), 0
    while True:
        got = answer.read(1)
        if got != b'%d' % (at % 10):
            raise EOFError('%r at %d' % (got, at))
        at += 1
        yield


def websocket():
    """It says little, and nothing may come."""
    sock = connect('live.test', 443, 'http/1.1')
    sock.sendall(b'GET /_ws HTTP/1.1\r\nHost: live.test\r\n'
                 b'Upgrade: websocket\r\nConnection: Upgrade\r\n'
                 b'Sec-WebSocket-Version: 13\r\n'
                 b'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n')
    head = b''
    while not head.endswith(b'\r\n\r\n'):
        piece = sock.recv(1)
        if not piece:
            raise EOFError(head.decode())
        head += piece
    if b' 101 ' not in head:
        raise ValueError(head.decode())
    sock.settimeout(0.05)
    while True:
        sock.sendall(b'\x82\x81\0\0\0\0x')
        try:
            raise EOFError('%r came' % sock.recv(100))
        except TimeoutError:
            yield


def splice():
    sock = socket.create_connection(('db.test', 5433), 20)
    while True:
        sock.sendall(b'0123456789')
        got = b''
        while len(got) < 10:
            piece = sock.recv(10)
            if not piece:
                raise EOFError('ended')
            got += piece
        yield
        time.sleep(0.005)


WORKS = {'h1': h1, 'release': release, 'h2': streams, 'half': half,
         'stream': stream, 'socket': websocket, 'splice': splice}


def work(name, row, began):
    try:
        for _ in WORKS[name]():
            row['count'] += 1
            began.set()
            if STOP.is_set():
                return
    except Exception as e:  # whatever it is, it is what went wrong
        row['wrong'] = '%s: %s' % (type(e).__name__, e)
        print('ended: ' + name, flush=True)
    began.set()


def main():
    said, threads = {}, []
    for name in sys.argv[1:]:
        said[name] = {'count': 0, 'wrong': None}
        began = threading.Event()
        threads.append(threading.Thread(target=work, args=(
            name, said[name], began)))
        threads[-1].start()
        began.wait()
    print('all at work', flush=True)
    sys.stdin.readline()
    STOP.set()
    for each in threads:
        each.join()
    print(json.dumps(said))


main()
