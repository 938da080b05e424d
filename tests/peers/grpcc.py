# SPDX-License-Identifier: Apache-2.0
"""Calls of grpcd.py, each by its name; one line of JSON each.

usage: grpcc.py TARGET CALL...
"""
import json
import os
import sys

import grpc

SERVICE = '/test.Shapes/'


def metadata():
    token = os.environ.get('API_TOKEN')
    return [('authorization', 'Bearer ' + token)] if token else []


def pairs(found):
    return {k: v if isinstance(v, str) else v.hex() for k, v in found or ()}


def unary(channel, method='Unary'):
    got, call = channel.unary_unary(SERVICE + method).with_call(
        b'hello', metadata=metadata(), timeout=30)
    return {'got': got.decode(), 'first': pairs(call.initial_metadata()),
            'last': pairs(call.trailing_metadata()),
            'code': call.code().name}


def down(channel):
    call = channel.unary_stream(SERVICE + 'Down')(b'50', metadata=metadata())
    sizes = [len(m) for m in call]
    return {'n': len(sizes), 'bytes': sum(sizes), 'code': call.code().name}


def up(channel):
    got = channel.stream_unary(SERVICE + 'Up')(
        iter([b'x' * 70000] * 30), metadata=metadata())
    return {'got': int(got)}


def both(channel):
    """Each message only when the answer to the last has come."""
    import queue
    said = queue.Queue()
    call = channel.stream_stream(SERVICE + 'Both')(
        iter(said.get, None), metadata=metadata())
    got = []
    for word in (b'one', b'two', b'three'):
        said.put(word)
        got.append(next(call).decode())
    said.put(None)
    rest = [m for m in call]
    return {'got': got, 'rest': len(rest), 'code': call.code().name}


def deadline(channel):
    call = channel.unary_stream(SERVICE + 'Slow')(
        b'', metadata=metadata(), timeout=1)
    got = [next(call).decode()]
    try:
        got += [m.decode() for m in call]
    except grpc.RpcError:
        pass
    return {'got': got, 'code': call.code().name}


def cancel(channel):
    call = channel.unary_stream(SERVICE + 'Slow')(b'', metadata=metadata())
    got = next(call).decode()
    call.cancel()
    return {'got': got, 'code': call.code().name}


def large(channel):
    got = channel.unary_unary(SERVICE + 'Unary')(
        b'x' * 3000000, metadata=metadata())
    return {'n': len(got)}


def many(channel):
    """At once, over the one connection."""
    calls = [channel.unary_unary(SERVICE + 'Unary').future(
        b'%d' % i, metadata=metadata()) for i in range(50)]
    return {'got': sum(c.result() == b'got %d' % i
                       for i, c in enumerate(calls))}


CALLS = {'unary': unary, 'down': down, 'up': up, 'both': both,
         'fail': lambda c: unary(c, 'Fail'), 'deadline': deadline,
         'cancel': cancel, 'large': large, 'many': many,
         'secret': lambda c: unary(c, 'Secret')}


def main():
    channel = grpc.secure_channel(
        sys.argv[1], grpc.ssl_channel_credentials(),
        options=[('grpc.enable_retries', 0)])
    for name in sys.argv[2:]:
        try:
            said = CALLS[name](channel)
        except grpc.RpcError as e:
            said = {'code': e.code().name, 'details': e.details()}
        print(json.dumps({'call': name, **said}), flush=True)


main()
