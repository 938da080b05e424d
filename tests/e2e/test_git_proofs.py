# SPDX-License-Identifier: Apache-2.0
"""What a push has to show: duenna's own questions, and refs without names."""
import base64
import glob
import os
import signal
import subprocess
import time

import pytest

import h2origin
from bed import TREE, Bed, give

URL = 'https://git.test/acme/widgets.git'
REPOSITORY = '/acme/widgets.git'
OFFER = 'git.test/acme/widgets.git/info/refs?service=git-upload-pack'
# no `fetch`: what duenna asks is not the sandbox's to ask
RULE = '''
- name: work
  allow: git+https://git.test/acme/widgets
  forge: gitlab
  push: {branches: ["agent/**"], delete: true}
'''
COMMITS = ('git config --global user.name a && '
           'git config --global user.email a@b.test && git init -q w && cd w && '
           'git commit -q --allow-empty -m 1 && '
           'git commit -q --allow-empty -m 2 && '
           'git push -q %s HEAD:refs/heads/agent/x '
           'HEAD~1:refs/heads/agent/y' % URL)
# nothing but what the server has: the pack of this push shows nothing
FORWARD = 'cd w && git push %s HEAD:refs/heads/agent/y' % URL


def at_origin(here, *args, **more):
    return subprocess.run(
        ['git', '-c', 'safe.directory=*', '-c', 'user.name=o', '-c',
         'user.email=o@ok.test', '-C', here.peers.git + REPOSITORY, *args],
        check=True, text=True, stdout=subprocess.PIPE, **more).stdout.strip()


def tips(here):
    return dict(line.split()[::-1] for line in at_origin(
        here, 'for-each-ref', '--format=%(objectname) %(refname:short)',
        ).split('\n'))


def clear(here):
    for name in at_origin(here, 'for-each-ref', '--format=%(refname)').split():
        if name != 'refs/heads/main':
            at_origin(here, 'update-ref', '-d', name)


@pytest.fixture
def made(bed, peers):
    """bed(policy, config) whose origin loses all refs but main afterwards."""
    beds = []

    def make(*args):
        beds.append(bed(*args))
        return beds[-1]

    yield make
    peers.says({})
    for here in beds:
        clear(here)


def fields_of(request):
    return {n.lower(): v for n, v in request['fields']}


def questions(here):
    return [r for r in here.origin_requests()
            if fields_of(r).get('user-agent') == 'git/duenna']


def test_a_question_goes_by_the_rule_and_is_recorded(made):
    here = made(RULE + '  credential: api\n',
                Bed.config(only='git+https://git.test/acme/**'))
    got = here.run(COMMITS)
    assert got.exit == 0 and questions(here) == [], got
    assert got.find(event='question') == [], got
    got = here.run(FORWARD)
    assert got.exit == 0 and got.reasons() == [], got
    assert tips(here)['agent/y'] == tips(here)['agent/x']
    offer, objects = questions(here)
    assert offer['method'] == 'GET' and \
        offer['target'] == OFFER.partition('git.test')[2], offer
    assert objects['method'] == 'POST' and \
        objects['target'] == REPOSITORY + '/git-upload-pack', objects
    want = 'Basic ' + base64.b64encode(
        ('oauth2:' + here.canary).encode()).decode()
    for request in (offer, objects):
        fields = fields_of(request)
        assert fields['authorization'] == want, request
        assert fields['git-protocol'] == 'version=2', request
        assert 'cookie' not in fields and 'accept-language' not in fields
    push = [r for r in here.origin_requests() if r['method'] == 'POST' and
            r['target'].endswith('git-receive-pack')][-1]
    assert push['conn'] != offer['conn'] == objects['conn']
    # each of them in the log, before its credential was released for it
    events = [r['event'] for r in got.audit if r['event'] in
              ('question', 'release')]
    assert events[-4:] == ['question', 'release'] * 2, got
    for row in got.find(event='question'):
        assert row['duenna.credential'] == 'api' and 'verdict' not in row
        assert row['duenna.flow'] == \
            got.find(event='push.end')[0]['duenna.flow'], got
    assert here.duenna('audit', 'verify', got.log)[0] == 0, got
    assert here.duenna('audit', 'replay', got.log)[0] == 0, got
    assert 'question' not in here.duenna('audit', 'show', got.log)[1]
    assert 'question' in here.duenna('audit', 'show', '--all', got.log)[1]


HEAD = ('HTTP/1.1 %s\r\nContent-Type: application/x-git-upload-pack-'
        'advertisement\r\nContent-Length: %d\r\n%s\r\n%s')
OLD = ('001e# service=git-upload-pack\n0000'
       '003f' + '1' * 40 + ' refs/heads/main\0agent=git/x\n0000')


NO_ANSWERS = (
    (HEAD % ('200 OK', len(OLD), '', OLD), 'no protocol version 2'),
    (HEAD % ('401 Unauthorized', 0, 'WWW-Authenticate: Basic\r\n', ''),
     "the origin refuses duenna's own question (401): may the rule's"),
    (HEAD % ('302 Found', 0, 'Location: https://ok.test/\r\n', ''),
     "the origin answers 302 to duenna's own question"),
    (HEAD % ('200 OK', 4, 'Content-Encoding: gzip\r\n', '0000'),
     "the origin's answer to duenna's own question is encoded"),
    ('HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n000eversion 2\n0000',
     'is of another type'),
    (HEAD % ('200 OK', 14, '', '000eversion 2\n'), 'is no whole one'),
    ('HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-'
     'advertisement\r\nTransfer-Encoding: chunked\r\n\r\nfff0\r\n' +
     'f' * 65520 + '\r\n8000\r\n' + 'f' * 32768 + '\r\n0\r\n\r\n', ''))


def test_what_the_origin_does_not_answer_is_not_shown(made, peers):
    here = made(RULE)
    assert here.run(COMMITS).exit == 0
    before = tips(here)
    for answer, why in NO_ANSWERS:
        peers.says({OFFER: [answer]})
        got = here.run(FORWARD)
        assert got.exit == 1 and tips(here) == before, (answer, got)
        assert '! [remote rejected] HEAD -> agent/y (duenna: ' in got.err, got
        assert why in got.err, (why, got)
        assert set(got.reasons()) == {'git.update'}, (answer, got)
        assert [r['reason'] for r in got.find(event='alarm')] == [], got
    # once it answers, the same push goes through
    peers.says({})
    got = here.run(FORWARD)
    assert got.exit == 0 and tips(here)['agent/y'] == before['agent/x'], got


def test_an_origin_of_http2_alone_is_not_asked(made, peers):
    here = made(RULE.replace('git.test', 'a.h2.test:4443'))
    url = URL.replace('git.test', 'a.h2.test:4443')
    with h2origin.Origin(4443, peers.pki, git=peers.git) as origin:
        got = here.run(COMMITS.replace(URL, url))
        assert got.exit == 0, got
        before = tips(here)
        got = here.run(FORWARD.replace(URL, url))
    assert got.exit == 1 and tips(here) == before, got
    assert set(got.reasons()) == {'git.update'}, got
    assert {r['path'].rpartition('/')[2].partition('?')[0]
            for r in origin.requests} == {'refs', 'git-receive-pack'}


def test_a_worker_that_dies_while_it_asks_lets_nothing_through(made, peers):
    here = made(RULE)
    assert here.run(COMMITS).exit == 0
    before = tips(here)
    peers.says({OFFER: ['HTTP/1.1 200 OK\r\n', 8]})
    running = here.start(['sh', '-c', FORWARD])
    deadline = time.monotonic() + 20
    while not questions(here) and time.monotonic() < deadline:
        time.sleep(0.05)
    (worker,) = running.roles()['worker']
    # git sends a push again whose connection ends without an answer
    peers.says({OFFER: [HEAD % ('404 Not Found', 0, '', '')]})
    os.kill(worker, signal.SIGKILL)
    got = running.wait()
    assert questions(here) and got.exit != 0, got
    assert tips(here) == before, got
    assert got.find(event='flow.end', reason='internal'), got


# --------------------------------------------- packs that wait as a whole

# of such a server it is not known whether it needs the last bytes
WAITING = RULE.replace('gitlab', 'none').replace(
    'widgets', 'widgets.git').replace('delete: true', 'max_file: 20MiB')
GOOD = TREE + '/tests/git/hostile/good-plain-create'
POST = ('curl -sS -X POST -T - -H '
        '"Content-Type: application/x-git-receive-pack-request" ' +
        URL + '/git-receive-pack')


def waiting_files(here, worker):
    """Sizes of the nameless files of duenna's state that it has open."""
    found = []
    for fd in os.listdir('/proc/%d/fd' % worker):
        path = '/proc/%d/fd/%s' % (worker, fd)
        try:
            name = os.readlink(path)
            if name.startswith(here.home + '/.local/state/duenna/') and \
                    name.endswith(' (deleted)'):
                found.append(os.stat(path).st_size)
        except OSError:
            pass
    return found


def wait_until(true):
    deadline = time.monotonic() + 20
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert true()


def state_of(here):
    """The files that have a name there, but logs and locks."""
    return {os.path.join(folder, name)
            for folder, _, names in os.walk(here.home + '/.local')
            for name in names if not folder.endswith(('/log', '/locks'))}


@pytest.mark.parametrize('dies', ['worker', 'all'])
def test_a_pack_that_waits_has_no_name(made, dies):
    here = made(WAITING)
    with open(GOOD, 'rb') as f:
        body = f.read().replace(b'refs/heads/x', b'refs/heads/agent/x')
    body = b'%04x' % (int(body[:4], 16) + 6) + body[4:]
    with open(here.project + '/half', 'wb') as f:
        f.write(body[:-30])
    assert here.run('true').exit == 0
    before = state_of(here)
    running = here.start(['sh', '-c', '(cat half; sleep 20) | ' + POST])
    wait_until(lambda: running.roles().get('worker') and any(
        waiting_files(here, running.roles()['worker'][0])))
    (worker,) = running.roles()['worker']
    assert here.origin_requests() == []
    os.kill(worker if dies == 'worker' else running.child.pid, signal.SIGKILL)
    if dies == 'worker':
        wait_until(lambda: running.roles().get('worker', [worker]) != [worker])
        running.child.terminate()
    running.wait()
    assert state_of(here) <= before
    assert here.origin_requests() == []
    for log in here.logs():  # one has no end
        os.unlink(log)


def test_without_a_file_a_pack_cannot_wait(made):
    here = made(WAITING)
    assert here.run('true').exit == 0
    folder = here.home + '/.local/state/duenna'
    os.chmod(folder, 0o500)  # what it needs of it is there already
    got = here.run(COMMITS)
    os.chmod(folder, 0o700)
    assert '(duenna: ' in got.err and got.exit == 1, got
    assert 'no file for a pack that has to wait: Permission denied' in \
        got.err, got
    assert set(got.reasons()) == {'internal'} and \
        here.origin_requests()[-1]['method'] == 'GET', got


def test_a_full_disk_refuses_a_pack_that_has_to_wait(made):
    here = made(WAITING)
    small = here.home + '/small'
    os.mkdir(small)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=4m', 'small', small],
                   check=True)
    give(small)
    got = here.run(COMMITS + ' && head -c 6000000 /dev/urandom >big && git add big && '
                   'git commit -qm big && '
                   'git push %s HEAD:refs/heads/agent/z; '
                   'git push -q %s HEAD~1:refs/heads/agent/y && echo good' %
                   (URL, URL), env={'XDG_STATE_HOME': small})
    assert "cannot be kept on duenna's disk: No space left" in got.err, got
    assert '! [remote rejected] HEAD -> agent/z (duenna: ' in got.err, got
    assert got.out.endswith('good\n') and 'agent/z' not in tips(here), got
    (log,) = glob.glob(small + '/duenna/log/*')
    assert here.duenna('audit', 'verify', log)[0] == 0, got
    assert any('agent/z' in line and '"deny"' in line
               for line in open(log, encoding='utf-8')), got


# ------------------------------------------------------------ hidden refs

HIDING = RULE.replace('delete: true', 'tags: ["v*"], force: true').replace(
    '  push:', '  fetch: true\n  hide_other_refs: true\n  push:')


def test_refs_of_others_have_no_names_and_packs_stay_small(made):
    here = made(HIDING)
    blob = at_origin(here, 'hash-object', '-w', '--stdin',
                     input=base64.b64encode(os.urandom(300000)).decode())
    tree = at_origin(here, 'mktree', input='100644 blob %s\tbig\n' % blob)
    tip = at_origin(here, 'commit-tree', tree, '-m', 'big', '-p', 'main')
    at_origin(here, 'update-ref', 'refs/heads/secret', tip)
    at_origin(here, 'update-ref', 'refs/tags/t1', tip)
    at_origin(here, 'update-ref', 'refs/tags/v1', 'main')
    at_origin(here, 'update-ref', 'refs/heads/agent/old', 'main')
    got = here.run(
        'git config --global user.name a && '
        'git config --global user.email a@b.test && '
        'git clone -q -b secret %s w && cd w && echo x >x && git add x && '
        'git commit -qm x && GIT_TRACE_PACKET=/tmp/trace git push -q origin '
        'HEAD:refs/heads/agent/x && cat /tmp/trace' % URL)
    assert got.exit == 0 and got.reasons() == [], got
    shown = [line.partition(' git< ')[2].partition('\\0')[0].split()
             for line in got.out.split('\n')]
    shown = [s for s in shown if len(s) == 2 and len(s[0]) == 40]
    assert {name for _, name in shown} == \
        {'.have', 'refs/heads/agent/old', 'refs/tags/v1'}, got
    assert tip in [oid for oid, name in shown if name == '.have'], got
    (push,) = [r for r in here.origin_requests() if r['method'] == 'POST' and
               r['target'].endswith('git-receive-pack')]
    assert push['body_size'] < 1500, push['body_size']
    # who knows a name gains nothing by it: it is not among the rule's
    got = here.run('cd w && git push origin HEAD:refs/heads/secret')
    assert 'HEAD -> secret (duenna: not among refs/heads/agent/**' in got.err
    assert tips(here)['secret'] == tip
