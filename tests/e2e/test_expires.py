# SPDX-License-Identifier: Apache-2.0
"""`expires:` of a rule, end to end; what ends at that moment is in tests/play."""

RULES = """\
- name: gone
  allow: https://ok.test/gone
  expires: 2020-01-01T00:00:00Z
- name: there
  allow: https://api.test/**
  credential: api
  expires: 2096-01-01T00:00:00+01:00
- allow: https://ok.test/hello
"""


def test_a_rule_that_expires(bed):
    here = bed(RULES)
    got = here.run('curl -sS https://ok.test/gone; '
                   'curl -sS -w "%{http_code}\\n" https://api.test/ '
                   'https://ok.test/hello')
    assert 'rule `gone` (duenna.yaml:5) allowed it until ' \
        '2020-01-01T00:00:00Z' in got.out, got
    assert got.out.count('200\n') == 2, got
    assert 'warning: the rule has expired' in got.err, got
    assert got.reasons() == ['http.path_denied'], got
    assert all(r['duenna.facts.now'] > 1700000000
               for r in got.find(event='request.end')), got
    assert len(here.origin_requests()) == 2
    code, out, _ = here.duenna('explain', 'https://ok.test/gone')
    assert code == 1 and 'rule `gone` ' in out and 'it has expired' in out
    code, out, _ = here.duenna('check')
    assert code == 0 and ':8:18: warning: the rule has expired' in out, out
