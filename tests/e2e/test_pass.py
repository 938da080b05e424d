# SPDX-License-Identifier: Apache-2.0
"""What passes unread: tls and tcp rules, end to end."""
import shutil
import socket
import ssl

import pytest

import bed as bed_module
import pki
from bed import OPEN
from hello import client_hello, extension, records
from pass_bed import HOST, flow, inside, names, passed, read_all, server
from rawclient import try_all


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

def test_another_name_of_the_same_origin_is_out_of_sight(bed):
    here = bed('- allow: tls://ok.test')
    shutil.copy(here.peers.pki + '/root.pem', here.project + '/root.pem')
    got = here.run('curl -sS --cacert root.pem -H "Host: evil.test" '
                   'https://ok.test/x')
    assert 'hello from evil.test/x' in got.out, got
    assert got.find(event='flow.end', reason='allow.pass') != []
    with open(got.log, encoding='ascii') as log:
        assert 'evil.test' not in log.read()


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
    ('ftp://pin.test', 2, 'http://, wss://, ws://, tls:// or tcp://')])
def test_explain_knows_what_passes_unread(bed, url, status, said):
    here = bed('- allow: tls://pin.test\n- allow: tcp://db.test:5432\n')
    got, out, err = here.duenna('explain', url)
    assert got == status and said in out + err, (got, out, err)
