#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A gRPC server: every shape of call, with bytes for messages.

usage: grpcd.py --record FILE --pki DIR --name NAME --port PORT

The record is one JSON object a line: call (method, metadata, deadline), and
over (method, cancelled).  Prints "ready" when it listens.
"""
import argparse
import concurrent.futures
import json
import os
import sys
import threading
import time

import grpc

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pki  # noqa: E402

SERVICE = 'test.Shapes'


class Record:
    def __init__(self, path):
        self.lock = threading.Lock()
        self.file = open(path, 'a', encoding='ascii', buffering=1)

    def write(self, event, **more):
        with self.lock:
            self.file.write(json.dumps({'event': event, **more}) + '\n')


class Shapes:
    def __init__(self, record):
        self.record = record

    def begin(self, method, context):
        left = context.time_remaining()
        self.record.write(
            'call', method=method, deadline=left is not None and left < 3600,
            metadata=[(k, v if isinstance(v, str) else v.hex())
                      for k, v in context.invocation_metadata()])

    def unary(self, request, context):
        self.begin('Unary', context)
        context.send_initial_metadata((('x-first', 'head'),))
        context.set_trailing_metadata((('x-last', 'trailer'),
                                       ('x-last-bin', b'\0\1\xff')))
        return b'got ' + request

    def many_down(self, request, context):
        self.begin('Down', context)
        for i in range(int(request)):
            yield b'%d' % i * 1000

    def many_up(self, requests, context):
        self.begin('Up', context)
        return b'%d' % sum(len(r) for r in requests)

    def both(self, requests, context):
        self.begin('Both', context)
        for each in requests:
            yield b'echo ' + each

    def fail(self, _request, context):
        """An answer of trailers alone."""
        self.begin('Fail', context)
        context.abort(grpc.StatusCode.FAILED_PRECONDITION,
                      'not now: 100% \u00fcber')

    def slow(self, _request, context):
        self.begin('Slow', context)
        ended = threading.Event()
        context.add_callback(ended.set)
        yield b'first'
        over = ended.wait(20)
        self.record.write('over', method='Slow', cancelled=over)

    def handler(self):
        return grpc.method_handlers_generic_handler(SERVICE, {
            'Unary': grpc.unary_unary_rpc_method_handler(self.unary),
            'Down': grpc.unary_stream_rpc_method_handler(self.many_down),
            'Up': grpc.stream_unary_rpc_method_handler(self.many_up),
            'Both': grpc.stream_stream_rpc_method_handler(self.both),
            'Fail': grpc.unary_unary_rpc_method_handler(self.fail),
            'Slow': grpc.unary_stream_rpc_method_handler(self.slow)})


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument('--record', required=True)
    ask.add_argument('--pki', required=True)
    ask.add_argument('--name', required=True)
    ask.add_argument('--port', type=int, required=True)
    opt = ask.parse_args()
    with open(pki.leaf(pki.make(opt.pki), opt.name), 'rb') as f:
        pem = f.read()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
    server.add_generic_rpc_handlers((Shapes(Record(opt.record)).handler(),))
    server.add_secure_port('[::]:%d' % opt.port,
                           grpc.ssl_server_credentials([(pem, pem)]))
    server.start()
    print('ready', flush=True)
    while True:
        time.sleep(3600)


if __name__ == '__main__':
    main()
