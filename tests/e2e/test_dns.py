# SPDX-License-Identifier: Apache-2.0
"""Names: answered by duenna itself; no question leaves because it was asked."""
import json

from bed import Bed, give

TOOL = '''
import json, socket, struct, sys
def ask(name, kind=1, where="198.51.100.53", tcp=False):
    q = b"\\x12\\x34\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0" + b"".join(
        bytes([len(p)]) + p.encode("latin-1") for p in name.split(".")) + \\
        b"\\0" + struct.pack(">HH", kind, 1)
    if tcp:
        s = socket.create_connection((where, 53), 5)
        s.sendall(struct.pack(">H", len(q)) + q)
        size = struct.unpack(">H", s.recv(2))[0]
        a = s.recv(size)
    else:
        s = socket.socket(2, 2); s.settimeout(5); s.connect((where, 53))
        s.send(q); a = s.recv(4096)
    count = struct.unpack(">H", a[6:8])[0]
    at = 12 + len(q) - 12
    rows = []
    for _ in range(count):
        kind, _, ttl, size = struct.unpack(">HHIH", a[at + 2:at + 12])
        data = a[at + 12:at + 12 + size]
        rows.append([kind, ttl, socket.inet_ntoa(data) if size == 4 else data.hex()])
        at += 12 + size
    return [a[3] & 15, rows]
'''


def asked(bed, policy, calls, **more):
    here = bed(policy, **more)
    got = here.run(['/usr/bin/python3', '-c',
                    TOOL + 'print(json.dumps([%s]))' % ', '.join(calls)])
    assert got.exit == 0, got
    return here, got, json.loads(got.out)


POLICY = '- allow: https://ok.test/**\n- allow: https://*.wild.test/**'


def test_an_allowed_name_has_a_made_up_address_and_nobody_is_asked(bed):
    here, got, said = asked(bed, POLICY, [
        'ask("ok.test")', 'ask("OK.Test")', 'ask("a.wild.test")',
        'ask("b.wild.test")', 'ask("ok.test", tcp=True)'])
    for code, rows in said:
        assert code == 0 and rows[0][:2] == [1, 30], said
        assert rows[0][2].startswith(('198.18.', '198.19.')), said
    one, upper, a, b, tcp = [rows[0][2] for _, rows in said]
    assert one == upper == tcp and a == b and one != a
    assert here.resolver_questions() == []
    assert not [r for r in got.audit if r['event'] == 'dns']


def test_a_refused_name_has_the_refusal_address_and_a_record(bed):
    here, got, said = asked(bed, POLICY, [
        'ask("data.evil.test")', 'ask("more.evil.test")',
        'ask("wild.test")', 'ask("x.ok.test")'])
    addresses = {rows[0][2] for _, rows in said}
    assert len(addresses) == 1 and all(r[0][1] == 1 for _, r in said), said
    assert here.resolver_questions() == []
    rows = got.find(event='dns', reason='dns.denied')
    assert {r['server.address'] for r in rows} == {
        'data.evil.test', 'more.evil.test', 'wild.test', 'x.ok.test'}, got


def test_refused_names_do_not_exist_if_the_owner_wants_that(bed):
    config = Bed.config('dns: {refused: nxdomain}\n')
    here = bed(POLICY, config)
    got = here.run('getent ahostsv4 ok.test; getent ahosts evil.test; '
                   'echo "status $?"; curl -sS https://evil.test/')
    assert got.exit == 6 and 'status 2\n' in got.out, got
    assert '198.' in got.out.split('status')[0], got
    assert here.resolver_questions() == []
    rows = got.find(event='dns', reason='dns.denied')
    assert {r['server.address'] for r in rows} == {'evil.test'}, got
    assert 'evil.test' in got.err, got
    code, out, _ = here.duenna('explain', 'https://evil.test/x')
    assert code == 1 and out.startswith('denied: dns.denied\n'), out
    assert 'the missing rule: `- allow: https://evil.test/**`' in out, out
    # there is nothing but the question
    code, out, _ = here.duenna('audit', 'suggest')
    assert '#     - allow: "https://evil.test/**"\n' in out, out


def test_two_files_cannot_both_say_what_a_refused_name_is(bed):
    here = bed(POLICY, Bed.config('dns: {refused: nxdomain}\n'))
    here.write('.config/duenna/more.yaml',
               'version: 1\ndns: {refused: address}\n', 0o600)
    give(here.home)
    code, out, err = here.duenna('check')
    assert code == 1 and 'more.yaml:2:7: ' in out + err, out + err
    assert 'a second `refused`, the first is at ' in out + err, out + err


def test_other_types_have_no_data(bed):
    here, got, said = asked(bed, POLICY, [
        'ask("ok.test", 16)', 'ask("ok.test", 65)', 'ask("ok.test", 33)',
        'ask("ok.test", 255)'])
    assert all(rows == [] for _, rows in said), said
    assert here.resolver_questions() == []
    assert len(got.find(event='dns', reason='dns.qtype')) == 4, got


def test_a_question_to_any_resolver_comes_to_duenna(bed):
    _, got, said = asked(bed, POLICY, [
        'ask("ok.test", where="8.8.8.8")', 'ask("ok.test", where="127.0.0.1")',
        'ask("ok.test", where="203.0.113.53", tcp=True)'])
    assert len({rows[0][2] for _, rows in said}) == 1, (said, got)


def test_the_resolver_is_asked_once_for_an_allowed_connection(bed):
    here = bed(POLICY)
    got = here.run('curl -sS https://ok.test/a https://ok.test/b')
    assert got.out.count('hello') == 2, got
    names = {q['name'] for q in here.resolver_questions()}
    assert names == {'ok.test'}, here.resolver_questions()


def test_a_name_under_a_wildcard_is_resolved_only_when_it_is_dialled(bed):
    here = bed(POLICY)
    got = here.run('getent hosts a.wild.test; curl -sS https://b.wild.test/x')
    assert 'hello from b.wild.test' in got.out, got
    assert {q['name'] for q in here.resolver_questions()} == {'b.wild.test'}


def test_searching_and_hosts_files_of_the_host_play_no_part(bed):
    here = bed(POLICY)
    got = here.run('getent hosts localhost; getent hosts ok; cat /etc/resolv.conf',
                   env={'LOCALDOMAIN': 'test', 'RES_OPTIONS': 'ndots:5'})
    assert 'nameserver 198.18.0.1' in got.out, got
    assert here.resolver_questions() == []


DOT = '''
import json, socket, ssl
context = ssl.create_default_context()
def dot(where, name):
    """What DNS over TLS on this address gets: the refusal of whoever is there."""
    s = socket.create_connection((where, 853), 5)
    s.settimeout(5)
    try:
        s = context.wrap_socket(s, server_hostname=name)
        s.sendall(b"\\0\\x1d\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\2ok\\4test\\0\\0\\1\\0\\1")
        return s.recv(12).decode("latin-1")
    except OSError as e:
        return type(e).__name__
answers = [dot(socket.gethostbyname("ok.test"), "ok.test"),
           dot("198.51.100.53", "dns.test"), dot("198.18.0.1", "ok.test")]
def udp(where, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(0.5)
    s.connect((where, port))
    try:
        s.send(b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\2ok\\4test\\0\\0\\1\\0\\1")
        return s.recv(100).decode("latin-1")
    except ConnectionRefusedError:
        return "refused"
    except OSError as e:
        return type(e).__name__
print(json.dumps([answers, [udp(w, p) for w, p in (
    ("198.51.100.53", 853), ("224.0.0.251", 5353), ("198.18.0.1", 5353),
    ("224.0.0.252", 5355), ("198.18.0.1", 853))]]))
'''


def test_dns_in_other_clothes_gets_nowhere(bed):
    """DN-07: over TLS, by multicast; TCP is judged, UDP is shut."""
    here = bed(POLICY)
    got = here.run(['/usr/bin/python3', '-c', DOT])
    over_tls, over_udp = json.loads(got.out)
    assert over_tls == ['HTTP/1.1 403'] * 3, got
    # nobody is there; a multicast is nobody's, and waits in vain
    assert over_udp[::2] == ['refused'] * 3, got
    assert set(over_udp[1::2]) == {'TimeoutError'}, got
    assert [r['reason'] for r in got.find(event='request.end')] == [
        'dst.port', 'dst.unmapped_ip', 'dst.unmapped_ip'], got
    dropped = [r for r in got.find(event='drop') if r['reason'] == 'l3.proto']
    assert sum(r['duenna.count'] for r in dropped) == 5, got
    assert here.origin_events() == [] and here.resolver_questions() == []
