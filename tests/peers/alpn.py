# SPDX-License-Identifier: Apache-2.0
"""An origin that speaks HTTP/2, HTTP/1.1 or both, as it is told, by name.

    with alpn.Origin(port, pki) as origin:
        origin.speaks['h2.test'] = ['h2']       # else both; []: no ALPN
        ... origin.seen: a dict each connection: name, offers, alpn, requests

It answers each request with a line: the protocol, the method, the path.  What
`origin.fails` has for a path is the code of a RST_STREAM instead; what
`origin.then` has is called behind the answer, and the connection ends.
"""
import os
import socket
import ssl
import sys
import threading

import h2.config
import h2.connection
import h2.events

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pki  # noqa: E402

BOTH = ['h2', 'http/1.1']


class Origin:
    def __init__(self, port, where):
        self.port, self.pki = port, pki.make(where)
        self.speaks, self.fails, self.then, self.seen = {}, {}, {}, []
        self.open, self.lock = set(), threading.Lock()
        self.sock = None

    def __enter__(self):
        self.sock = socket.create_server(
            ('::', self.port), family=socket.AF_INET6, dualstack_ipv6=True)
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        self.cut()

    def cut(self):
        """End every connection."""
        with self.lock:
            for each in self.open:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _context(self, name):
        ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ctx.load_cert_chain(pki.leaf(self.pki, name))
        protocols = self.speaks.get(name, BOTH)
        if protocols:
            ctx.set_alpn_protocols(protocols)
        return ctx

    def _listen(self):
        while True:
            try:
                peer = self.sock.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._connection, args=(peer,),
                             daemon=True).start()

    def _connection(self, raw):
        row = {'name': None, 'offers': [], 'alpn': None, 'requests': []}
        hello = raw.recv(4096, socket.MSG_PEEK)
        row['offers'] = [p for p in BOTH
                         if bytes([len(p)]) + p.encode() in hello]

        def sni(sock, name, _ctx):
            row['name'] = name
            sock.context = self._context(name)

        ctx = self._context('default.test')
        ctx.sni_callback = sni
        with self.lock:
            self.seen.append(row)
            self.open.add(raw)
        try:
            raw.settimeout(60)
            sock = ctx.wrap_socket(raw, server_side=True)
            with self.lock:
                self.open.discard(raw)
                self.open.add(sock)
            row['alpn'] = sock.selected_alpn_protocol()
            serve = self._h2 if row['alpn'] == 'h2' else self._h1
            serve(sock, row)
            sock.close()
        except OSError:
            pass

    def _is_over(self, row):
        after = self.then.pop(row['requests'][-1][1], None) \
            if row['requests'] else None
        if after is not None:
            after()
        return after is not None

    def _h1(self, sock, row):
        came = b''
        while True:
            while b'\r\n\r\n' not in came:
                data = sock.recv(65536)
                if not data:
                    return
                came += data
            head, came = came.split(b'\r\n\r\n', 1)
            method, path = head.decode('latin-1').split(' ')[:2]
            row['requests'].append((method, path))
            text = b'http/1.1 %s %s\n' % (method.encode(), path.encode())
            sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s'
                         % (len(text), text))
            if self._is_over(row):
                return

    def _h2(self, sock, row):
        conn = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False))
        conn.initiate_connection()
        while True:
            sock.sendall(conn.data_to_send())
            data = sock.recv(65536)
            if not data:
                return
            for event in conn.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    self._answer(conn, event, row)
            if self._is_over(row):
                conn.close_connection()
                sock.sendall(conn.data_to_send())
                return

    def _answer(self, conn, event, row):
        fields = {k.decode('latin-1') if isinstance(k, bytes) else k:
                  v.decode('latin-1') if isinstance(v, bytes) else v
                  for k, v in event.headers}
        method, path = fields[':method'], fields[':path']
        row['requests'].append((method, path))
        if path in self.fails:
            conn.reset_stream(event.stream_id, self.fails[path])
            return
        conn.send_headers(event.stream_id, [(':status', '200')])
        conn.send_data(event.stream_id, ('h2 %s %s\n' % (method, path))
                       .encode('latin-1'), end_stream=True)
