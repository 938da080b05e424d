# SPDX-License-Identifier: Apache-2.0
"""`duenna init`: a first policy, which loads as it is."""
import os
import stat

import pytest


@pytest.fixture
def here(bed):
    it = bed('- allow: https://ok.test/open/**\n')
    os.rename(it.project + '/duenna.yaml', it.home + '/old.yaml')
    return it


def written(here, name='duenna.yaml'):
    with open(here.project + '/' + name, encoding='utf-8') as f:
        return f.read()


def checks(here, name='duenna.yaml'):
    """No error, no warning and no advice but those of the configuration."""
    code, out, err = here.duenna('check', name)
    return code == 0 and name not in out + err


def test_a_policy_to_begin_with_says_what_it_is_and_loads(here):
    code, out, err = here.duenna('init')
    assert code == 0 and 'duenna.yaml is written' in out, (out, err)
    assert checks(here), here.duenna('check')
    assert here.duenna('explain', 'https://example.com/x')[0] == 0
    assert here.duenna('explain', 'https://ok.test/')[0] == 1
    assert '# - include: preset/' in written(here)
    assert here.run('true').exit == 0
    mode = os.stat(here.project + '/duenna.yaml').st_mode
    assert stat.S_IMODE(mode) & 0o022 == 0


def test_what_its_comments_show_loads_as_well(here):
    assert here.duenna('init')[0] == 0
    lines = written(here).split('\n')
    at = next(i for i, line in enumerate(lines) if '- name: issues' in line)
    git = next(i for i, line in enumerate(lines) if '# git, ' in line)
    text = '\n'.join(
        line.replace('# ', '', 1)
        if i >= at and i not in (git, git + 1) or 'include:' in line else line
        for i, line in enumerate(lines))
    here.write('project/shown.yaml', text.replace(
        ': github\n', ': api\n').replace('api.github.com', 'api.test'))
    assert checks(here, 'shown.yaml'), (text, here.duenna('check',
                                                          'shown.yaml'))
    for name, code in (('agent/x', 0), ('main', 1)):
        assert here.duenna('explain', '--policy', 'shown.yaml', '--push',
                           'github.com/OWNER/NAME', name)[0] == code, text


def test_of_a_run_it_has_what_that_one_asked_for(here):
    got = here.run('curl -sS https://ok.test/a/b; '
                   'curl -sS https://ok.test/open/1; '
                   'curl -sS -d x https://api.test/items',
                   ['--policy', here.home + '/old.yaml'])
    assert got.exit == 0, got
    code, out, err = here.duenna('init', '--last')
    assert code == 0 and got.log in out, (out, err)
    assert checks(here), written(here)
    for line, status in (('https://ok.test/a/b', 0), ('https://ok.test/c', 1),
                         ('-X POST https://api.test/items', 0),
                         ('https://evil.test/', 1)):
        assert here.duenna('explain', *line.split())[0] == status, (line, written(here))
    code, out, _ = here.duenna('init', '--log', got.log, '--policy', 'p.yaml')
    assert code == 0 and written(here, 'p.yaml') == written(here)
    assert '`duenna check p.yaml`' in out, out
    assert '`duenna run --policy p.yaml -- COMMAND`' in out, out


def test_it_writes_over_nothing_unless_it_is_told_to(here):
    os.chmod(here.write('project/duenna.yaml', 'mine'), 0o666)
    code, _, err = here.duenna('init')
    assert code == 2 and '--force' in err and written(here) == 'mine', err
    assert here.duenna('init', '--force')[0] == 0
    assert written(here).endswith('keep: [".github/**"]}\n')
    # nor elsewhere, by a link that came with the project
    os.symlink(here.home + '/victim', here.project + '/linked.yaml')
    assert here.duenna('init', '--policy', 'linked.yaml')[0] == 2
    code, _, err = here.duenna('init', '--policy', 'linked.yaml', '--force')
    assert code == 125 and 'symbolic link' in err, err
    assert not os.path.exists(here.home + '/victim')


@pytest.mark.parametrize('args, status, said', [
    (['--last'], 1, 'there is no log'), (['--log', 'nowhere'], 1, 'nowhere'),
    (['--last', '--log', 'x'], 2, 'usage'), (['x'], 2, 'usage'),
    (['--policy', 'no/such/folder'], 125, 'cannot write')])
def test_what_cannot_be_is_said_and_writes_nothing(here, args, status, said):
    code, _, err = here.duenna('init', *args)
    assert code == status and said in err, err
    assert not os.path.exists(here.project + '/duenna.yaml')


def test_a_log_with_nothing_to_allow_makes_no_policy(here):
    assert here.run('true', ['--policy', here.home + '/old.yaml']).exit == 0
    code, _, err = here.duenna('init', '--last')
    assert code == 1 and 'nothing was refused' in err, err
    assert '`duenna audit show /' in err, err
    assert not os.path.exists(here.project + '/duenna.yaml')
