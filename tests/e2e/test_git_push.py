# SPDX-License-Identifier: Apache-2.0
"""Pushes by rules of git+https: what goes through, and how a no is told."""
import base64
import gzip
import os
import subprocess

import pytest

import h2origin
from bed import TREE, Bed

URL = 'https://git.test/acme/widgets.git'
REPOSITORY = '/acme/widgets.git'
# `force: true`: of such a push nothing has to be read but its list
FREE = '''
- name: work
  allow: git+https://git.test/acme/widgets
  forge: gitlab
  fetch: true
  push: {branches: ["agent/**"], delete: true, force: true}
'''
CLONE = ('git config --global user.name a && '
         'git config --global user.email a@b.test && '
         'git clone -q %s w && cd w && ' % URL)
COMMIT = 'git commit -q --allow-empty -m x && '


def at_origin(here, *args):
    return subprocess.run(
        ['git', '-c', 'safe.directory=*', '-C', here.peers.git + REPOSITORY,
         *args], check=True, text=True, stdout=subprocess.PIPE).stdout


def refs(here):
    return at_origin(here, 'for-each-ref', '--format=%(refname)').split()


def posts(here):
    return [r for r in here.origin_requests() if r['method'] == 'POST' and
            r['target'].endswith('git-receive-pack')]


@pytest.fixture
def made(bed):
    """bed(policy, config) whose origin loses all refs but main afterwards."""
    beds = []

    def make(*args):
        beds.append(bed(*args))
        return beds[-1]

    yield make
    for here in beds:
        for name in refs(here):
            if name != 'refs/heads/main':
                at_origin(here, 'update-ref', '-d', name)


def test_a_push_goes_through_and_is_recorded(made):
    here = made(FREE + '  credential: api\n',
                Bed.config(only='git+https://git.test/acme/**'))
    got = here.run(CLONE + COMMIT + 'git push -q origin HEAD:refs/heads/agent/x'
                   ' HEAD:refs/heads/agent/y && git rev-parse HEAD')
    assert got.exit == 0, got
    new = got.out.strip()
    assert refs(here) == ['refs/heads/agent/x', 'refs/heads/agent/y',
                          'refs/heads/main'], got
    (post,) = posts(here)
    fields = {n.lower(): v for n, v in post['fields']}
    assert fields['authorization'].startswith('Basic ')
    assert fields['accept-encoding'] == 'identity', post
    want = ['%s %s refs/heads/agent/%s' % ('0' * 40, new, name)
            for name in 'xy']
    for event in ('push.begin', 'push.end'):
        assert [r['duenna.git.command'] for r in got.find(event=event)] == \
            want, got
    assert {r['duenna.git.result'] for r in got.find(event='push.end')} == \
        {'ok'}, got
    events = [r['event'] for r in got.audit]
    assert max(i for i, e in enumerate(events) if e == 'push.begin') < \
        max(i for i, e in enumerate(events) if e == 'release')
    assert here.duenna('audit', 'verify', got.log)[0] == 0, got
    shown = here.duenna('audit', 'show', got.log)[1]
    assert 'git-receive-pack refs/heads/agent/y -> ok' in shown, shown
    assert 'push.begin' not in shown, shown


def test_a_branch_outside_the_rule_is_refused_by_a_report(made):
    here = made(FREE)
    got = here.run(CLONE + COMMIT + 'git push origin HEAD:refs/heads/main '
                   'HEAD:refs/heads/agent/x')
    assert got.exit == 1, got
    assert '! [remote rejected] HEAD -> main (duenna: not among ' \
        'refs/heads/agent/** [git.ref ' in got.err, got
    assert '! [remote rejected] HEAD -> agent/x (duenna: another ref of this ' \
        'push is refused)' in got.err, got
    assert 'remote: duenna: push refused, nothing was sent to the server.' in \
        got.err and 'rule `work` allows refs/heads/agent/**' in got.err, got
    assert posts(here) == [] and refs(here) == ['refs/heads/main'], got
    (end,) = got.find(event='push.end')
    assert end['reason'] == 'git.ref' and \
        end['duenna.git.command'].endswith(' refs/heads/main'), got
    (end,) = got.find(event='request.end', reason='git.ref')
    assert end['http.response.status_code'] == 200, got


def test_a_large_push_is_probed_here_and_streams_on(made):
    here = made(FREE)
    got = here.run(CLONE + 'head -c 3000000 /dev/urandom >big && git add big && '
                   'git commit -qm big && '
                   'git push -q origin HEAD:refs/heads/agent/x')
    assert got.exit == 0 and 'refs/heads/agent/x' in refs(here), got
    (post,) = posts(here)
    assert ['Transfer-Encoding', 'chunked'] in post['fields'], post
    (probe,) = got.find(event='git.probe')
    assert probe['verdict'] == 'allow' and \
        probe['http.response.status_code'] == 200, got
    assert here.duenna('audit', 'verify', got.log)[0] == 0, got


@pytest.mark.parametrize('option, shown', [
    ('-q', '! [remote rejected] HEAD -> main (duenna: not among'),
    ('--porcelain', '!\tHEAD:refs/heads/main\t[remote rejected] (duenna: not ')])
def test_a_large_push_is_refused_at_once_and_in_full(made, option, shown):
    here = made(FREE)
    got = here.run(CLONE + 'head -c 9000000 /dev/urandom >big && git add big && '
                   'git commit -qm big && git push %s origin HEAD:main; '
                   'echo exit $?; git ls-remote -q origin main' % option)
    assert 'exit 1' in got.out and shown in got.err + got.out, got
    assert 'nothing was sent to the server' in got.err, got
    assert 'Everything up-to-date' not in got.err, got
    assert posts(here) == [] and got.exit == 0, got


def test_kinds_of_change_and_other_refs(made):
    here = made(FREE.replace(', delete: true', ''))
    at_origin(here, 'update-ref', 'refs/heads/agent/old', 'main')
    got = here.run(CLONE + 'git push origin :agent/old; git tag v1; '
                   'git push origin v1; git push origin HEAD:refs/for/main; '
                   'git push -o ci.skip origin HEAD:refs/heads/agent/x; '
                   'git push --signed=yes origin HEAD:refs/heads/agent/x; '
                   'git push origin HEAD:agent/--mirror; true')
    for text in ('agent/old (duenna: may not be deleted by rule `work` ',
                 'v1 -> v1 (duenna: not among',
                 'HEAD -> refs/for/main (duenna: not among',
                 'does not support push options',
                 'does not support --signed push',
                 'HEAD -> agent/--mirror (duenna: '):
        assert text in got.err, (text, got)
    assert posts(here) == [], got


def test_a_branch_is_deleted_where_the_rule_says_so(made):
    here = made(FREE)
    at_origin(here, 'update-ref', 'refs/heads/agent/old', 'main')
    got = here.run(CLONE + 'git push origin :agent/old')
    assert got.exit == 0 and refs(here) == ['refs/heads/main'], got


# --------------------------------------------------------------- by hand

CURL = ('curl -sS -o /tmp/out -w "%{http_code} %{content_type} '
        '%header{duenna-reason}" -H "Content-Type: '
        'application/x-git-receive-pack-request" ')
POST = ' https://git.test/acme/widgets/git-receive-pack'
RESULT = 'application/x-git-receive-pack-result'
# the refs of these are allowed by `**`, so that nothing but the fault refuses
WIDE = '''
- name: work
  allow: git+https://git.test/acme/widgets
  forge: gitlab
  push: {branches: ["**"], force: true}
'''


def bodies(here, folder, names=None):
    """Copy hostile bodies into the project; their names."""
    found = {n: p for n, p in captured(folder) if names is None or n in names}
    for name, path in found.items():
        with open(path, 'rb') as f:
            body = f.read()
        with open(here.project + '/' + name, 'wb') as f:
            f.write(body)
    return sorted(found)


def captured(folder):
    top = TREE + '/tests/git/' + folder
    return [(name, top + '/' + name) for name in os.listdir(top)]


def post_each(here, names, more=''):
    """What each body is answered with: status, type, reason; the answer."""
    got = here.run('for f in %s; do echo "$f $(%s %s --data-binary @$f %s)"; '
                   'base64 -w0 /tmp/out; echo; done' %
                   (' '.join(names), CURL, more, POST))
    lines = got.out.split('\n')
    return got, {a.split(' ', 1)[0]: (a.split(' ', 1)[1],
                                      base64.b64decode(b).decode('latin-1'))
                 for a, b in zip(lines[::2], lines[1::2])}


def test_no_hostile_list_goes_up(made):
    here = made(WIDE)
    fine = {'create-existing', 'force-unrelated', 'garbage-after-pack',
            'good-plain-create', 'no-capabilities', 'one-lf-after-ref',
            'probe', 'ref-MAIN', 'ref-below-existing', 'unknown-capability',
            'update-wrong-old', 'upper-case-hex', 'ref-heads-HEAD'}
    names = [n for n in bodies(here, 'hostile') if n not in fine]
    got, answers = post_each(here, names)
    assert len(answers) == len(names) > 40, got
    for name, (head, body) in answers.items():
        if head.startswith('200 ' + RESULT):
            assert 'unpack ok\n' in body and '\nng ' not in body[:8], body
            assert 'ng ' in body and 'ok refs' not in body, (name, body)
            assert head.endswith(('git.ref', 'git.update')) or \
                name.startswith('options-'), (name, head)
        else:
            assert head == '400 text/plain; charset=utf-8 git.malformed', \
                (name, head, body)
            assert body.startswith('duenna: ') and '[git.malformed ' in body
        assert not set(body) - {chr(c) for c in range(32, 127)} - \
            {'\n', '\x01', '\x02'} or name == 'ref-300-bytes', (name, body)
    assert posts(here) == [], got


def test_what_is_odd_but_right_goes_up_written_anew(made):
    here = made(WIDE)
    names = bodies(here, 'hostile', ['upper-case-hex', 'unknown-capability',
                                     'one-lf-after-ref'])
    _, answers = post_each(here, names)
    assert {head for head, _ in answers.values()} == {'200 %s ' % RESULT}
    sent = [r['body'] for r in posts(here)]
    for body in sent:
        first = body[4:int(body[:4], 16)]
        old, new, rest = first.split(' ', 2)
        assert new == new.lower() and '\n' not in first, first
        assert 'bogus' not in rest, first


def test_codings_of_a_body(made):
    here = made(WIDE)
    bodies(here, 'push', ['jgit-push-gzip', 'create'])
    with open(here.project + '/jgit-push-gzip', 'rb') as f:
        one = f.read()
    with open(here.project + '/two', 'wb') as f:
        f.write(one + one)
    with open(here.project + '/bomb', 'wb') as f:
        f.write(gzip.compress(b'0032shallow ' + bytes(40000000)))
    for coding, name, want in (
            ('gzip', 'jgit-push-gzip', '200'), ('x-gzip', 'two', '400'),
            ('gzip', 'bomb', '4'), ('GZIP', 'jgit-push-gzip', '415'),
            ('deflate', 'create', '415'), ('gzip, gzip', 'create', '415')):
        _, answers = post_each(here, [name], '-H "Content-Encoding: %s"' %
                               coding)
        assert answers[name][0].startswith(want), (coding, answers)
    got = here.run(CURL.replace('request"', 'request; a=b"') +
                   '--data-binary @create' + POST)
    assert got.out.startswith('415 '), got
    (sent,) = posts(here)
    assert not [v for n, v in sent['fields'] if n == 'Content-Encoding']


def test_without_a_report_a_refusal_is_an_http_error(made):
    here = made(FREE.replace('agent/**', 'other'))
    names = bodies(here, 'push', ['no-report-capability', 'reject-no-sideband',
                                  'reject-report-v1'])
    _, answers = post_each(here, names)
    head, body = answers['no-report-capability']
    assert head == '403 text/plain; charset=utf-8 git.ref', answers
    assert body.startswith('duenna: not among refs/heads/other [git.ref ')
    head, body = answers['reject-no-sideband']
    assert head == '200 %s git.ref' % RESULT and \
        body.startswith('000eunpack ok\n'), answers
    head, body = answers['reject-report-v1']
    assert head == '200 %s git.ref' % RESULT and \
        '\x01000eunpack ok\n' in body, answers


def test_a_post_is_judged_without_the_get_before_it(made):
    here = made(FREE.split('  push:')[0])
    bodies(here, 'push', ['create'])
    got, answers = post_each(here, ['create'])
    head, body = answers['create']
    assert head == '200 %s git.service' % RESULT, got
    assert 'ng refs/heads/' in body and '[git.service ' in body, body
    assert posts(here) == [] and got.reasons() == ['git.service'], got


# ------------------------------------------------- what the pack has to show

PROVEN = '''
- name: work
  allow: git+https://git.test/acme/widgets
  forge: gitlab
  fetch: true
  push: {branches: ["agent/**"], delete: true, keep: [".github/**"],
         max_file: 100KiB}
'''


def test_an_update_is_shown_to_be_a_fast_forward(made):
    here = made(PROVEN + '  credential: api\n',
                Bed.config(only='git+https://git.test/acme/**'))
    got = here.run(CLONE + COMMIT + 'git push -q origin HEAD:refs/heads/agent/x && ' +
                   COMMIT + COMMIT + 'git push -q origin HEAD:refs/heads/agent/x && '
                   'git push -q origin HEAD~1:refs/heads/agent/y && '
                   # nothing but what the server has: it is asked
                   'git push -q origin HEAD:refs/heads/agent/y && echo good; '
                   'git commit -q --amend --allow-empty -m z; '
                   'git push -f origin HEAD:refs/heads/agent/x; '
                   'git push -f origin HEAD~2:refs/heads/agent/y')
    assert got.out == 'good\n' and got.exit == 1, got
    assert at_origin(here, 'rev-parse', 'agent/x') == \
        at_origin(here, 'rev-parse', 'agent/y')
    assert '! [remote rejected] HEAD -> agent/x (duenna: ' in got.err and \
        '! [remote rejected] HEAD~2 -> agent/y (duenna: ' in got.err, got
    assert 'the server never got the end of the pack' in got.err, got
    assert got.err.count('rule `work` lets refs grow and not be') == 2, got
    assert got.reasons().count('git.update') == 4, got
    assert got.find(event='question', http_request_method='POST'), got
    assert here.duenna('audit', 'verify', got.log)[0] == 0, got
    assert here.duenna('audit', 'replay', got.log)[0] == 0, got


def test_shapes_of_honest_pushes_are_shown(made):
    here = made(PROVEN)
    got = here.run(CLONE.replace('clone -q', 'clone -q --depth 1') +
                   'push() { git push -q origin "$@"; } && ' + COMMIT +
                   # from a shallow clone; a new name for what is there; merged;
                   # with a delta; several refs, one of them deleted
                   'push HEAD:refs/heads/agent/a && '
                   'push HEAD~1:refs/heads/agent/b && '
                   'git checkout -qb b HEAD~1 && git commit -q --allow-empty '
                   '-m y && git merge -q --no-edit -s ours main && '
                   'push HEAD:refs/heads/agent/a && '
                   'sed -i 100s/a/b/ a.txt && git commit -qam delta && '
                   'push HEAD:refs/heads/agent/a && '
                   'push HEAD:refs/heads/agent/c :refs/heads/agent/b '
                   'HEAD~1:refs/heads/agent/d && '
                   # of these nothing is sent
                   'push --dry-run HEAD:refs/heads/agent/e && '
                   'push HEAD:refs/heads/agent/c')
    assert got.exit == 0 and got.reasons() == [], got
    assert len(posts(here)) == 5, got
    assert refs(here) == ['refs/heads/agent/a', 'refs/heads/agent/c',
                          'refs/heads/agent/d', 'refs/heads/main'], got


def test_what_a_rule_keeps_and_how_large_a_file_may_be(made):
    here = made(PROVEN)
    got = here.run(CLONE + 'mkdir .github && echo x >.github/ci && git add . && '
                   'git commit -qm ci && '
                   'git push origin HEAD:refs/heads/agent/ci; '
                   'git rm -q .github/ci && git commit -qm no && '
                   'git push -q origin HEAD:refs/heads/agent/no && echo good; '
                   'head -c 200000 /dev/urandom >big && git add big && '
                   'git commit -qm big && '
                   'git push origin HEAD:refs/heads/agent/no')
    assert got.out == 'good\n' and got.exit == 1, got
    assert got.reasons() == ['git.pack'] * 4, got
    for name in ('ci', 'no'):
        assert '! [remote rejected] HEAD -> agent/%s (duenna: ' % name in \
            got.err, got
    assert 'remote: duenna: rule `work` keeps as they are: .github/**' in \
        got.err, got
    assert refs(here) == ['refs/heads/agent/no', 'refs/heads/main'], got


READ = WIDE.replace('force: true', 'max_file: 1MiB')


def test_a_pack_that_is_read_ends_with_its_body(made):
    here = made(READ)
    bodies(here, 'hostile', ['garbage-after-pack', 'good-plain-create'])
    with open(here.project + '/good-plain-create', 'rb') as f:
        good = f.read()
    for name, body in (('short', good[:-1]), ('none', good[:-20]),
                       ('wrong', good[:-1] + bytes([good[-1] ^ 1]))):
        with open(here.project + '/' + name, 'wb') as f:
            f.write(body)
    wrong = ['garbage-after-pack', 'short', 'none', 'wrong']
    got, answers = post_each(here, wrong + ['good-plain-create'])
    for name in wrong:
        head, body = answers[name]
        assert head == '200 %s git.pack' % RESULT, (name, answers)
        assert 'ng refs/heads/x duenna: ' in body, body
    # what the server says of it passes, and is in the record
    head, body = answers['good-plain-create']
    assert head == '200 %s ' % RESULT and \
        'ng refs/heads/x missing necessary objects\n' in body, answers
    end = got.find(event='push.end')[-1]
    assert end['verdict'] == 'allow' and end['duenna.git.result'] == 'ng' and \
        end['duenna.detail'] == 'missing necessary objects', got
    assert len(posts(here)) == 1, got


def test_a_pack_over_the_rules_size(made):
    here = made(FREE.replace('force: true', 'force: true, max_pack: 2MiB'))
    got = here.run(CLONE + 'head -c 3000000 /dev/urandom >big && git add big && '
                   'git commit -qm big && '
                   'git push origin HEAD:refs/heads/agent/x; '
                   'git -c http.postBuffer=9000000 push origin '
                   'HEAD:refs/heads/agent/x')
    assert got.exit == 1 and 'max_pack' in got.err, got
    assert got.err.count('! [remote rejected] HEAD -> agent/x (duenna: ') == 2
    # a pack that nobody reads may have ended before
    assert got.err.count('what the server made of it is not known') == 2, got
    assert refs(here) == ['refs/heads/main'] and posts(here) == [], got
    assert set(got.reasons()) == {'limit.bytes'}, got


def test_a_server_that_may_not_need_the_end_sees_nothing_before(made):
    here = made(PROVEN.replace('gitlab', 'none').replace('100KiB', '4MiB')
                .replace('widgets', 'widgets.git'))
    got = here.run(CLONE + 'head -c 3000000 /dev/urandom >big && git add big && '
                   'git commit -qm big && '
                   'git push -q origin HEAD:refs/heads/agent/x && echo good; '
                   'git commit -q --amend -m z; '
                   'head -c 3000000 /dev/urandom >big && git add big && '
                   'git commit -q --amend --allow-empty -m z; '
                   'git push -f origin HEAD:refs/heads/agent/x')
    assert got.out == 'good\n' and got.exit == 1, got
    assert '! [remote rejected] HEAD -> agent/x (duenna: ' in got.err and \
        'nothing was sent to the server' in got.err, got
    (post,) = posts(here)
    assert [n for n, _ in post['fields'] if n == 'Content-Length'], post
    assert here.duenna('audit', 'verify', got.log)[0] == 0, got


# questions go over HTTP/1.1, which this origin does not speak
READ_AGENT = PROVEN.replace('keep: [".github/**"],', '')


def test_pushes_over_http2_as_over_http1(made, peers):
    here = made(READ_AGENT.replace('git.test', 'a.h2.test:4443'))
    with h2origin.Origin(4443, peers.pki, git=peers.git):
        got = here.run(
            CLONE.replace('git.test', 'a.h2.test:4443') + COMMIT +
            'git push -q origin HEAD:refs/heads/agent/x && ' + COMMIT +
            'head -c 1300000 /dev/urandom | split -b 90000 && git add x* && '
            'git commit -qm big && git push -q origin HEAD:refs/heads/agent/x '
            '&& echo good; git push origin HEAD:main; '
            'git commit -q --amend --allow-empty -m z; '
            'git push -f origin HEAD:refs/heads/agent/x')
    assert got.out == 'good\n' and got.exit == 1, got
    assert '! [remote rejected] HEAD -> main (duenna: not among' in got.err
    assert '! [remote rejected] HEAD -> agent/x (duenna: ' in got.err, got
    assert {r['verdict'] for r in got.find(event='push.end')} == \
        {'allow', 'deny'}, got
    assert refs(here) == ['refs/heads/agent/x', 'refs/heads/main'], got
