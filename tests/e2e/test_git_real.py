# SPDX-License-Identifier: Apache-2.0
"""Every kind of push by real git to its own server, over both versions of
HTTP: what a rule allows is there afterwards, what it does not is explained."""
import contextlib
import os
import subprocess

import pytest

import gitcgi
import h2origin

RULE = '''
- name: work
  allow: git+https://%s/real/*
  forge: gitlab
  fetch: true
  push: {%s}
'''
WIDE = 'branches: ["**"], tags: ["v*"], delete: true, force: true, ' \
    'options: [ci.skip]'
NARROW = 'branches: ["agent/**"], keep: [".github/**"]'
START = ('git config --global user.name a && '
         'git config --global user.email a@b.test && set -e\n')


class Site:
    """Repositories at an origin that speaks this version of HTTP."""

    def __init__(self, bed, peers, version):
        self.bed, self.root = bed, '%s/%s' % (peers.git, 'real')
        self.host = 'git.test' if version == '1' else 'a.h2.test:4443'
        self.version, self.peers, self.here = version, peers, None

    def make(self, push, name, *options):
        """A sandbox with this rule, and a new repository."""
        self.here = self.bed(RULE % (self.host, push))
        self.name = '%s-%s' % (name, self.version)
        self.path = '%s/%s.git' % (self.root, self.name)
        os.makedirs(self.path)
        if options:
            self.git('init', '-q', '--bare', *options)
        gitcgi.make_repository(self.path, {'README': 'real\n', '.github': 'x\n'})
        self.git('config', 'receive.advertisePushOptions', 'true')

    def git(self, *args, **more):
        return subprocess.run(
            ['git', '-c', 'safe.directory=*', '-c', 'user.name=o', '-c',
             'user.email=o@ok.test', '-C', self.path, *args], check=True,
            text=True, stdout=subprocess.PIPE, **more).stdout.strip()

    def refs(self):
        return dict(line.split() for line in self.git(
            'for-each-ref', '--format=%(refname) %(objectname)').split('\n'))

    def run(self, script):
        return self.here.run(
            START + 'U=https://%s/real/%s\ngit clone -q $U w\ncd w\n' %
            (self.host, self.name) + script)


@pytest.fixture(params=['1', '2'])
def site(request, bed, peers):
    origin = contextlib.nullcontext()
    if request.param == '2':
        origin = h2origin.Origin(4443, peers.pki, git=peers.git,
                                 plain=('127.0.0.1', 80))
    with origin as it:
        made = Site(bed, peers, request.param)
        made.origin = it
        yield made


def posts(site):
    if site.origin:
        seen = [(r['method'], r['path']) for r in site.origin.requests]
    else:
        seen = [(r['method'], r['target'])
                for r in site.here.origin_requests()]
    return [p for m, p in seen if m == 'POST' and p.endswith('receive-pack')]


def test_every_kind_of_push_that_a_rule_allows(site):
    site.make(WIDE, 'kinds')
    got = site.run('''
commit() { git commit -q --allow-empty "$@"; }
commit -m 1
git push -q origin HEAD:refs/heads/one
git push -q --dry-run origin HEAD:refs/heads/dry
for i in 1 2 3 4 5 6 7 8 9; do commit -m $i; git branch b$i; done
git push -q origin 'refs/heads/b*:refs/heads/b*'
git tag v1
git tag -a v2 -m 2
git push -q --tags origin
git push -q --atomic origin HEAD:refs/heads/at1 HEAD:refs/heads/at2
git push -q origin :b1
git push -q -o ci.skip origin HEAD:refs/heads/option
commit --amend -m amended
git push -q --force origin HEAD:refs/heads/one
git fetch -q
commit --amend -m again
git push -q --force-with-lease origin HEAD:refs/heads/one
git push origin HEAD:refs/heads/one 2>&1
git rev-parse HEAD
git clone -q --mirror $U ../m
cd ../m
git update-ref -d refs/heads/b2
git update-ref refs/heads/new refs/heads/one
git push -q --mirror $U
git fsck
''')
    assert got.exit == 0 and got.reasons() == [], got
    (tip,) = [line for line in got.out.split('\n') if len(line) == 40]
    there = site.refs()
    assert set(there) == {'refs/heads/' + n for n in (
        'main', 'one', 'new', 'at1', 'at2', 'option', 'b3', 'b4', 'b5', 'b6',
        'b7', 'b8', 'b9')} | {'refs/tags/v1', 'refs/tags/v2'}, there
    assert there['refs/heads/one'] == there['refs/heads/new'] == tip
    # nothing went up of what was dry, or up to date
    assert len(posts(site)) == 9, posts(site)


def test_what_a_rule_keeps_and_does_not_force(site):
    site.make(NARROW, 'narrow')
    blob = site.git('hash-object', '-w', '--stdin', input='evil\n')
    # a tree that the server has already, at another place
    tree = site.git('mktree', input='100644 blob %s\tci.yml\n' % blob)
    site.git('update-ref', 'refs/heads/trees', site.git(
        'commit-tree', '-m', 't', '-p', 'main', site.git(
            'mktree', input='040000 tree %s\tdocs\n' % tree)))
    got = site.run('''
git commit -q --allow-empty -m 1
git push -q origin HEAD:refs/heads/agent/a HEAD:refs/heads/agent/b
no() { echo "== $1"; shift; ! git push "$@" 2>&1; git reset -q --hard ok; }
git tag ok
echo y >.github && git commit -qam ci
no update origin HEAD:refs/heads/agent/a
echo y >.github && git commit -qam ci
no branch origin HEAD:refs/heads/agent/new
git mv .github x && mkdir .github && git mv x .github/x && git commit -qm mv
no renamed origin HEAD:refs/heads/agent/a
git fetch -q && git rm -q .github && git read-tree --prefix=.github/ \
    origin/trees:docs && git commit -qm tree
no tree origin HEAD:refs/heads/agent/a
git rm -q .github && git commit -qm rm
no gone origin HEAD:refs/heads/agent/b
git commit -q --amend --allow-empty -m 2
no amended -f origin HEAD:refs/heads/agent/a
git fetch -q && git commit -q --amend --allow-empty -m 3
no leased --force-with-lease origin HEAD:refs/heads/agent/a
no deleted origin :agent/b
no tags origin ok
echo == mirror
git clone -q --mirror $U ../m && cd ../m && git update-ref refs/heads/agent/c \
    main && git update-ref refs/heads/c main
! git push --mirror $U 2>&1
''')
    assert got.exit == 0 and 'Everything up-to-date' not in got.out, got
    there = site.refs()
    assert set(there) == {'refs/heads/' + n for n in (
        'main', 'trees', 'agent/a', 'agent/b')}, there
    assert there['refs/heads/agent/a'] == there['refs/heads/agent/b']
    said = dict(part.split('\n', 1) for part in got.out.split('== ')[1:])
    assert set(said) == {'update', 'branch', 'renamed', 'tree', 'gone',
                         'amended', 'leased', 'deleted', 'tags', 'mirror'}, got
    for name, text in said.items():
        assert '[remote rejected]' in text, (name, text)
        assert 'remote: duenna: push refused' in text or name == 'deleted', \
            (name, text)


def test_a_repository_of_sha256(site):
    site.make(NARROW, 'sha256', '--object-format=sha256')
    got = site.run('''
git commit -q --allow-empty -m 1
git push -q origin HEAD:refs/heads/agent/a
git commit -q --allow-empty -m 2
git push -q origin HEAD:refs/heads/agent/a
git rev-parse HEAD
git commit -q --amend --allow-empty -m 3
! git push -f origin HEAD:refs/heads/agent/a 2>&1
''')
    assert got.exit == 0 and '[remote rejected]' in got.out, got
    tip = site.refs()['refs/heads/agent/a']
    assert len(tip) == 64 and tip in got.out.split('\n'), got


# within what fits the buffers between us, and far more; to its end in both
@pytest.mark.parametrize('size', ['2M', '70M'])
def test_a_large_push_is_refused_without_a_hang(site, size):
    site.make(NARROW, 'large' + size.lower())
    got = site.run('''
git config core.compression 0
git config core.bigFileThreshold 1m
head -c %s /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 >big 2>/dev/null
git add big
git commit -qm big
git push origin HEAD:main 2>&1 || echo exit $?
''' % size)
    assert got.exit == 0 and got.out.endswith('\nexit 1\n'), got
    assert 'duenna: push refused, nothing was sent to the server' in got.out
    assert 'remote: duenna: rule `work` allows refs/heads/agent/**' in got.out
    assert '! [remote rejected] HEAD -> main (duenna: not among ' in got.out
    assert 'Everything up-to-date' not in got.out, got
    assert set(got.reasons()) == {'git.ref'}, got
    assert posts(site) == [] and list(site.refs()) == ['refs/heads/main'], got
