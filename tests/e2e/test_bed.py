# SPDX-License-Identifier: Apache-2.0
"""The bed itself: without duenna everything is reachable, and on record.

A test that says "the origin saw nothing" proves something only because these
pass.
"""
import socket
import ssl
import subprocess

import pytest

from bed import EVIL, ORIGIN, Bed, as_user, base


@pytest.fixture
def here(bed):
    return bed('- allow: https://ok.test/**')


def fetch(bed, name, path, address=ORIGIN, data=None, headers=None):
    """GET over verified TLS from address, as if it were name."""
    ctx = ssl.create_default_context(cafile=bed.peers.pki + '/root.pem')
    ctx.hostname_checks_common_name = False  # OpenSSL looks there by default
    with socket.create_connection((address, 443), 10) as raw:
        with ctx.wrap_socket(raw, server_hostname=name) as tls:
            body = data or b''
            lines = ['%s %s HTTP/1.1' % ('POST' if data else 'GET', path),
                     'Host: ' + name, 'Connection: close',
                     'Content-Length: %d' % len(body)]
            lines += ['%s: %s' % h for h in (headers or {}).items()]
            tls.sendall('\r\n'.join(lines).encode() + b'\r\n\r\n' + body)
            got = b''
            while part := tls.recv(65536):
                got += part
            return got


def test_the_origin_answers_any_name_and_address_and_records_it(here):
    for address in (ORIGIN, EVIL, '169.254.169.254', '10.1.2.3'):
        assert b'hello from ok.test/x' in fetch(here, 'ok.test', '/x', address)
    seen = here.origin_requests()
    assert [r['target'] for r in seen] == ['/x'] * 4
    assert {r['to'] for r in here.origin_events('open')} == \
        {a + ':443' for a in (ORIGIN, EVIL, '169.254.169.254', '10.1.2.3')}
    assert seen[0]['head'].startswith('GET /x HTTP/1.1\r\nHost: ok.test\r\n')


def test_the_origin_is_reached_over_ipv6_too(here):
    with socket.create_connection(('2001:db8::5', 80), 5) as sock:
        sock.sendall(b'GET /six HTTP/1.1\r\nHost: ok.test\r\n\r\n')
        assert sock.recv(1000).startswith(b'HTTP/1.1 200 OK')
    assert here.origin_requests()[0]['target'] == '/six'


@pytest.mark.parametrize('name, why', [
    ('expired.test', 'expired'), ('selfsigned.test', 'self'),
    ('wrongname.test', 'match|mismatch'), ('cnonly.test', 'match|mismatch'),
    ('untrusted.test', 'unable|unknown|self'), ('ip.test', 'match|mismatch')])
def test_a_faulty_certificate_is_faulty_to_an_honest_client(here, name, why):
    with pytest.raises(ssl.SSLCertVerificationError, match='(?i)' + why):
        fetch(here, name, '/')
    assert here.origin_requests() == []


def test_the_origin_knows_the_right_token_without_saying_it(here):
    right = {'Authorization': 'Bearer ' + here.canary}
    got = fetch(here, 'ok.test', '/_whoami', headers=right)
    assert b'"good"' in got and here.canary.encode() not in got
    wrong = {'Authorization': 'Bearer x'}
    assert b'"other"' in fetch(here, 'ok.test', '/_whoami', headers=wrong)
    assert b'"none"' in fetch(here, 'ok.test', '/_whoami')


def test_the_echo_gives_the_token_back(here):
    field = {'Authorization': 'Bearer ' + here.canary}
    got = fetch(here, 'ok.test', '/_echo', headers=field)
    assert here.canary.encode() in got


def test_the_sink_counts_what_came(here):
    got = fetch(here, 'ok.test', '/_sink', data=b'y' * 100000)
    assert b'"bytes": 100000' in got


def test_udp_and_a_socket_of_the_host_answer(here):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.sendto(b'hello', (EVIL, 443))
        assert sock.recv(100) == b'origin got it'
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(here.peers.host_socket)
        sock.sendall(b'GET /unix HTTP/1.1\r\nHost: x\r\n\r\n')
        assert sock.recv(1000).startswith(b'HTTP/1.1 200 OK')
    assert [e['data'] for e in here.origin_events('datagram')] == ['hello']


def question(name, kind=1):
    labels = b''.join(bytes([len(p)]) + p.encode() for p in name.split('.'))
    return b'\x12\x34\1\0\0\1\0\0\0\0\0\0' + labels + b'\0' + \
        bytes([0, kind, 0, 1])


def test_the_resolver_answers_a_name_that_nobody_should_ask_for(here):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.sendto(question('secret.evil.test'), ('198.51.100.53', 53))
        assert sock.recv(512).endswith(socket.inet_aton(ORIGIN))
    assert [q['name'] for q in here.resolver_questions()] == \
        ['secret.evil.test']


def test_the_resolver_follows_its_script(here):
    here.peers.resolve({'flip.test': [{'a': [ORIGIN]}, {'a': ['127.0.0.1']}],
                        'gone.test': [{'fail': 'nxdomain'}]})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.connect(('203.0.113.53', 53))
        last = []
        for name in ('flip.test', 'flip.test', 'gone.test'):
            sock.send(question(name))
            last.append(sock.recv(512))
    assert last[0].endswith(socket.inet_aton(ORIGIN))
    assert last[1].endswith(socket.inet_aton('127.0.0.1'))
    assert last[2][3] & 15 == 3


def test_git_clones_from_the_origin_without_duenna(here):
    into = here.home + '/clone'
    subprocess.run(
        ['git', '-c', 'http.sslCAInfo=%s/root.pem' % here.peers.pki, '-c',
         'http.curloptResolve=git.test:443:' + ORIGIN, 'clone', '-q',
         'https://git.test/acme/widgets.git', into],
        check=True, timeout=30)
    with open(into + '/README', encoding='utf-8') as f:
        assert f.read() == 'widgets of acme\n'
    assert [r['target'] for r in here.origin_requests()] == [
        '/acme/widgets.git/info/refs?service=git-upload-pack',
        '/acme/widgets.git/git-upload-pack',
        '/acme/widgets.git/git-upload-pack']


def test_the_ordinary_user_has_no_power(here):
    done = subprocess.run(
        as_user(['sh', '-c', 'id -u; grep CapEff /proc/self/status; '
                 'cat ' + here.settings + '/token; touch ' + base() + '/x']),
        capture_output=True, text=True, check=False)
    lines = done.stdout.split()
    assert lines[0] != '0' and lines[2] == '0' * 16
    assert lines[3] == here.canary


def test_the_ordinary_user_can_make_namespaces(here):
    done = subprocess.run(
        as_user(['unshare', '--user', '--map-root-user', '--net', '--mount',
                 '--pid', '--fork', '--mount-proc', 'ip', '-br', 'link']),
        capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.split()[0] == 'lo'


def test_each_bed_has_a_home_of_its_own(bed):
    one, two = bed('- allow: https://ok.test/**'), bed('- deny: https://a.test')
    assert one.home != two.home
    assert 'addresses' in open(one.project + '/duenna.yaml',
                               encoding='utf-8').read()
    assert 'addresses' not in open(two.project + '/duenna.yaml',
                                   encoding='utf-8').read()
    assert isinstance(one, Bed)
