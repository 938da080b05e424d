# SPDX-License-Identifier: Apache-2.0
"""The commands that ask `duenna serve`: what they send over its socket, what
they print, and their exit status.  The other end is scripted here."""
import json
import os
import socket
import subprocess
import threading

import pytest

from bed import base, program


class Serve:
    """Answers each call with `answer`, and keeps the last one."""

    def __init__(self, path):
        self.path = path
        self.answer = (200, '{"code": "done"}')
        self.raw = None
        self.call = None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                self.serve(peer)

    def serve(self, peer):
        got = b''
        while b'\r\n\r\n' not in got:
            got += peer.recv(65536)
        head, body = got.split(b'\r\n\r\n', 1)
        lines = head.decode().split('\r\n')
        fields = dict(line.lower().split(': ') for line in lines[1:])
        while len(body) < int(fields.get('content-length', 0)):
            body += peer.recv(65536)
        self.call = (lines[0], fields, body.decode())
        text = self.answer[1].encode()
        peer.sendall(self.raw or b'HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n'
                     % (self.answer[0], len(text)) + text)


@pytest.fixture
def serve(tmp_path):
    one = Serve(str(tmp_path / 's'))
    yield one
    one.socket.close()


def duenna(*args, stdin=''):
    return subprocess.run([program(), *args], input=stdin, text=True,
                          capture_output=True, timeout=30, check=False,
                          cwd=base())


def attach(serve, *args, stdin=''):
    return duenna('attach', 'box', '--control', serve.path, *args, stdin=stdin)


CAPTURES = [
    ('--netns /run/netns/a', {'capture': 'netns', 'netns': '/run/netns/a'}),
    ('--pid 77', {'capture': 'netns', 'pid': 77}),
    ('--gate /n --interface tap0', {'capture': 'gate', 'netns': '/n',
                                    'interface': 'tap0'}),
    ('--interface tap0 --address 192.0.2.1 --address ::1 --mac 02:00:00:00:00:01',
     {'capture': 'interface', 'interface': 'tap0', 'mac': '02:00:00:00:00:01',
      'addresses': ['192.0.2.1', '::1']}),
    ('--shared --pid 7', {'capture': 'shared', 'pid': 7}),
    ('--listen unix:/x', {'capture': 'proxy', 'listen': 'unix:/x'}),
]


@pytest.mark.parametrize('line, wanted', CAPTURES, ids=[c[0] for c in CAPTURES])
def test_attach_says_which_capture(serve, line, wanted):
    done = attach(serve, '--policy', 'p', *line.split())
    assert (done.returncode, done.stdout, done.stderr) == (0, '', ''), done
    assert serve.call[0] == 'PUT /v1/sandboxes/box HTTP/1.1'
    assert serve.call[1]['content-type'] == 'application/json'
    assert json.loads(serve.call[2]) == {'policy': 'p', **wanted}


def test_attach_says_all_of_a_sandbox(serve, tmp_path):
    (tmp_path / 'p.yaml').write_text('version: 1\n')
    (tmp_path / 'token').write_text('t"1\n')
    done = attach(serve, '--policy-file', str(tmp_path / 'p.yaml'),
                  '--netns', 'n', '--set', 'repo=a/b=c', '--tenant', 'acme',
                  '--label', 'job=17', '--label', 'by=Zoë',
                  '--secret', 'github', '--secret',
                  'npm=%s' % (tmp_path / 'token'), stdin='hunter2\n')
    assert done.returncode == 0, done
    assert json.loads(serve.call[2]) == {
        'policy_text': 'version: 1\n', 'capture': 'netns',
        'netns': base() + '/n', 'set': {'repo': 'a/b=c'}, 'tenant': 'acme',
        'labels': {'job': '17', 'by': 'Zoë'},
        'secrets': {'github': 'hunter2', 'npm': 't"1'}}


def test_a_refusal_says_where_and_why(serve):
    serve.answer = (422, json.dumps({
        'code': 'credential.unknown', 'detail': 'no such \x1b[31mcredential',
        'where': '$.secrets.github'}))
    done = attach(serve, '--policy', 'p', '--pid', '7')
    assert done.returncode == 1
    assert done.stderr == ('duenna: attach: credential.unknown: no such '
                           '?[31mcredential (at $.secrets.github)\n')
    serve.answer = (503, '{"code": "busy", "detail": "later"}')
    assert attach(serve, '--policy', 'p', '--pid', '7').returncode == 125


@pytest.mark.parametrize('args, said', [
    (['--pid', '7'], '--policy'),
    (['--policy', 'p'], 'how it is captured'),
    (['--policy', 'p', '--policy-file', 'q', '--pid', '7'], '--policy'),
    (['--policy', 'p', '--pid', '7x'], '--pid wants a number'),
    (['--policy', 'p', '--pid', '7', '--label', 'x'], 'KEY=VALUE'),
    (['--policy', 'p', '--pid', '7', '--set', '=x'], 'KEY=VALUE'),
    (['--policy', 'p', '--pid', '7', '--secret', 'a=/none'], '/none: No such'),
    (['--policy', 'p', '--pid', '7', '--secret', 'a', '--secret', 'b'],
     'one value can come out of standard input')])
def test_wrong_usage_is_told_and_nothing_is_asked(serve, args, said):
    done = attach(serve, *args)
    assert done.returncode == 2 and said in done.stderr, done
    assert serve.call is None


@pytest.mark.parametrize('args, call, body', [
    (['detach', 'a'], 'DELETE /v1/sandboxes/a', ''),
    (['list'], 'GET /v1/sandboxes', ''),
    (['status'], 'GET /v1/status', ''),
    (['status', 'a'], 'GET /v1/sandboxes/a', ''),
    (['reload'], 'POST /v1/reload', ''),
    (['allow', 'a', 'https://x.test/**', '--for', '2h'],
     'POST /v1/sandboxes/a/allow',
     '{"url":"https://x.test/**","seconds":7200}')])
def test_each_command_asks_for_its_path(serve, args, call, body):
    done = duenna(*args, '--control', serve.path, '--json')
    assert done.returncode == 0 and done.stdout == serve.answer[1], done
    assert serve.call[0] == call + ' HTTP/1.1' and serve.call[2] == body


def test_a_list_is_a_table(serve):
    serve.answer = (200, json.dumps({'sandboxes': [
        {'name': 'a', 'state': 'attached', 'capture': 'netns', 'policy': 'p'},
        {'name': 'long-name', 'state': 'cut', 'capture': 'gate',
         'tenant': 'acme', 'policy': 'q\x1b'}]}))
    rows = duenna('list', '--control', serve.path).stdout.splitlines()
    assert [r.split() for r in rows] == [
        ['NAME', 'STATE', 'CAPTURE', 'TENANT', 'POLICY'],
        ['a', 'attached', 'netns', '-', 'p'],
        ['long-name', 'cut', 'gate', 'acme', 'q?']]
    assert rows[1].index('netns') == rows[2].index('gate')


def test_facts_are_lines(serve):
    serve.answer = (200, '{"name": "a", "worker": 2, "labels": {"job": "1"}}')
    done = duenna('status', 'a', '--control', serve.path)
    assert [r.split() for r in done.stdout.splitlines()] == [
        ['name', 'a'], ['worker', '2'], ['labels', 'job=1']]


@pytest.mark.parametrize('raw', [
    b'', b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}',
    b'HTTP/1.1 200 OK\r\n\r\n{}', b'hello\r\n\r\n'])
def test_an_answer_that_is_not_whole_is_a_fault(serve, raw):
    serve.raw = raw or b'\n'
    done = duenna('status', '--control', serve.path)
    assert done.returncode == 125 and 'before its answer was whole' in done.stderr


@pytest.mark.parametrize('args', [['detach'], ['detach', 'A'], ['list', 'x'],
                                  ['allow', 'a'], ['status', 'a', 'b'],
                                  ['allow', 'a', 'https://x', '--for', '2w'],
                                  ['detach', 'a', '--for', '2h']])
def test_wrong_usage_of_the_others(serve, args):
    done = duenna(*args, '--control', serve.path)
    assert done.returncode == 2 and done.stderr and serve.call is None


def test_where_nobody_serves_it_says_what_to_do(tmp_path):
    for path in ('none', 'file'):
        (tmp_path / 'file').write_text('')
        done = duenna('list', '--control', str(tmp_path / path))
        assert done.returncode == 125 and 'is `duenna serve`' in done.stderr
    done = duenna('list', '--control', '/' + 'x' * 200)
    assert done.returncode == 125 and 'too long' in done.stderr
    assert os.listdir(tmp_path) == ['file']
