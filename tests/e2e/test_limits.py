# SPDX-License-Identifier: Apache-2.0
"""`limits:` of a rule, end to end; each border is in tests/play."""

RULES = """\
- allow: https://ok.test/hello
  methods: [GET, POST]
  limits: {requests_per_minute: 2, body: 1KiB, upload_per_hour: 1MiB}
"""
POST = 'curl -sS -D - -o /dev/null --data-binary @%s https://ok.test/hello'


def test_a_refusal_says_which_limit_and_when_it_ends(bed):
    here = bed(RULES)
    got = here.run(
        'head -c 1025 /dev/zero > large; head -c 1024 /dev/zero > fits; ' +
        '; '.join([POST % 'large', POST % 'fits', POST % 'fits',
                   'curl -sS -i https://ok.test/hello']))
    codes = [line.split()[1] for line in got.out.splitlines()
             if line.startswith('HTTP/')]
    assert codes == ['413', '200', '200', '429'], got
    assert got.reasons() == ['limit.bytes', 'limit.rate'], got
    assert 'Retry-After: ' in got.out, got
    assert "the rule's 2 requests_per_minute are used up" in got.out, got
    refused = [r['duenna.detail'] for r in got.find(verdict='deny')]
    assert refused[0] == "the rule's limit for a body is 1KiB", refused
    assert len(here.origin_requests()) == 2
