# SPDX-License-Identifier: Apache-2.0
"""What the tests of what passes unread have in common: servers that are no
origin, and names for them."""
import contextlib
import socket
import threading

import pytest

HOST = '203.0.113.7'  # of the servers in here; the origin is another


@contextlib.contextmanager
def server(port, answer, host=HOST):
    """Answer each connection to port with answer(sock), in a thread."""
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family)
    threads = []

    def serve():
        while True:
            try:
                sock, _ = listening.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=guarded, args=(sock,)))
            threads[-1].start()

    def guarded(sock):
        with sock, contextlib.suppress(OSError):
            sock.settimeout(30)
            answer(sock)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for each in threads:
            each.join()


def read_all(sock):
    got = b''
    while piece := sock.recv(65536):
        got += piece
    return got


@pytest.fixture
def names(peers):
    """db.test and pin.test are at HOST."""
    peers.resolve({n: [{'a': [HOST]}] for n in ('db.test', 'pin.test')})


def inside(here, code):
    """Run Python in the sandbox."""
    return here.run(['/usr/bin/python3', '-c', PRELUDE + code])


PRELUDE = '''
import socket, struct, sys
def connect(port, name="db.test"):
    sock = socket.create_connection((name, port), 10)
    sock.settimeout(10)
    return sock
def read_all(sock):
    got = b""
    while piece := sock.recv(65536):
        got += piece
    return got
def end(call):
    try:
        return call()
    except OSError as e:
        return type(e).__name__
'''


def flow(got, event='flow.end'):
    row, = got.find(event=event)
    return row


def passed(got, reason, rule, up, down):
    """The one connection of a run passed; these are its bytes."""
    begin, end = flow(got, 'flow.begin'), flow(got)
    dial, = got.find(event='dial')
    for row in (begin, end):
        assert row['verdict'] == 'allow' and row['reason'] == reason, got
        assert row['rule'] == rule, got
    assert (end['duenna.bytes.up'], end['duenna.bytes.down']) == (up, down)
    assert begin['seq'] < dial['seq'] < end['seq']
    assert dial['rule'] == rule and dial['verdict'] == 'allow', got
    assert end['duenna.socket'] == dial['duenna.socket']
    assert end['network.peer.address'] == dial['network.peer.address']
    assert got.find(event='request.end') == []
    return end
