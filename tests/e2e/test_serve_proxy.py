# SPDX-License-Identifier: Apache-2.0
"""Sandboxes of `duenna serve` that come by a proxy."""
import os
import socket
import ssl
import subprocess

import pytest

from serve_bed import Gateway

RULES = '- allow: https://ok.test/**\n- allow: http://plain.test/**\n'
TOKEN = 'a-token-of-this-sandbox-alone'
AT = '127.0.0.1:3128'
HTTP, SOCKS = 'http://' + AT, 'socks5h://' + AT


@pytest.fixture
def gateway(peers):
    it = Gateway(peers, {'web': RULES})
    yield it
    it.end()


def attach(it, where, *more):
    code, _, err = it.ask('attach', 'box', '--policy', 'web', '--listen',
                          where, *more)
    return code, err


def run(it, *line):
    """What a client says that trusts our CA, out of a sandbox or not."""
    env = {'PATH': '/usr/bin:/bin', 'HOME': it.home,
           'GIT_SSL_CAINFO': it.state + '/ca.pem',
           'CURL_CA_BUNDLE': it.state + '/ca.pem',
           'REQUESTS_CA_BUNDLE': it.state + '/ca.pem'}
    done = subprocess.run(line, capture_output=True, text=True, timeout=30,
                          check=False, env=env)
    return done.stdout + done.stderr


def curl(it, *args):
    return run(it, '/usr/bin/curl', '-sS', '-m', '20', *args)


def ends(it):
    return [(r['reason'], r['server.address'], r['server.port'])
            for r in it.records()
            if r['event'] == 'flow.end' and r['verdict'] == 'deny']


def test_clients_go_by_the_proxy_and_where_the_policy_lets_them(gateway):
    it = gateway
    assert attach(it, AT) == (0, '')
    before = len(it.peers_requests())
    for proxy in HTTP, SOCKS:
        assert 'hello from ok.test/a' in curl(it, '-x', proxy,
                                              'https://ok.test/a')
        assert 'hello from plain.test/b' in curl(it, '-x', proxy,
                                                 'http://plain.test/b')
    code = ('import requests; s = requests.Session();'
            's.trust_env = True;'
            's.proxies = {"http": "%s", "https": "%s"};'
            'print(s.get("https://ok.test/c").text,'
            's.get("http://plain.test/d").text)' % (HTTP, HTTP))
    said = run(it, '/usr/bin/python3', '-c', code)
    assert 'ok.test/c' in said and 'plain.test/d' in said
    run(it, '/usr/bin/git', '-c', 'http.proxy=' + HTTP, 'ls-remote',
        'https://ok.test/r')
    seen = [(r['target'], {n.lower() for n, _ in r['fields']})
            for r in it.peers_requests()[before:]]
    assert [t for t, _ in seen][:6] == ['/a', '/b'] * 2 + ['/c', '/d']
    assert seen[6][0] == '/r/info/refs?service=git-upload-pack'
    assert not [f for _, fields in seen for f in fields if 'proxy' in f]

    assert 'response 403' in curl(it, '-x', HTTP, 'https://evil.test/')
    assert 'response 403' in curl(it, '-x', HTTP, 'https://ok.test:444/')
    assert '(2)' in curl(it, '-x', SOCKS, 'https://evil.test/')
    assert ends(it) == [('http.host_denied', 'evil.test', 443),
                        ('dst.port', 'ok.test', 444),
                        ('http.host_denied', 'evil.test', 443)]
    assert it.ask('detach', 'box')[0] == 0
    assert 'Failed to connect' in curl(it, '-x', HTTP, 'https://ok.test/')


def test_a_token_is_asked_for_and_kept_by_nobody(gateway):
    it = gateway
    secret = it.home + '/secret'
    for text in 'short', TOKEN:
        with open(secret, 'w', encoding='utf-8') as f:
            f.write(text)
        os.chmod(secret, 0o600)
        code, err = attach(it, AT, '--token', secret)
        assert code == 0 if text == TOKEN else '16 bytes at least' in err
    assert 'response 407' in curl(it, '-x', HTTP, 'https://ok.test/')
    assert 'response 407' in curl(it, '-x', HTTP, '--proxy-user', 'u:other',
                                  'https://ok.test/')
    for proxy in HTTP, SOCKS:
        for url in 'https://ok.test/t', 'http://plain.test/t':
            assert 'hello from' in curl(it, '-x', proxy, '--proxy-user',
                                        'u:' + TOKEN, url)
    for folder, _, names in os.walk(it.state):
        for name in names:
            with open(folder + '/' + name, 'rb') as f:
                assert TOKEN.encode() not in f.read(), name


def test_a_socket_in_the_file_system_is_a_sandbox_too(gateway):
    it = gateway
    path = it.home + '/proxy.sock'
    assert attach(it, 'unix:' + path) == (0, '')
    assert os.stat(path).st_mode & 0o777 == 0o660
    ctx = ssl.create_default_context(cafile=it.state + '/ca.pem')
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(path)
        sock.sendall(b'CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test\r\n\r\n')
        assert sock.recv(1000).startswith(b'HTTP/1.1 200 ')
        with ctx.wrap_socket(sock, server_hostname='ok.test') as tls:
            tls.sendall(b'GET /u HTTP/1.1\r\nHost: ok.test\r\n'
                        b'Connection: close\r\n\r\n')
            got = b''
            while piece := tls.recv(65536):
                got += piece
    assert b'hello from ok.test/u' in got
    assert it.ask('detach', 'box')[0] == 0
    assert not os.path.exists(path)
    assert 'expected ADDRESS:PORT' in attach(it, 'somewhere')[1]
