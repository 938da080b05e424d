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
           'GIT_COMMITTER_NAME': 'origin', 'GIT_COMMITTER_EMAIL': 'o@ok.test'}

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


def _environment(root, path, query, req, size):
    env = {'PATH': '/usr/bin:/bin', 'GIT_PROJECT_ROOT': root,
           'GIT_HTTP_EXPORT_ALL': '1', 'PATH_INFO': path,
           'QUERY_STRING': query, 'REQUEST_METHOD': req.method,
           'CONTENT_TYPE': req.field('content-type') or '',
           'CONTENT_LENGTH': str(size), 'REMOTE_ADDR': '203.0.113.1',
           'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'safe.directory',
           'GIT_CONFIG_VALUE_0': '*', 'HOME': '/nonexistent'}
    if req.field('git-protocol'):
        env['GIT_PROTOCOL'] = req.field('git-protocol')
    return env


def serve(conn, req, root):
    """Answer a smart-HTTP request for a repository below root."""
    path, _, query = req.target.partition('?')
    body = req.body
    if req.field('content-encoding') == 'gzip':
        body = zlib.decompress(body, 31)
    done = subprocess.run([GIT_EXEC + '/git-http-backend'], input=body,
                          env=_environment(root, path, query, req, len(body)),
                          capture_output=True, check=False)
    fields, _, content = done.stdout.partition(b'\r\n\r\n')
    status, lines = b'200 OK', []
    for line in fields.split(b'\r\n'):
        if line.lower().startswith(b'status:'):
            status = line[7:].strip()
        elif line:
            lines.append(line)
    lines.append(b'Content-Length: %d' % len(content))
    conn.send(b'HTTP/1.1 ' + status + b'\r\n' + b'\r\n'.join(lines) +
              b'\r\n\r\n')
    if req.method != 'HEAD':
        conn.send(content)
