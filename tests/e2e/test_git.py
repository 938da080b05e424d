# SPDX-License-Identifier: Apache-2.0
"""Rules of git+https: what git fetches by them, and what it shows of a no."""
import base64
import os
import subprocess

import pytest

import gitcgi
import h2origin
from bed import OPEN, Bed

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


def at_the_origin(here, name, *args, **more):
    """git in a repository of the origin's, which is made at first need."""
    path = '%s/acme/%s.git' % (here.peers.git, name)
    if not os.path.exists(path):
        gitcgi.make_repository(path, {name: name + '\n'})
    return subprocess.run(
        ['git', '-c', 'safe.directory=*', '-c', 'user.name=a', '-c',
         'user.email=b', '-C', path, *args], check=True, text=True,
        capture_output=True, **more).stdout.strip()


@pytest.mark.parametrize('version, buffer, coding', [
    ('0', 1048576, 'gzip'), ('2', 1048576, 'gzip'), ('2', 65536, 'chunked')])
def test_a_long_negotiation_goes_up_as_it_comes(bed, version, buffer, coding):
    """In gzip, or where it may not fit a buffer, in chunks behind a probe."""
    here = bed(FETCH)
    here.write('project/in', ''.join(
        'commit refs/heads/own\ncommitter a <b> %d +0000\ndata 0\n\n' % i
        for i in range(200)))
    got = here.run('git init -q w && cd w && git fast-import --quiet <../in && '
                   'git -c protocol.version=%s -c http.postBuffer=%d fetch -q '
                   '%s main && git fsck' % (version, buffer, URL))
    assert got.exit == 0 and got.reasons() == [], got
    assert coding in [v for r in here.origin_requests() for n, v in r['fields']
                      if n.lower().endswith('-encoding')], got
    assert 4 not in [r['body_size'] for r in here.origin_requests()], got


def test_shallow_and_partial_clones(bed):
    here = bed(FETCH)
    at_the_origin(here, 'widgets', 'config', 'uploadpack.allowFilter', 'true')
    got = here.run('git clone -q --depth 1 %s s && git -C s rev-parse '
                   '--is-shallow-repository && git clone -q --filter=blob:none '
                   '--no-checkout %s p && git -C p rev-list --objects '
                   '--missing=print HEAD | grep -c "^?" && git -C p cat-file '
                   '-p HEAD:README' % (URL, URL))
    assert got.exit == 0, got
    assert got.out.split('\n')[:3] == ['true', '2', 'widgets of acme'], got


def test_each_submodule_wants_a_rule_of_its_own(bed):
    here = bed(FETCH + FETCH[1:].replace('work', 'super').replace(
        'widgets', 'super'))
    lib = at_the_origin(here, 'lib', 'rev-parse', 'HEAD')
    blob = at_the_origin(here, 'super', 'hash-object', '-w', '--stdin', input=
                         '[submodule "lib"]\n\tpath = lib\n\turl = ../lib.git\n')
    tree = at_the_origin(here, 'super', 'mktree', '--missing', input=
                         '100644 blob %s\t.gitmodules\n160000 commit %s\tlib\n'
                         % (blob, lib))
    at_the_origin(here, 'super', 'update-ref', 'HEAD',
                  at_the_origin(here, 'super', 'commit-tree', tree, '-m', 'x'))
    clone = 'git clone -q --recurse-submodules https://git.test/acme/super w'
    got = here.run(clone)
    assert got.exit != 0 and set(got.reasons()) == {'git.repo'}, got
    assert 'remote: duenna: no rule names git+https://git.test/acme/lib' in \
        got.err, got
    here = bed(FETCH.replace('acme/widgets', 'acme/*'))
    got = here.run(clone + ' && cat w/lib/lib')
    assert got.exit == 0 and got.out == 'lib\n', got


def test_git_fetches_over_http2_as_over_http1(bed, peers):
    here = bed(FETCH.replace('git.test', 'a.h2.test:4443') + '  credential: api\n',
               Bed.config(only='"git+https://a.h2.test:4443/**"'))
    url = 'https://a.h2.test:4443/acme/'
    with h2origin.Origin(4443, peers.pki, git=peers.git) as origin:
        got = here.run('git clone -q %swidgets w && cat w/README; git ls-remote '
                       '%sother; git -C w push origin HEAD:refs/heads/x' %
                       (url, url))
    assert 'widgets of acme' in got.out, got
    assert got.reasons() == ['git.repo', 'git.service'], got
    assert 'remote: duenna: no rule names' in got.err, got
    assert 'does not allow a push of' in got.err, got
    assert {r['path'].partition('.git/')[0] for r in origin.requests} == \
        {'/acme/widgets'} and len(origin.requests) == 3, origin.requests


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


@pytest.mark.parametrize('command, said, reason', [
    ('ls-remote https://git.test/acme/other.git',
     ('remote: duenna: no rule names git+https://git.test/acme/other; ',
      'remote: duenna: a fetch is allowed to git+https://git.test/acme/widgets'),
     'git.repo'),
    ('ls-remote https://git.test/acme/widgets.wiki.git',
     ('remote: duenna: no rule names git+https://git.test/acme/widgets.wiki',),
     'git.repo'),
    ('push %s HEAD:refs/heads/x' % URL,
     ('remote: duenna: rule `work`', 'does not allow a push of'), 'git.service'),
    ('-c http.extraHeader="Authorization: Bearer x" ls-remote ' + URL,
     ('the client\'s own stood in authorization',), 'cred.client_auth')])
def test_git_shows_why_it_is_refused(bed, command, said, reason):
    here = bed(FETCH)
    got = here.run('git init -q w && cd w && git -c user.name=a -c user.email=b '
                   'commit -q --allow-empty -m x && git ' + command)
    assert got.exit == 128 and 'error: 403' in got.err, got
    for text in said:
        assert text in got.err, got
    assert '[%s ' % reason in got.err and got.reasons() == [reason], got
    assert 'Username' not in got.err and targets(here) == [], got


def test_git_shows_that_the_server_did_not_take_the_token(bed, says):
    says({REFS % 'upload': ['HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: '
                            'Basic realm="x"\r\nContent-Length: 0\r\n\r\n']})
    here = bed(ODD + '  credential: api\n',
               Bed.config(only='git+https://git.test/acme/**'))
    got = here.run('git ls-remote https://git.test/acme/odd')
    assert got.exit == 128 and 'Username' not in got.err, got
    assert "remote: the server did not take duenna's credential" in got.err, got
    assert got.find(event='alarm', reason='cred.unavailable'), got


def test_an_error_page_that_says_the_token_is_cut(bed, says):
    here = bed(ODD + '  credential: api\n',
               Bed.config(only='git+https://git.test/acme/**'))
    secret = base64.b64encode(('oauth2:' + here.canary).encode()).decode()
    for text in (here.canary, 'Basic ' + secret):
        says({REFS % 'upload': ['HTTP/1.1 500 No\r\nContent-Length: %d\r\n'
                                'Content-Type: text/plain\r\n\r\n%s' %
                                (len(text), text)]})
        got = here.run('git ls-remote https://git.test/acme/odd; '
                       'curl -sS https://' + REFS % 'upload')
        assert here.canary not in got.out + got.err and \
            secret not in got.out + got.err, got
        assert got.find(event='alarm', reason='cred.echo'), got


def test_git_shows_that_a_repository_moved(bed, says):
    """A fetch comes back to the new place, and is judged there."""
    says({REFS % service: [
        'HTTP/1.1 301 Moved\r\nLocation: https://git.test/acme/widgets.git/'
        'info/refs?service=git-%s-pack\r\nContent-Length: 0\r\n\r\n' % service]
        for service in ('upload', 'receive')})
    here = bed(ODD + FETCH[1:])
    got = here.run('git ls-remote https://git.test/acme/odd && '
                   'git clone -q https://git.test/acme/odd w && cd w && '
                   'git push https://git.test/acme/odd HEAD:refs/heads/x')
    assert 'refs/heads/main' in got.out and got.exit == 128, got
    assert 'remote: the repository moved; change the policy' in got.err, got
    assert got.reasons() == ['up.response'], got
    got = bed(ODD).run('git ls-remote https://git.test/acme/odd')
    assert 'no rule names git+https://git.test/acme/widgets' in got.err, got


def test_git_shows_that_a_server_speaks_no_smart_http(bed, says):
    says({REFS % 'upload': ['HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'
                            'Content-Length: 0\r\n\r\n']})
    here = bed(ODD)
    got = here.run('git ls-remote https://git.test/acme/odd')
    assert got.exit == 128 and len(targets(here)) == 1, got
    assert "remote: the server does not answer in git's smart HTTP" in got.err


def test_a_clone_that_was_refused_is_suggested_as_one_rule(bed):
    here = bed('- allow: https://ok.test/**')
    clone = 'git clone -q %s w && cat w/README' % URL
    assert here.run(clone).exit == 128
    code, said, err = here.duenna('audit', 'suggest')
    assert code == 0 and said.count('- name:') == 1, said + err
    # the origins of the bed are not public
    here.write('project/duenna.yaml', said.replace(
        'fetch: true', 'fetch: true\n        addresses: [%s]' % OPEN))
    got = here.run(clone)
    assert got.exit == 0 and 'widgets of acme' in got.out, (said, got)
