# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 end to end: what each stream carries, and what ends it."""
import hashlib
import json
import os
import subprocess

import pytest

import bed as bed_module
import h2origin
from run_bed import wait_for_file

PORT = 4443
ANY = '- allow: https://*.h2.test:4443/**\n  methods: any\n'
CLIENT = os.path.join(bed_module.PEERS, 'h2client.py')
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL = 0, 2, 7, 8
CONFIG = bed_module.Bed.config(only='"https://*.h2.test:4443/**"')


@pytest.fixture
def origin(peers):
    with h2origin.Origin(PORT, peers.pki) as one:
        yield one


def h2(here, *streams, name='a.h2.test'):
    """What came of these streams, on one connection; the run beside it."""
    here.write('project/streams', json.dumps(streams))
    with open(CLIENT, encoding='ascii') as f:
        here.write('project/h2client.py', f.read())
    got = here.run('sed "s/PLACEHOLDER/$API_TOKEN/" streams | '
                   '/usr/bin/python3 h2client.py %s %d' % (name, PORT))
    assert got.exit == 0 and got.out, got
    got.h2 = json.loads(got.out)
    return got


def one(here, path, **more):
    got = h2(here, dict(path=path, **more))
    return got, got.h2['streams'][0]


def test_requests_at_once_share_one_connection(bed, origin):
    got = h2(bed(ANY), *[{'path': '/%d' % i} for i in range(50)])
    said = [s['body'] for s in got.h2['streams']]
    assert said == ['GET /%d\n' % i for i in range(50)], got
    assert origin.connections == 1 and len(got.find(event='dial')) == 1, got
    assert len(got.find(event='request.end', verdict='allow')) == 50, got
    assert got.find(event='flow.end', verdict='allow'), got


def test_clients_share_it_too(bed, origin):
    got = bed(ANY).run(' & '.join(
        ['curl -sS https://a.h2.test:4443/%d' % i for i in range(8)]) +
        ' & wait')
    assert sorted(got.out.split()) == sorted(
        ['GET'] * 8 + ['/%d' % i for i in range(8)]), got
    # but for those whose handshakes asked for the choice at the same time
    assert len(origin.requests) == 8, origin.requests
    assert {r['connection'] for r in origin.requests} <= \
        set(range(1, origin.connections + 1))


def test_the_head_is_written_anew(bed, origin):
    got, said = one(bed(ANY), '/b?x=1', fields=[
        ('user-agent', 'x'), ('te', 'trailers'), ('x-forwarded-for', '1.1.1.1'),
        ('forwarded', 'for=1.1.1.1')])
    assert said['status'] == '200' and said['ended'], got
    fields = origin.requests[0]['fields']
    assert [f[0] for f in fields][:4] == \
        [':method', ':scheme', ':path', ':authority'], fields
    assert dict(map(tuple, fields))[':path'] == '/b?x=1', fields
    names = [f[0] for f in fields]
    assert 'x-forwarded-for' not in names and \
        'forwarded' not in names, fields
    assert ['te', 'trailers'] in fields, fields


def test_a_credential_goes_with_each_request(bed, origin):
    here = bed(ANY + '  credential: api\n', CONFIG)
    got = h2(here, *[{'path': '/%d' % i} for i in range(5)])
    assert [s['status'] for s in got.h2['streams']] == ['200'] * 5, got
    for request in origin.requests:
        assert ['authorization', 'Bearer ' + here.canary] in \
            request['fields'], request
    assert len(got.find(event='release', verdict='allow')) == 5, got
    assert origin.connections == 1


def test_a_refusal_ends_its_stream_alone(bed, origin):
    here = bed('- allow: https://a.h2.test:4443/ok/**\n')
    got = h2(here, {'path': '/ok/1'}, {'path': '/no'}, {'path': '/ok/2'})
    said = got.h2['streams']
    assert [s['status'] for s in said] == ['200', '403', '200'], got
    assert 'duenna refused GET https://a.h2.test:4443/no' in said[1]['body']
    assert ['duenna-reason', 'http.path_denied'] in said[1]['fields']
    assert all(s['ended'] and s['reset'] is None for s in said), got
    assert got.h2['goaway'] is None and len(origin.requests) == 2, got


def test_another_name_is_misdirected(bed, origin):
    got = h2(bed(ANY), {'path': '/1'},
             {'path': '/2', 'fields': [[':authority', 'b.h2.test:4443']]},
             {'path': '/3'})
    assert [s['status'] for s in got.h2['streams']] == \
        ['200', '421', '200'], got
    assert got.reasons() == ['http.host_mismatch'], got
    assert [r['path'] for r in origin.requests] == ['/1', '/3']


@pytest.mark.parametrize('field, reason', [
    (('connection', 'close'), 'http.malformed'),
    (('transfer-encoding', 'chunked'), 'http.malformed'),
    (('X-Upper', '1'), 'http.malformed'),
    (('x', 'a\r\nb: c'), 'http.malformed'),
    (('te', 'gzip'), 'http.malformed')])
def test_an_illegal_field_refuses_the_stream(bed, origin, field, reason):
    """H2-01 to H2-03."""
    got = h2(bed(ANY), {'path': '/1', 'fields': [field]}, {'path': '/2'})
    assert got.h2['streams'][0]['status'] == '400', got
    assert got.h2['streams'][1]['status'] == '200', got
    assert got.reasons() == [reason], got
    assert [r['path'] for r in origin.requests] == ['/2']


@pytest.mark.parametrize('length', ['4', '6'])
def test_a_length_that_is_not_true_completes_nothing(bed, origin, length):
    """H2-04."""
    got = h2(bed(ANY), {'path': '/_sink', 'method': 'POST', 'body': '12345',
                        'fields': [['content-length', length]]})
    assert got.h2['streams'][0]['reset'] is not None or \
        got.h2['streams'][0]['status'] == '400', got
    assert got.reasons() == ['http.framing'], got
    assert not any(r['ended'] for r in origin.requests), origin.requests


def test_trailers_go_both_ways(bed, origin):
    got = h2(bed(ANY), {'path': '/_echo', 'method': 'POST', 'body': 'abc',
                        'fields': [['trailer', 'x-sum, host']],
                        'trailers': [['x-sum', '7']]},
             {'path': '/_trailers'}, {'path': '/_only'})
    echo, answer, only = got.h2['streams']
    assert echo['body'] == 'abc' and echo['trailers'] == [['x-sum', '7']], got
    assert ['trailer', 'x-sum'] in origin.requests[0]['fields'], got
    assert answer['body'] == 'ok' and answer['ended'], got
    assert answer['trailers'] == [['grpc-status', '0'], ['x-more', 'yes']]
    assert only['ended'] and ['grpc-status', '5'] in only['fields'], got
    assert only['body'] == '' and only['trailers'] is None, got


@pytest.mark.parametrize('more', ['', '  credential: api\n'])
def test_a_placeholder_in_trailers_ends_the_request(bed, origin, more):
    here = bed(ANY + more, CONFIG)
    other = here.run('printf %s "$API_TOKEN"').out  # of another sandbox
    got, said = one(here, '/_sink', method='POST', body='abc',
                    trailers=[['x-sum', 'a PLACEHOLDER']])
    assert said['status'] == '403', got
    assert got.reasons() == ['cred.misplaced'] == \
        [r['reason'] for r in got.find(event='alarm')], got
    assert not any(r['ended'] for r in origin.requests), origin.requests
    got, said = one(here, '/_sink', method='POST', body='abc',
                    trailers=[['x-sum', other]])
    assert got.reasons() == ['cred.foreign'], got


def test_trailers_are_searched_too(bed, origin):
    here = bed(ANY + '  credential: api\n', CONFIG)
    got = h2(here, {'path': '/_mirror'},
             {'path': '/_sink', 'method': 'POST', 'body': 'abc',
              'trailers': [['x-sum', 'a' + here.canary]]})
    mirror, sink = got.h2['streams']
    assert mirror['trailers'] == \
        [['x-got', 'Bearer ' + '*' * len(here.canary)]], got
    assert len(got.find(event='alarm', reason='cred.echo')) == 1, got
    assert sink['status'] == '403' and \
        ['duenna-reason', 'cred.leak'] in sink['fields'], got
    assert len(got.find(event='alarm', reason='cred.leak')) == 1, got
    # Of that request the origin has seen a part, or nothing.
    assert not [r for r in origin.requests if r['path'] == '/_sink' and
                (r['trailers'] or r['ended'])], origin.requests
    here.write('project/streams', '[]')  # the token stood there


def test_heads_before_the_answer_are_passed_on(bed, origin):
    got, said = one(bed(ANY), '/_early')
    assert said['early'] == ['100', '103'] and said['status'] == '200', got


@pytest.mark.parametrize('code', [INTERNAL_ERROR, CANCEL, 11])
def test_the_reset_of_an_origin_is_passed_on(bed, origin, code):
    got = h2(bed(ANY), {'path': '/_reset/%d' % code},
             {'path': '/_cut/%d' % code}, {'path': '/fine'})
    reset, cut, fine = got.h2['streams']
    assert reset['reset'] == cut['reset'] == code, got
    assert not cut['ended'], got
    assert fine['ended'] and got.reasons() == ['up.response'] * 2, got


def test_the_reset_of_a_client_is_passed_on(bed, origin):
    here = bed(ANY)
    got = here.run('curl -sS -m 1 https://a.h2.test:4443/_half; '
                   'curl -sS https://a.h2.test:4443/next')
    assert got.out.endswith('GET /next\n'), got
    assert origin.requests[0]['reset'] == CANCEL, origin.requests
    assert got.reasons() == ['client.abort'], got


def test_a_request_that_was_refused_is_tried_once_more(bed, origin):
    got, said = one(bed(ANY), '/_refuse', method='POST')
    assert said['status'] == '200' and said['ended'], got
    assert [r['path'] for r in origin.requests] == ['/_refuse'] * 2
    assert origin.connections == 2
    assert len(got.find(event='request.end')) == 1, got


def test_one_with_trailers_is_not_tried_again_without(bed, origin):
    got, said = one(bed(ANY), '/_refuse', method='POST',
                    trailers=[['x-sum', '1']])
    assert said['reset'] == REFUSED_STREAM and said['status'] is None, got
    assert len(origin.requests) == 1, origin.requests


def test_rules_of_one_connection_share_no_credential(bed, origin):
    here = bed('- allow: https://a.h2.test:4443/mine/**\n  credential: api\n'
               '- allow: https://a.h2.test:4443/open/**\n', CONFIG)
    got = h2(here, *[{'path': '/%s/%d' % (('mine', 'open')[i % 2], i)}
                     for i in range(20)])
    assert [s['status'] for s in got.h2['streams']] == ['200'] * 20, got
    assert [('/mine/' in r['path']) for r in origin.requests] == \
        [['authorization', 'Bearer ' + here.canary] in r['fields']
         for r in origin.requests], origin.requests
    assert origin.connections == 1, got


def test_a_goaway_ends_nothing_that_was_taken(bed, origin):
    here = bed(ANY)
    got = here.run('for i in 1 2 3; do '
                   'curl -sS https://a.h2.test:4443/_goaway; done')
    assert got.out == 'GET /_goaway\n' * 3, got
    assert not got.reasons(), got
    got, said = one(here, '/_leave')
    # twice: then the client is told, who may try again
    assert said['reset'] == REFUSED_STREAM, got
    assert origin.requests[-1]['path'] == '/_leave'


def test_a_connection_that_dies_cuts_what_is_under_way(bed, origin):
    got = h2(bed(ANY), {'path': '/_dead'})
    said = got.h2['streams'][0]
    assert said['reset'] == INTERNAL_ERROR and not said['ended'], got
    assert got.reasons() == ['up.response'], got


def test_an_answer_before_its_request_has_ended(bed, origin):
    """RFC 9113 8.1: the origin wants no more of it."""
    got = h2(bed(ANY), {'path': '/_full', 'method': 'POST', 'body': 'a' * 99,
                        'open': True})
    said = got.h2['streams'][0]
    assert said['body'] == 'full' and said['ended'], got
    assert not got.reasons(), got


@pytest.mark.parametrize('size', [1000, 3000000])
def test_a_refused_upload_shows_its_refusal(bed, origin, size):
    here = bed('- deny: https://a.h2.test:4443/**\n')
    here.write('project/body', 'b' * size)
    got = here.run('curl -sS -X POST --data-binary @body '
                   '-w "%{http_version} %{http_code} %{size_upload}\\n" '
                   'https://a.h2.test:4443/up')
    assert 'duenna refused POST https://a.h2.test:4443/up' in got.out, got
    assert '\n2 403 ' in got.out, got
    assert origin.connections == 0, got


def test_bodies_arrive_byte_for_byte(bed, origin):
    data = ''.join(chr(33 + i * 7 % 90) for i in range(3000000))
    here = bed(ANY)
    here.write('project/up', data)
    got = here.run('curl -sS -T up https://a.h2.test:4443/_sink; echo; '
                   'curl -sS -T - https://a.h2.test:4443/_echo < up | '
                   'sha256sum')
    sum_ = hashlib.sha256(data.encode()).hexdigest()
    assert got.out.split() == [sum_, sum_, '-'], got
    fields = [dict(map(tuple, r['fields'])) for r in origin.requests]
    assert fields[0]['content-length'] == '3000000'
    assert 'content-length' not in fields[1]


def test_a_head_request_has_a_length_and_no_body(bed, origin):
    got = h2(bed('- allow: https://a.h2.test:4443/**\n'),
             {'path': '/x', 'method': 'HEAD'},
             {'path': '/x', 'method': 'DELETE'})
    assert got.h2['streams'][0]['status'] == '200', got
    assert got.h2['streams'][1]['status'] == '403', got


CLIENTS = {
    'node': '''node -e '
const h2 = require("http2"), c = h2.connect("https://a.h2.test:4443");
let n = 3;
for (const i of [1, 2, 3]) {
  const r = c.request({":path": "/" + i, ":method": "POST"});
  r.setEncoding("utf8");
  r.on("data", d => process.stdout.write(d));
  r.on("end", () => { if (--n == 0) c.close(); });
  r.end("body");
}' ''',
    'httpx': '''/usr/bin/python3 -c '
import httpx, ssl
with httpx.Client(http2=True, verify=ssl.create_default_context()) as c:
    for i in (1, 2, 3):
        r = c.post("https://a.h2.test:4443/%d" % i, content=b"body")
        assert r.http_version == "HTTP/2"
        print(r.text, end="")
' ''',
    'nghttp': '''nghttp -d /dev/null -H ":method: POST" '''
              '''https://a.h2.test:4443/1 https://a.h2.test:4443/2 '''
              '''https://a.h2.test:4443/3''',
}


@pytest.mark.parametrize('client', CLIENTS)
def test_real_clients(bed, origin, client):
    got = bed(ANY).run(CLIENTS[client])
    assert sorted(got.out.split('\n')) == \
        ['', 'POST /1', 'POST /2', 'POST /3'], got
    assert got.exit == 0 and not got.reasons(), got
    assert {r['connection'] for r in origin.requests} == {1}


@pytest.fixture
def nghttpd(peers):
    """A real server, with one large file."""
    import pki
    docs = peers.dir + '/docs'
    os.makedirs(docs, exist_ok=True)
    with open(docs + '/large', 'wb') as f:
        f.truncate(100 << 20)
    pem = pki.leaf(pki.make(peers.pki), 'a.h2.test')
    child = subprocess.Popen(['nghttpd', '-d', docs, '--echo-upload',
                              str(PORT), pem, pem], stdout=subprocess.DEVNULL)
    yield child
    child.kill()
    child.wait()


def test_large_bodies_and_many_requests(bed, nghttpd):
    here = bed(ANY)
    got = here.run(
        'truncate -s 100M up; curl -sS --retry 3 --retry-connrefused '
        'https://a.h2.test:4443/large | sha256sum; '
        'curl -sS -T up https://a.h2.test:4443/echo | sha256sum; '
        'h2load -n 500 -c 4 -m 50 https://a.h2.test:4443/none | '
        'grep status')
    zeros = hashlib.sha256(bytes(100 << 20)).hexdigest()
    assert got.out.count(zeros) == 2, got
    assert '500 4xx' in got.out, got
    assert not got.reasons(), got


def test_answers_that_nobody_reads_hold_up_no_other(bed, nghttpd):
    """Their connection's window is full, so the next one has another."""
    here = bed(ANY)
    got = here.run(
        'for i in 1 2 3 4 5 6; do '
        'curl -sS https://a.h2.test:4443/large | { touch $i; sleep 60; } & '
        'pids="$pids $!"; done; '
        'for i in 1 2 3 4 5 6; do until [ -e $i ]; do sleep 0.1; done; done; '
        'sleep 1; curl -sS -m 20 -o /dev/null -w "%{http_code}\\n" '
        'https://a.h2.test:4443/none; kill $pids')
    assert got.out == '404\n', got
    assert 1 < len(got.find(event='dial')) < 9, got


def test_an_origin_that_dies(bed, nghttpd):
    here = bed(ANY)
    running = here.start([
        'sh', '-c', 'curl -sS --retry 3 --retry-connrefused --limit-rate 1M '
        '-o out https://a.h2.test:4443/large; echo $?; '
        'curl -sS https://a.h2.test:4443/large'])
    wait_for_file(here.project + '/out')
    nghttpd.kill()
    got = running.wait()
    assert got.out.startswith('92\n'), got
    assert 'up.connect' in got.out, got
    assert 'up.response' in got.reasons(), got


MANY = """
import socket, ssl, h2.connection, h2.events
ctx = ssl.create_default_context()
ctx.set_alpn_protocols(['h2'])
said, kept = {}, []
while '429' not in said and len(kept) < 12:
    sock = ctx.wrap_socket(socket.create_connection(('a.h2.test', 4443)),
                           server_hostname='a.h2.test')
    conn = h2.connection.H2Connection()
    conn.initiate_connection()
    left = 120
    for i in range(left):
        conn.send_headers(2 * i + 1, [
            (':method', 'GET'), (':scheme', 'https'), (':path', '/_half'),
            (':authority', 'a.h2.test:4443')], end_stream=True)
    while left:
        sock.sendall(conn.data_to_send())
        for event in conn.receive_data(sock.recv(65536)):
            if isinstance(event, h2.events.ResponseReceived):
                status = dict(event.headers)[b':status'].decode()
                said[status] = said.get(status, 0) + 1
                left -= 1
    kept.append(sock)
print(said)
"""


def test_requests_at_once_have_a_limit(bed, origin):
    here = bed(ANY)
    here.write('project/many.py', MANY)
    got = here.run('/usr/bin/python3 many.py')
    assert got.out == "{'200': 1024, '429': 56}\n", got
    assert got.reasons().count('limit.conns') == 56, got
    # with them the room is there again
    assert one(here, '/')[1]['status'] == '200'


HELD = """
import socket, ssl
def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, 'big') + bytes([kind, flags]) + \\
        stream.to_bytes(4, 'big') + payload
def literal(name, value):
    return b'\\0' + bytes([len(name)]) + name + bytes([len(value)]) + value
HEAD = b''.join(literal(*f) for f in [
    (b':method', b'POST'), (b':scheme', b'https'), (b':path', b'/no'),
    (b':authority', b'a.h2.test:4443')])
ctx = ssl.create_default_context()
ctx.set_alpn_protocols(['h2'])
kept, ended = [], 0
for _ in range(20):
    sock = ctx.wrap_socket(socket.create_connection(('a.h2.test', 4443)),
                           server_hostname='a.h2.test')
    sock.settimeout(20)
    flood = b''.join(frame(1, 4, 2 * i + 1, HEAD) for i in range(128))
    kept.append(sock)
    try:
        for data in [b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' +
                     frame(4, 0, 0, b'') + flood, b'']:
            sock.sendall(data + frame(6, 0, 0, b'12345678'))
            got = b''
            while b'12345678' not in got:
                part = sock.recv(65536)
                if not part:
                    raise OSError
                got += part
    except OSError:
        ended += 1
print(ended)
"""


def test_refusals_that_are_held_have_a_ceiling_too(bed, origin):
    """Uploads that go on: each refusal waits for the end of its own."""
    here = bed('- allow: https://a.h2.test:4443/ok\n')
    here.write('project/held.py', HELD)
    got = here.run('/usr/bin/python3 held.py')
    assert got.out == '4\n', got
    ends = [r['reason'] for r in got.find(event='flow.end', verdict='deny')]
    assert ends.count('h2.abuse') == 4, got
    assert one(here, '/ok')[1]['status'] == '200'


@pytest.mark.parametrize('role', ['worker', 'keeper', 'dialer'])
def test_a_role_that_is_killed_is_there_again(bed, origin, role):
    """What is under way ends with the worker alone; then all goes on."""
    here = bed(ANY + '  credential: api\n', CONFIG)
    running = here.start(['sh', '-c', '''
        curl -sSN -m 20 https://a.h2.test:4443/_half > half & half=$!
        until [ -s half ]; do sleep 0.02; done; : > here
        until [ -e go ]; do sleep 0.02; done
        until [ "$(curl -sS https://a.h2.test:4443/next)" = "GET /next" ]; do
          sleep 0.1
        done
        kill $half; wait $half; echo $?'''])
    wait_for_file(here.project + '/here')
    os.kill(running.roles()[role][0], 9)
    here.write('project/go', '')
    got = running.wait()
    # it was cut with the worker, and else goes on until it is killed
    assert (got.out != '143\n') == (role == 'worker'), got
    assert got.out.strip() in ('143', '92', '56', '18', '16'), got
