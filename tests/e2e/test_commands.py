# SPDX-License-Identifier: Apache-2.0
"""The commands beside `run`: what they print, and their exit status: 0 yes,
1 no, 2 usage."""
import json
import os
import re
import shutil
import subprocess

import pytest

from bed import TREE, as_user, base, give, program

RULES = '''
- name: issues
  allow: https://api.test/repos/**
  methods: [GET, POST]
  credential: api
- deny: https://ok.test/admin/**
- allow: https://ok.test/**
'''


@pytest.fixture
def here(bed):
    return bed(RULES)


@pytest.mark.parametrize('line, status, said', [
    ('https://api.test/repos/a', 0, 'issues'),
    ('-X POST https://api.test/repos/a', 0, 'issues'),
    ('-X DELETE https://api.test/repos/a', 1, 'http.method_denied'),
    ('https://api.test/other', 1, 'http.path_denied'),
    ('https://ok.test/admin/x', 1, 'deny.rule'),
    ('https://ok.test/x/../admin', 1, 'http.path_invalid'),
    ('https://evil.test/', 1, 'tls.sni_denied'),
    ('https://ok.test:8443/', 1, 'dst.port'),
    ('api.test/repos', 2, 'https://api.test/repos'),
    ('duenna.yaml https://ok.test/', 2, 'one URL is expected, found 2 '
     'arguments; a policy file is `--policy FILE`'),
    ('--push ok.test/a/b c d', 2, 'one REF at most is expected, found 2'),
    ('', 2, 'one URL is expected, found 0')])
def test_explain_says_what_run_would_do(here, line, status, said):
    got, out, err = here.duenna('explain', *line.split())
    assert got == status and said in out + err, out + err
    if status != 2:
        got, out, err = here.duenna('explain', '--json', *line.split())
        word = json.loads(out)
        assert got == status and word['allow'] == (got == 0), out
    assert here.canary not in out + err


GIT = '''
- name: app
  allow: git+https://git.test/acme/app
  forge: gitlab
  fetch: true
  push: {branches: ["agent/**"]}
- name: lib
  allow: git+https://git.test/acme/lib
  fetch: true
'''


@pytest.mark.parametrize('line, status, said', [
    ('--push widgets', 2, 'expected a repository'),
    ('--push git.test/acme/app', 0, 'refs/heads/agent/**'),
    ('--push https://git.test/Acme/App.git/ agent/x', 0, 'fast-forward'),
    ('--push git+https://git.test/acme/app main', 1, 'git.ref'),
    ('--push git.test/acme/app refs/tags/v1', 1, 'git.ref'),
    ('--push git.test/acme/lib main', 1, 'git.service'),
    ('--push git.test/acme/other', 1, 'git.repo'),
    ('https://git.test/acme/lib/info/refs?service=git-upload-pack', 0, 'lib'),
    ('git+https://git.test/acme/lib', 2, '--push')])
def test_explain_says_what_may_be_pushed(bed, line, status, said):
    here = bed(GIT)
    got, out, err = here.duenna('explain', *line.split())
    assert got == status and said in out + err, out + err
    if status != 2:
        got, out, err = here.duenna('explain', '--json', *line.split())
        word = json.loads(out)
        assert got == status and word['allow'] == (got == 0), out


def test_check_looks_where_each_secret_comes_from(bed):
    """As `run`: what is missing is a warning, what others may write an error."""
    config = 'version: 1\ncredentials:\n' + ''.join(
        '  %s: {kind: token, secret: {%s}, only: "https://api.test/**"}\n' % x
        for x in (('good', 'command: [/bin/cat, x]'),
                  ('gone', 'command: [/bin/no-such]'),
                  ('unset', 'env: NO_SUCH'), ('missing', 'file: no-such')))
    here = bed('version: 1\npolicies: {p: {rules: []}}', config)
    said = here.duenna('check')
    assert said[0] == 0, said
    for name, why in (('gone', 'No such file'), ('missing', 'No such file'),
                      ('unset', 'the variable is not set')):
        said_of = [line for line in said[1].split('\n')
                   if 'the secret of `%s`: %s' % (name, why) in line]
        at = config[:config.index('  %s:' % name)].count('\n') + 1
        assert len(said_of) == 1 and said_of[0].startswith(
            '%s/config.yaml:%d:' % (here.settings, at)), said
    assert 'the secret of `good`' not in said[1] + said[2], said
    os.chmod(here.write('.config/duenna/no-such', 'a' * 20), 0o620)
    give(here.settings)
    said = here.duenna('check')
    assert said[0] == 1 and 'others may write to it' in said[1] + said[2], said


def test_explain_decides_what_run_decides(here):
    for url in ('https://api.test/repos/a', 'https://api.test/other',
                'https://ok.test/admin/x', 'https://ok.test/x'):
        said = json.loads(here.duenna('explain', '--json', url)[1])
        got = here.run(['curl', '-sS', url])
        row = got.find(event='request.end')[0]
        assert said['allow'] == (row['verdict'] == 'allow'), (said, row)
        assert said['reason'] == row['reason'], (said, row)


def test_rules_of_the_command_line_are_checked_and_explained(here):
    rule = ['--allow', 'https://a.test/x/**']
    status, out, _ = here.duenna('check', *rule)
    assert status == 0 and '--allow' not in out, out
    status, out, err = here.duenna('check', *rule, '--allow', 'b.test')
    assert status == 1 and out.startswith('--allow:2:'), out
    assert "--allow:2 is 'b.test'" in err, err
    status, out, _ = here.duenna('check', '--allow', 'git+https://a.test/b/c')
    assert status == 1 and '`--allow` has no place for that' in out, out
    assert here.duenna('check', *rule, 'duenna.yaml')[0] == 2
    status, out, _ = here.duenna('explain', *rule, 'https://a.test/x/y')
    assert status == 0 and '(--allow:1) allows it' in out, out
    assert here.duenna('explain', *rule, 'https://ok.test/')[0] == 1
    status, _, err = here.duenna('explain', *rule, '--policy', 'duenna.yaml',
                                 'https://a.test/x/y')
    assert status == 2 and 'one of them' in err, err


def test_check_and_its_exit_status(here):
    status, out, _ = here.duenna('check')
    assert status == 0 and all(': warning: ' in line
                               for line in out.splitlines()), out
    assert here.duenna('check', 'nothing.yaml')[0] == 1
    assert here.duenna('check', '--nonsense')[0] == 2
    here.write('project/bad.yaml', 'version: 1\npolicies:\n  p:\n    rules:\n'
               '      - allows: https://a.test/\n')
    status, out, err = here.duenna('check', 'bad.yaml')
    assert status == 1 and out.startswith('bad.yaml:5:9: '), out + err
    assert 'allow' in out, 'the nearest key'
    status, out, _ = here.duenna('check', '--json', 'bad.yaml')
    assert status == 1 and json.loads(out), out


def test_the_key_of_the_machine_is_the_logs(here):
    here.run('true')
    log = here.logs()[0]
    status, key, _ = here.duenna('audit', 'key')
    assert status == 0 and len(key.strip()) == 64
    assert here.duenna('audit', 'verify', '--key', key.strip(), log)[0] == 0
    other = 'f' * 64
    assert here.duenna('audit', 'verify', '--key', other, log)[0] == 1
    said = json.loads(here.duenna('audit', 'verify', '--json', log)[1])
    last = said.get('hash') or said['last']
    assert here.duenna('audit', 'verify', '--hash', last, log)[0] == 0
    assert here.duenna('audit', 'verify', '--hash', other, log)[0] == 1
    assert here.duenna('audit', 'nonsense')[0] == 2
    assert here.duenna('audit', 'show', 'nothing.jsonl')[0] in (1, 2)


def test_the_end_names_the_last_hash(here):
    got = here.run('curl -sS https://evil.test/')
    last = [r for r in got.audit if r['event'] != 'checkpoint'][-1]
    assert last['hash'] in got.err or got.audit[-1]['hash'] in got.err, got


def test_ca_inside_is_what_programs_trust(here):
    folder = here.project + '/bin'
    os.makedirs(folder)
    shutil.copy(base() + '/bed/bin/duenna', folder)
    give(folder)
    got = here.run('./bin/duenna ca show; ./bin/duenna ca env; '
                   './bin/duenna ca bundle > b.pem; '
                   'curl -sS --cacert b.pem https://ok.test/x')
    assert 'NODE_EXTRA_CA_CERTS' in got.out and 'hello from ok.test' in got.out
    assert 'PRIVATE' not in got.out, got
    assert here.duenna('ca', 'show')[0] == 1


def test_an_address_stays_over_runs(here):
    """DN-24: a snapshot, or a program that keeps what it resolved."""
    line = 'getent ahostsv4 ok.test api.test | sort -u'
    first, second = (here.run(line).out for _ in range(2))
    assert first == second and '198.1' in first


COMPLETE = '''
. %s/dist/duenna.bash
COMP_WORDS=(duenna "$@") COMP_CWORD=$#
_duenna
echo "${COMPREPLY[@]}"
'''


@pytest.mark.parametrize('words, offered', [
    ([''], {'run', 'serve', 'init', 'check', 'explain', 'audit', 'ca', 'attach',
            'detach', 'list', 'status', 'reload', 'allow', 'doctor'}),
    (['attach', '--po'], {'--policy', '--policy-file'}),
    (['allow', 'x', '--f'], {'--for'}),
    (['exp'], {'explain'}),
    (['run', '--na'], {'--name'}),
    (['run', '--name', 'x', '--keep'], {'--keep-fd'}),
    (['init', '-'], {'--policy', '--last', '--log', '--force'}),
    (['audit', ''], {'show', 'tail', 'report', 'suggest', 'verify', 'replay',
                     'export', 'key'}),
    (['ca', 'b'], {'bundle'}),
    (['audit', 'show', '--rea'], {'--reason'}),
    (['run', '--', 'mkfif'], {'mkfifo'}),
    (['run', '--', 'ls', '--'], set()),
    (['nonsense', '--'], set())])
def test_a_shell_completes_what_the_commands_say(words, offered):
    done = subprocess.run(
        ['bash', '-c', COMPLETE % TREE, 'bash', *words], text=True,
        env={'PATH': os.path.dirname(program()) + ':/usr/bin:/bin'},
        capture_output=True, timeout=30, check=True)
    assert set(done.stdout.split()) == offered, done


@pytest.mark.parametrize('args', [('check',), ('explain', 'https://ok.test/')])
def test_a_folder_without_a_policy_is_told_how_to_make_one(here, args):
    os.unlink(here.project + '/duenna.yaml')
    status, out, err = here.duenna(*args)
    assert status != 0 and '`duenna init`' in out + err, (out, err)


def test_an_unknown_command_or_option_is_usage(here):
    assert here.duenna('nonsense')[0] == 2
    status, _, err = here.duenna('exlain')
    assert status == 2 and 'did you mean `explain`?' in err, err
    status, _, err = here.duenna('serve', '--config', 'here')
    assert status == 2 and 'absolute path' in err, err
    status, _, err = here.duenna('serve')
    assert status == 125 and 'started by root' in err, err


def test_the_first_steps_of_the_readme_work_as_they_stand(here):
    """A person without root and without any setting, word by word."""
    with open(TREE + '/README.md', encoding='utf-8') as f:
        blocks = re.findall(r'```sh\n(.*?)```', f.read(), re.S)
    steps = [b for b in blocks if 'dev build' not in b and './dev' not in b]
    assert len(steps) >= 2 and 'duenna run' in steps[-1], blocks
    fresh = here.home + '/fresh'
    os.makedirs(fresh)
    give(fresh)
    with open(here.home + '/steps', 'w', encoding='utf-8') as f:
        # this one says no, as the page tells
        f.write('set -ex\n' + '\n'.join(steps).replace(
            'duenna explain', '! duenna explain'))
    env = {**here.environment(), 'HOME': fresh,
           'PATH': os.path.dirname(program()) + ':/usr/bin:/bin'}
    done = subprocess.run(as_user(['bash', here.home + '/steps']), env=env,
                          cwd=fresh, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0 and 'warning' not in done.stderr, done
    assert 'http.path_denied' in done.stdout, done
    assert 'OWN_TOKEN' not in done.stdout, done
    assert os.listdir(fresh + '/.local/state/duenna/log'), done
