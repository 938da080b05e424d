# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs inside `duenna run`, without a setting of their own."""
import shutil
import subprocess

import pytest

API = '- allow: https://api.test/v1/**\n  methods: [GET, POST]\n  credential: api\n'
GIT = '''
- allow: https://git.test/acme/widgets.git/info/refs
  query: {service: [git-upload-pack]}
- allow: https://git.test/acme/widgets.git/git-upload-pack
  methods: [POST]
'''
URL = 'https://api.test/v1/_whoami'
CLIENTS = {
    'curl': 'curl -sS ' + URL,
    'wget': 'wget -q -O - ' + URL,
    'openssl': "printf 'GET /v1/_whoami HTTP/1.1\\r\\nHost: api.test\\r\\n"
               "Connection: close\\r\\n\\r\\n' | openssl s_client -quiet "
               '-verify_return_error -connect api.test:443 '
               '-servername api.test 2>/dev/null',
    'python3': '/usr/bin/python3 -c "import urllib.request as u; '
               "print(u.urlopen('%s').read().decode())\"" % URL,
    'node': "node -e \"require('https').get('%s', r => "
            "r.on('data', d => process.stdout.write(d)))\"" % URL,
    'perl': "perl -MHTTP::Tiny -e 'print HTTP::Tiny->new(verify_SSL => 1)"
            '->get("%s")->{content}\'' % URL,
}


@pytest.mark.parametrize('client', CLIENTS)
def test_an_unmodified_client_is_answered_and_the_token_is_attached(bed, client):
    if not shutil.which(client, path='/usr/bin'):
        pytest.skip(client + ' is not installed')
    here = bed(API)
    got = here.run(CLIENTS[client])
    if client == 'perl' and 'IO::Socket::SSL' in got.out:
        pytest.skip('perl has no IO::Socket::SSL')
    assert '"token": "good"' in got.out, got
    assert here.canary not in got.out + got.err
    seen = here.origin_requests()
    assert len(seen) == 1 and seen[0]['method'] == 'GET'
    assert [v for n, v in seen[0]['fields'] if n == 'Authorization'] == \
        ['Bearer ' + here.canary]


def git_at_the_origin(here, *args):
    return subprocess.run(
        ['git', '-c', 'safe.directory=*', '-C',
         here.peers.git + '/acme/widgets.git', *args], check=True, text=True,
        capture_output=True).stdout


def test_git_clones_and_fetches_by_three_rules(bed):
    here = bed(GIT)
    got = here.run('git clone -q https://git.test/acme/widgets.git w && '
                   'cat w/README && git -C w fetch -q && git -C w fsck')
    assert got.exit == 0 and 'widgets of acme' in got.out, got
    assert {r['host'] for r in here.origin_requests()} == {'git.test'}


def test_git_push_is_refused_where_no_rule_allows_it(bed):
    here = bed(GIT)
    got = here.run('git clone -q https://git.test/acme/widgets.git w && cd w && '
                   'git -c user.name=a -c user.email=a@b commit -q --allow-empty '
                   '-m x && git push origin main')
    assert got.exit != 0 and 'http.query_denied' in got.reasons(), got
    assert not [r for r in here.origin_requests()
                if 'receive-pack' in r['target']]
    assert 'duenna' in got.err, got


def test_git_pushes_where_a_rule_for_it_stands(bed):
    here = bed(GIT + '''
- name: push
  allow:
    - https://git.test/acme/widgets.git/info/refs
    - https://git.test/acme/widgets.git/git-receive-pack
  methods: [GET, POST]
''')
    # above http.postBuffer git sends the pack in chunks, after a probe
    got = here.run('git clone -q https://git.test/acme/widgets.git w && cd w && '
                   'head -c 3000000 /dev/urandom >big && git add big && '
                   'git -c user.name=a -c user.email=a@b commit -qm big && '
                   'git push -u origin HEAD:refs/heads/work')
    assert got.exit == 0 and '[new branch]' in got.err, got
    assert got.reasons() == [], got
    sent = [r for r in here.origin_requests() if r['method'] == 'POST' and
            r['target'].endswith('receive-pack')]
    assert sent[-1]['body_size'] > 3000000
    assert git_at_the_origin(here, 'rev-parse', 'work') == \
        here.run('git -C w rev-parse HEAD').out
    git_at_the_origin(here, 'update-ref', '-d', 'refs/heads/work')


def test_curl_posts_a_form_that_arrives_byte_for_byte(bed):
    here = bed(API)
    got = here.run("curl -sS -d 'a=1&b=%20' https://api.test/v1/x")
    assert got.exit == 0, got
    assert [(r['method'], r['body']) for r in here.origin_requests()] == \
        [('POST', 'a=1&b=%20')]


def test_plain_http_works_by_an_http_rule(bed):
    here = bed('- allow: http://ok.test/**')
    got = here.run('curl -sS http://ok.test/x')
    assert 'hello from ok.test/x' in got.out, got
    assert here.origin_events('open')[0]['to'].endswith(':80')


def test_another_port_works_by_a_rule_that_names_it(bed):
    here = bed('- allow: https://ok.test:8443/**\n- allow: http://ok.test:8080')
    got = here.run('curl -sS https://ok.test:8443/a http://ok.test:8080/b')
    assert 'ok.test:8443/a' in got.out and 'ok.test:8080/b' in got.out, got
    assert [r['host'] for r in here.origin_requests()] == \
        ['ok.test:8443', 'ok.test:8080']


def test_a_wildcard_allows_its_names_and_no_other(bed):
    here = bed('- allow: https://*.ok.test/**')
    got = here.run('curl -sS https://a.ok.test/x https://ok.test/x '
                   'https://a.b.ok.test/x')
    assert [r['host'] for r in here.origin_requests()] == ['a.ok.test'], got
    # the request tells it; the connection that it was on does not again
    assert got.reasons().count('tls.sni_denied') == 2
    assert len(got.find(event='flow.end')) == 1, got
