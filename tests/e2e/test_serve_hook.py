# SPDX-License-Identifier: Apache-2.0
"""`duenna attach --oci-hook`: a container's engine attaches it before its own
program runs, and starts none that could not be attached."""
import json
import os
import shutil

import pytest

from bed import program, rules_text
from serve_bed import Gateway
from test_container import NEEDED, Container

RULES = {'web': '- allow: https://ok.test/**\n',
         'repo': rules_text('- allow: https://${host}/**\n').replace(
             '    rules:', '    parameters: {host: host}\n    rules:')}
OK = 'https://ok.test/'


@pytest.fixture(name='it')
def make_gateway(peers):
    it = Gateway(peers, RULES)
    yield it
    it.end()


def state(space, annotations, **more):
    return json.dumps({'ociVersion': '1.0.2', 'id': 'box', 'status':
                       'creating', 'pid': space.child.pid, 'bundle': '/b',
                       'annotations': annotations, **more})


def hook(it, text, *more):
    return it.ask('attach', '--oci-hook', *more, stdin=text)


def test_a_container_is_attached_by_its_state(it):
    space = it.space()
    done = hook(it, state(space, {'duenna.policy': 'web', 'other': 'x',
                                  'duenna.tenant': 'ours',
                                  'duenna.label.job': '7'}))
    assert done == (0, '', '')
    assert it.curl(space, OK)[0] == 200
    assert it.curl(space, 'https://api.test/')[0] == 403
    box, = json.loads(it.ask('list', '--json')[1])['sandboxes']
    assert (box['name'], box['policy'], box['tenant'], box['labels']) == (
        'box', 'web', 'ours', {'job': '7'})


def test_what_the_hook_says_is_not_said_otherwise(it):
    space = it.space()
    text = state(space, {'duenna.policy': 'web'})
    for more in (('--policy', 'repo'), ('--netns', space.path), ('box',)):
        code, _, err = hook(it, text, *more)
        assert code in (1, 2) and err, (more, err)
    assert it.ask('status', 'box')[0] == 1
    text = state(space, {'duenna.set.host': 'ok.test'})
    code, _, err = hook(it, text, '--policy', 'repo')
    assert code == 0, err
    assert it.curl(space, OK)[0] == 200
    assert it.curl(space, 'https://api.test/')[0] == 403


@pytest.mark.parametrize('annotations, more, want', [
    ({}, {}, 'one of --policy and --policy-file'),
    ({'duenna.policy': 'none'}, {}, 'policy.unknown'),
    ({'duenna.policy': 'web', 'duenna.sets.host': 'x'}, {},
     'there is no annotation duenna.sets.host'),
    ({'duenna.policy': 'web'}, {'status': 'running'}, 'createRuntime'),
    ({'duenna.policy': 'web'}, {'pid': 1}, 'network namespace'),
    ({'duenna.policy': 'web'}, {'id': '../box'}, 'duenna.name'),
])
def test_what_cannot_be_attached_ends_with_1(it, annotations, more, want):
    code, out, err = hook(it, state(it.space(), annotations, **more))
    assert code == 1 and out == '' and want in err, err
    assert json.loads(it.ask('list', '--json')[1])['sandboxes'] == []


def test_no_gateway_no_container(it):
    text = state(it.space(), {'duenna.policy': 'web'})
    it.stop()
    code, _, err = hook(it, text)
    assert code == 1 and 'cannot reach' in err


class Pod(Container):
    """Containers that the gateway is asked for."""

    def __init__(self, it):
        super().__init__('hooked')
        os.makedirs(self.top + '/hooks')
        with open(self.top + '/hooks/duenna.json', 'w',
                  encoding='ascii') as f:
            json.dump({'version': '1.0.0',
                       'hook': {'path': program(), 'args': [
                           'duenna', 'attach', '--oci-hook', '--control',
                           it.socket]},
                       'when': {'always': True},
                       'stages': ['createRuntime']}, f)
        shutil.copy(it.state + '/ca.pem', self.root + '/ca.pem')

    def curl(self, *options):
        return self.run(
            ['--hooks-dir', self.top + '/hooks', *options], 'curl', '-sS',
            '-m', '20', '--cacert', '/ca.pem', '-w', '%{http_code}\n', '-o',
            '/dev/null', OK, 'https://api.test/')  # its body is shown


@pytest.mark.skipif(os.environ.get('DUENNA_BED') != 'root',
                    reason='podman of root alone')
@pytest.mark.skipif(bool(NEEDED), reason='not installed: ' + ' '.join(NEEDED))
def test_podman_starts_what_is_attached_and_nothing_else(it):
    pod = Pod(it)
    done = pod.run([], 'true')
    if done.returncode:
        pytest.skip('podman starts no container here: ' +
                    done.stderr.strip()[-200:])
    done = pod.curl('--annotation', 'duenna.policy=web')
    assert done.returncode == 0 and done.stdout.startswith('200\n'), done
    assert 'tls.sni_denied' in done.stdout, done
    assert [r['event'] for r in it.records() if r.get('policy') == 'test'
            ][:2] == ['program', 'attach']
    done = pod.curl()
    assert done.returncode != 0 and done.stdout == '', done
    assert 'one of --policy' in done.stderr, done
