# SPDX-License-Identifier: Apache-2.0
"""What passes unread: much of it, and how it ends."""
import contextlib
import hashlib
import os
import queue
import signal
import socket
import struct
import threading
import time

import pytest

from pass_bed import PRELUDE, flow, inside, names, passed, read_all, server


def reset(sock):
    """Close so that the other side gets a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack('ii', 1, 0))
    sock.close()


def test_much_passes_both_ways_in_little_memory(bed, names):
    here = bed('- allow: tcp://db.test:7001')
    here.write('project/go.py', PRELUDE + MUCH)
    sums = []

    def answer(sock):
        sender = threading.Thread(target=send_much, args=(sock,))
        sender.start()
        digest = hashlib.sha256()
        while piece := sock.recv(1 << 16):
            digest.update(piece)
        sender.join()
        sums.append(digest.hexdigest())

    with server(7001, answer):
        run = here.start(['/usr/bin/python3', 'go.py'])
        worker, peak = None, 0
        while run.child.poll() is None:
            worker = worker or (run.roles().get('worker') or [None])[0]
            peak = max(peak, resident(worker))
            time.sleep(0.02)
        got = run.wait()
    want = hashlib.sha256(BLOCK * 1600).hexdigest()
    assert got.out == want + '\n' and sums == [want], got
    passed(got, 'allow.tcp', 'rule-1', 100 << 20, 100 << 20)
    assert 0 < peak < 40 << 10, peak


BLOCK = bytes(i * 7 & 255 for i in range(65536))


def send_much(sock):
    for _ in range(1600):
        sock.sendall(BLOCK)
    sock.shutdown(socket.SHUT_WR)


def test_what_was_sent_before_the_end_arrives(bed, names):
    """The command does not wait, and neither does its run for long."""
    here = bed('- allow: tcp://db.test:7001')
    seen = []

    def answer(sock):
        time.sleep(0.1)  # while the command ends
        seen.append(len(read_all(sock)))

    with server(7001, answer):
        got = inside(here, 'sock = connect(7001)\n'
                     'sock.sendall(bytes(3 << 20))\n')
    assert seen == [3 << 20] and got.exit == 0, got


def test_the_end_of_the_command_is_no_refusal(bed, names):
    here = bed('- allow: tcp://db.test:7001')
    waits = threading.Event()
    with server(7001, lambda sock: waits.wait(20)):
        got = inside(here, 'sock = connect(7001)\n'
                     'sock.sendall(b"bye")\n')
        waits.set()
    assert got.err == '' and got.reasons() == [], got
    passed(got, 'allow.tcp', 'rule-1', 3, 0)


def resident(pid):
    """KiB that a process has in memory."""
    with contextlib.suppress(OSError, TypeError, IndexError):
        with open('/proc/%d/status' % pid, encoding='ascii') as f:
            return int(f.read().split('VmRSS:')[1].split()[0])
    return 0


MUCH = '''
import hashlib, threading
block = bytes(i * 7 & 255 for i in range(65536))
sock = connect(7001)
def send():
    for _ in range(1600):
        sock.sendall(block)
    sock.shutdown(socket.SHUT_WR)
sender = threading.Thread(target=send)
sender.start()
digest = hashlib.sha256()
while piece := sock.recv(1 << 16):
    digest.update(piece)
sender.join()
print(digest.hexdigest())
'''


def test_a_reset_of_either_side_is_one_for_the_other(bed, names):
    here = bed('- allow: tcp://db.test:7001\n- allow: tcp://db.test:7002')
    ends = []

    def cut(sock):
        sock.recv(10)
        reset(sock)

    def wait(sock):
        sock.sendall(b'x')
        try:
            ends.append(sock.recv(1))
        except OSError as e:
            ends.append(type(e).__name__)

    with server(7001, cut), server(7002, wait):
        got = inside(here, 'sock = connect(7001)\n'
                     'sock.sendall(b"begin")\n'
                     'print(end(lambda: sock.recv(1)))\n'
                     'sock = connect(7002)\n'
                     'sock.recv(1)\n'
                     'sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, '
                     'struct.pack("ii", 1, 0))\n'
                     'sock.close()\n')
    assert got.out == 'ConnectionResetError\n' and \
        ends == ['ConnectionResetError'], (got, ends)
    assert [e['reason'] for e in got.find(event='flow.end')] == \
        ['up.response', 'client.abort'], got


def test_nobody_there_is_a_reset(bed, names):
    here = bed('- allow: tcp://db.test:7001')
    got = inside(here, 'print(end(lambda: connect(7001).recv(1)))')
    assert got.out == 'ConnectionResetError\n', got
    assert flow(got)['reason'] == 'up.connect', got


def test_other_roles_may_die_while_bytes_pass(bed, names):
    here = bed('- allow: tcp://db.test:7001')
    conns = queue.Queue()

    def answer(sock):
        over = threading.Event()
        conns.put((sock, over))
        over.wait(30)

    with server(7001, answer):
        run = here.start(['/usr/bin/python3', '-c', PRELUDE + (
            'sock = connect(7001)\n'
            'while piece := end(lambda: sock.recv(100)):\n'
            '    if piece == "ConnectionResetError": sys.exit(piece)\n'
            '    sock.sendall(piece)\n')])
        sock, over = conns.get(timeout=10)
        sock.sendall(b'are you there?')
        assert sock.recv(100) == b'are you there?'
        for role in ('dialer', 'keeper', 'scribe'):
            os.kill(run.roles()[role][0], signal.SIGKILL)
            sock.sendall(role.encode())
            assert sock.recv(100) == role.encode()
        os.kill(run.roles()['worker'][0], signal.SIGKILL)
        with pytest.raises(ConnectionResetError):
            sock.recv(100)  # not an end that nobody announced
        over.set()
        got = run.wait()
    assert got.exit == 1 and 'ConnectionResetError' in got.err, got
    end, = got.find(event='flow.end')
    assert end['reason'] == 'internal', got
