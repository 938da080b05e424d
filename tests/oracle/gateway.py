#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real git against its real server, with the gateway's pure parts between.

usage: gateway.py GATEWAY

Everything is on loopback: git speaks to a small server of ours, which asks
GATEWAY what is to be done with each request, and `git http-backend` does it.
"""
import gzip
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading

GATEWAY = os.path.abspath(sys.argv[1])
POLICY = '''
version: 1
policies:
  p:
    rules:
      - name: app
        allow: git+https://git.test/acme/App
        forge: forgejo
        fetch: true
        push: {branches: ["agent/**"], max_commands: 4}
      - name: hiding
        allow: git+https://git.test/acme/hiding
        forge: forgejo
        fetch: true
        hide_other_refs: true
        push: {branches: ["agent/**"], tags: ["v*"], delete: true, options: ["ci.*"]}
      - name: lib
        allow: git+https://git.test/acme/lib
        forge: forgejo
        fetch: true
      - name: new
        allow: git+https://git.test/acme/sha256
        forge: forgejo
        push: {branches: ["**"], keep: [Makefile]}
      - name: proven
        allow: git+https://git.test/acme/proven
        forge: forgejo
        fetch: true
        push: {branches: ["agent/**"], keep: [".github/**"], max_file: 64KiB}
      - name: free
        allow: git+https://git.test/acme/free
        forge: forgejo
        push: {branches: ["agent/**"], force: true, author: ["*@b.test"]}
'''
TOP = tempfile.mkdtemp(prefix='gateway-')
ROOT = os.path.join(TOP, 'root')
seen = []  # (method, path upstream, bytes of the body)
adverts = []  # what clients were shown of pushes
asked = []  # how many questions each request took
tried = [0]


def ask(*args, data=b''):
    done = subprocess.run([GATEWAY, os.path.join(TOP, 'policy.yaml'), *args],
                          input=data, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError('gateway: %d %s' % (done.returncode, done.stderr))
    return done.stdout


def backend(method, target, headers, data):
    path, _, query = target.partition('?')
    env = {'PATH': os.environ['PATH'], 'HOME': TOP, 'GIT_PROJECT_ROOT': ROOT,
           'GIT_HTTP_EXPORT_ALL': '1', 'REQUEST_METHOD': method,
           'PATH_INFO': path, 'QUERY_STRING': query, 'REMOTE_USER': 'x',
           'CONTENT_TYPE': headers.get('Content-Type', ''),
           'CONTENT_LENGTH': str(len(data)),
           'GIT_PROTOCOL': headers.get('Git-Protocol', '')}
    out = subprocess.run(['git', 'http-backend'], input=data, env=env,
                         capture_output=True, check=False).stdout
    head, _, rest = out.partition(b'\r\n\r\n')
    fields = dict(x.split(': ', 1) for x in head.decode().split('\r\n'))
    return int(fields.pop('Status', '200')[:3]), fields, rest


def question(target, data):
    """A file with the upstream's answer."""
    where = target.replace('git-receive-pack', 'git-upload-pack')
    fields = {'Git-Protocol': 'version=2'}
    if data:
        fields['Content-Type'] = 'application/x-git-upload-pack-request'
        out = backend('POST', where, fields, data)
    else:
        out = backend('GET', where.replace(
            'git-upload-pack', 'info/refs?service=git-upload-pack'), fields, b'')
    assert out[0] == 200, out
    with tempfile.NamedTemporaryFile(dir=TOP, delete=False) as f:
        f.write(out[2])
    return f.name


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get('Transfer-Encoding') == 'chunked':
            data = b''
            while True:
                n = int(self.rfile.readline(), 16)
                data += self.rfile.read(n)
                self.rfile.readline()
                if n == 0:
                    break
        else:
            data = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        if self.headers.get('Content-Encoding') == 'gzip':
            data = gzip.decompress(data)
        return data

    def answer(self, status, fields, data):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_one(self):
        url = 'https://git.test' + self.path
        body, told = self.body(), []
        out = ask(self.command, url, data=body)
        while out[:1] in b'OQ':  # a proof wants to see what upstream has
            target, _, data = out[1:].partition(b'\n')
            told.append(question(target.decode(), data))
            out = ask(self.command, url, *told, data=body)
        asked.append(len(told))
        what, out = out[:1], out[1:]
        if what in b'FA':
            target, _, data = out.partition(b'\n')
            target = target.decode()
            seen.append((self.command, target, len(data)))
            status, fields, data = backend(self.command, target, self.headers,
                                           data)
            if what == b'A' and status == 200:
                data = ask('advert', self.command, url, data=data)
                if 'receive-pack' in target:
                    adverts.append(data)
            return self.answer(status, fields, data)
        if what == b'R':
            return self.answer(200, {'Content-Type':
                                     'application/x-git-receive-pack-result'},
                               out)
        return self.answer(403 if what == b'T' else 400,
                           {'Content-Type': 'text/plain'}, out)

    do_GET = do_POST = do_PUT = handle_one


def git(*args, cwd=None, status=0):
    """The output of git, both streams; it has to end with that status."""
    env = dict(os.environ, HOME=TOP, GIT_TERMINAL_PROMPT='0', LC_ALL='C',
               GIT_CONFIG_NOSYSTEM='1', GIT_AUTHOR_NAME='a',
               GIT_AUTHOR_EMAIL='a@b.test', GIT_COMMITTER_NAME='a',
               GIT_COMMITTER_EMAIL='a@b.test')
    done = subprocess.run(['git', *args], cwd=cwd, env=env, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode(errors='replace')
    if (done.returncode == 0) != (status == 0):
        raise AssertionError('git %s: %d\n%s' % (' '.join(args),
                                                 done.returncode, text))
    return text


def want(text, *parts):
    tried[0] += 1
    for part in parts:
        if part not in text:
            raise AssertionError('%r is not in:\n%s' % (part, text))


def refs(name):
    out = git('-C', os.path.join(ROOT, 'acme', name), 'for-each-ref',
              '--format=%(refname)')
    return set(out.split())


def commit(where, name, text='x\n'):
    with open(os.path.join(where, name), 'w', encoding='ascii') as f:
        f.write(text)
    git('add', name, cwd=where)
    git('commit', '-qm', name, cwd=where)


def repository(name, *options):
    where = os.path.join(ROOT, 'acme', name)
    git('init', '-q', '--bare', '-b', 'main', *options, where)
    git('-C', where, 'config', 'receive.advertisePushOptions', 'true')
    git('-C', where, 'config', 'receive.certNonceSeed', 'seed')
    return where


def set_up():
    with open(os.path.join(TOP, 'policy.yaml'), 'w', encoding='ascii') as f:
        f.write(POLICY)
    work = os.path.join(TOP, 'first')
    git('init', '-q', '-b', 'main', work)
    for i in range(20):
        commit(work, 'f%d' % i, 'line %d\n' % i * 200)
    # On a forge the policy's spelling goes upstream, with `.git`.
    for name in ('App.git', 'hiding.git', 'lib.git'):
        git('push', '-q', repository(name), 'main', cwd=work)
    os.makedirs(work + '/.github/workflows')
    commit(work, '.github/workflows/ci.yml')
    for name in ('proven.git', 'free.git'):
        git('push', '-q', repository(name), 'main', cwd=work)
    repository('sha256.git', '--object-format=sha256')


def fetches(url):
    for version in ('0', '1', '2'):
        where = os.path.join(TOP, 'clone' + version)
        git('-c', 'protocol.version=' + version, 'clone', '-q',
            url + '/ACME/app.git', where)
        assert os.path.exists(where + '/f19')
        tried[0] += 1
    assert {s[1].split('/info')[0].split('/git-')[0] for s in seen} == \
        {'/acme/App.git'}, seen
    git('clone', '-q', '--depth', '1', url + '/acme/lib', TOP + '/shallow')
    git('clone', '-q', '--filter=blob:none', url + '/acme/lib/',
        TOP + '/partial')
    want(git('ls-remote', url + '/acme/other', status=1),
         'remote: duenna: no rule names', '[git.repo w0-5f]')
    want(git('ls-remote', url + '/acme/lib.wiki.git', status=1), 'git.repo')


def pushes(url):
    where = TOP + '/clone2'
    commit(where, 'a')
    want(git('push', 'origin', 'HEAD:refs/heads/agent/x', cwd=where),
         '[new branch]')
    commit(where, 'b')
    want(git('push', 'origin', 'HEAD:refs/heads/agent/x',
             'HEAD:refs/heads/agent/y', cwd=where), 'agent/x', '[new branch]')
    want(git('push', '--atomic', 'origin', 'HEAD:agent/z', cwd=where), 'agent/z')
    commit(where, 'large', os.urandom(1500000).hex())
    before = len(seen)
    git('push', 'origin', 'HEAD:refs/heads/agent/large', cwd=where)
    assert [s[0] for s in seen[before:]] == ['GET', 'POST']  # the probe is ours
    assert refs('App.git') == {'refs/heads/' + x for x in (
        'main', 'agent/x', 'agent/y', 'agent/z', 'agent/large')}
    git('push', '-q', 'origin', 'HEAD:refs/heads/agent/s', cwd=TOP + '/shallow',
        status=1)  # lib is to be fetched alone
    where = TOP + '/deep'
    git('clone', '-q', '--depth', '1', url + '/acme/App', where)
    commit(where, 'c')
    git('push', '-q', 'origin', 'HEAD:refs/heads/agent/shallow', cwd=where)
    assert 'refs/heads/agent/shallow' in refs('App.git')


def refusals(url):
    where = TOP + '/clone2'
    before = refs('App.git')
    posts = len(seen)
    want(git('push', 'origin', 'HEAD:main', cwd=where, status=1),
         '! [remote rejected] HEAD -> main (duenna: not among '
         'refs/heads/agent/** [git.ref w0-5f])',
         'remote: duenna: push refused, nothing was sent to the server.',
         'remote: duenna: rule `app` allows refs/heads/agent/**')
    want(git('push', '-q', '--porcelain', 'origin', 'HEAD:main', cwd=where,
             status=1), 'not among refs/heads/agent/**')
    want(git('push', 'origin', 'HEAD:refs/heads/agent/n', 'HEAD:main',
             'HEAD:refs/tags/v1', cwd=where, status=1),
         'agent/n (duenna: another ref of this push is refused)',
         'main (duenna: not among', 'v1 (duenna: not among')
    want(git('push', 'origin', 'HEAD:agent/1', 'HEAD:agent/2', 'HEAD:agent/3',
             'HEAD:agent/4', 'HEAD:agent/5', cwd=where, status=1),
         'allows 4 commands in a push, not 5 [limit.bytes w0-5f]')
    want(git('push', 'origin', ':agent/x', cwd=where, status=1),
         'remote rejected')
    want(git('push', '--signed=yes', 'origin', 'HEAD:agent/x', cwd=where,
             status=1), 'does not support --signed push')
    want(git('push', '-o', 'ci.skip', 'origin', 'HEAD:agent/q', cwd=where,
             status=1), 'does not support push options')
    want(git('push', url + '/acme/lib', 'HEAD:agent/x', cwd=where, status=1),
         'remote: duenna: rule `lib`', 'does not allow a push',
         'remote: duenna: a push is allowed to git+https://git.test/acme/App')
    assert all('git-receive-pack' not in s[1] or s[0] == 'GET'
               for s in seen[posts:]), seen[posts:]
    assert refs('App.git') == before
    for text in (git('push', 'origin', 'HEAD:main', cwd=where, status=1),):
        assert 'Everything up-to-date' not in text


def hidden(url):
    where = TOP + '/clone2'
    before = len(seen)
    git('remote', 'add', 'hiding', url + '/acme/hiding', cwd=where)
    git('push', '-q', 'hiding', 'main~1:refs/heads/agent/h', cwd=where)
    assert b'main' not in adverts[-1] and b' .have' in adverts[-1], adverts[-1]
    # What the server has is not sent again: the hidden tips are known.
    assert seen[-1][2] < 20000 and len(seen) == before + 2, seen[before:]
    want(git('push', '-o', 'ci.skip', 'hiding', 'main:refs/tags/v1',
             cwd=where), '[new tag]')
    want(git('push', '-o', 'other', 'hiding', 'main:refs/tags/v2', cwd=where,
             status=1), 'does not allow these push options')
    want(git('push', '-f', 'hiding', 'main~1:refs/tags/v1', cwd=where,
             status=1), 'a tag may not be moved')
    git('push', '-q', 'hiding', ':agent/h', cwd=where)
    assert refs('hiding.git') == {'refs/heads/main', 'refs/tags/v1'}
    tried[0] += 2


def long_ids(url):
    where = TOP + '/sha256'
    git('init', '-q', '-b', 'main', '--object-format=sha256', where)
    commit(where, 'a', 'line\n' * 5000)
    git('push', '-q', url + '/acme/sha256', 'main', cwd=where)
    commit(where, 'a', 'line\n' * 5001)
    git('push', '-q', url + '/acme/sha256', 'main', cwd=where)
    assert b'no-thin' in adverts[-1] and refs('sha256.git') == {
        'refs/heads/main'}
    tried[0] += 2


def ids(name):
    return git('-C', os.path.join(ROOT, 'acme', name), 'for-each-ref')


def proven(url):
    """Fast-forwards and `keep`, shown by the pack or by a question."""
    where = TOP + '/proven'
    git('clone', '-q', url + '/acme/proven', where)
    commit(where, 'a')
    git('push', 'origin', 'HEAD:agent/x', cwd=where)  # HEAD of upstream: asked
    assert asked[-1] > 1
    commit(where, 'b')
    git('push', 'origin', 'HEAD:agent/x', cwd=where)
    git('push', 'origin', 'HEAD~1:refs/heads/agent/y', cwd=where)
    git('push', 'origin', 'HEAD:agent/y', cwd=where)  # no object is sent
    # main goes on, and the branch takes it up, workflows and all.
    first = TOP + '/first'
    commit(first, '.github/workflows/ci.yml', 'new\n')
    git('push', '-q', ROOT + '/acme/proven.git', 'main', cwd=first)
    git('pull', '-q', '--no-rebase', '--no-edit', 'origin', 'main', cwd=where)
    git('push', 'origin', 'HEAD:agent/x', cwd=where)
    tried[0] += 5


def unproven(url):
    where = TOP + '/proven'
    before, posts = ids('proven.git'), len(seen)
    kept = 'what `keep` names is not shown to be as it was [git.pack w0-5f]'

    def refused(*refs, text):
        want(git('push', '-f', 'origin', *refs, cwd=where, status=1),
             '! [remote rejected]', 'duenna: ' + text)
        git('reset', '-q', '--hard', 'FETCH_HEAD', cwd=where)

    git('fetch', '-q', 'origin', 'agent/x', cwd=where)
    git('commit', '-q', '--amend', '-m', 'other', cwd=where)
    refused('HEAD:agent/x', text='not shown to be a fast-forward [git.update')
    refused('HEAD~2:agent/x', text='not shown to be a fast-forward')
    git('checkout', '-q', '--orphan', 'o', cwd=where)
    git('commit', '-qm', 'root', cwd=where)
    refused('HEAD:agent/x', text='not a fast-forward')
    commit(where, '.github/workflows/ci.yml', 'mine\n')
    refused('HEAD:agent/x', text=kept)
    commit(where, '.github/workflows/ci.yml', 'mine\n')
    refused('HEAD:refs/heads/agent/new', text=kept)
    git('mv', '.github', '.GitHub', cwd=where)
    git('commit', '-qm', 'case', cwd=where)
    refused('HEAD:agent/x', text=kept)
    git('update-index', '--chmod=+x', '.github/workflows/ci.yml', cwd=where)
    git('commit', '-qm', 'mode', cwd=where)
    refused('HEAD:agent/x', 'FETCH_HEAD:refs/heads/agent/z', text=kept)
    commit(where, 'large', 'x' * 65537)
    refused('HEAD:agent/x', text='file is too large [git.pack')
    assert ids('proven.git') == before
    assert ('POST', '/acme/proven.git/git-receive-pack') not in {
        s[:2] for s in seen[posts:]}


def authors(url):
    where = TOP + '/proven'
    git('push', '-q', url + '/acme/free', 'HEAD:refs/heads/agent/x', cwd=where)
    git('commit', '-q', '--amend', '-m', 'other', cwd=where)
    git('push', '-qf', url + '/acme/free', 'HEAD:refs/heads/agent/x', cwd=where)
    git('commit', '-q', '--amend', '--author=x <x@evil.test>', '--no-edit',
        cwd=where)
    want(git('push', '-f', url + '/acme/free', 'HEAD:refs/heads/agent/x',
             cwd=where, status=1), 'duenna: author of a commit [git.pack')
    tried[0] += 2


def main():
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = 'http://127.0.0.1:%d' % server.server_address[1]
    try:
        set_up()
        for step in (fetches, pushes, refusals, hidden, long_ids, proven,
                     unproven, authors):
            step(url)
        print('%d commands of git' % tried[0])
    finally:
        server.shutdown()
        shutil.rmtree(TOP)


main()
