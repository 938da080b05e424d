# SPDX-License-Identifier: Apache-2.0
"""The way to the origin: which address is dialled, whose certificate counts."""
import pytest

from bed import EVIL, ORIGIN, Bed


@pytest.mark.parametrize('name', [
    'expired.test', 'selfsigned.test', 'wrongname.test', 'cnonly.test',
    'untrusted.test', 'ip.test'])
def test_a_faulty_certificate_is_a_502_and_nothing_was_sent(bed, name):
    here = bed('- allow: https://%s/**\n  credential: api' % name,
               Bed.config(only='https://%s/**' % name))
    got = here.run('curl -sS -w "%%{http_code}" https://%s/x' % name)
    assert 'up.cert' in got.out and got.out.endswith('502'), got
    assert 'duenna refused GET https://%s/x: ' % name in got.out, got
    assert ('`upstream: roots`' in got.out) == (
        name in ('selfsigned.test', 'untrusted.test')), got
    assert got.reasons()[-1] == 'up.cert', got
    assert here.origin_requests() == [] and not here.origin_events('bytes')
    assert not got.find(event='release', verdict='allow'), got


def test_of_a_mixed_answer_the_private_address_is_never_dialled(bed, peers):
    peers.resolve({'ok.test': [{'a': ['127.0.0.1', ORIGIN, '10.0.0.1']}]})
    here = bed('- allow: https://ok.test/**')
    here.run('curl -sS -m 15 https://ok.test/x')
    assert {e['to'] for e in here.origin_events('open')} <= {ORIGIN + ':443'}


def test_an_answer_that_changes_after_the_check_changes_nothing(bed, peers):
    peers.resolve({'ok.test': [{'a': [ORIGIN], 'ttl': 0},
                               {'a': ['127.0.0.1'], 'ttl': 0}]})
    here = bed('- allow: https://ok.test/**')
    here.run('for i in 1 2 3 4; do curl -sS -m 10 https://ok.test/$i; '
             'sleep 0.3; done')
    assert {e['to'] for e in here.origin_events('open')} == {ORIGIN + ':443'}


def test_addresses_that_the_owner_did_not_open_cannot_be_opened(bed):
    here = bed('version: 1\npolicies:\n  t:\n    rules:\n'
               '      - allow: https://ok.test/**\n'
               '        addresses: [10.0.0.0/8]\n')
    got = here.run('true')
    assert got.exit == 125 and 'private' in got.err, got


def test_without_the_rule_the_documentation_addresses_are_refused(bed):
    here = bed('version: 1\npolicies:\n  t:\n    rules:\n'
               '      - allow: https://ok.test/**\n')
    got = here.run('curl -sS https://ok.test/x')
    assert got.reasons()[-1] == 'up.private', got
    assert here.origin_events('open') == []


@pytest.mark.parametrize('fail, reason', [
    ('servfail', 'up.resolve'), ('nxdomain', 'up.resolve'),
    ('wrong-question', 'up.resolve'), ('silent', 'up.resolve')])
def test_a_resolver_that_fails_is_a_504_in_time(bed, peers, fail, reason):
    peers.resolve({'ok.test': [{'fail': fail}]})
    here = bed('- allow: https://ok.test/**')
    got = here.run('curl -sS -m 15 -w "%{http_code}" https://ok.test/x')
    assert got.reasons()[-1] == reason and got.out.endswith('504'), got
    assert got.seconds < 10


def test_an_answer_of_another_id_is_ignored(bed, peers):
    peers.resolve({'ok.test': [{'fail': 'wrong-id'}, {'a': [EVIL]}]})
    here = bed('- allow: https://ok.test/**')
    got = here.run('curl -sS -m 15 https://ok.test/x')
    assert got.exit == 0, got


def test_a_long_answer_comes_over_tcp(bed, peers):
    peers.resolve({'ok.test': [{'fail': 'truncated', 'a': [ORIGIN]}]})
    here = bed('- allow: https://ok.test/**')
    got = here.run('curl -sS -m 15 https://ok.test/x')
    assert 'hello' in got.out, got


def test_a_chain_of_names_ends_at_a_judged_address(bed, peers):
    peers.resolve({'ok.test': [{'cname': 'evil.test', 'a': ['10.0.0.1']}]})
    here = bed('- allow: https://ok.test/**')
    got = here.run('curl -sS -m 15 https://ok.test/x')
    assert got.reasons()[-1] == 'up.private', got
    assert here.origin_events('open') == []


def test_a_fixed_address_of_the_owner_is_used_and_nobody_is_asked(bed):
    here = bed('- allow: https://ok.test/**', Bed.config().replace(
        'upstream:\n', 'upstream:\n  - names: ["ok.test"]\n'
        '    addresses: [203.0.113.44]\n    roots: [root.pem]\n'))
    got = here.run('curl -sS https://ok.test/x')
    assert 'hello' in got.out, got
    assert here.origin_events('open')[0]['to'] == '203.0.113.44:443'
    assert here.resolver_questions() == []


def test_roots_count_for_their_names_alone(bed):
    config = Bed.config().replace('names: ["**"]', 'names: ["ok.test"]')
    config += '  - names: ["**"]\n    resolvers: ["203.0.113.53"]\n'
    here = bed('- allow: [https://ok.test/**, https://other.test/**]', config)
    got = here.run('curl -sS https://ok.test/x; curl -sS https://other.test/x')
    assert 'hello from ok.test' in got.out, got
    assert 'up.cert' in got.out
    assert {r['host'] for r in here.origin_requests()} == {'ok.test'}


def test_the_port_that_is_dialled_is_the_rules_own(bed):
    here = bed('- allow: https://ok.test/**')
    got = here.run("curl -sS -H 'Host: ok.test:8443' https://ok.test/x")
    assert 'http.host_mismatch' in got.out, got
    assert here.origin_requests() == []


def test_an_origin_that_is_not_there_is_a_502(bed):
    here = bed('- allow: https://ok.test:4444/**')
    got = here.run('curl -sS -w "%{http_code}" https://ok.test:4444/x')
    assert got.reasons()[-1] == 'up.connect' and got.out.endswith('502'), got
    assert 'duenna refused GET https://ok.test:4444/x: ' in got.out, got
