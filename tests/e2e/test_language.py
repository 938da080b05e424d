# SPDX-License-Identifier: Apache-2.0
"""The policy language as a whole: parameters, in each command."""
import glob
import json
from pathlib import Path

import pytest

from bed import OPEN

POLICY = '''
version: 1
policies:
  agent:
    parameters:
      repo: repository
      branch: {type: ref, default: main}
    rules:
      - allow: https://ok.test/repos/${repo}/${branch}
        addresses: [%s]
      - allow: https://ok.test/of/${sandbox}/*
        addresses: [%s]
''' % (OPEN, OPEN)
PROGRAMS = '/.local/state/duenna/programs/*'
REPO = ('--set', 'repo=acme/widgets')


@pytest.fixture
def here(bed):
    return bed(POLICY)


def test_a_value_is_the_same_in_run_check_and_explain(here):
    url = 'https://ok.test/repos/acme/widgets/'
    for branch, status in (('main', 0), ('fix/42', 1)):
        args = [*REPO, url + branch]
        assert here.duenna('explain', *args)[0] == status
        assert here.duenna('explain', '--set', 'branch=fix/42',
                           *args)[0] == 1 - status
    assert here.duenna('check', *REPO)[0] == 0
    got = here.run(['curl', '-sS', url + 'main', url + 'fix/42'], REPO)
    assert [r['verdict'] for r in got.find(event='request.end')] == \
        ['allow', 'deny'], got
    attach, = got.find(event='attach')
    assert attach['duenna.parameters'] == 'repo=acme/widgets', attach


def test_the_name_of_the_sandbox_stands_in_the_policy(here):
    curl = 'curl -sS https://ok.test/of/%s/x'
    got = here.run(curl % 'build-42', [*REPO, '--name', 'build-42'])
    assert 'hello from ok.test/of/build-42/x' in got.out, got
    got = here.run(curl % 'build-42', REPO)
    made, = got.find(event='attach')
    assert made['sandbox'].startswith('agent-'), got
    assert got.reasons() == ['http.path_denied'], got
    # One that was made has been put in, too: the program that is kept has it.
    kept = [Path(p).read_bytes() for p in glob.glob(here.home + PROGRAMS)]
    text = 'https://ok.test/of/%s/' % made['sandbox']
    assert [text.encode() in p for p in kept].count(True) == 1, kept
    url = 'https://ok.test/of/build-42/x'
    assert here.duenna('explain', *REPO, url)[0] == 1
    assert here.duenna('explain', *REPO, '--name', 'build-42', url)[0] == 0


@pytest.mark.parametrize('args, said', [
    ((), 'duenna.yaml:6:7: parameter `repo` has no value: give `--set '
         'repo=VALUE`, or write a `default:`'),
    (('--set', 'repo=acme/..'), '--set: `acme/..` is no repository for '
                                '`repo`: expected OWNER/NAME'),
    (('--set', 'repo=a/b', '--set', 'brnach=x'),
     '--set: there is no parameter `brnach` to be set; did you mean '
     '`branch`?'),
    (('--set', 'repo'), '--set wants KEY=VALUE'),
    (('--set', '=x'), '--set wants KEY=VALUE')])
def test_a_value_that_cannot_be_is_said_by_each_command(here, args, said):
    got = here.run(['true'], args)
    assert got.exit == 125 and said in got.err, got
    assert not here.logs(), 'nothing was run'
    status, out, err = here.duenna('check', *args)
    assert status == (2 if 'KEY=' in said else 1) and said in out + err
    if status == 1:
        rows = json.loads(here.duenna('check', '--json', *args)[1])
        assert rows[0]['severity'] == 'error', rows
    status, out, err = here.duenna('explain', *args, 'https://ok.test/')
    assert status == 2 and said in out + err
