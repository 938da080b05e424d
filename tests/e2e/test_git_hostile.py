# SPDX-License-Identifier: Apache-2.0
"""Hostile pushes against git's own server: which refs there are afterwards.

Each body of tests/git/hostile, and what is made of it here, goes to a
repository of its own, once for each kind of rule, so that one sandbox tries
them all.
"""
import hashlib
import json
import os
import shutil
import struct
import subprocess

import pytest

import h2origin
from bed import PEERS, TREE
from rawclient import try_all

FIRST = 'd1f31ebe42008b8512d7eeadeb4bee8faa4e2ac5'   # refs/heads/main
SECOND = 'be61d60f328decd0d3'                        # main2, begins like this
EMPTY = b'PACK' + struct.pack('>II', 2, 0)
EMPTY += hashlib.sha1(EMPTY).digest()
CAPS = b'\0 report-status object-format=sha1 agent=x'
RULES = '''
- name: wide
  allow: git+https://%(host)s/wide/*
  forge: gitlab
  push: {branches: ["**"], force: true}
- name: read
  allow: git+https://%(host)s/read/*
  forge: gitlab
  fetch: true
  push: {branches: ["**"]}
- name: held
  allow: git+https://%(host)s/held/*.git
  forge: none
  push: {branches: ["**"], max_file: 1MiB}
- name: narrow
  allow: git+https://%(host)s/narrow/*
  forge: gitlab
  push: {branches: ["agent/**"], force: true, delete: true}
'''
KINDS = ('wide', 'read', 'held', 'narrow')

GOOD = {'refs/heads/agent/x': FIRST}
# What these change where all branches may be pushed, and force is allowed.
# All others change nothing, whatever git's server does with them.
CHANGES = {
    'good-plain-create': {'refs/heads/x': FIRST},
    'no-capabilities': {'refs/heads/ok': FIRST},
    'one-lf-after-ref': {'refs/heads/x': FIRST, 'refs/heads/y': FIRST},
    'upper-case-hex': {'refs/heads/x': FIRST},
    'unknown-capability': {'refs/heads/x': FIRST},
    'ref-MAIN': {'refs/heads/MAIN': FIRST},
    'garbage-after-pack': {'refs/heads/x': FIRST},
    'force-unrelated': {'refs/heads/main2': FIRST},
    'made-line-65520': {'refs/heads/x': FIRST},
    'made-chunks-of-one': {'refs/heads/x': FIRST},
    'made-pack-in-a-name': {'refs/heads/PACK': FIRST},
    'made-good-agent': GOOD,
}
# what goes up, and the server refuses
SERVER_REFUSES = {'create-existing', 'update-wrong-old', 'ref-below-existing',
                  'made-second-list'}
NOT_FORWARD = {k: v for k, v in CHANGES.items() if k != 'force-unrelated'}
# of a new branch a pack is read only where the rule is about what is in it
CONTENT = {k: v for k, v in NOT_FORWARD.items() if k != 'garbage-after-pack'}
WANT = {'wide': CHANGES, 'read': NOT_FORWARD, 'held': CONTENT,
        'narrow': {'made-good-agent': GOOD}}


def pkt(data):
    return b'%04x' % (len(data) + 4) + data


def command(new, ref, old='0' * 40, more=CAPS):
    return b'%s %s %s%s' % (old.encode(), new.encode(), ref, more)


def create(ref, more=CAPS):
    return pkt(command(FIRST, ref, more=more)) + b'0000' + EMPTY


def made():
    """Bodies that need not be kept: they are long, or say how they are made."""
    room = 65516 - len(command(FIRST, b'refs/heads/x')) - 1
    many = b''.join(pkt(command(FIRST, b'refs/heads/n%d' % i,
                                more=b'' if i else CAPS)) for i in range(101))
    return {
        'made-line-65520': create(b'refs/heads/x', CAPS + b' ' + b'z' * room),
        'made-length-ffff': b'ffff' + b'A' * 70000,
        'made-101-commands': many + b'0000' + EMPTY,
        'made-shallow-1M': pkt(b'shallow ' + FIRST.encode()) * 21000 +
        create(b'refs/heads/x'),
        'made-41-digits': pkt(command(FIRST + '0', b'refs/heads/x')) +
        b'0000' + EMPTY,
        'made-39-digits': pkt(command(FIRST[1:], b'refs/heads/x')) +
        b'0000' + EMPTY,
        'made-pack-in-a-name': create(b'refs/heads/PACK', CAPS + b' PACK'),
        'made-pack-in-a-bad-name': create(b'refs/tags/PACK', CAPS + b' PACK'),
        'made-option-name': create(b'refs/heads/agent/--mirror'),
        'made-dash': create(b'refs/heads/agent/-'),
        'made-agent-crlf': create(b'refs/heads/x', CAPS + b'\r\n'),
        'made-from-a-packs-middle': EMPTY * 100,
        'made-second-list': pkt(command(FIRST, b'refs/heads/x')) + b'0000' +
        create(b'refs/heads/evil'),
        'made-good-agent': create(b'refs/heads/agent/x'),
        'made-probe-and-more': b'0000' + create(b'refs/heads/x'),
        'made-probes': b'00000000' + create(b'refs/heads/x'),
    }


def bodies():
    top = TREE + '/tests/git/hostile/'
    found = made()
    for name in os.listdir(top):
        with open(top + name, 'rb') as f:
            found[name] = f.read()
    return found


def git(path, *args):
    return subprocess.run(
        ['git', '-c', 'safe.directory=*', '-C', path, *args],
        check=True, text=True, errors='surrogateescape', capture_output=True,
        stdin=subprocess.DEVNULL, env={
            'PATH': '/usr/bin:/bin', 'GIT_CONFIG_NOSYSTEM': '1',
            **{'GIT_%s_%s' % (who, what): said
               for who in ('AUTHOR', 'COMMITTER') for what, said in
               (('NAME', 'Lab'), ('EMAIL', 'lab@example.invalid'),
                ('DATE', '2026-01-02T03:04:05Z'))}}).stdout.strip()


@pytest.fixture(scope='module')
def template(peers):
    """A repository in which the names of the bodies' objects are right."""
    path = peers.dir + '/template'
    os.makedirs(path)
    git(path, 'init', '-q', '--bare', '-b', 'main', '--template=')
    tree = git(path, 'hash-object', '-w', '-t', 'tree', '/dev/null')
    first = git(path, 'commit-tree', '-m', 'one', tree)
    second = git(path, 'commit-tree', '-m', 'two', '-p', first, tree)
    assert first == FIRST and second.startswith(SECOND)
    git(path, 'update-ref', 'refs/heads/main', first)
    git(path, 'update-ref', 'refs/heads/main2', second)
    git(path, 'config', 'http.receivepack', 'true')
    return path


def place(template, top, kind, name):
    """A repository for this body; its path below the origin's."""
    path = '/%s/%s.git' % (kind, name.lower())
    shutil.copytree(template, top + path)
    if name == 'options-server-on':
        git(top + path, 'config', 'receive.advertisePushOptions', 'true')
    return path


def refs(path):
    return dict(line.split(' ', 1) for line in git(
        path, 'for-each-ref', '--format=%(refname) %(objectname)').split('\n'))


def changed(path, before):
    after = refs(path)
    return {n: after.get(n) for n in {*before, *after}
            if before.get(n) != after.get(n)}


FIELDS = (('Content-Type', 'application/x-git-receive-pack-request'),
          ('Accept', 'application/x-git-receive-pack-result'))


def request(path, body, single=False, host='git.test'):
    """A POST, in one piece or in chunks of a byte each."""
    head = ''.join('%s: %s\r\n' % f for f in (('Host', host), *FIELDS))
    if single:
        framing = 'Transfer-Encoding: chunked'
        body = b''.join(b'1\r\n%c\r\n' % c for c in body) + b'0\r\n\r\n'
    else:
        framing = 'Content-Length: %d' % len(body)
    return 'POST %s/git-receive-pack HTTP/1.1\r\n%s%s\r\n\r\n%s' % (
        path, head, framing, body.decode('latin-1'))


def compare(template, top, tried):
    """The refs of each repository are those that its rule lets be."""
    before = refs(template)
    wrong = {path: changed(top + path, before) for kind, name, path in tried
             if changed(top + path, before) != WANT[kind].get(name, {})}
    assert not wrong, '\n'.join(map(str, wrong.items()))


def test_no_hostile_push_changes_more_than_its_rule_allows(bed, template):
    here = bed(RULES % {'host': 'git.test'})
    top, tried, cases = here.peers.git, [], []
    every = bodies()
    every['made-chunks-of-one'] = every['good-plain-create']
    for kind in KINDS:
        for name, body in sorted(every.items()):
            path = place(template, top, kind, name)
            tried.append((kind, name, path))
            cases.append({'id': path, 'name': 'git.test', 'send': [
                request(path, body, name == 'made-chunks-of-one')]})
    got, run = try_all(here, cases)
    compare(template, top, tried)
    sent = {r['target'] for r in here.origin_requests()
            if r['method'] == 'POST'}
    for case, (kind, name, path) in zip(got, tried):
        assert case.status in (200, 400, 403, 413), (path, case)
        if name in SERVER_REFUSES and path + '/git-receive-pack' in sent:
            assert 'ng refs/heads/' in case.got, (path, case)
        elif name not in WANT[kind]:
            assert path + '/git-receive-pack' not in sent, (path, case)
    assert len(run.find(event='push.begin')) >= 3 * len(CONTENT), run


def test_hostile_pushes_over_http2(bed, template, peers):
    here = bed(RULES % {'host': 'a.h2.test:4443'})
    top, tried, streams = here.peers.git + '/h2', [], []
    # those that fit the first window of the client
    for name, body in sorted((n, b) for n, b in bodies().items()
                             if len(b) <= 16384):
        tried.append(('wide', name, place(template, top, 'wide', name)))
        streams.append({'method': 'POST', 'fields': [
            (n.lower(), v) for n, v in FIELDS], 'body': body.decode('latin-1'),
            'path': tried[-1][2] + '/git-receive-pack'})
    with open(PEERS + '/h2client.py', encoding='utf-8') as f:
        here.write('project/h2client.py', f.read())
    here.write('project/streams.json', json.dumps(streams))
    with h2origin.Origin(4443, peers.pki, git=top) as origin:
        got = here.run('/usr/bin/python3 h2client.py a.h2.test 4443 '
                       '<streams.json')
    assert got.exit == 0, got
    compare(template, top, tried)
    said = json.loads(got.out)
    assert said['goaway'] is None, got
    assert {s['status'] for s in said['streams']} == {'200', '400'}, said
    assert {r['path'] for r in origin.requests} == {
        path + '/git-receive-pack' for _, name, path in tried
        if name in {*CHANGES, *SERVER_REFUSES}}


def framed(service, body, *fields):
    """A POST to the first repository, with these fields."""
    kind = 'application/x-git-%s-request' % service
    return 'POST /%s/git-%s HTTP/1.1\r\nHost: git.test\r\nContent-Type: %s' \
        '\r\n%s\r\n%s' % ('wide/one.git', service, kind, ''.join(
            f + '\r\n' for f in fields), body.decode('latin-1'))


def test_each_request_of_a_connection_is_judged_alone(bed, template):
    here = bed(RULES.replace('force: true}', 'force: true}\n  fetch: true', 1) %
               {'host': 'git.test'})
    path = here.peers.git + place(template, here.peers.git, 'wide', 'one')
    good, bad = create(b'refs/heads/a'), create(b'refs/tags/a')
    want = pkt(b'command=ls-refs') + b'0001' + pkt(b'ref-prefix HEAD') + b'0000'
    long = 'Content-Length: %d'
    push, fetch = 'receive-pack', 'upload-pack'
    three = framed(push, good, long % len(good)) + \
        framed(push, bad, long % len(bad)) + \
        framed(fetch, want, long % len(want), 'Git-Protocol: version=2')
    probes = framed(push, b'0000', long % 4) + framed(fetch, b'0000', long % 4)
    both = framed(push, b'0\r\n\r\n', long % 5, 'Transfer-Encoding: chunked')
    late = [framed(push, b'', long % len(good), 'Expect: 100-continue'),
            good.replace(b'/a', b'/b').decode('latin-1')]
    # as clients in a browser's manner write it
    small = framed(push, good.replace(b'/a', b'/c'), long % len(good))
    small = '\r\n'.join(
        line.lower() if ': ' in line else line for line in small.split('\r\n'))
    case = {'name': 'git.test'}
    (three, probes, both, late, small), got = try_all(here, [
        {**case, 'send': [three], 'answers': 3},
        {**case, 'send': [probes], 'answers': 2},
        {**case, 'send': [both]},
        {**case, 'send': late, 'pause': 0.2},
        {**case, 'send': [small]}])
    ok, ng, refs_ = three.got.split('HTTP/1.1 200 OK')[1:]
    assert 'ok refs/heads/a\n' in ok and 'ng refs/tags/a duenna: ' in ng, three
    assert '%s HEAD' % FIRST in refs_, three
    assert probes.requests() == [], probes
    assert probes.got.count('HTTP/1.1 200 OK') == 2, probes
    assert both.status == 400 and both.reason == 'http.framing', both
    assert late.got.startswith('HTTP/1.1 100 ') and \
        'ok refs/heads/b\n' in late.got, late
    assert changed(path, refs(template)) == \
        {'refs/heads/' + n: FIRST for n in 'abc'}
    assert got.reasons().count('git.ref') >= 1, got
