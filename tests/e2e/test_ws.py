# SPDX-License-Identifier: Apache-2.0
"""WebSockets end to end, with programs that know them."""
import asyncio
import contextlib
import shutil
import ssl
import threading

import pki
import pytest

from bed import Bed
from pass_bed import HOST

websockets = pytest.importorskip('websockets')

RULES = '''\
- name: live
  allow: wss://api.test:9443/live/**
  credential: api
- name: small
  allow: wss://api.test:9443/small
  limits: {body: 64KiB}
- name: rest
  allow: https://api.test:9443/live/**
- name: plain
  allow: ws://api.test:8081/**
'''
PYTHON = '''
import asyncio, sys, websockets
async def main():
    async with websockets.connect(URL, subprotocols=["v2", "chat"],
                                  max_size=None) as ws:
        await ws.send("hello")
        print(ws.subprotocol, [e.name for e in ws.extensions], await ws.recv())
        await ws.send(b"\\0\\xff" * 1000000)
        print(len(await ws.recv()))
        await asyncio.wait_for(await ws.ping(), 10)
        await ws.send("bye")
        try:
            await ws.recv()
        except websockets.ConnectionClosed as e:
            print(e.rcvd.code, e.rcvd.reason)
try:
    asyncio.run(main())
except websockets.InvalidStatusCode as e:
    print(e.status_code)
except websockets.ConnectionClosed as e:
    print("cut", e.rcvd)
'''
JAVA = '''
import java.net.URI;
import java.net.http.*;
import java.nio.ByteBuffer;
import java.util.concurrent.*;
public class Ws implements WebSocket.Listener {
    static CompletableFuture<String> got = new CompletableFuture<>();
    public CompletionStage<?> onText(WebSocket ws, CharSequence text, boolean last) {
        got.complete(text.toString());
        return null;
    }
    public static void main(String[] a) throws Exception {
        var client = HttpClient.newHttpClient();
        var request = HttpRequest.newBuilder(URI.create(a[0])).build();
        var text = HttpResponse.BodyHandlers.ofString();
        System.out.print(client.send(request, text).body());
        System.out.print(client.send(request, text).body());
        var ws = client.newWebSocketBuilder().subprotocols("chat")
            .buildAsync(URI.create(a[1]), new Ws()).get(20, TimeUnit.SECONDS);
        ws.sendText("from java", true);
        System.out.println(got.get(20, TimeUnit.SECONDS));
        ws.sendClose(WebSocket.NORMAL_CLOSURE, "").get(20, TimeUnit.SECONDS);
    }
}
'''


NODE = '''
const ws = new WebSocket("wss://api.test:9443/live/n", ["chat"]);
ws.onopen = () => ws.send("from node");
ws.onmessage = m => { console.log(ws.protocol, m.data); ws.close(1000); };
ws.onclose = c => console.log(c.code);
ws.onerror = e => console.log(e);
'''


async def handle(ws):
    seen.append(ws.request_headers)
    async for message in ws:
        if message == 'bye':
            await ws.close(4001, 'as you wish')
            return
        await ws.send(message)


async def serve(pem, ready, stop):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(pem)
    more = {'subprotocols': ['chat'], 'max_size': None}
    async with websockets.serve(handle, HOST, 9443, ssl=ctx, **more), \
            websockets.serve(handle, HOST, 8081, **more):
        ready.set()
        while not stop.is_set():
            await asyncio.sleep(.02)


seen = []


@pytest.fixture(name='live')
def fixture_live(peers):
    """A server of them, by TLS and without, at api.test."""
    ready, stop = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(serve(
        pki.leaf(peers.pki, 'api.test'), ready, stop)))
    peers.resolve({'api.test': [{'a': [HOST]}]})
    seen.clear()
    thread.start()
    with contextlib.ExitStack() as at_end:
        at_end.callback(thread.join)
        at_end.callback(stop.set)
        assert ready.wait(10)
        yield


def bed_of(bed, rules):
    return bed(rules, Bed.config(only='https://api.test:9443/**'))


def python(here, url):
    return here.run(['/usr/bin/python3', '-c', 'URL = %r' % url + PYTHON])


@pytest.mark.parametrize('url', ['wss://api.test:9443/live/x',
                                 'ws://api.test:8081/x'])
def test_messages_go_both_ways_and_are_counted(bed, live, url):
    here = bed_of(bed, RULES)
    got = python(here, url)
    assert got.out == "chat ['permessage-deflate'] hello\n2000000\n" \
        '4001 as you wish\n', got
    end, = got.find(event='request.end')
    tls = url.startswith('wss')
    assert (end['verdict'], end['http.response.status_code'], end['rule']) == \
        ('allow', 101, 'live' if tls else 'plain'), got
    assert end['duenna.upgrade'] is True
    assert end['duenna.bytes.up'] > 2000 and end['duenna.bytes.down'] > 2000
    assert [h.get('Authorization') for h in seen] == \
        ['Bearer ' + here.canary if tls else None], got
    assert len(got.find(event='request.begin')) == (1 if tls else 0), got


def test_check_and_explain_know_them(bed):
    here = bed_of(bed, RULES)
    code, out, _ = here.duenna('check')
    assert code == 0 and 'behind the upgrade is not searched' in out, out
    code, out, _ = here.duenna('explain', 'wss://api.test:9443/live/x')
    assert code == 0 and 'rule `live`' in out and \
        'carries credential `api`' in out, out
    code, out, _ = here.duenna('explain', 'https://api.test:9443/small')
    assert code == 1 and 'http.path_denied' in out, out
    code, out, _ = here.duenna('explain', 'wss://ok.test/')
    assert code == 1 and '`- allow: wss://ok.test/**`' in out, out


def test_without_a_rule_the_client_is_told_403(bed, live):
    here = bed_of(bed, RULES)
    got = python(here, 'wss://api.test:9443/other')
    assert got.out == '403\n' and got.reasons() == ['http.path_denied'], got
    assert not seen


def test_more_than_its_rule_allows_is_cut(bed, live):
    here = bed_of(bed, RULES.replace('limits: {body: 64KiB}', 'limits: {body: 1KiB}'))
    got = python(here, 'wss://api.test:9443/small')
    assert 'hello' in got.out and got.out.endswith('cut None\n'), got
    end, = got.find(event='request.end')
    assert (end['reason'], end['http.response.status_code']) == \
        ('limit.bytes', 101), got
    assert end['duenna.bytes.up'] < 1024 + 600, got


def test_node_opens_one(bed, live):
    here = bed_of(bed, RULES)
    got = here.run(['node', '--experimental-websocket', '-e', NODE])
    if 'bad option' in got.err or 'not defined' in got.err:
        pytest.skip('this node has none')
    assert got.out == 'chat from node\n1000\n', got
    assert got.find(event='request.end')[0]['duenna.upgrade'] is True, got


def test_java_opens_one_and_asks_for_h2c_elsewhere(bed, live):
    if not shutil.which('javac'):
        pytest.skip('no java')
    here = bed_of(bed, RULES + '- allow: http://ok.test/**\n')
    here.write('project/Ws.java', JAVA)
    got = here.run('java Ws.java http://ok.test/a wss://api.test:9443/live/j')
    assert got.out.count('hello from ok.test/a\n') == 2 and \
        got.out.endswith('from java\n'), got
    # It does not wait for the end of what it has closed.
    assert set(got.reasons()) <= {'client.abort'}, got
    asked = [n.lower() for r in here.origin_requests() for n, _ in r['fields']]
    assert not {'upgrade', 'http2-settings', 'connection'} & set(asked), got
