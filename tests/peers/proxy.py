# SPDX-License-Identifier: Apache-2.0
"""A company's proxy: takes CONNECT, and does what the first label of the name
says.  A thread of the test; `Proxy.seen` has the heads of all requests."""
import socket
import threading

DONE = b'HTTP/1.1 200 Connection established\r\nVia: a\r\n\r\n'


def answer(status, text):
    body = b'<p>' + text.encode() + b'</p>'
    return (b'HTTP/1.1 %d %s\r\nContent-Type: text/html\r\n'
            b'Content-Length: %d\r\n\r\n' %
            (status, text.encode(), len(body))) + body


ANSWERS = {'s403': answer(403, 'Forbidden'),
           's407': answer(407, 'Proxy Authentication Required'),
           's502': answer(502, 'Bad Gateway'),
           'garbage': b'hello\r\n\r\n',
           'early': DONE + b'220 smtp.evil.test\r\n',
           'long': b'HTTP/1.1 200 x\r\n' + b'X: aaaaaaaaaa\r\n' * 1000,
           'shut': b'', 'half': b'HTTP/1.1 200 OK\r\n'}


def head_of(conn):
    got = b''
    while not got.endswith(b'\r\n\r\n'):
        byte = conn.recv(1)
        if not byte:
            return None
        got += byte
    return got.decode('latin-1')


def pump(one, other):
    try:
        while True:
            data = one.recv(65536)
            if not data:
                break
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Proxy:
    def __init__(self, address, origin):
        self.origin, self.seen, self.peers = origin, [], []
        self.listener = socket.create_server(
            address, family=socket.AF_INET6 if ':' in address[0]
            else socket.AF_INET)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                conn, peer = self.listener.accept()
            except OSError:
                return
            self.peers.append(peer)
            threading.Thread(target=self._one, args=(conn,),
                             daemon=True).start()

    def _one(self, conn):
        with conn:
            head = head_of(conn)
            if head is None:
                return
            self.seen.append(head)
            authority = head.split()[1]
            first = authority.split('.')[0]
            if first in ANSWERS:
                conn.sendall(ANSWERS[first])
            else:
                self._tunnel(conn, int(authority.rpartition(':')[2]),
                             first == 'slow')

    def _tunnel(self, conn, port, slow):
        with socket.create_connection((self.origin, port)) as out:
            for i in range(len(DONE)):
                if not slow:
                    conn.sendall(DONE)
                    break
                conn.sendall(DONE[i:i + 1])
            back = threading.Thread(target=pump, args=(out, conn), daemon=True)
            back.start()
            pump(conn, out)
            back.join()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
