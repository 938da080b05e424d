#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An origin that reads no body of a GET, DELETE or the like, as many do.

usage: unread.py SOCKET.  Listens there; writes `METHOD,TARGET,BODY` in hex for
each request that it read, a line each, and `-` for a body that it left.  What
it left is the next request to it, if the connection goes on.
"""
import http.server
import socketserver
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def chunks(self):
        while True:
            size = int(self.rfile.readline(), 16)
            data = self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                return
            yield data

    def tell(self, body):
        fields = [x.encode('latin-1').hex() for x in (self.command, self.path)]
        print(','.join(fields + [body]), flush=True)
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def with_body(self):
        if self.headers['Transfer-Encoding']:
            body = b''.join(self.chunks())
        else:
            body = self.rfile.read(int(self.headers['Content-Length'] or 0))
        self.tell(body.hex())

    def without_body(self):
        self.tell('-')

    def log_message(self, *args):
        pass

    do_POST = do_PUT = do_PATCH = with_body
    do_PROPFIND = do_PROPPATCH = do_MKCOL = do_LOCK = with_body
    do_REPORT = do_SEARCH = with_body
    do_GET = do_HEAD = do_DELETE = do_OPTIONS = without_body
    do_COPY = do_MOVE = do_UNLOCK = without_body


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        print('error', flush=True)


Server(sys.argv[1], Handler).serve_forever()
