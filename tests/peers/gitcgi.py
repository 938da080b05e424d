# SPDX-License-Identifier: Apache-2.0
"""Serve bare repositories over smart HTTP with git's own http-backend."""
import os
import subprocess
import zlib

GIT_EXEC = subprocess.run(['git', '--exec-path'], capture_output=True,
                          text=True, check=True).stdout.strip()


def make_repository(path, files):
    """A bare repository at path with one commit on main that holds files."""
    env = {'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent',
           'GIT_CONFIG_NOSYSTEM': '1',
           'GIT_AUTHOR_NAME': 'origin', 'GIT_AUTHOR_EMAIL': 'o@ok.test',
           'GIT_COMMITTER_NAME': 'origin', 'GIT_COMMITTER_EMAIL': 'o@ok.test',
           # of equal files equal commits, whenever they are made
           'GIT_AUTHOR_DATE': '1700000000 +0000',
           'GIT_COMMITTER_DATE': '1700000000 +0000'}

    def git(*args, **more):
        return subprocess.run(['git', '-C', path, *args], env=env, check=True,
                              capture_output=True, text=True, **more).stdout

    os.makedirs(path, exist_ok=True)
    git('init', '-q', '--bare', '-b', 'main')
    rows = []
    for name, text in sorted(files.items()):
        blob = git('hash-object', '-w', '--stdin', input=text).strip()
        rows.append('100644 blob %s\t%s\n' % (blob, name))
    tree = git('mktree', input=''.join(rows)).strip()
    commit = git('commit-tree', tree, '-m', 'first').strip()
    git('update-ref', 'refs/heads/main', commit)
    git('config', 'http.receivepack', 'true')
    return commit


def _environment(root, method, target, field, size):
    path, _, query = target.partition('?')
    env = {'PATH': '/usr/bin:/bin', 'GIT_PROJECT_ROOT': root,
           'GIT_HTTP_EXPORT_ALL': '1', 'PATH_INFO': path,
           'QUERY_STRING': query, 'REQUEST_METHOD': method,
           'CONTENT_TYPE': field('content-type') or '',
           'CONTENT_LENGTH': str(size), 'REMOTE_ADDR': '203.0.113.1',
           'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'safe.directory',
           'GIT_CONFIG_VALUE_0': '*', 'HOME': '/nonexistent'}
    if field('git-protocol'):
        env['GIT_PROTOCOL'] = field('git-protocol')
    return env


def ask(root, method, target, field, body):
    """(status, [(name, value)], content) for a repository below root; `field`
    says the value of a field of the request, or None."""
    if field('content-encoding') == 'gzip':
        body = zlib.decompress(body, 31)
    done = subprocess.run(
        [GIT_EXEC + '/git-http-backend'], input=body, capture_output=True,
        env=_environment(root, method, target, field, len(body)), check=False)
    head, _, content = done.stdout.partition(b'\r\n\r\n')
    status, fields = '200 OK', []
    for line in head.decode('latin-1').split('\r\n'):
        name, _, value = line.partition(': ')
        if name.lower() == 'status':
            status = value
        elif name:
            fields.append((name, value))
    fields.append(('Content-Length', str(len(content))))
    return status, fields, content


def serve(conn, req, root):
    """Answer a smart-HTTP request for a repository below root."""
    status, fields, content = ask(root, req.method, req.target, req.field,
                                  req.body)
    conn.send(('HTTP/1.1 %s\r\n%s\r\n' % (status, ''.join(
        '%s: %s\r\n' % f for f in fields))).encode('latin-1'))
    if req.method != 'HEAD':
        conn.send(content)
