# SPDX-License-Identifier: Apache-2.0
"""TLS towards the sandbox: names, hello, versions, certificates."""

import pytest

from hello import client_hello, records
from rawclient import get, one, try_all

OK = '- allow: https://ok.test/**\n- allow: http://plain.test/**\n'


@pytest.fixture
def here(bed):
    return bed(OK)


def raw(pieces, **more):
    """A case that sends these bytes as they are to the address of ok.test."""
    return {'name': 'ok.test', 'tls': False, 'answers': 0, 'timeout': 8,
            'send': [p.decode('latin-1') for p in pieces], **more}


def test_a_hello_may_come_in_any_number_of_records_and_segments(here):
    """Through a memory BIO, so that we cut: the handshake is an honest one."""
    got = here.run(['/usr/bin/python3', '-c', SPLIT])
    assert got.out.split() == ['200'] * 3, got
    assert len(here.origin_requests()) == 3


SPLIT = '''
import socket, ssl, time
def run(cut):
    ctx = ssl.create_default_context()
    i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ctx.wrap_bio(i, o, server_hostname="ok.test")
    sock = socket.create_connection(("ok.test", 443), 10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    first = True
    def step(call):
        nonlocal first
        while True:
            try:
                return call()
            except ssl.SSLWantReadError:
                out = o.read()
                for piece in (cut(out) if first and out else [out]):
                    sock.sendall(piece)
                    if first: time.sleep(0.001)
                first = first and not out
                i.write(sock.recv(65536))
    step(tls.do_handshake)
    tls.write(b"GET /x HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n")
    print(step(lambda: tls.read(100))[9:12].decode())
def single(data): return [data[i:i + 1] for i in range(len(data))]
def tiny_records(data):
    body = data[5:]
    return [data[:3] + b"\\0\\1" + body[i:i + 1] for i in range(len(body))]
run(lambda d: [d])
run(single)
run(tiny_records)
'''


def test_a_name_is_wanted_and_a_canonical_one(here):
    names = [None, b'', b'ok.test.', b'127.0.0.1', b'a_b ok\r\nX: y.test',
             b'ok.test\0.evil.test', 'öl.test'.encode()]
    cases, got = try_all(here, [
        raw([client_hello(name)], id=repr(name)) for name in names])
    wanted = ['tls.no_sni'] + ['tls.sni_invalid'] * 6
    assert [c.logged()[-1:] for c in cases] == [[w] for w in wanted], cases
    with open(got.log, 'rb') as f:
        for line in f:
            assert all(32 <= b < 127 for b in line.rstrip(b'\n')), line
    assert here.origin_events('open') == []


def test_a_hello_has_a_size(here):
    cases, _ = try_all(here, [
        raw([client_hello(b'ok.test', padding=12000)], timeout=1),
        raw([client_hello(b'ok.test', padding=40000)]),
        raw([b'\x16\x03\x01\x40\x00\x01\xff\xff\xff' + bytes(16380)] * 4)])
    assert not cases[0].logged() or \
        cases[0].logged() == ['client.abort'], cases[0]
    assert [c.logged()[-1] for c in cases[1:]] == ['tls.hello_size'] * 2, cases


@pytest.mark.slow
def test_a_hello_has_a_deadline_from_accept(here):
    part = client_hello(b'ok.test')
    cases, _ = try_all(here, [
        raw([], timeout=20), raw([part[:20]], timeout=20)])
    assert [c.logged() for c in cases] == [['tls.hello_timeout']] * 2, cases
    assert here.origin_events('open') == []


def test_other_protocols_on_a_tls_port_are_closed(here):
    first = [b'GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n', b'SSH-2.0-x\r\n',
             b'PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n', b'\x15\x03\x01\0\2\2\x28',
             b'\x17\x03\x03\0\1x', b'\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c' + bytes(12)]
    cases, _ = try_all(here, [raw([p]) for p in first])
    assert [c.logged() for c in cases] == [['tls.not_tls']] * len(first), cases
    assert here.origin_events('open') == []


def test_tls_on_a_plain_port_is_malformed(here):
    case = one(here, name='plain.test', port=80, tls=False, answers=0,
               timeout=5, send=[client_hello(b'plain.test').decode('latin-1')])
    assert case.logged() == ['http.malformed'], case


@pytest.mark.parametrize('version', [b'\3\0', b'\3\1', b'\3\2'])
def test_old_versions_are_refused(here, version):
    case = one(here, **raw([client_hello(b'ok.test', version=version)]))
    assert case.logged() == ['tls.version'], case


def test_a_client_that_wants_only_h2_gets_an_alert(here):
    case = one(here, name='ok.test', alpn=['h2'], send=[])
    assert case.end.startswith('tls:') or case.end in ('reset', 'closed'), case
    assert case.logged() == ['tls.version'], case
    case = one(here, name='ok.test', alpn=['h2', 'http/1.1'], send=[get()])
    assert case.alpn == 'http/1.1' and case.status == 200, case


def test_there_are_no_tickets_and_no_second_life_of_a_session(here):
    """TL-17: nothing that could be shown again, to this name or another."""
    got = here.run('for v in -tls1_2 -tls1_3; do (sleep 1; echo) | openssl '
                   's_client $v -connect ok.test:443 -servername ok.test '
                   '-sess_out s$v 2>&1; done; ls')
    assert got.out.count('Verify return code: 0 (ok)') == 2, got
    assert 'ticket' not in got.out.lower() and 's-tls1_3' not in got.out, got
    assert got.out.count('Session-ID: \n') == 1, got  # of TLS 1.2
    # TL-18: it asks for no certificate, so none comes unasked
    assert got.out.count('No client certificate CA names sent') == 2, got


def test_nothing_is_negotiated_again(here):
    """TL-18: TLS 1.2, where a client may ask for it."""
    got = here.run('(sleep 1; echo R; sleep 2) | openssl s_client -tls1_2 '
                   '-connect ok.test:443 -servername ok.test 2>&1')
    assert got.out.count('RENEGOTIATING') == 1, got
    assert 'no renegotiation' in got.out.split('RENEGOTIATING')[1], got
    assert 'verify return' not in got.out.split('RENEGOTIATING')[1], got


def test_the_leaf_has_one_name_and_a_short_life_and_cannot_sign(here):
    got = here.run('echo | openssl s_client -connect ok.test:443 -servername '
                   'ok.test -showcerts 2>/dev/null | openssl x509 -noout -text')
    text = ' '.join(got.out.split())
    assert 'DNS:ok.test' in text and text.count('DNS:') == 1, got
    assert 'CA:FALSE' in text and 'TLS Web Server Authentication' in text
    assert 'Client Authentication' not in text and 'prime256v1' in text


def test_the_authority_signs_leaves_only(here):
    got = here.run('openssl x509 -in "$NODE_EXTRA_CA_CERTS" -noout -text')
    text = ' '.join(got.out.split())
    assert 'CA:TRUE, pathlen:0' in text, got


def test_public_roots_are_trusted_beside_ours(here):
    got = here.run('grep -c BEGIN.CERT /etc/ssl/certs/ca-certificates.crt '
                   '"$SSL_CERT_FILE"; grep -c BEGIN "$NODE_EXTRA_CA_CERTS"; '
                   'openssl verify -CApath /etc/ssl/certs "$NODE_EXTRA_CA_CERTS"')
    counts = [int(line.split(':')[-1]) for line in got.out.splitlines()[:3]]
    assert counts[0] > 50 and counts[1] > 50 and counts[2] == 1, got
    assert got.out.rstrip().endswith('OK')


def test_a_cut_upload_is_not_completed_at_the_origin(here):
    """TL-32: the client's TCP ends in the middle of a body."""
    case = one(here, name='ok.test', answers=0, half_close=True, timeout=5,
               send=['POST /_sink HTTP/1.1\r\nHost: ok.test\r\n'
                     'Content-Length: 1000\r\n\r\nabc'])
    assert case.requests() == [], case


def test_a_second_context_of_records_agrees_with_the_library(here):
    """The honest hello in records of 1, 2, 3, 50 bytes: always the same."""
    base = client_hello(b'ok.test')
    cases, _ = try_all(here, [raw(records(base, size), pause=0.001, timeout=1)
                              for size in (1, 2, 3, 50)])
    assert all(c.logged() in ([], ['client.abort']) for c in cases), cases


def test_a_client_that_only_shakes_hands_was_refused_nothing(here):
    got = here.run(['/usr/bin/python3', '-c', '''
import socket, ssl
context = ssl.create_default_context()
for _ in range(100):
    context.wrap_socket(socket.create_connection(("ok.test", 443)),
                        server_hostname="ok.test").close()
'''])
    assert got.exit == 0 and got.reasons() == [], got
    assert len(got.find(event='flow.end')) == 100, got


def test_a_refused_name_keeps_its_reason_whatever_the_client_does(here):
    """It leaves the handshake with an alert, as one without our root does."""
    got = here.run('for i in 1 2 3; do curl -sS --cacert /etc/passwd '
                   '--capath /var/empty https://evil.test/; done; '
                   'touch none; for i in 1 2 3; do curl -sS --cacert none '
                   'https://evil.test/; done; for i in 1 2 3; do openssl '
                   's_client -verify_return_error -CAfile none -connect '
                   'evil.test:443 -servername evil.test </dev/null; done')
    assert set(got.reasons()) == {'tls.sni_denied', 'dns.denied'}, got
