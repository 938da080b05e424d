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
FORGED = {
    'behind the author': '{tree}{who}parent {old}\n{committer}\nx\n',
    'behind the committer': '{tree}{who}{committer}parent {old}\n\nx\n',
    'in a signature': '{tree}{who}{committer}gpgsig -----BEGIN\n'
                      ' parent {old}\n -----END\n\nx\n',
    'in a merged tag': '{tree}{who}{committer}mergetag object {old}\n'
                       ' parent {old}\n\nx\n',
    'in the message': '{tree}{who}{committer}\nparent {old}\n',
    'before the tree': 'parent {old}\n{tree}{who}{committer}\nx\n',
    'after a blank': '{tree}{who}{committer}\n\nparent {old}\n',
    'in upper case': '{tree}PARENT {old}\n{who}{committer}\nx\n',
}


def test_a_line_that_says_parent_makes_no_fast_forward(made):
    here = made('branches: ["agent/**"]')
    forms = dict(tree='tree $T\n', old='$OLD', who='author a <a@b.test> 1 +0\n',
                 committer='committer a <a@b.test> 1 +0\n')
    script = ''.join('echo "== %s"\nC=$(git hash-object -t commit -w --literally '
                     '--stdin <<END\n%sEND\n)\ngit push -f origin '
                     '$C:refs/heads/agent/a 2>&1 || true\n' %
                     (name, text.format(**forms))
                     for name, text in FORGED.items())
    got = here.run(START + 'git commit -q --allow-empty -m 1\n'
                   'git push -q origin HEAD:refs/heads/agent/a\n'
                   'OLD=$(git rev-parse HEAD) T=$(git rev-parse HEAD^{tree})\n' +
                   script + 'echo "== end $OLD"')
    assert got.exit == 0, got
    *said, end = got.out.split('== ')[1:]
    assert refs(here)['agent/a'] == end.split()[1], got
    assert len(said) == len(FORGED), got
    for text in said:
        # or git itself does not take it for a commit
        assert '[remote rejected]' in text or 'error: ' in text or \
            'fatal: ' in text, text
    assert sum('(duenna: ' in text for text in said) >= 6, got


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
    assert got.exit == 0 and '[git.pack ' in hidden, got
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
