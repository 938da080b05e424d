# SPDX-License-Identifier: Apache-2.0
"""An origin that speaks HTTP/2 alone, for tests of what a stream does.

    with h2origin.Origin(port, pki) as origin:
        ... origin.requests: a dict each, in the order in which heads came:
            connection, fields, body_size, body_hash, trailers, ended, reset
        ... origin.connections: how many there were

What it does is in the path:
    /_sink              the hash of the body, when that has ended
    /_echo              the body, as it comes, then its trailers
    /_trailers          an answer of two bytes, then trailers
    /_mirror            a line, then the authorization as a trailer
    /_only              trailers alone, as gRPC's errors are
    /_early             100, 103, then 200
    /_reset/CODE        RST_STREAM
    /_cut/CODE          half an answer, then RST_STREAM
    /_refuse            REFUSED_STREAM for the first of them, then an answer
    /_full              an answer at once, then RST_STREAM(NO_ERROR)
    /_goaway            an answer, and GOAWAY behind it
    /_leave             GOAWAY that does not take this one
    /_half              half an answer, nothing more
    /_dead              half an answer, then the connection is gone
    ... with .git/      a repository below `git`, by git's own server
    else                a line: the method and the path
"""
import hashlib
import os
import socket
import ssl
import sys
import threading

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gitcgi  # noqa: E402
import pki  # noqa: E402


class Stream:
    def __init__(self, row):
        self.row, self.hash, self.left = row, hashlib.sha256(), b''
        self.trailers, self.ends = None, False
        self.body = bytearray()  # of a request for a repository


class Connection:
    def __init__(self, origin, number, sock):
        self.origin, self.number, self.sock = origin, number, sock
        self.streams, self.gone = {}, False
        self.conn = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False,
                                      header_encoding='latin-1'))

    def run(self):
        self.conn.initiate_connection()
        while not self.gone:
            self.flush()
            data = self.sock.recv(65536)
            if not data:
                return
            for event in self.conn.receive_data(data):
                self.take(event)

    def flush(self):
        """Send what the windows let through."""
        for number, stream in self.streams.items():
            try:
                self.send(number, stream)
            except h2.exceptions.ProtocolError:
                stream.left, stream.ends = b'', False
        self.sock.sendall(self.conn.data_to_send())

    def send(self, number, stream):
        while stream.left:
            room = min(self.conn.local_flow_control_window(number),
                       self.conn.max_outbound_frame_size, len(stream.left))
            if room <= 0:
                return
            self.conn.send_data(number, stream.left[:room])
            stream.left = stream.left[room:]
        if stream.ends:
            stream.ends = False
            if stream.trailers:
                self.conn.send_headers(number, stream.trailers,
                                       end_stream=True)
            else:
                self.conn.end_stream(number)

    def take(self, event):
        stream = self.streams.get(getattr(event, 'stream_id', 0))
        if isinstance(event, h2.events.RequestReceived):
            self.begin(event)
        elif isinstance(event, h2.events.DataReceived):
            stream.hash.update(event.data)
            stream.row['body_size'] += len(event.data)
            if stream.row['path'] == '/_echo':
                stream.left += event.data
            if '.git/' in stream.row['path']:
                stream.body += event.data
            self.conn.acknowledge_received_data(
                event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.TrailersReceived):
            stream.row['trailers'] = [list(f) for f in event.headers]
        elif isinstance(event, h2.events.StreamEnded):
            self.end(event.stream_id, stream)
        elif isinstance(event, h2.events.StreamReset) and stream:
            stream.row['reset'] = int(event.error_code)
            stream.left, stream.ends = b'', False

    def begin(self, event):
        fields = [list(f) for f in event.headers]
        row = {'connection': self.number, 'fields': fields,
               'path': dict(event.headers)[':path'], 'trailers': None,
               'method': dict(event.headers)[':method'], 'body_size': 0,
               'body_hash': None, 'ended': False, 'reset': None,
               'refused': False}
        number, path = event.stream_id, row['path']
        stream = self.streams[number] = Stream(row)
        with self.origin.lock:
            self.origin.requests.append(row)
        what, _, code = path[2:].partition('/')
        if what == 'echo':
            self.head(number)
        elif what == 'reset':
            self.conn.reset_stream(number, int(code))
        elif what in ('cut', 'half', 'dead'):
            self.head(number, ('content-length', '10'))
            self.conn.send_data(number, b'12345')
            if what == 'cut':
                self.conn.reset_stream(number, int(code))
            self.gone = what == 'dead'
        elif what == 'full':
            self.head(number, ('content-length', '4'))
            self.conn.send_data(number, b'full', end_stream=True)
            self.conn.reset_stream(number, h2.errors.ErrorCodes.NO_ERROR)
        elif what == 'leave':
            self.conn.close_connection(last_stream_id=number - 2 if number > 1
                                       else 0)
            self.gone = True
        elif what == 'refuse' and not self.origin.refused:
            self.origin.refused = row['refused'] = True
            self.conn.reset_stream(number,
                                   h2.errors.ErrorCodes.REFUSED_STREAM)
        if self.gone:
            self.sock.sendall(self.conn.data_to_send())

    def head(self, number, *more):
        self.conn.send_headers(number, [(':status', '200'), *more])

    def serve_git(self, number, stream):
        row = stream.row
        status, fields, stream.left = gitcgi.ask(
            self.origin.git, row['method'], row['path'],
            dict(row['fields']).get, stream.body)
        self.conn.send_headers(number, [
            (':status', status[:3]), *((n.lower(), v) for n, v in fields)])
        stream.ends = True

    def end(self, number, stream):
        row = stream.row
        row['ended'], row['body_hash'] = True, stream.hash.hexdigest()
        if self.origin.git and '.git/' in row['path']:
            self.serve_git(number, stream)
            return
        what = row['path'][2:].partition('/')[0]
        if what == 'echo':
            stream.trailers, stream.ends = row['trailers'], True
            return
        if row['path'].startswith('/_') and what in (
                'reset', 'cut', 'full', 'half', 'dead', 'leave'):
            return
        if row['refused']:
            return
        if what == 'only':
            self.conn.send_headers(number, [
                (':status', '200'), ('grpc-status', '5')], end_stream=True)
            return
        if what == 'early':
            self.conn.send_headers(number, [(':status', '100')])
            self.conn.send_headers(number, [
                (':status', '103'), ('link', '</a.css>; rel=preload')])
        self.head(number)
        stream.ends = True
        stream.left = b'%s %s\n' % (row['method'].encode(),
                                    row['path'].encode())
        if what == 'sink':
            stream.left = row['body_hash'].encode()
        if what == 'trailers':
            stream.left = b'ok'
            stream.trailers = [('grpc-status', '0'), ('x-more', 'yes')]
        if what == 'mirror':
            stream.trailers = [('x-got', v) for n, v in row['fields']
                               if n == 'authorization']
        if what == 'goaway':
            self.flush()
            self.conn.close_connection()
            self.gone = True
            self.sock.sendall(self.conn.data_to_send())


def copy(source, sink):
    """Until one of them ends, which ends the other."""
    try:
        data = source.recv(65536)
        while data:
            sink.sendall(data)
            data = source.recv(65536)
    except OSError:
        pass
    for each in (source, sink):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def relay(sock, to):
    with socket.create_connection(to) as other:
        back = threading.Thread(target=copy, args=(other, sock), daemon=True)
        back.start()
        copy(sock, other)
        back.join()


class Origin:
    """At a port; for HTTP/1.1 another origin, if `plain` says where."""

    def __init__(self, port, where, git=None, plain=None):
        self.port, self.pki, self.git = port, pki.make(where), git
        self.requests, self.connections, self.refused = [], 0, False
        self.open, self.lock = [], threading.Lock()
        self.plain = plain
        self.protocols = ['h2', 'http/1.1'] if plain else ['h2']
        self.sock = None

    def __enter__(self):
        self.sock = socket.create_server(
            ('::', self.port), family=socket.AF_INET6, dualstack_ipv6=True)
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        with self.lock:
            for each in self.open:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _listen(self):
        while True:
            try:
                peer = self.sock.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._connection, args=(peer,),
                             daemon=True).start()

    def _connection(self, raw):
        def sni(sock, name, _ctx):
            chosen = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            chosen.load_cert_chain(pki.leaf(self.pki, name))
            chosen.set_alpn_protocols(self.protocols)
            sock.context = chosen

        ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ctx.load_cert_chain(pki.leaf(self.pki, 'default.test'))
        ctx.set_alpn_protocols(self.protocols)
        ctx.sni_callback = sni
        with self.lock:
            self.connections += 1
            number = self.connections
        try:
            raw.settimeout(60)
            with ctx.wrap_socket(raw, server_side=True) as sock:
                with self.lock:
                    self.open.append(sock)
                if sock.selected_alpn_protocol() == 'http/1.1':
                    relay(sock, self.plain)
                else:
                    Connection(self, number, sock).run()
        except (OSError, h2.exceptions.ProtocolError):
            pass
