# SPDX-License-Identifier: Apache-2.0
"""What is refused: the reason on the client's side and in the log, and nothing
at the origin."""
import json
import re

import pytest

import rows

from bed import EVIL
from rawclient import get, one, try_all

READ = '''
- name: reading
  allow: https://ok.test/public/**
  credential: api
- name: lists
  allow: https://ok.test/list
  query: {page: any, kind: ["x*"]}
- deny: https://ok.test/open/secret/**
- allow: https://ok.test/open/**
'''

# url, further curl arguments, status, reason
REFUSED = [
    ('https://evil.test/', '', 403, 'tls.sni_denied'),
    ('http://evil.test/', '', 403, 'http.host_denied'),
    ('https://ok.test/secret', '', 403, 'http.path_denied'),
    ('https://ok.test/public/x', '-X POST', 403, 'http.method_denied'),
    ('https://ok.test/public/x', '-X BREW', 403, 'http.method_denied'),
    ('https://ok.test/list?page=1&other=2', '', 403, 'http.query_denied'),
    ('https://ok.test/list?page=1&page=2', '', 403, 'http.query_denied'),
    ('https://ok.test/open/secret/x', '', 403, 'deny.rule'),
    ('https://ok.test/public/a%2Fb', '', 403, 'http.path_denied'),
    ('https://ok.test/public/../secret', '--path-as-is', 400,
     'http.path_invalid'),
    ('https://ok.test/public/%2e%2e/secret', '--path-as-is', 400,
     'http.path_invalid'),
    ('https://ok.test:8443/public/x', '', 403, 'dst.port'),
    ('http://ok.test/public/x', '', 403, 'dst.port'),
    ('https://203.0.113.66/', '-k', 403, 'dst.unmapped_ip'),
    ('http://169.254.169.254/', '', 403, 'dst.unmapped_ip'),
    ('https://ok.test/public/x', "-H 'Authorization: Bearer mine'", 403,
     'cred.client_auth'),
    ('https://ok.test/open/x', "-H 'X-Api-Key: mine'", 403,
     'cred.client_auth'),
    ('https://ok.test/open/x', "-H 'Connection: Upgrade' -H 'Upgrade: websocket'",
     403, 'http.upgrade'),
]


@pytest.mark.parametrize('url, more, status, reason', REFUSED,
                         ids=[r[3] + ' ' + r[0] + r[1] for r in REFUSED])
def test_a_refusal_explains_itself_and_reaches_nobody(bed, url, more, status,
                                                      reason):
    here = bed(READ)
    got = here.run("curl -sS -m 10 -D head -w '%%{http_code}' %s '%s'; "
                   'cat head' % (more, url))
    assert re.search(r'HTTP/(1\.1|2) %d' % status, got.out), got
    assert 'duenna-reason: ' + reason in got.out.lower(), got
    assert got.reasons()[-1] == reason, got
    assert here.origin_requests() == []
    assert here.resolver_questions() == [] or reason.startswith(
        ('http', 'cred', 'deny')), here.resolver_questions()


def test_a_refusal_names_the_nearest_rule_and_what_it_allows(bed):
    here = bed(READ)
    got = here.run('curl -sS -X POST https://ok.test/public/x')
    assert 'http.method_denied' in got.out and 'reading' in got.out, got
    assert 'GET' in got.out


def test_a_refusal_says_each_thing_once_and_whether_to_try_again(bed, peers):
    peers.resolve({'nowhere.test': [{'fail': 'nxdomain'}]})
    here = bed(READ + '''
- allow: https://nowhere.test/**
''')
    got = here.run("curl -sS -H 'Authorization: Bearer mine' "
                   'https://ok.test/public/x')
    assert got.out.count('credential in a known slot') == 1, got
    assert 'foreign_credentials' in got.out, got
    assert 'trying again will not help' in got.out, got
    got = here.run('curl -sS https://nowhere.test/')
    assert 'up.resolve' in got.out, got
    assert 'trying again later may help' in got.out, got
    assert "`upstream:` of the owner's configuration" in got.out, got


def test_a_refusal_in_json_is_a_problem_of_rfc_9457(bed):
    here = bed(READ)
    got = here.run("curl -sSi -H 'Accept: application/problem+json, */*;q=0.1'"
                   " -X DELETE https://ok.test/public/x")
    head, body = got.out.split('\n\n', 1)
    assert 'content-type: application/problem+json' in head.lower(), got
    said = json.loads(body)
    end, = (r for r in got.audit if r['event'] == 'request.end')
    assert said['type'] == 'about:blank' and said['title'] == 'Forbidden', got
    assert said['status'] == 403 and said['reason'] == end['reason'], got
    assert said['flow'] == end['duenna.flow'] and 'rule' in said, got
    assert 'DELETE https://ok.test/public/x' in said['detail'], got
    assert said['message'] == said['detail'], got


BY_CODE = '''version: 1
policies:
  test:
    refusals: code
    rules:
      - name: reading-rule
        allow: https://ok.test/public/**
      - name: cut-out
        deny: https://ok.test/secret/**
      - name: up
        allow: https://nowhere.test/**
'''


def test_refusals_by_code_show_nothing_of_the_rules(bed, peers):
    """A policy's refusals, a connection's, an upstream's, a bad request's."""
    peers.resolve({'nowhere.test': [{'fail': 'nxdomain'}]})
    here = bed(BY_CODE)
    urls = [('https://ok.test/public/x', '-X POST', 'http.method_denied'),
            ('https://ok.test/secret/x', '', 'deny.rule'),
            ('https://evil.test/', '', 'tls.sni_denied'),
            ('https://nowhere.test/', '', 'up.resolve'),
            ('https://ok.test/public/%2e%2e/x', '--path-as-is',
             'http.path_invalid'),
            ('https://ok.test/public/x', "-H 'Content-Length: x'",
             'http.framing')]
    got = here.run('; '.join('curl -sSi %s %s %s' % (json_, more, url)
                             for url, more, _ in urls for json_ in
                             ("", "-H 'Accept: application/json'")))
    answers = re.split(r'^HTTP/[12.]+ ', got.out, flags=re.M)[1:]
    assert len(answers) == 2 * len(urls), got
    for i, answer in enumerate(answers):
        head, body = answer.split('\n\n', 1)
        reason = urls[i // 2][2]
        fields = dict(line.lower().split(': ', 1)
                      for line in head.split('\n')[1:] if line)
        assert fields['duenna-reason'] == reason, answer
        flow = fields['duenna-flow']
        assert set(fields) - {'connection'} == {
            'content-type', 'content-length', 'cache-control',
            'x-content-type-options', 'duenna-reason', 'duenna-flow'}, answer
        if body[0] != '{':
            assert body.lower() == 'duenna: %s; flow %s\n' % (reason, flow)
            continue
        said = json.loads(body)
        assert set(said) == {'type', 'title', 'status', 'detail', 'message',
                             'reason', 'flow'}, answer
        assert said['detail'] == said['message'] == said['reason'] == reason
    ends = [r for r in got.audit if r['event'] == 'request.end']
    assert [r['reason'] for r in ends] == [
        reason for _, _, reason in urls for _ in '12'], got
    assert 'cut-out' in str(ends), ends
    code, out, _ = here.duenna('explain', '-X', 'POST',
                               'https://ok.test/public/x')
    assert code == 1 and 'reading-rule' in out, out


def test_git_and_whoever_asks_for_text_gets_text(bed):
    here = bed(READ)
    got = here.run('git ls-remote https://ok.test/acme/widgets.git')
    assert got.exit != 0 and 'http.' in got.err and '{' not in got.err, got
    got = here.run("curl -sS -H 'Accept: text/plain, application/json' "
                   "https://ok.test/no; curl -sSI -H 'Accept: application/json'"
                   " https://ok.test/no")
    assert got.out.startswith('duenna refused GET https://ok.test/no'), got
    assert 'problem+json' in got.out and '{' not in got.out, got


def test_the_end_of_a_run_says_what_was_blocked_and_where_the_log_is(bed):
    here = bed(READ)
    got = here.run('curl -sS https://evil.test/; curl -sS https://evil.test/')
    assert 'evil.test' in got.err and '.jsonl' in got.err, got
    quiet = here.run('curl -sS https://evil.test/', ['--quiet'])
    assert 'evil.test' not in quiet.err, quiet


def test_the_end_of_a_run_says_the_most_frequent_first_and_not_all(bed):
    here = bed(READ)
    got = here.run('for i in 1 2 3 4 5 6 7 8 9 10 11 12; do '
                   'curl -sS http://no$i.test/; done; '
                   'curl -sS http://no12.test/; curl -sS http://no12.test/x')
    rows = re.findall(r'^ +(\d+)x (\S+) +(.*)$', got.err, re.M)
    assert len(rows) == 10 and rows[0][0] == '3', got
    assert 'no12.test' in rows[0][2], got
    assert {n for n, _, _ in rows[1:]} == {'1'}, got
    assert 'and 2 kinds more: duenna audit report --json' in got.err, got
    out = here.duenna('audit', 'report', '--json')[1]
    assert len(json.loads(out)['groups']) == 12, out


def test_nothing_that_was_blocked_steers_a_terminal(bed):
    """LC-21: OSC 52, colours and more in what a refusal names."""
    here = bed(READ)
    odd = '\x1b]52;c;eA==\x07\x1b[2J\x9b31m\u202e\u200b'.encode()
    cases = [dict(name='ok.test', send=[
        part.replace('X', odd.decode('latin-1'))]) for part in (
            'GET /X HTTP/1.1\r\nHost: ok.test\r\n\r\n',
            'GETX / HTTP/1.1\r\nHost: ok.test\r\n\r\n',
            'GET / HTTP/1.1\r\nHost: ok.testX\r\n\r\n',
            'GET /?X HTTP/1.1\r\nHost: ok.test\r\n\r\n')]
    got = try_all(here, cases)[1]
    assert len(got.reasons()) == 4 and 'blocked' in got.err, got
    said = got.err + ''.join(here.duenna('audit', what, got.log)[1]
                             for what in ('show', 'report'))
    assert all(c == '\n' or c.isprintable() for c in said), ascii(said)


def test_the_report_groups_equal_refusals_and_counts_them(bed):
    here = bed(READ)
    got = here.run('curl -sS https://evil.test/; curl -sS https://evil.test/')
    assert '2x tls.sni_denied     https://evil.test\n' in got.err, got
    assert 'blocked: 2, alarms: 0' in got.err, got
    # What is said to be done next does it.
    line = next(l for l in got.err.splitlines() if '--denied' in l)
    code, out, _ = here.duenna(*line.split('duenna ', 1)[1].split())
    assert code == 0 and out.count('tls.sni_denied') == 2, out
    code, out, _ = here.duenna('audit', 'report', '--json', here.logs()[0])
    said = json.loads(out)
    assert code == 0 and said['alarms'] == 0
    groups = {(g['reason'], g['what']): g['count'] for g in said['groups']}
    assert groups == {('tls.sni_denied', 'https://evil.test'): 2}
    assert said['blocked'] == sum(groups.values())
    code, out, err = here.duenna('audit', 'report', 'duenna.yaml')
    assert code == 1 and out == '' and 'holds no record' in err


def test_udp_is_refused_at_once_and_counted(bed):
    """TL-20: QUIC, to anybody and to the address of an allowed name."""
    here = bed(READ)
    got = here.run('''python3 -c "
import socket
for to in (('203.0.113.66', 443), ('203.0.113.66', 80), ('203.0.113.66', 8443),
           (socket.gethostbyname('ok.test'), 443)):
    u = socket.socket(2, 2); u.settimeout(5); u.connect(to); u.send(b'x')
    try: print(u.recv(9))
    except OSError as e: print(type(e).__name__)"''')
    assert got.out.split() == ['ConnectionRefusedError'] * 4, got
    drops = got.find(event='drop', reason='l3.proto')
    assert sum(r['duenna.count'] for r in drops) == 4, got
    assert here.origin_events('datagram') == []


def test_the_address_of_an_allowed_name_cannot_be_chosen(bed):
    here = bed('- allow: https://ok.test/**')
    case = one(here, address=EVIL, name='ok.test', send=[get()], verify=False)
    assert 'dst.unmapped_ip' in case.logged() and not case.requests(), case
    assert here.origin_events('open') == []


def test_two_allowed_names_are_not_one(bed):
    here = bed('- allow: https://ok.test/**\n- allow: https://other.test/**')
    cases, _ = try_all(here, [
        # TL-03: the Host of another name
        dict(name='ok.test', send=[get(host='other.test')]),
        # TL-02: the server name of another address
        dict(name='ok.test', sni='other.test', send=[get(host='other.test')],
             verify=False),
        # TL-04: first right, then another
        dict(name='ok.test', send=[get('/a'), get('/b', 'other.test')],
             pause=0.2, answers=2)])
    assert cases[0].status == 421, cases[0]
    assert cases[0].logged()[-1] == 'http.host_mismatch'
    assert 'tls.dst_mismatch' in cases[1].logged(), cases[1]
    assert [r['target'] for r in cases[2].requests()] == ['/a'], cases[2]
    assert cases[2].got.count('HTTP/1.1 ') == 2 and '421' in cases[2].got
    assert {r['host'] for r in here.origin_requests()} == {'ok.test'}


SELF = '''
import socket
ports = set()
for name, host in (('tcp', '127.0.0.1'), ('tcp6', '::1')):
    try:
        rows = open('/proc/net/' + name).read().splitlines()[1:]
    except OSError:
        continue
    ports |= {(host, int(r.split()[1].rpartition(':')[2], 16)) for r in rows
              if r.split()[3] == '0A'}
for host, port in sorted(ports):
    s = socket.create_connection((host, port), 5)
    s.settimeout(8)
    try:
        s.sendall(b'GET / HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n')
        print(port, s.recv(4096))
    except OSError as e:
        print(port, e)
'''


def test_duennas_own_listeners_lead_nowhere(bed):
    """SR-09: dialled directly, where nothing was redirected."""
    here = bed('- allow: http://ok.test/**')
    got = here.run(['/usr/bin/python3', '-c', SELF], timeout=60)
    assert len(got.out.splitlines()) >= 2, got
    assert 'dst.self' in got.reasons(), got
    assert b'hello' not in got.out.encode() and not here.origin_events(), got


def test_ipv6_literals_are_refused_too(bed):
    here = bed(READ)
    got = here.run("curl -sS -m 5 -g 'http://[2001:db8::66]/'; "
                   "curl -sS -m 5 -g 'http://[::ffff:203.0.113.66]/'; "
                   "curl -sSk -m 5 -g 'https://[2001:db8::66]:8443/x'")
    assert here.origin_events('open') == [], got
    assert got.reasons() == ['dst.unmapped_ip'] * 3, got
    for said in got.out, got.err:  # a URL as the client would write it
        assert 'GET http://[2001:db8::66]/' in said, got
        assert 'GET https://[2001:db8::66]:8443/x' in said, got


def test_what_dies_before_it_can_be_judged_is_on_record_too(bed):
    """LG-07: attempts are records, or exact counts."""
    hellos = [r.data for r in rows.read() if r.input == 'hello' and
              r.reason == 'allow' and r.policy == 'base'][:5]
    here = bed(READ)
    here.write('project/hellos.json', json.dumps(hellos))
    got = here.run(['/usr/bin/python3', '-c', '''
import json, socket
tls = (socket.gethostbyname('ok.test'), 443)
hellos = [h.encode('latin-1') for h in json.load(open('hellos.json'))]
for sent in [h[:20] for h in hellos] + [b''] * 5 + hellos:
    with socket.create_connection(tls, 5) as s:
        s.sendall(sent)
        s.shutdown(socket.SHUT_WR)
        while s.recv(4096):
            pass
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in (1, 443, 444, 65535):
    u.sendto(b'x', ('203.0.113.66', port))
ask = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(6):
    ask.sendto(b'ab\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6denied%d\\4test\\0\\0\\1\\0\\1'
               .replace(b'\\6denied%d', b'\\7denied%d' % i),
               ('198.18.0.1', 53))
    ask.recv(512)
'''])
    assert got.exit == 0 and len(hellos) == 5, got
    flows = {r['duenna.flow'] for r in got.audit if r.get('duenna.flow')}
    assert len(flows) == 15, got
    for flow in flows:  # and each of them says why it came to nothing
        assert [r for r in got.audit if r.get('duenna.flow') == flow and
                r.get('reason', 'allow') != 'allow'], (flow, got)
    assert sum(r['duenna.count'] for r in got.find(event='drop')) == 4, got
    assert sum(r.get('duenna.count', 1) for r in got.audit
               if r['event'].startswith('dns')) == 6, got
    assert not here.origin_events('open', 'bytes', 'datagram')
    assert not here.resolver_questions()
