# SPDX-License-Identifier: Apache-2.0
"""WebSockets over HTTP/2 (RFC 8441), with node on both sides."""
import subprocess

import pki
import pytest

from pass_bed import HOST

SERVER = '''
const fs = require("fs"), http2 = require("http2");
const pem = fs.readFileSync(process.argv[1]);
const server = http2.createSecureServer({ key: pem, cert: pem,
    settings: { enableConnectProtocol: process.argv[3] !== "no" } });
if (process.argv[3] === "once")
    server.on("session", s => {
        server.updateSettings({ enableConnectProtocol: false });
        s.on("stream", stream => stream.on("close", () => s.close()));
    });
server.on("stream", (stream, head) => {
    stream.on("error", () => {});
    if (head[":method"] !== "CONNECT") {
        stream.respond({ ":status": 200 });
        stream.end("plain\\n");
        return;
    }
    if (head[":path"] === "/live/no") {
        stream.respond({ ":status": 404 });
        stream.end("no such\\n");
        return;
    }
    stream.respond({ ":status": 200, "sec-websocket-protocol": "chat",
        "x-seen": [head[":protocol"], head["authorization"] ? "token" : "none",
            head["sec-websocket-version"]].join(" ") });
    stream.on("data", d => stream.write(d.toString().toUpperCase()));
    stream.on("end", () => stream.end("over"));
});
server.listen(9443, process.argv[2], () => console.log("ready"));
'''
CLIENT = '''
const http2 = require("http2");
const HOST = "https://api.test:9443";
function once(o, what) { return new Promise(r => o.once(what, (...a) => r(a))); }
async function session() {
    const s = http2.connect(HOST);
    const [settings] = await once(s, "remoteSettings");
    return [s, settings.enableConnectProtocol === true];
}
async function get(s) {
    const r = s.request({ ":path": "/live/get" });
    r.resume();
    const [head] = await once(r, "response");
    await once(r, "end");
    return head[":status"];
}
async function open(s, path) {
    const r = s.request({ ":method": "CONNECT", ":protocol": "websocket",
        ":path": path, "sec-websocket-version": "13",
        "sec-websocket-protocol": "v2, chat" }, { endStream: false });
    r.setEncoding("utf8");
    const [head] = await once(r, "response");
    return [r, head];
}
async function main() {
    let [s] = await session();
    console.log("get", await get(s));
    s.close();
    let may;
    [s, may] = await session();
    console.log("offered", may);
    if (!may)
        process.exit(0);
    const [r, head] = await open(s, "/live/x");
    console.log(head[":status"], head["x-seen"], head["sec-websocket-protocol"]);
    r.write("hello");
    console.log((await once(r, "data"))[0]);
    console.log("get", await get(s));
    r.end();
    console.log((await once(r, "data"))[0]);
    const [n, gone] = await open(s, "/live/no");
    console.log(gone[":status"]);
    n.close();
    const [d, denied] = await open(s, "/other");
    console.log(denied[":status"], denied["duenna-reason"]);
    d.close();
    const [b] = await open(s, "/small");
    b.on("error", () => {});
    b.write("x".repeat(3000));
    await once(b, "close");
    console.log("cut", b.rstCode);
    console.log("get", await get(s));
    s.close();
}
main();
'''
AGAIN = CLIENT.replace('main();', '') + '''
(async () => {
    let [s, may] = await session();
    console.log("get", await get(s));
    s.close();
    [s, may] = await session();
    const [r, head] = await open(s, "/live/x");
    console.log("offered", may, head[":status"], head["duenna-reason"]);
    r.close();
    s.close();
    [s, may] = await session();
    console.log("offered", may);
    s.close();
})();
'''
RULES = '''\
- name: live
  allow: wss://api.test:9443/live/**
- name: small
  allow: wss://api.test:9443/small
  limits: {body: 1KiB}
- name: rest
  allow: https://api.test:9443/**
'''


@pytest.fixture(name='origin')
def fixture_origin(peers):
    """An origin that offers them, or does not."""
    children = []

    def start(offers):
        children.append(subprocess.Popen(
            ['node', '-e', SERVER, pki.leaf(peers.pki, 'api.test'), HOST,
             offers], stdout=subprocess.PIPE, text=True))
        assert children[-1].stdout.readline() == 'ready\n'

    peers.resolve({'api.test': [{'a': [HOST]}]})
    yield start
    for child in children:
        child.kill()
        child.wait()


def test_one_is_opened_where_both_sides_offer_it(bed, origin):
    origin('yes')
    here = bed(RULES)
    got = here.run(['node', '-e', CLIENT])
    assert got.out == ('get 200\noffered true\n200 websocket none 13 chat\n'
                       'HELLO\nget 200\nover\n404\n403 http.path_denied\n'
                       'cut 2\nget 200\n'), got
    row, = [r for r in got.find(event='request.end')
            if r['url.path'] == '/live/x']
    assert (row['http.request.method'], row['http.response.status_code'],
            row['rule'], row['duenna.upgrade']) == \
        ('CONNECT', 200, 'live', True), got
    assert got.reasons() == ['http.path_denied', 'limit.bytes'], got


def test_an_origin_that_takes_none_any_more_is_asked_for_none(bed, origin):
    origin('once')
    got = bed(RULES).run(['node', '-e', AGAIN])
    assert got.out == ('get 200\noffered true 502 up.response\n'
                       'offered false\n'), got


@pytest.mark.parametrize('offers,rules', [
    ('no', RULES), ('yes', '- allow: https://api.test:9443/**\n')])
def test_it_is_offered_nowhere_else(bed, origin, offers, rules):
    origin(offers)
    got = bed(rules).run(['node', '-e', CLIENT])
    assert got.out == 'get 200\noffered false\n', got
