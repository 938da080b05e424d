# SPDX-License-Identifier: Apache-2.0
"""gRPC, by its own library on both sides, with a credential attached."""
import json
import os
import subprocess

import pytest

from bed import PEERS, Bed, read_lines

PORT = 50051
NAME = 'grpc.test'
ALL = ('unary', 'down', 'up', 'both', 'large', 'many')


class Server:
    def __init__(self, peers):
        self.record = peers.dir + '/grpc.jsonl'
        self.child = subprocess.Popen(
            ['/usr/bin/python3', PEERS + '/grpcd.py', '--record', self.record,
             '--pki', peers.pki, '--name', NAME, '--port', str(PORT)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self.child.stdout.readline() == 'ready\n'
        self.seen = 0

    def mark(self):
        self.seen = len(read_lines(self.record)) \
            if os.path.exists(self.record) else 0

    def events(self, event):
        return [e for e in read_lines(self.record)[self.seen:]
                if e['event'] == event]


@pytest.fixture(scope='module')
def server(peers):
    one = Server(peers)
    yield one
    one.child.kill()
    one.child.wait()


@pytest.fixture
def here(bed, server):
    server.mark()
    return bed('- allow: https://%s:%d/test.Shapes/*\n'
               '  methods: [POST]\n'
               '  credential: api\n' % (NAME, PORT),
               Bed.config(only='https://%s:%d/**' % (NAME, PORT)))


def call(here, *calls, target='%s:%d' % (NAME, PORT), token=True):
    """{call: what it said}, and the run."""
    with open(PEERS + '/grpcc.py', encoding='utf-8') as f:
        here.write('project/grpcc.py', f.read())
    got = here.run([*([] if token else ['env', '-u', 'API_TOKEN']),
                    '/usr/bin/python3', 'grpcc.py', target, *calls],
                   timeout=120)
    said = [json.loads(line) for line in got.out.splitlines()]
    return {s.pop('call'): s for s in said}, got


def tokens(server):
    return {v for e in server.events('call') for k, v in e['metadata']
            if k == 'authorization'}


def test_all_shapes_pass_with_the_credential(here, server):
    said, got = call(here, *ALL)
    assert said == {
        'unary': {'got': 'got hello', 'code': 'OK', 'first': {'x-first': 'head'},
                  'last': {'x-last': 'trailer', 'x-last-bin': '0001ff'}},
        'down': {'n': 50, 'bytes': 90000, 'code': 'OK'},
        'up': {'got': 2100000},
        'both': {'got': ['echo one', 'echo two', 'echo three'], 'rest': 0,
                 'code': 'OK'},
        'large': {'n': 3000004},
        'many': {'got': 50}}, got
    assert tokens(server) == {'Bearer ' + here.canary}
    # one connection, and a release for each call that it carries
    assert len(got.find(event='dial')) == 1, got
    assert len(got.find(event='release', verdict='allow')) == 55, got


def test_an_error_is_the_servers_own(here):
    """Trailers are the whole answer."""
    said, got = call(here, 'fail')
    assert said == {'fail': {'code': 'FAILED_PRECONDITION',
                             'details': 'not now: 100% \u00fcber'}}, got


def test_a_deadline_and_a_cancelled_call_reach_the_server(here, server):
    said, got = call(here, 'deadline', 'cancel', 'unary')
    assert said['deadline'] == {'got': ['first'],
                                'code': 'DEADLINE_EXCEEDED'}, got
    assert said['cancel'] == {'got': 'first', 'code': 'CANCELLED'}, got
    # the connection goes on, and so does the server
    assert said['unary']['code'] == 'OK', got
    slow = [e for e in server.events('call') if e['method'] == 'Slow']
    assert [e['deadline'] for e in slow] == [True, False]
    assert [e['cancelled'] for e in server.events('over')] == [True, True]


def test_a_refused_method_is_permission_denied_in_words(bed, server):
    server.mark()
    here = bed('- allow: https://%s:%d/test.Shapes/Down\n'
               '  methods: [POST]\n' % (NAME, PORT))
    said, got = call(here, 'secret', 'up', 'both', 'down', token=False)
    assert said['up']['code'] == 'PERMISSION_DENIED', got
    assert said['both']['code'] == 'PERMISSION_DENIED', got
    secret = said['secret']
    assert secret['code'] == 'PERMISSION_DENIED', got
    assert 'duenna refused POST https://%s:%d/test.Shapes/Secret: ' \
        'http.path_denied' % (NAME, PORT) in secret['details'], secret
    assert said['down']['code'] == 'OK', got
    assert [e['method'] for e in server.events('call')] == ['Down']
    ends = got.find(event='request.end', verdict='deny')
    assert [e['http.response.status_code'] for e in ends] == [200] * 3, ends
    assert [e['rpc.grpc.status_code'] for e in ends] == [7] * 3, ends
    out = here.duenna('audit', 'show', '--denied', got.log)[1]
    assert out.count(' -> gRPC 7') == 3 and '-> 200' not in out, out


def test_a_server_that_is_down_is_unavailable(bed):
    here = bed('- allow: https://nobody.test:%d/**\n'
               '  methods: [POST]\n' % (PORT + 1))
    said, got = call(here, 'unary', target='nobody.test:%d' % (PORT + 1),
                     token=False)
    assert said['unary']['code'] == 'UNAVAILABLE', got
    assert 'up.connect' in said['unary']['details'], got
