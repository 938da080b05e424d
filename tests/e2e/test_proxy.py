# SPDX-License-Identifier: Apache-2.0
"""Through the company's own proxy: `upstream: proxy`."""
import os
import shutil
import socket
import subprocess
import time

import pytest

from bed import ORIGIN, RESOLVER, Bed, base
from proxy import Proxy

ADDRESS = '203.0.113.80'
NAMES = ('s403', 's407', 's502', 'garbage', 'early', 'long', 'shut', 'half')
RULES = '- allow: https://*.far.test/**\n- allow: https://ok.test/**\n' \
    '- allow: http://plain.test/**\n- allow: https://api.test/**\n' \
    '  credential: api\n- allow: https://203.0.113.7/**'


@pytest.fixture
def proxy():
    one = Proxy((ADDRESS, 0), ORIGIN)
    yield one
    one.stop()


def config(url, names='"**"'):
    return Bed.config().replace(
        '  - names: ["**"]\n', '  - names: [%s]\n    proxy: %s\n'
        '    roots: [root.pem]\n  - names: ["**"]\n' % (names, url))


def url(proxy):
    return 'http://%s:%d' % (ADDRESS, proxy.port)


def test_a_tunnel_is_asked_for_and_tls_is_the_origins(bed, proxy):
    here = bed(RULES, config(url(proxy)))
    got = here.run('curl -sS https://ok.test/1; curl -sS https://slow.far.test'
                   '/2; curl -sS http://plain.test/3; '
                   'curl -sS https://api.test/_whoami')
    for text in ('ok.test/1', 'slow.far.test/2', 'plain.test/3', '"good"'):
        assert text in got.out, got
    assert proxy.seen == ['CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n' % (to, to)
                          for to in ('ok.test:443', 'slow.far.test:443',
                                     'plain.test:80', 'api.test:443')]
    # the proxy resolves; nobody else is asked
    assert here.resolver_questions() == []
    dials = got.find(event='dial')
    assert {d['network.peer.address'] for d in dials} == {ADDRESS}
    assert {d['network.peer.port'] for d in dials} == {proxy.port}
    assert {d['duenna.proxy'] for d in dials} == \
        {'%s:%d' % (ADDRESS, proxy.port)}
    assert [d['server.port'] for d in dials] == [443, 443, 80, 443]
    assert [d['verdict'] for d in dials] == ['allow'] * 4
    assert len(got.find(event='release', verdict='allow')) == 1


def test_what_is_not_enforced_does_not_go_through_it(bed, proxy):
    """Nobody could say that the address is a public one."""
    here = bed(RULES, config(url(proxy)))
    got = here.run('curl -sS https://intranet.test/1; '
                   'curl -sS https://ok.test/2', ['--report'])
    assert 'up.private' in got.out and 'ok.test/2' in got.out, got
    assert [s.split()[1] for s in proxy.seen] == ['ok.test:443']
    first, second = got.find(event='dial')
    assert first['reason'] == 'up.private', first
    assert '`report:` does not reach it' in first['duenna.detail'], first
    assert second['verdict'] == 'allow'


def test_what_passes_unread_goes_through_it_too(bed, proxy):
    """The server of a tcp rule may speak first, right behind the answer."""
    here = bed('- allow: tls://ok.test\n- allow: tcp://early.far.test:25\n',
               config(url(proxy)))
    shutil.copy(here.peers.pki + '/root.pem', here.project + '/root.pem')
    got = here.run('curl -sS --cacert root.pem https://ok.test/1; '
                   'curl -sS -m 5 telnet://early.far.test:25 < /dev/null')
    assert 'ok.test/1' in got.out and '220 smtp.evil.test' in got.out, got
    assert [h.split()[1] for h in proxy.seen] == ['ok.test:443',
                                                  'early.far.test:25']
    dials = got.find(event='dial', verdict='allow')
    assert {d['network.peer.address'] for d in dials} == {ADDRESS}
    assert [e['reason'] for e in got.find(event='flow.begin')] == \
        ['allow.pass', 'allow.tcp'], got


def test_a_tcp_rule_goes_through_it_and_the_origin_may_speak_first(bed, proxy):
    here = bed('- allow: tcp://early.test:2525\n- allow: tls://ok.test',
               config(url(proxy)))
    shutil.copy(here.peers.pki + '/root.pem', here.project + '/root.pem')
    got = here.run(['python3', '-c', '''
import socket
sock = socket.create_connection(("early.test", 2525), 10)
print(sock.recv(100).decode(), flush=True)
'''])
    assert got.out.startswith('220 smtp.evil.test'), got
    got = here.run('curl -sS --cacert root.pem https://ok.test/1')
    assert 'hello from ok.test/1' in got.out, got
    assert [h.split()[1] for h in proxy.seen] == ['early.test:2525',
                                                  'ok.test:443']


def test_what_the_proxy_refuses_says_so(bed, proxy):
    here = bed(RULES, config(url(proxy)))
    got = here.run('; '.join('curl -sS -w "%%{http_code}\\n" '
                             'https://%s.far.test/x' % n for n in NAMES))
    details = {
        's403': 'the proxy forbids it (403)',
        's407': 'the proxy wants a user name and password (407)',
        's502': 'the proxy answered 502',
        'garbage': "the proxy's answer cannot be read",
        'long': "the proxy's answer cannot be read",
        'early': 'the proxy sent more than its answer',
        'shut': 'the proxy closed the connection',
        'half': 'the proxy closed the connection'}
    rows = got.find(event='dial')
    assert {r['reason'] for r in rows} == {'up.connect'}
    assert [r['duenna.detail'] for r in rows] == [details[n] for n in NAMES]
    assert got.out.split('\n').count('502') == len(NAMES), got
    for detail in details.values():
        assert detail in got.out, got  # the person inside is told as well
    assert ADDRESS not in got.out and got.find(event='alarm') == []
    assert here.origin_events('open') == []


def test_only_the_names_of_the_item_go_through_it(bed, proxy, peers):
    here = bed(RULES, config(url(proxy), '"*.far.test"'))
    got = here.run('curl -sS https://ok.test/1; curl -sS https://a.far.test/2')
    assert 'ok.test/1' in got.out and 'a.far.test/2' in got.out, got
    assert [h.split()[1] for h in proxy.seen] == ['a.far.test:443']
    assert {q['name'] for q in here.resolver_questions()} == {'ok.test'}


def test_the_proxy_is_where_the_owner_says(bed):
    """A private place, on the host itself, by a name of the host's resolver:
    nothing of the sandbox's is judged by it."""
    one = Proxy(('127.0.0.1', 0), ORIGIN)
    try:
        here = bed(RULES, config('http://127.0.0.1:%d' % one.port))
        got = here.run('curl -sS https://ok.test/1')
        assert 'ok.test/1' in got.out, got
        here = bed(RULES, config('http://127.0.0.1:%d' % (one.port - 1)))
        got = here.run('curl -sS https://ok.test/1')
        row, = got.find(event='dial')
        assert row['duenna.detail'] == 'the proxy: connection refused', got
        assert row['reason'] == 'up.connect'
    finally:
        one.stop()


def test_a_literal_address_is_judged_before_it_is_asked_for(bed, proxy):
    """What can be judged here is: the host's own address is not reached over
    the proxy.  An address is no name: it goes there only if it is listed."""
    here = bed(RULES, config(url(proxy)))
    here.run('curl -sS https://203.0.113.7/0')
    assert here.origin_events('open') and proxy.seen == []
    here = bed(RULES, config(url(proxy), '"**", 203.0.113.7'))
    subprocess.run(['ip', 'addr', 'add', '203.0.113.7/32', 'dev', 'lo'],
                   check=True)
    try:
        got = here.run('curl -sS https://203.0.113.7/1')
    finally:
        subprocess.run(['ip', 'addr', 'del', '203.0.113.7/32', 'dev', 'lo'],
                       check=True)
    row, = got.find(event='dial')
    assert row['reason'] == 'dst.self' and proxy.seen == [], got
    got = here.run('curl -sS https://203.0.113.7/2')
    assert proxy.seen[0].startswith('CONNECT 203.0.113.7:443 '), got


def test_the_variables_of_the_caller_say_how(bed, proxy):
    here = bed(RULES)
    got = here.run('curl -sS https://ok.test/1; env',
                   env={'https_proxy': url(proxy), 'HTTPS_PROXY': url(proxy)})
    assert 'ok.test/1' in got.out and proxy.seen == [], got
    assert 'https_proxy is not passed on' in got.err, got
    assert 'proxy: "http://HOST:PORT"' in got.err, got
    here = bed(RULES, config(url(proxy)))
    got = here.run('true', env={'https_proxy': url(proxy)})
    assert 'https_proxy' not in got.err, got


def test_check_says_what_a_proxy_takes_away(bed, proxy):
    here = bed(RULES, config(url(proxy)))
    status, out, err = here.duenna('check', 'duenna.yaml')
    assert status == 0, out + err
    assert '`proxy` resolves these names itself: duenna cannot judge' in out


def test_through_tinyproxy(bed):
    """A proxy that people use, which resolves the name itself."""
    tinyproxy = shutil.which('tinyproxy')
    if not tinyproxy:
        pytest.skip('tinyproxy is not installed')
    folder = base() + '/bed/tinyproxy'
    os.makedirs(folder, exist_ok=True)
    with open(folder + '/conf', 'w', encoding='ascii') as f:
        f.write('Port 8888\nListen %s\nAllow 0.0.0.0/0\nConnectPort 443\n'
                'LogFile "%s/log"\n' % (ADDRESS, folder))
    with open(folder + '/hosts', 'w', encoding='ascii') as f:
        f.write('%s ok.test\n' % ORIGIN)
    child = subprocess.Popen(
        ['unshare', '-m', 'sh', '-c', 'mount --bind "$0/hosts" /etc/hosts && '
         'exec "$1" -d -c "$0/conf"', folder, tinyproxy],
        stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection((ADDRESS, 8888)).close()
                break
            except OSError:
                time.sleep(0.05)
        here = bed(RULES, config('http://%s:8888' % ADDRESS))
        got = here.run('curl -sS https://ok.test/1; '
                       'curl -sS http://plain.test/2')
    finally:
        child.kill()
        child.wait()
    assert 'hello from ok.test/1' in got.out, got
    first, second = got.find(event='dial')
    assert first['verdict'] == 'allow'
    # it lets CONNECT to port 443 through, as its configuration says
    assert second['duenna.detail'] == 'the proxy forbids it (403)', got
    assert RESOLVER not in got.out
