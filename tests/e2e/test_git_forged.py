# SPDX-License-Identifier: Apache-2.0
"""Pushes that git does not make by itself, and what a sandbox's name is worth,
against git's own server."""
import shutil
import subprocess

import pytest

import gitcgi

URL = 'https://git.test/forged/one.git'
RULE = '''
- name: work
  allow: git+https://git.test/forged/one
  forge: gitlab
  fetch: true
  push: {%s}
'''
START = '''
git config --global user.name a
git config --global user.email a@b.test
set -e
git clone -q %s w
cd w
''' % URL


@pytest.fixture
def made(bed):
    """bed with this `push`, over a new repository."""
    def make(push):
        here = bed(RULE % push)
        here.path = here.peers.git + '/forged/one.git'
        shutil.rmtree(here.path, ignore_errors=True)
        gitcgi.make_repository(here.path, {'README': 'one\n'})
        return here
    return make


def refs(here):
    return dict(line.split()[::-1] for line in subprocess.run(
        ['git', '-c', 'safe.directory=*', '-C', here.path, 'for-each-ref',
         '--format=%(objectname) %(refname:short)'], text=True, check=True,
        stdout=subprocess.PIPE).stdout.strip().split('\n'))


# each has the old tip in a line that says `parent`, and is no child of it
FORGED = (
    ('{tree}{who}parent {old}\n{committer}\nx\n', 'header line is missing'),
    ('{tree}{who}{committer}parent {old}\n\nx\n',
     'header line in the wrong place'),
    ('{tree}{who}{committer}gpgsig -----BEGIN\n parent {old}\n -----END\n\nx\n',
     'not a fast-forward'),
    ('{tree}{who}{committer}mergetag object {old}\n parent {old}\n\nx\n',
     'not a fast-forward'),
    ('{tree}{who}{committer}\nparent {old}\n', 'not a fast-forward'),
    ('{tree}PARENT {old}\n{who}{committer}\nx\n', 'header line is missing'),
    # a person without a date
    ('{tree}parent {old}\nauthor a <a@b.test>\n{committer}\nx\n', 'person '),
    ('{tree}parent {old}\n{who}{committer}\nx\n', None))


def test_a_line_that_says_parent_makes_no_fast_forward(made):
    here = made('branches: ["agent/**"]')
    forms = dict(tree='tree $T\n', old='$OLD', who='author a <a@b.test> 1 +0000\n',
                 committer='committer a <a@b.test> 1 +0000\n')
    got = here.run(START + 'git commit -q --allow-empty -m 1\n'
                   'git push -q origin HEAD:refs/heads/agent/a\n'
                   'OLD=$(git rev-parse HEAD) T=$(git rev-parse HEAD^{tree})\n' +
                   ''.join('echo "== $C"\nC=$(git hash-object -t commit -w '
                           '--literally --stdin <<END\n%sEND\n)\ngit push -f '
                           'origin $C:refs/heads/agent/a 2>&1 || true\n' %
                           text.format(**forms) for text, _ in FORGED) +
                   'echo "== $C"')
    *said, last = got.out.split('== ')[1:]
    assert got.exit == 0 and len(said) == len(FORGED), got
    for text, (_, why) in zip(said, FORGED):
        assert ('-> agent/a (duenna: %s' % why if why else
                '-> agent/a\n') in text, (why, text)
    # that of the one that is its child
    assert refs(here)['agent/a'] == last.strip(), got


BODY = '''
push() { # NAME OLD NEW REF OBJECTS...
    line=$(printf '%s %s %s' "$2" "$3" "$4")
    caps=' report-status object-format=sha1 agent=x'
    printf '%04x' $((${#line} + ${#caps} + 5)) >body
    printf '%s\\0%s0000' "$line" "$caps" >>body
    name=$1
    shift 4
    printf '%s\\n' "$@" | git pack-objects -q --stdout >>body
    echo "== $name"
    curl -sS -H 'Content-Type: application/x-git-receive-pack-request' \\
        --data-binary @body $U/git-receive-pack
}
'''


def test_a_commit_of_no_ref_is_not_hidden_in_a_pack(made):
    """With a rule about authors: what stands behind no ref has none."""
    script = START + BODY + '''
U=%s Z=0000000000000000000000000000000000000000
T=$(git rev-parse HEAD^{tree})
GOOD=$(git commit-tree -m good -p HEAD $T)
HIDDEN=$(git commit-tree -m hidden $T)
push hidden $Z $GOOD refs/heads/agent/a $GOOD $HIDDEN
push alone $Z $GOOD refs/heads/agent/b $GOOD
''' % URL
    here = made('branches: ["agent/**"], author: ["*@b.test"]')
    got = here.run(script)
    hidden, alone = got.out.split('== ')[1:]
    assert got.exit == 0 and '[git.pack ' in hidden and 'no ref' in hidden, got
    assert 'ok refs/heads/agent/b\n' in alone, got
    assert set(refs(here)) == {'main', 'agent/b'}, got
    assert subprocess.run(
        ['find', here.path + '/objects', '-name', '*.keep'],
        stdout=subprocess.PIPE, check=True).stdout == b''


def test_an_author_that_the_rule_does_not_name(made):
    here = made('branches: ["agent/**"], author: ["*@b.test"]')
    got = here.run(START + 'git commit -q --allow-empty -m 1\n'
                   'git push -q origin HEAD:refs/heads/agent/a\n'
                   'git commit -q --allow-empty -m 2 '
                   '--author "e <e@evil.test>"\n'
                   'git commit -q --allow-empty -m 3\n'
                   '! git push origin HEAD:refs/heads/agent/a 2>&1')
    assert got.exit == 0 and '! [remote rejected] HEAD -> agent/a (duenna: ' in \
        got.out and set(got.reasons()) == {'git.pack'}, got


def test_a_sandbox_has_branches_of_its_own(made):
    here = made('branches: ["agent/${sandbox}/**"]')
    script = START + '''
git commit -q --allow-empty -m 1
for b in agent/two/x agent/one agent/one/x; do
    git push origin HEAD:refs/heads/$b 2>&1 || true
done
'''
    got = here.run(script, ['--name', 'one'])
    assert got.exit == 0 and got.reasons().count('git.ref') >= 2, got
    assert set(refs(here)) == {'main', 'agent/one/x'}, got
    assert 'HEAD -> agent/two/x (duenna: not among refs/heads/agent/one/**' in \
        got.out, got


def test_a_repository_of_another_policy_is_none_of_this_one(made):
    here = made('branches: ["**"]')
    with open(here.project + '/duenna.yaml', encoding='utf-8') as f:
        text = f.read()
    here.write('project/duenna.yaml', text + (
        '  other:\n    rules:\n      - allow: https://ok.test/**\n'
        '        addresses: [203.0.113.0/24]\n'))
    got = here.run('git ls-remote %s; git ls-remote https://git.test/forged/x'
                   % URL, ['--policy', 'duenna.yaml:other'])
    assert got.exit == 128 and 'refs/heads' not in got.out, got
    assert here.origin_requests() == [], got
    got = here.run('git ls-remote ' + URL, ['--policy', 'duenna.yaml:test'])
    assert got.exit == 0 and 'refs/heads/main' in got.out, got
