#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The recording origin: every name, TLS or plain, all that it receives on file.

usage: origin.py --record FILE --pki DIR [--tls PORTS] [--plain PORTS]
                 [--udp PORTS] [--unix PATH] [--canary TOKEN]... [--git DIR]
                 [--rows FILE]

The record is one JSON object a line: open, tls, tls-failed, bytes, request,
bad-request, close, datagram.  Bytes are latin-1 strings.  It listens on every
address, so that the address that was dialled (`to`) shows who was meant.
Prints "ready" when it listens.
"""
import argparse
import hashlib
import json
import os
import socket
import ssl
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import answers  # noqa: E402
import gitcgi  # noqa: E402
import lfsd  # noqa: E402
import pki  # noqa: E402

RECORDED_BYTES = 65536      # of a connection, byte for byte; the rest is counted
KEPT_BODY = 4 << 20         # of a request; the rest is hashed and counted
KEPT_PACK = 2 << 30         # of one to a repository
HEAD_MAX = 1 << 20


class Bad(Exception):
    """A request that this origin does not understand."""


class Record:
    def __init__(self, path):
        self.lock = threading.Lock()
        self.file = open(path, 'a', encoding='ascii', buffering=1)

    def write(self, event, **more):
        line = json.dumps({'event': event, 't': time.time(), **more})
        with self.lock:
            self.file.write(line + '\n')


class Request:
    """A parsed head; the body is read on demand."""

    def __init__(self, conn, head):
        self.conn, self.head = conn, head
        lines = head[:-4].decode('latin-1').split('\r\n')
        parts = lines[0].split(' ')
        if len(parts) != 3:
            raise Bad('request line')
        self.method, self.target, self.version = parts
        self.fields = []
        for line in lines[1:]:
            name, colon, value = line.partition(':')
            if not colon or not name or name != name.strip():
                raise Bad('field line')
            self.fields.append((name, value.strip()))
        self.body, self.body_size, self.body_hash = bytearray(), 0, None
        self.trailers = b''

    def field(self, name):
        found = [v for n, v in self.fields if n.lower() == name]
        return found[0] if found else None

    def read_body(self):
        if self.body_hash is not None:
            return
        mark = hashlib.sha256()
        room = KEPT_PACK if '.git/' in self.target else KEPT_BODY
        if (self.field('expect') or '').lower() == '100-continue':
            self.conn.send(b'HTTP/1.1 100 Continue\r\n\r\n')
        for part in self._parts():
            mark.update(part)
            self.body_size += len(part)
            if len(self.body) < room:
                self.body += part
        self.body_hash = mark.hexdigest()

    def _parts(self):
        coding = self.field('transfer-encoding')
        if coding is None:
            yield from self.conn.read(int(self.field('content-length') or 0))
            return
        if coding.lower() != 'chunked':
            raise Bad('transfer coding')
        while True:
            size = int(self.conn.read_line().split(b';')[0], 16)
            yield from self.conn.read(size)
            if size == 0:
                line = self.conn.read_line()
                while line:
                    self.trailers += line + b'\r\n'
                    line = self.conn.read_line()
                self.trailers += b'\r\n' if self.trailers else b''
                return
            if self.conn.read_line():
                raise Bad('chunk end')


class Connection:
    def __init__(self, origin, number, sock):
        self.origin, self.number, self.sock = origin, number, sock
        self.kept, self.came, self.went = b'', 0, 0
        self.close_after = False
        self.lingering = time.time()

    def note(self, event, **more):
        self.origin.record.write(event, conn=self.number, **more)

    def recv(self):
        data = self.sock.recv(65536)
        if data and self.came < RECORDED_BYTES:
            self.note('bytes', data=data.decode('latin-1'))
        self.came += len(data)
        return data

    def send(self, data):
        self.sock.sendall(data)
        self.went += len(data)

    def more(self):
        data = self.recv()
        if not data:
            raise EOFError
        self.kept += data

    def read(self, size):
        while size > 0:
            if not self.kept:
                self.more()
            part, self.kept = self.kept[:size], self.kept[size:]
            size -= len(part)
            yield part

    def read_line(self):
        while b'\r\n' not in self.kept:
            self.more()
        line, _, self.kept = self.kept.partition(b'\r\n')
        return line

    def read_head(self):
        while b'\r\n\r\n' not in self.kept:
            if len(self.kept) > HEAD_MAX:
                raise Bad('head size')
            self.more()
        head, _, self.kept = self.kept.partition(b'\r\n\r\n')
        return head + b'\r\n\r\n'

    def serve_one(self):
        req = Request(self, self.read_head())
        name, call, args = answers.choose(req.target)
        early = name in answers.EARLY
        if not early:
            req.read_body()
        # before the answer, so that whoever has the answer finds the record
        self.note('request', method=req.method, target=req.target,
                  version=req.version, fields=req.fields,
                  host=req.field('host'), head=req.head.decode('latin-1'),
                  body_size=req.body_size, body_sha256=req.body_hash,
                  body=req.body[:65536].decode('latin-1'),
                  trailers=req.trailers.decode('latin-1'))
        if self.origin.git and '.git/' in req.target:
            if not answers.said(self, req):
                lfs = '/info/lfs/' in req.target
                (lfsd if lfs else gitcgi).serve(self, req, self.origin.git)
        else:
            call(self, req, args)
        return not self.close_after and \
            (req.field('connection') or '').lower() != 'close'

    def serve(self):
        try:
            while self.serve_one():
                pass
            if isinstance(self.sock, ssl.SSLSocket):
                self.sock.unwrap()  # an end in due form: close_notify
        except (answers.Cut, EOFError, ConnectionError, ssl.SSLError, OSError):
            return
        except (Bad, ValueError, IndexError) as e:
            self.note('bad-request', why=str(e))
            self.send(b'HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n'
                      b'Connection: close\r\n\r\n')
        self.goodbye()

    def goodbye(self):
        """Announce the end; without it the end is a cut."""
        if isinstance(self.sock, ssl.SSLSocket):
            try:
                self.sock.settimeout(2)
                self.sock.unwrap()
            except (OSError, ValueError):
                pass


class Origin:
    def __init__(self, record, pki_dir, canaries=(), git=None, rows=None):
        self.record, self.pki = Record(record), pki.make(pki_dir)
        self.canaries, self.git, self.rows = list(canaries), git, rows
        self.count, self.lock, self.contexts = 0, threading.Lock(), {}
        self.context = self._context('default.test')
        self.context.sni_callback = self._sni

    def _context(self, name):
        ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ctx.load_cert_chain(pki.leaf(self.pki, name))
        ctx.set_alpn_protocols(['http/1.1'])
        return ctx

    def _sni(self, sock, name, _ctx):
        sock.seen_sni = name
        if name not in self.contexts:
            self.contexts[name] = self._context(name)
        sock.context = self.contexts[name]

    def _secure(self, conn, sock):
        try:
            sock = self.context.wrap_socket(sock, server_side=True)
        except (ssl.SSLError, OSError) as e:
            conn.note('tls-failed', why=str(e))
            return None
        conn.note('tls', sni=getattr(sock, 'seen_sni', None),
                  alpn=sock.selected_alpn_protocol(), version=sock.version(),
                  resumed=sock.session_reused)
        return sock

    def connection(self, sock, to, tls):
        with self.lock:
            self.count += 1
            conn = Connection(self, self.count, sock)
        conn.note('open', to=to, tls=tls)
        try:
            sock.settimeout(120)
            if tls:
                conn.sock = self._secure(conn, sock)
            if conn.sock:
                conn.serve()
        except OSError:
            pass
        finally:
            conn.note('close', came=conn.came, went=conn.went)
            (conn.sock or sock).close()

    def listen(self, sock, tls):
        while True:
            peer, _ = sock.accept()
            if peer.family != socket.AF_UNIX:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            name = peer.getsockname()
            to = name if isinstance(name, str) else \
                '%s:%d' % (name[0].replace('::ffff:', ''), name[1])
            threading.Thread(target=self.connection, args=(peer, to, tls),
                             daemon=True).start()

    def datagrams(self, sock, port):
        while True:
            data, peer = sock.recvfrom(65536)[:2]
            self.record.write('datagram', port=port,
                              data=data.decode('latin-1'))
            sock.sendto(b'origin got it', peer)


def tcp(port):
    sock = socket.create_server(('::', port), family=socket.AF_INET6,
                                dualstack_ipv6=True, backlog=256)
    return sock


def udp(port):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(('::', port))
    return sock


def local(path):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(path)
    os.chmod(path, 0o666)
    sock.listen(16)
    return sock


def ports(text):
    return [int(p) for p in text.split(',') if p]


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument('--record', required=True)
    ask.add_argument('--pki', required=True)
    ask.add_argument('--tls', type=ports, default=[])
    ask.add_argument('--plain', type=ports, default=[])
    ask.add_argument('--udp', type=ports, default=[])
    ask.add_argument('--unix', action='append', default=[])
    ask.add_argument('--canary', action='append', default=[])
    ask.add_argument('--git')
    ask.add_argument('--rows')
    opt = ask.parse_args()
    origin = Origin(opt.record, opt.pki, opt.canary, opt.git, opt.rows)
    jobs = [(origin.listen, tcp(p), True) for p in opt.tls]
    jobs += [(origin.listen, tcp(p), False) for p in opt.plain]
    jobs += [(origin.listen, local(p), False) for p in opt.unix]
    jobs += [(origin.datagrams, udp(p), p) for p in opt.udp]
    threads = [threading.Thread(target=call, args=args, daemon=True)
               for call, *args in jobs]
    for each in threads:
        each.start()
    print('ready', flush=True)
    for each in threads:
        each.join()


if __name__ == '__main__':
    main()
