# SPDX-License-Identifier: Apache-2.0
"""What passes unread: tls and tcp rules, end to end."""
import contextlib
import hashlib
import os
import queue
import shutil
import signal
import socket
import ssl
import struct
import threading
import time

import pytest

import bed as bed_module
import pki
from bed import OPEN
from hello import client_hello, extension, records
from rawclient import try_all

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


def reset(sock):
    """Close so that the other side gets a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack('ii', 1, 0))
    sock.close()


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


# ------------------------------------------------------------------- tls

def test_curl_sees_the_origins_own_certificate(bed):
    here = bed('- name: pinned\n  allow: tls://ok.test')
    shutil.copy(here.peers.pki + '/root.pem', here.project + '/root.pem')
    got = here.run('curl -sSv --cacert root.pem https://ok.test/x')
    assert 'hello from ok.test/x' in got.out, got
    assert 'CN=duenna test root' in got.err, got
    assert [r['target'] for r in here.origin_requests()] == ['/x']
    end, = got.find(event='flow.end')
    end = passed(got, 'allow.pass', 'pinned', end['duenna.bytes.up'],
                 end['duenna.bytes.down'])
    assert min(end['duenna.bytes.up'], end['duenna.bytes.down']) > 300
    assert end['tls.client.server_name'] == 'ok.test'
    assert end['url.scheme'] == 'tls' and 'server.address' not in end


def test_the_origin_may_want_the_clients_own_certificate(bed, peers, names):
    here = bed('- allow: tls://pin.test:9443')
    shutil.copy(peers.pki + '/root.pem', here.project)
    own = here.project + '/own.pem'
    pki.openssl('req', '-x509', '-newkey', 'ed25519', '-nodes', '-subj',
                '/CN=the client itself', '-keyout', own + '.key', '-out', own)
    bed_module.give(here.project)
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(pki.leaf(peers.pki, 'pin.test'))
    ctx.load_verify_locations(own)
    ctx.verify_mode = ssl.CERT_REQUIRED
    seen = []

    def answer(sock):
        with ctx.wrap_socket(sock, server_side=True) as tls:
            seen.append(tls.getpeercert()['subject'])
            tls.sendall(b'welcome ' + tls.recv(100))

    with server(9443, answer):
        got = here.run(
            'echo me | openssl s_client -quiet -verify_return_error '
            '-connect pin.test:9443 -servername pin.test -CAfile root.pem '
            '-cert own.pem -key own.pem.key')
    assert 'welcome me' in got.out, got
    assert seen == [((('commonName', 'the client itself'),),)]
    assert flow(got)['reason'] == 'allow.pass'


def test_the_origin_sees_the_hello_byte_for_byte(bed, names):
    here = bed('- allow: tls://pin.test:9443')
    ech = extension(0xfe0d, bytes(200))
    hellos = [client_hello(b'pin.test'), client_hello(b'pin.test', 12000),
              b''.join(records(client_hello(b'pin.test'), 1)),
              client_hello(b'pin.test', extra=ech)]
    pieces = [[h] for h in hellos] + [[b'%c' % b for b in hellos[0]]]
    seen = []

    def answer(sock):
        seen.append(read_all(sock))
        sock.sendall(b'seen')

    with server(9443, answer):
        cases, got = try_all(here, [
            {'name': 'pin.test', 'port': 9443, 'tls': False, 'answers': 1,
             'pause': 0.001, 'half_close': True, 'send':
             [b.decode('latin-1') for b in p]} for p in pieces])
    assert sorted(seen) == sorted(hellos + hellos[:1])
    assert [c.got for c in cases] == ['seen'] * 5, cases
    ends = got.find(event='flow.end')
    assert [e['duenna.bytes.up'] for e in ends] == \
        [len(h) for h in hellos + hellos[:1]]
    assert [e.get('duenna.tls.ech') for e in ends] == \
        [None, None, None, True, None]


def test_what_does_not_fit_the_name_is_reset_and_not_dialled(bed):
    here = bed('- allow: tls://ok.test\n- allow: https://other.test/**\n')
    raw = {'name': 'ok.test', 'tls': False, 'answers': 0, 'timeout': 1}
    cases, got = try_all(here, [
        {**raw, 'send': [b.decode('latin-1')]} for b in (
            client_hello(None), client_hello(b'other.test'),
            client_hello(b'evil.test'), client_hello(b'1.2.3.4'),
            b'GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n')] + [
        {**raw, 'name': 'other.test',
         'send': [client_hello(b'ok.test').decode('latin-1')]}])
    assert [c.logged() for c in cases] == [
        ['tls.no_sni'], ['tls.dst_mismatch'], ['tls.sni_denied'],
        ['tls.sni_invalid'], ['tls.not_tls'], ['tls.dst_mismatch']], cases
    assert [(c.got, c.end) for c in cases[:5]] == [('', 'reset')] * 5, cases
    assert here.origin_events('open') == [] == got.find(event='dial')


# ------------------------------------------------------------------- tcp

def test_the_server_may_speak_first_and_each_side_ends_for_itself(bed, names):
    here = bed('- name: db\n  allow: tcp://db.test:7001')

    def answer(sock):
        sock.sendall(b'220 ready\r\n')
        sock.sendall(b'you said ' + read_all(sock))

    with server(7001, answer):
        got = inside(here, 'sock = connect(7001)\n'
                     'print(sock.recv(100))\n'
                     'sock.sendall(b"quit")\n'
                     'sock.shutdown(socket.SHUT_WR)\n'
                     'print(read_all(sock))')
    assert got.out == "b'220 ready\\r\\n'\nb'you said quit'\n", got
    end = passed(got, 'allow.tcp', 'db', 4, 24)
    assert end['server.address'] == 'db.test' and end['url.scheme'] == 'tcp'
    assert end['network.peer.address'] == HOST
    assert end['server.port'] == 7001


def test_the_server_may_end_first(bed, names):
    here = bed('- allow: tcp://db.test:7001')
    seen = []

    def answer(sock):
        sock.sendall(b'bye')
        sock.shutdown(socket.SHUT_WR)
        seen.append(read_all(sock))

    with server(7001, answer):
        got = inside(here, 'sock = connect(7001)\n'
                     'print(read_all(sock))\n'
                     'sock.sendall(b"late")')
    assert got.out == "b'bye'\n" and seen == [b'late'], got
    passed(got, 'allow.tcp', 'rule-1', 4, 3)


def test_other_ports_of_the_name_have_no_rule(bed, names):
    here = bed('- allow: tcp://db.test:7001')
    with server(7001, read_all), server(7002, read_all):
        cases, got = try_all(here, [
            {'name': 'db.test', 'port': p, 'tls': False, 'answers': 0,
             'timeout': 1,
             'send': ['\0\0\0\x08\x04\xd2\x16\x2f']} for p in (7002, 443)] + [
            {'name': 'db.test', 'port': 443, 'tls': False, 'answers': 0,
             'timeout': 1,
             'send': [client_hello(b'db.test').decode('latin-1')]}])
    assert [c.logged()[-1:] for c in cases] == [['dst.port']] * 3, cases
    assert got.find(event='dial') == []


@pytest.mark.parametrize('address', ['10.0.0.9', '127.0.0.1', '169.254.169.254'])
def test_a_private_address_is_not_dialled(bed, peers, address):
    peers.resolve({'db.test': [{'a': [address]}]})
    here = bed('- allow: tcp://db.test:7001')
    with server(7001, read_all, host=address):
        got = inside(here, 'print(end(lambda: connect(7001).recv(1)))')
    assert got.out == 'ConnectionResetError\n', got
    end = flow(got)
    assert (end['verdict'], end['reason']) == ('deny', 'up.private'), got
    assert address not in got.out + got.err


def literal_policy(*urls):
    return ('version: 1\npolicies:\n  test:\n    rules:\n' +
            ''.join("      - allow: '%s'\n" % u for u in urls))


def test_an_address_may_be_the_host(bed):
    v6 = '2001:db8::5'
    here = bed(literal_policy('tcp://%s:7001' % HOST, 'tls://%s:7003' % HOST,
                              'tcp://[%s]:7002' % v6),
               bed_module.Bed.config().replace(
                   'private: [%s]' % OPEN,
                   "private: [%s, '2001:db8::/32']" % OPEN))

    def answer(sock):
        sock.sendall(b'%d bytes' % len(sock.recv(10000)))

    hello = client_hello(None)
    plain = b'GET / HTTP/1.1\r\nHost: db.test\r\n\r\n'
    with server(7001, answer), server(7002, answer, host='::'), \
            server(7003, answer):
        cases, got = try_all(here, [
            {'address': a, 'port': p, 'tls': False, 'answers': 0,
             'timeout': 1,
             'send': [b.decode('latin-1')]} for a, p, b in (
                 (HOST, 7001, b'x'), (v6, 7002, b'xy'), (HOST, 7003, hello),
                 (HOST, 7003, client_hello(b'pin.test')), (HOST, 7004, hello),
                 ('203.0.113.8', 7001, plain))])
    assert [c.got for c in cases[:4]] == \
        ['1 bytes', '2 bytes', '%d bytes' % len(hello), ''], cases
    assert [c.logged()[-1:] for c in cases] == [
        [], [], [], ['tls.sni_denied'], ['dst.port'],
        ['dst.unmapped_ip']], cases
    assert [d['network.peer.address'] for d in got.find(event='dial')] == \
        [HOST, v6, HOST]


# ------------------------------------------------------- much, and in the end

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


def test_another_name_of_the_same_origin_is_out_of_sight(bed):
    here = bed('- allow: tls://ok.test')
    shutil.copy(here.peers.pki + '/root.pem', here.project + '/root.pem')
    got = here.run('curl -sS --cacert root.pem -H "Host: evil.test" '
                   'https://ok.test/x')
    assert 'hello from evil.test/x' in got.out, got
    assert got.find(event='flow.end', reason='allow.pass') != []
    with open(got.log, encoding='ascii') as log:
        assert 'evil.test' not in log.read()


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


# ----------------------------------------------------- what is said of it

def test_check_says_what_is_given_up(bed):
    here = bed('- allow: tls://pin.test\n- allow: tcp://db.test:5432\n')
    status, out, err = here.duenna('check')
    said = [l for l in (out + err).split('\n') if 'is passed unread' in l]
    assert status == 0 and len(said) == 2, (status, out, err)
    for line in said:
        assert 'warning: ' in line and 'every name of that origin' in line
        assert 'no method, path, header, credential or git check' in line


@pytest.mark.parametrize('url, status, said', [
    ('tls://pin.test', 0, 'rule `rule-1` (duenna.yaml:5) passes it unread '
     'behind its ClientHello'),
    ('https://pin.test/x', 0, 'passes it unread behind its ClientHello'),
    ('tcp://db.test:5432', 0, 'rule `rule-2` (duenna.yaml:7) passes it unread'),
    ('tcp://db.test:5433', 1, 'denied: dst.port'),
    ('tls://other.test', 1, 'the missing rule: `- allow: tls://other.test`'),
    ('http://pin.test:443/', 1, 'denied: http.upgrade'),
    ('tcp://db.test', 2, "write 'tcp://HOST:PORT'"),
    ('tls://pin.test/x', 2, "write 'tls://HOST:PORT'"),
    ('ftp://pin.test', 2, 'https://, http://, tls:// or tcp://')])
def test_explain_knows_what_passes_unread(bed, url, status, said):
    here = bed('- allow: tls://pin.test\n- allow: tcp://db.test:5432\n')
    got, out, err = here.duenna('explain', url)
    assert got == status and said in out + err, (got, out, err)
