# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 end to end: bodies, lengths, connections."""
import hashlib

import pytest

from rawclient import get, one, try_all

ANY = '- allow: https://ok.test/**\n  methods: any\n'


@pytest.fixture
def here(bed):
    return bed(ANY)


def test_a_known_length_stays_a_length(here):
    got = here.run('curl -sS -D - https://ok.test/_fixed/1000 -o body; '
                   'wc -c < body')
    assert 'content-length: 1000' in got.out.lower() and \
        got.out.endswith('1000\n'), got


def test_a_chunked_answer_stays_chunked(here):
    got = here.run('curl -sS -D - https://ok.test/_chunked/5000 -o body; '
                   'wc -c < body')
    assert 'transfer-encoding: chunked' in got.out.lower() and \
        got.out.endswith('5000\n'), got


def test_an_answer_that_ends_with_the_connection_arrives_whole(here):
    got = here.run('curl -sS -o body https://ok.test/_until-close/70000 && '
                   'wc -c < body')
    assert got.out == '70000\n', got


def test_an_end_that_is_not_announced_is_an_error(here):
    got = here.run('curl -sS -o body https://ok.test/_until-cut/70000')
    assert got.exit != 0, got
    assert 'up.response' in [r.get('reason') for r in got.audit] + \
        [r.get('duenna.fault') for r in got.audit], got


@pytest.mark.parametrize('how', ['-T up', '-T - -H Expect: < up'])
def test_an_upload_arrives_byte_for_byte(here, how):
    data = ''.join(chr(33 + i * 7 % 90) for i in range(300000))
    here.write('project/up', data)
    got = here.run('curl -sS %s https://ok.test/_sink' % how)
    assert got.exit == 0, got
    seen = here.origin_requests()[0]
    assert seen['body_sha256'] == hashlib.sha256(data.encode()).hexdigest()
    fields = {n.lower(): v for n, v in seen['fields']}
    if how == '-T up':
        assert fields['content-length'] == '300000'
    else:
        assert fields['transfer-encoding'] == 'chunked'


def test_a_head_request_has_no_body_and_its_length(here):
    case = one(here, name='ok.test', send=[get('/_fixed/77', method='HEAD'),
                                           get('/b')], answers=0, timeout=2)
    assert 'content-length: 77' in case.got.lower(), case
    assert [r['method'] for r in case.requests()] == ['HEAD', 'GET'], case


@pytest.mark.parametrize('status', [204, 304])
def test_an_answer_without_a_body_leaves_the_connection_usable(here, status):
    case = one(here, name='ok.test', answers=2,
               send=[get('/_status/%d' % status), get('/after')])
    assert case.status == status and case.got.count('HTTP/1.1 ') == 2, case
    assert [r['target'] for r in case.requests()][-1] == '/after'


def test_requests_on_one_connection_are_each_judged(bed):
    here = bed('- allow: https://ok.test/ok/**')
    case = one(here, name='ok.test', answers=0, timeout=3,
               send=[get('/ok/1') + get('/no') + get('/ok/2')])
    assert [r['target'] for r in case.requests()] == ['/ok/1'], case
    assert case.got.count('HTTP/1.1 ') == 2 and case.end == 'closed', case
    assert case.logged() == ['http.path_denied'], case


def test_a_kept_connection_carries_many_requests(here):
    case = one(here, name='ok.test', answers=50,
               send=[get('/%d' % i) for i in range(50)])
    assert [r['target'] for r in case.requests()] == \
        ['/%d' % i for i in range(50)], case
    assert case.got.count('HTTP/1.1 200') == 50
    assert len({r['conn'] for r in case.requests()}) == 1


def test_expect_is_asked_of_the_origin(here):
    case = one(here, name='ok.test', send=[
        'POST /_sink HTTP/1.1\r\nHost: ok.test\r\nExpect: 100-continue\r\n'
        'Content-Length: 5\r\n\r\n', 'hello'], pause=0.5)
    assert case.got.startswith('HTTP/1.1 100 '), case
    assert case.requests()[0]['body'] == 'hello'


def test_another_expectation_is_417(here):
    case = one(here, name='ok.test', send=[get('/x', Expect='200-ok')])
    assert case.status == 417 and not case.requests(), case


def test_an_early_answer_reaches_the_client(here):
    got = here.run('head -c 3000000 /dev/zero | curl -sS -m 20 -T - -w '
                   '"%{http_code}" https://ok.test/_early-close/413; true')
    assert '413' in got.out, got


@pytest.mark.parametrize('path', ['/_cut/100000', '/_cut-chunked'])
def test_a_cut_answer_is_an_error_for_the_client(here, path):
    got = here.run('curl -sS -m 10 -o /dev/null https://ok.test' + path)
    assert got.exit != 0, got
    assert 'up.response' in [r.get('reason') for r in got.audit] + \
        [r.get('duenna.fault') for r in got.audit], got


def test_an_origin_that_closes_at_once_is_a_502(here):
    got = here.run('curl -sS -w "%{http_code}" https://ok.test/_close')
    assert got.out.endswith('502') and 'up.response' in got.out, got


def test_hints_before_the_answer_are_bounded(here):
    got = here.run('curl -sS https://ok.test/_1xx/5; '
                   'curl -sS -w "%{http_code}" https://ok.test/_1xx/17')
    assert 'after hints' in got.out and got.out.endswith('502'), got


def test_one_byte_at_a_time_arrives_one_byte_at_a_time(here):
    case = one(here, name='ok.test', send=[get('/_drip/8/250')])
    steps = [b - a for a, b in zip(case.times, case.times[1:])]
    assert len([s for s in steps if s > 0.15]) >= 6, (steps, case)


def test_a_request_cut_into_single_bytes_is_one_request(here):
    request = get('/split', method='POST', body='abc')
    cases, _ = try_all(here, [
        dict(name='ok.test', send=list(request), pause=0.002),
        dict(name='ok.test', send=[request[:7], request[7:30], request[30:]],
             pause=0.05)])
    for case in cases:
        assert case.status == 200, case
        assert [r['body'] for r in case.requests()] == ['abc']


def test_an_old_request_is_sent_as_new_and_answered_as_old(here):
    case = one(here, name='ok.test', answers=0,
               send=['GET /old HTTP/1.0\r\nHost: ok.test\r\n\r\n'])
    assert case.end == 'closed' and case.requests()[0]['version'] == 'HTTP/1.1'
    assert 'chunked' not in case.got.lower(), case


def test_a_head_is_written_anew(here):
    """I2: the origin has our words, in our form."""
    case = one(here, name='ok.test', send=[
        'GET /a?b=%20c HTTP/1.1\r\nuser-agent:  x \r\nHOST: OK.test\r\n'
        'X-Forwarded-For: 1.2.3.4\r\nForwarded: for=x\r\nX-Original-URL: /y\r\n'
        'Proxy-Connection: keep-alive\r\nConnection: keep-alive, x-drop\r\n'
        'x-drop: 1\r\nX-HTTP-Method-Override: DELETE\r\nTE: gzip, trailers\r\n'
        'x-keep: A b\r\n\r\n'])
    head = case.requests()[0]['head']
    lines = head.split('\r\n')
    assert lines[:2] == ['GET /a?b=%20c HTTP/1.1', 'Host: ok.test'], case
    assert 'User-Agent: x' in lines and 'X-Keep: A b' in lines, head
    assert lines[-4:] == ['TE: trailers', 'Connection: TE', '', ''], head
    for gone in ('forwarded', 'original', 'proxy-', 'override', 'x-drop',
                 'keep-alive', 'gzip'):
        assert gone not in head.lower(), head


@pytest.mark.slow
@pytest.mark.parametrize('line', [
    'curl -sS -o /dev/null -w "%{size_download}" https://ok.test/_download/268435456',
    'head -c 268435456 /dev/zero | curl -sS -T - -H Expect: https://ok.test/_sink'])
def test_a_quarter_of_a_gibibyte_goes_through(here, line):
    got = here.run(line, timeout=120)
    assert '268435456' in got.out, got


@pytest.mark.slow
def test_a_slow_reader_holds_the_origin_back(here):
    """Backpressure: what nobody reads is not fetched."""
    got = here.run("""python3 -c "
import ssl, socket, time
s = ssl.create_default_context().wrap_socket(
    socket.create_connection(('ok.test', 443)), server_hostname='ok.test')
s.sendall(b'GET /_download/200000000 HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n')
time.sleep(3)" """)
    assert got.exit == 0, got
    went = [e['went'] for e in here.origin_events('close')]
    assert not went or max(went) < 20000000, went
