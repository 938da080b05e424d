# SPDX-License-Identifier: Apache-2.0
"""`report:` and `run --report`: recorded and let through, end to end."""
import json

RULES = """\
- allow: https://ok.test/hello
- deny: https://ok.test/admin/**
- allow: https://api.test/**
  credential: api
"""
PUBLIC = '9.9.9.10'  # in the bed every address is the bed's own
GET = ("curl -sS -o /dev/null -w '%%{http_code}\\n' %s "
       "| sed 's|^|%s |'")


def fetch(url, more=''):
    return GET % ((more + ' ' if more else '') + "'" + url + "'",
                  url.split('//')[1])


def verdicts(got):
    return [(r['verdict'], r['reason'], r['server.address'])
            for r in got.find(event='request.end')]


def test_report_lets_through_and_records(bed, peers):
    peers.resolve({name: [{'a': [PUBLIC]}]
                   for name in ('ok.test', 'new.test')})
    here = bed(RULES)
    got = here.run('; '.join([
        fetch('https://new.test/x'), fetch('http://new.test/x'),
        fetch('https://ok.test/other'), fetch('https://ok.test/admin/x'),
        fetch('https://new.test/x', '-X POST'),
        fetch('https://new.test/x', '-H "Authorization: Bearer mine"'),
        fetch('https://new.test:8443/')]), ['--report'])
    codes = [line.split()[1] for line in got.out.splitlines()]
    assert codes == ['200', '200', '200', '403', '403', '403', '403'], got
    assert verdicts(got) == [
        ('report', 'tls.sni_denied', 'new.test'),
        ('report', 'http.host_denied', 'new.test'),
        ('report', 'http.path_denied', 'ok.test'),
        ('deny', 'deny.rule', 'ok.test'),
        ('deny', 'http.method_denied', 'new.test'),
        ('deny', 'cred.client_auth', 'new.test'),
        ('deny', 'dst.port', 'new.test')], got
    assert [r['target'] for r in here.origin_requests()] == [
        '/x', '/x', '/other']
    assert '--report: warning: not enforced' in got.err, got
    assert 'not enforced: 3' in got.err, got
    assert 'LET THROUGH GET https://new.test/x' in got.err, got
    assert 'duenna audit suggest ' + got.log in got.err, got
    code, out, _ = here.duenna('audit', 'suggest', got.log)
    assert code == 0 and 'https://new.test/x' in out and \
        'http://new.test/x' in out, out
    code, out, _ = here.duenna('audit', 'report', '--json', got.log)
    assert code == 0 and json.loads(out)['reported'] == 3, out
    code, out, _ = here.duenna('audit', 'show', '--verdict', 'report',
                               '--json', '--event', 'request.end', got.log)
    assert len(out.splitlines()) == 3, out


def test_report_opens_no_address_and_gives_no_token(bed, peers):
    """Not even one that an enforced rule opens for the same name."""
    peers.resolve({'api.test': [{'a': [PUBLIC]}]})
    here = bed(RULES)
    got = here.run('; '.join([
        fetch('https://ok.test/hello'), fetch('https://ok.test/other'),
        fetch('https://api.test/a', '-X POST -H "Authorization: Bearer '
              '$API_TOKEN"')]), ['--report', '--quiet'])
    codes = [line.split()[1] for line in got.out.splitlines()]
    assert codes == ['200', '502', '403'], got
    assert verdicts(got)[1] == ('deny', 'up.private', 'ok.test'), got
    assert [r['target'] for r in here.origin_requests()] == ['/hello']
    assert got.err == '', got


def test_report_of_a_rule_all(bed, peers):
    peers.resolve({'new.test': [{'a': [PUBLIC]}]})
    here = bed('version: 1\npolicies:\n  test:\n    rules:\n'
               '      - name: soon\n'
               '        allow: https://new.test/a/**\n'
               '        report: all\n')
    got = here.run('; '.join([fetch('https://new.test/a/x', '-X POST -d y'),
                              fetch('https://new.test/b')]))
    codes = [line.split()[1] for line in got.out.splitlines()]
    assert codes == ['200', '403'], got
    assert verdicts(got) == [('report', 'tls.sni_denied', 'new.test'),
                             ('deny', 'http.path_denied', 'new.test')], got
    code, out, _ = here.duenna('explain', '-X', 'PUT', 'https://new.test/a/x')
    assert code == 0 and out.startswith('not enforced: tls.sni_denied'), out
    assert 'rule `soon`' in out and 'lets it through, not enforced' in out
