# SPDX-License-Identifier: Apache-2.0
"""LFS by rules of git+https, with git-lfs itself; its origin gives back the
token that came with a question."""
import os
import shutil

import pytest

from bed import Bed

pytestmark = pytest.mark.skipif(not shutil.which('git-lfs'),
                                reason='git-lfs is not installed')

RULE = '''
- name: work
  allow: git+https://git.test/acme/assets
  forge: forgejo
  fetch: true
  push: {branches: ["agent/**"]}
  lfs: %s
  credential: api
'''
START = ('git config --global user.name a && '
         'git config --global user.email a@b.test && '
         'git lfs install --skip-repo >/dev/null && ')
URL = 'https://git.test/acme/assets.git'
PUSH = (START + 'git clone -q ' + URL + ' w && cd w && '
        'git lfs track "*.bin" >/dev/null && echo %s >a.bin && '
        'git add . && git commit -qm one && '
        'git push origin HEAD:refs/heads/agent/%s')


@pytest.fixture
def assets(bed):
    """bed(lfs) over a repository of its own at the origin."""
    import gitcgi

    def make(lfs):
        here = bed(RULE % lfs,
                   Bed.config(only='git+https://git.test/acme/**'))
        path = here.peers.git + '/acme/assets.git'
        if not os.path.exists(path):
            gitcgi.make_repository(path, {'README': 'assets\n'})
        return here
    yield make


def test_git_lfs_moves_objects_and_sees_no_token(assets):
    here = assets('write')
    got = here.run(PUSH % ('large', 'x'))
    assert got.exit == 0, got
    asked = [r for r in here.origin_requests() if '/info/lfs/' in r['target']]
    assert len(asked) == 3 and {r['method'] for r in asked} == \
        {'POST', 'PUT'}, asked
    for r in asked:
        sent = {n.lower(): v for n, v in r['fields']}
        assert sent['authorization'].startswith('Basic '), r
    here = assets('read')
    got = here.run(START + 'GIT_CURL_VERBOSE=1 GIT_TRACE=1 git clone -q -b '
                   'agent/x ' + URL + ' v && cat v/a.bin')
    assert got.exit == 0 and got.out.endswith('large\n'), got
    assert 'Basic ' not in got.err, got
    assert not got.find(event='alarm'), got


def test_git_lfs_moves_objects_where_hooks_are_read_only(assets):
    here = assets('write')
    assert here.run('git clone -q %s w' % URL).exit == 0
    got = here.run(START + 'cd w && git lfs track "*.bin" >/dev/null && '
                   'echo kept >a.bin && git add . && git commit -qm one && '
                   '{ git lfs install; '
                   'git lfs push origin HEAD && '
                   'git push -q origin HEAD:refs/heads/agent/hooks; }')
    assert got.exit == 0 and 'hooks/pre-push: read-only' in got.err, got
    assert 'put back: w/.git/config: ' in got.err, got
    with open(here.project + '/w/.git/config', encoding='utf-8') as f:
        assert 'repositoryformatversion = 0' not in f.read().partition(
            '[lfs')[2]
    assert [r['method'] for r in here.origin_requests()
            if '/info/lfs/' in r['target']][-2:] == ['PUT', 'POST'], got
    shutil.rmtree(here.project + '/w')


def test_git_lfs_shows_why_nothing_is_uploaded(assets):
    here = assets('read')
    got = here.run(PUSH % ('other', 'y'))
    assert got.exit != 0 and 'nothing is uploaded' in got.err, got
    # it was read before there was an upstream
    assert not [r for r in here.origin_requests()
                if r['target'].endswith('/objects/batch')]
    here = assets('false')
    got = here.run(PUSH % ('other', 'z'))
    assert got.exit != 0 and 'does not allow LFS of' in got.err, got
    assert not [r for r in here.origin_requests()
                if '/info/lfs/' in r['target'] and r['body_size']]
