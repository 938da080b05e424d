# SPDX-License-Identifier: Apache-2.0
"""A relay inside the sandbox: what it passes on is judged as if it came
directly (UP-02)."""

# A small CONNECT proxy on 127.0.0.1:3128; whom it connects to is its client's.
RELAY = '''
import socket, threading
def pass_on(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass
def serve(client):
    head = b""
    while b"\\r\\n\\r\\n" not in head:
        head += client.recv(1)
    host, port = head.split(b" ")[1].decode().rsplit(":", 1)
    there = socket.create_connection((host.strip("[]"), int(port)))
    client.sendall(b"HTTP/1.1 200 Connection established\\r\\n\\r\\n")
    threading.Thread(target=pass_on, args=(client, there)).start()
    pass_on(there, client)
listening = socket.create_server(("127.0.0.1", 3128))
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],)).start()
'''
POLICY = '''
- name: read
  allow: https://ok.test/public/**
- allow: http://plain.test/**
'''
URLS = ['https://ok.test/public/x', 'https://ok.test/secret',
        '-X DELETE https://ok.test/public/x', 'https://evil.test/',
        'https://ok.test:8443/public/x', 'http://ok.test/public/x',
        'http://plain.test/y', 'http://evil.test/', 'https://203.0.113.66/',
        '-H Host:evil.test https://ok.test/public/x',
        '-H Host:evil.test http://plain.test/y']


def run(here, more, before=''):
    here.mark()
    got = here.run(before + '\n'.join(
        'curl -skS -m 10 -o /dev/null %s %s' % (more, url) for url in URLS) +
        '\ntrue')
    seen = [(r['method'], r['host'], r['target'])
            for r in here.origin_requests()]
    return got, seen


def test_a_relay_inside_gets_the_same_verdicts(bed):
    here = bed(POLICY)
    here.write('project/relay.py', RELAY)
    direct, seen = run(here, '')
    relayed, seen_too = run(here, '-p -x http://127.0.0.1:3128',
                            'python3 relay.py >ready & '
                            'until [ -s ready ]; do sleep 0.02; done\n')
    assert [s[1:] for s in seen] == [('ok.test', '/public/x'),
                                     ('plain.test', '/y')], direct
    assert seen_too == seen, relayed
    assert len(direct.reasons()) >= len(URLS) - 2, direct
    assert relayed.reasons() == direct.reasons(), (direct, relayed)
    assert 'tls.sni_denied' in direct.reasons()
