# SPDX-License-Identifier: Apache-2.0
"""Rules of git+https: what git fetches by them, and what it shows of a no."""
import base64

import pytest

from bed import Bed

URL = 'https://git.test/acme/widgets.git'
FETCH = '''
- name: work
  allow: git+https://git.test/acme/widgets
  forge: gitlab
  fetch: true
'''
# at a path without `.git` the origin says what a test wrote down
ODD = '''
- name: odd
  allow: git+https://git.test/acme/odd
  forge: none
  fetch: true
  push: {branches: ["**"]}
'''
REFS = 'git.test/acme/odd/info/refs?service=git-%s-pack'
ID = '1' * 40


def line(text):
    return '%04x%s' % (len(text) + 4, text)


def answer(service, text, status='200 OK', fields='', kind='advertisement'):
    """An answer to `info/refs`, as Peers.says() wants it."""
    return {REFS % service: [
        'HTTP/1.1 %s\r\nContent-Type: application/x-git-%s-pack-%s\r\n'
        'Content-Length: %d\r\n%s\r\n%s' % (status, service, kind, len(text),
                                            fields, text)]}


@pytest.fixture
def says(peers):
    yield peers.says
    peers.says({})


def targets(here):
    return [(r['method'], r['target']) for r in here.origin_requests()]


@pytest.mark.parametrize('version', '012')
def test_git_clones_by_one_rule(bed, version):
    here = bed(FETCH)
    got = here.run('git -c protocol.version=%s clone -q %s w && cat w/README '
                   '&& git -C w fetch -q && git -C w fsck' % (version, URL))
    assert got.exit == 0 and 'widgets of acme' in got.out, got
    assert got.reasons() == [], got


def test_what_leads_elsewhere_is_taken_out_of_an_offer(bed, says):
    says(answer('upload', line('# service=git-upload-pack\n') + '0000' +
                line('version 2\n') + line('agent=git/2.55\n') +
                line('bundle-uri\n') + line('session-id=1\n') +
                line('promisor-remote=name=x,url=https://evil.test,token=y\n') +
                line('fetch=shallow packfile-uris filter\n') + '0000',
                fields='Set-Cookie: a=b\r\nWWW-Authenticate: Basic\r\n'))
    here = bed(ODD)
    got = here.run('curl -sSi -H "Cookie: c=d" -H "Accept-Encoding: gzip" '
                   'https://' + REFS % 'upload')
    head, _, body = got.out.partition('\n\n')
    assert body == line('# service=git-upload-pack\n') + '0000' + \
        line('version 2\n') + line('agent=git/2.55\n') + \
        line('fetch=shallow filter\n') + '0000', got
    for name in ('cookie', 'authenticate', 'content-length'):
        assert name not in head.lower(), got
    fields = {n.lower(): v for n, v in here.origin_requests()[0]['fields']}
    assert fields['accept-encoding'] == 'identity' and 'cookie' not in fields


def test_a_push_is_not_served_yet(bed):
    here = bed(FETCH + '  push: {branches: ["**"]}\n')
    got = here.run('git clone -q %s w && cd w && git push origin HEAD:refs/heads/x'
                   % URL)
    assert got.exit == 1 and got.reasons() == ['git.service'], got
    assert ('POST', '/acme/widgets.git/git-receive-pack') not in targets(here)


@pytest.mark.parametrize('url', [
    'https://git.test/acme/widgets', 'https://git.test/acme/widgets/',
    'https://git.test/ACME/Widgets.GIT', 'https://git.test/acme/widgets/.git'])
def test_a_repository_goes_up_in_the_rules_spelling(bed, url):
    here = bed(FETCH)
    got = here.run('git ls-remote %s' % url)
    assert got.exit == 0 and 'refs/heads/main' in got.out, got
    assert {t.split('/info')[0].split('/git-')[0]
            for _, t in targets(here)} == {'/acme/widgets.git'}


def test_the_token_is_the_password_of_basic_and_git_needs_none(bed):
    here = bed(FETCH + '  credential: api\n',
               Bed.config(only='git+https://git.test/acme/**'))
    got = here.run('git clone -q %s w && git clone -q '
                   'https://me:mine@git.test/acme/widgets v' % URL)
    assert got.exit == 0, got
    want = 'Basic ' + base64.b64encode(
        ('oauth2:' + here.canary).encode()).decode()
    for request in here.origin_requests():
        assert [v for n, v in request['fields'] if n == 'Authorization'] == \
            [want], request
