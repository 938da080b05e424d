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


# -- include, presets ----------------------------------------------------------

INCLUDING = '''
version: 1
policies:
  agent:
    parameters: {repo: repository}
    rules:
      - include: rules/common/ok.yaml
        set: {repo: "${repo}"}
        credentials: {token: api}
      - include: preset/pypi
'''
INCLUDED = '''
version: 1
policies:
  ok:
    parameters: {repo: repository}
    rules:
      - name: repo
        allow: https://ok.test/${repo}/*
        addresses: [%s]
        credential: token
''' % OPEN


@pytest.fixture
def including(bed):
    return bed(INCLUDING, files={'rules/common/ok.yaml': INCLUDED})


def test_what_is_included_holds_in_each_command(including):
    url = 'https://ok.test/acme/widgets/x'
    got = including.run(['curl', '-sS', url], REPO)
    assert 'hello from ok.test/acme/widgets/x' in got.out, got
    end, = got.find(event='request.end')
    assert end['rule'] == 'ok/repo' and end['verdict'] == 'allow', end
    assert ('authorization' in
            [n.lower() for r in including.origin_requests()
             for n, v in r['fields']])
    assert including.duenna('check', *REPO)[0] == 0
    status, out, _ = including.duenna('explain', *REPO, url)
    assert status == 0 and 'ok/repo' in out and 'rules/common/ok.yaml' in out
    status, out, _ = including.duenna(
        'explain', *REPO, 'https://pypi.org/simple/x/')
    assert status == 0 and 'pypi/index' in out and 'preset/pypi' in out


def test_what_is_included_cannot_be_written_by_the_command(including):
    got = including.run(
        'echo x >rules/common/ok.yaml; echo x >rules/common/new.yaml;'
        'mv rules/common rules/c; mv rules r; rm -rf rules;'
        'echo fine >rules/else; cat rules/common/ok.yaml', REPO)
    assert got.out == INCLUDED, got
    kept = Path(including.project, 'rules/common')
    assert [p.name for p in kept.iterdir()] == ['ok.yaml']
    assert Path(including.project, 'rules/else').read_text() == 'fine\n'


@pytest.mark.parametrize('name, text, said', [
    ('link.yaml', None, 'duenna.yaml:6:18: `link.yaml`: is a symbolic link'),
    ('../x.yaml', '', '`../x.yaml`: `..`: an include lies in or below'),
    ('bad.yaml', 'version: 1\npolicies: {p: {rulse: []}}\n',
     'bad.yaml:2:16: unknown key `rulse`; did you mean `rules`?'),
    ('self.yaml', 'version: 1\npolicies: {p: {rules: [{include: self.yaml}]}}'
     '\n', 'a circle: duenna.yaml includes self.yaml includes self.yaml'),
    ('preset/nmp', None, 'there is no preset `nmp`; did you mean `npm`?')])
def test_an_include_that_cannot_be_names_its_file(bed, name, text, said):
    here = bed('\nversion: 1\npolicies:\n  p:\n    rules:\n'
               '      - include: %s\n' % name)
    Path(here.project, 'link.yaml').symlink_to('/etc/passwd')
    if text is not None:
        here.write('project/' + name, text)
    got = here.run(['true'])
    assert got.exit == 125 and said in got.err, got
    status, out, err = here.duenna('check')
    assert status == 1 and said in out, out + err


def test_a_preset_is_a_policy_of_its_own(bed):
    here = bed('- allow: https://ok.test/**')
    got = here.run('curl -sS -X PUT https://registry.npmjs.org/x',
                   ['--preset', 'npm'])
    # no preset may dial the addresses of the bed, for a handshake neither
    assert got.reasons() == ['up.private', 'http.method_denied'], got
    assert got.find(event='attach')[0]['policy'] == 'npm', got
    assert here.duenna('check', 'preset/npm')[0] == 0
    url = 'https://registry.npmjs.org/left-pad'
    assert here.duenna('explain', '--policy', 'preset/npm', url)[0] == 0
    got = here.run(['true'], ['--preset', 'nmp'])
    assert got.exit == 125 and 'did you mean `npm`?' in got.err, got
    got = here.run(['true'], ['--preset', 'npm', '--policy', 'x.yaml'])
    assert got.exit == 125 and 'one of --policy, --preset' in got.err, got
    # No folder of the caller's stands in its place.
    here.write('project/preset/npm', 'version: 1\npolicies: {}\n')
    assert here.duenna('check', 'preset/npm')[0] == 0


# -- check ---------------------------------------------------------------------

def test_check_says_which_credential_nobody_uses(bed):
    here = bed('- allow: https://ok.test/**')
    said = 'credential `api` is used by no rule of what was checked'
    status, out, _ = here.duenna('check')
    assert status == 0 and said in out, out
    here.write('project/user.yaml', 'version: 1\npolicies: {p: {rules: ['
               '{allow: "https://ok.test/**", credential: api}]}}\n')
    status, out, _ = here.duenna('check', 'duenna.yaml', 'user.yaml')
    assert status == 0 and 'credential `api`' not in out, out
    assert said not in here.run(['true']).err


def test_100000_names_are_a_policy_and_what_has_no_address_is_said(bed):
    here = bed('- allow: https://ok.test/**')
    for n, status in ((100000, 0), (114465, 1)):
        names = ''.join('        - https://n%d.test/**\n' % i
                        for i in range(n))
        here.write('project/many.yaml', 'version: 1\npolicies:\n  many:\n'
                   '    rules:\n      - allow:\n' + names)
        got, out, err = here.duenna('check', 'many.yaml')
        assert got == status, out + err
    assert 'more than 114464 host patterns' in out, out
    here.write('project/many.yaml', '')
