#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client of HTTP/2 that does what it is told, and says what came.

usage: h2client.py NAME PORT < JSON

Reads a list of streams, all sent at once on one connection, in order: method,
path, fields (more of them; one whose name begins with `:` replaces), body,
trailers, and `open`: the request is not ended.  Prints a list: of each stream
status, early (its 1xx), fields, body, trailers, ended, reset; and `goaway`, the
code of one, or null.  It goes away when all have ended, or after 8 seconds.
"""
import json
import socket
import ssl
import sys
import time

import h2.config
import h2.connection
import h2.events


def send(conn, authority, want):
    number = conn.get_next_available_stream_id()
    fields = {':method': want.get('method', 'GET'), ':scheme': 'https',
              ':authority': authority, ':path': want['path']}
    more = [tuple(f) for f in want.get('fields', [])]
    fields.update((n, v) for n, v in more if n.startswith(':'))
    body = want.get('body', '').encode('latin-1')
    trailers = want.get('trailers')
    last = not body and not trailers and not want.get('open')
    conn.send_headers(number, list(fields.items()) +
                      [f for f in more if not f[0].startswith(':')],
                      end_stream=last)
    if body:
        conn.send_data(number, body,
                       end_stream=not trailers and not want.get('open'))
    if trailers:
        conn.send_headers(number, [tuple(f) for f in trailers],
                          end_stream=True)
    return number


def take(conn, event, said):
    row = said.get(getattr(event, 'stream_id', None))
    if isinstance(event, h2.events.ConnectionTerminated):
        return int(event.error_code)
    if row is None:
        return None
    if isinstance(event, h2.events.InformationalResponseReceived):
        row['early'].append(dict(event.headers)[':status'])
    elif isinstance(event, h2.events.ResponseReceived):
        row['status'] = dict(event.headers)[':status']
        row['fields'] = [list(f) for f in event.headers]
    elif isinstance(event, h2.events.DataReceived):
        row['body'] += event.data.decode('latin-1')
        conn.acknowledge_received_data(event.flow_controlled_length,
                                       event.stream_id)
    elif isinstance(event, h2.events.TrailersReceived):
        row['trailers'] = [list(f) for f in event.headers]
    elif isinstance(event, h2.events.StreamEnded):
        row['ended'] = True
    elif isinstance(event, h2.events.StreamReset):
        row['reset'] = int(event.error_code)
    return None


def main():
    name, port = sys.argv[1], int(sys.argv[2])
    context = ssl.create_default_context()
    context.set_alpn_protocols(['h2'])
    sock = context.wrap_socket(
        socket.create_connection((socket.gethostbyname(name), port)),
        server_hostname=name)
    assert sock.selected_alpn_protocol() == 'h2'
    conn = h2.connection.H2Connection(h2.config.H2Configuration(
        validate_outbound_headers=False, normalize_outbound_headers=False,
        header_encoding='latin-1'))
    conn.initiate_connection()
    said = {}
    for want in json.load(sys.stdin):
        said[send(conn, '%s:%d' % (name, port), want)] = {
            'status': None, 'early': [], 'fields': [], 'body': '',
            'trailers': None, 'ended': False, 'reset': None}
    goaway, until = None, time.monotonic() + 8
    while not all(r['ended'] or r['reset'] is not None
                  for r in said.values()) and time.monotonic() < until:
        sock.sendall(conn.data_to_send())
        sock.settimeout(max(0.1, until - time.monotonic()))
        try:
            data = sock.recv(65536)
        except OSError:
            break
        if not data:
            break
        for event in conn.receive_data(data):
            code = take(conn, event, said)
            goaway = goaway if code is None else code
    sock.sendall(conn.data_to_send())
    print(json.dumps({'streams': list(said.values()), 'goaway': goaway}))


main()
