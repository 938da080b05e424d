# SPDX-License-Identifier: Apache-2.0
"""Clients of SSH: what they show of a refusal, and git's URLs of SSH."""
import contextlib
import os
import shutil

import pytest

from bed import UID
from test_trust import etc_of

pytestmark = pytest.mark.skipif(not shutil.which('ssh'),
                                reason='ssh is not installed')

@pytest.fixture(autouse=True)
def known_user():
    """ssh wants its user to have a name."""
    with contextlib.ExitStack() as stack:
        if os.environ.get('DUENNA_BED') == 'root':
            with open('/etc/passwd', encoding='utf-8') as f:
                text = f.read()
            stack.enter_context(etc_of({
                'passwd': text + 'somebody:x:%d:%d::/:/bin/sh\n' % (UID, UID)
            }))
        yield


OK = '- allow: https://ok.test/**\n- allow: https://*.wild.test/**\n'


def test_ssh_shows_why_it_is_refused(bed):
    here = bed(OK)
    got = here.run('ssh -o BatchMode=yes git@ok.test; '
                   'ssh -o BatchMode=yes -p 443 git@other.test; '
                   'git clone ssh://git@x.wild.test/acme/app')
    lines = got.err.splitlines()
    assert 'no rule allows SSH to ok.test:22; it would be ' \
        '`allow: tcp://ok.test:22` [dst.port ' in got.err, got
    assert 'no rule allows SSH to this name, port 443 [dst.port ' in got.err
    assert 'no rule allows SSH to *.wild.test:22 [dst.port ' in got.err, got
    assert sum(line.startswith('Received disconnect from ')
               for line in lines) == 3, got
    rows = got.find(reason='dst.port')
    assert [r['server.port'] for r in rows] == [22, 443, 22], rows
    assert here.origin_events('open') == []


def test_a_policy_that_hides_its_rules_hides_them_here(bed):
    here = bed('version: 1\npolicies: {p: {refusals: code, rules: '
               '[{allow: "https://ok.test/**"}]}}\n')
    got = here.run('ssh -o BatchMode=yes git@ok.test')
    assert ': duenna: [dst.port ' in got.err, got
    assert 'no rule' not in got.err, got


GIT = '''
- allow: git+https://git.test/acme/app
  forge: gitlab
  fetch: true
- allow: git+https://other.test:8443/acme/app
  fetch: true
'''
SHOW = 'git ls-remote --get-url '


def test_git_urls_of_ssh_are_turned_to_https(bed):
    here = bed(GIT)
    urls = ('git@git.test:acme/app', 'ssh://git@git.test/acme/app',
            'git@other.test:acme/app', 'git@github.com:acme/app',
            'mine:app')
    own = {'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_VALUE_0': 'mine:',
           'GIT_CONFIG_KEY_0': 'url.https://mine.test/.insteadOf'}
    args = [word for name in own for word in ('--env', name)]
    got = here.run('; '.join(SHOW + url for url in urls), args=args, env=own)
    assert got.out.split() == [
        'https://git.test/acme/app'] * 2 + [
            'https://other.test:8443/acme/app', 'git@github.com:acme/app',
            'https://mine.test/app'], got
    got = here.run(SHOW + urls[0])
    assert got.out.split() == ['https://git.test/acme/app'], got
    got = here.run(SHOW + urls[0], args=['--env', 'GIT_CONFIG_COUNT'],
                   env={'GIT_CONFIG_COUNT': 'x'})
    assert 'GIT_CONFIG_COUNT is no count' in got.err, got


def test_ssh_to_a_host_of_git_rules_is_told_of_https(bed):
    here = bed(GIT)
    got = here.run('ssh -o BatchMode=yes git@git.test; '
                   'ssh -o BatchMode=yes git@other.test')
    assert 'duenna: git over SSH has no branch rules; use ' \
        'https://git.test/... [dst.port ' in got.err, got
    assert 'use https://other.test:8443/... [dst.port ' in got.err, got


def test_git_clones_by_a_url_of_ssh(bed):
    here = bed('- allow: git+https://git.test/acme/widgets\n'
               '  forge: gitlab\n  fetch: true\n')
    got = here.run('git clone -q git@git.test:acme/widgets.git; '
                   'git -C widgets log --oneline | wc -l')
    assert got.exit == 0 and int(got.out) > 0, got
    assert {r['server.address'] for r in got.find(event='request.end')} == \
        {'git.test'}, got
