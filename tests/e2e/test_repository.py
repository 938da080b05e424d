# SPDX-License-Identifier: Apache-2.0
"""The author of a repository, whose folder and policy somebody else runs in:
neither steals nor executes, and does not make a run hang."""
import ctypes
import os
import shutil
import subprocess

import pytest

from bed import OPEN, as_user, give

RULE = 'allow: https://ok.test/**'
POLICY = ('version: 1\npolicies:\n  test:\n    rules:\n      - %%s\n'
          '        addresses: [%s]\n' % OPEN)

# what stands in the folder, made by sh in it; the policy is not the one there
LEADS = {
    'the token': 'ln -sf ../../.config/duenna/token duenna.yaml',
    'a key': 'ln -sf ../../.ssh/canary duenna.yaml',
    'the configuration': 'ln -sf ../../.config/duenna/config.yaml duenna.yaml',
    'a device': 'ln -sf /dev/zero duenna.yaml',
    'a terminal': 'ln -sf /dev/tty duenna.yaml',
    'standard input': 'ln -sf /proc/self/fd/0 duenna.yaml',
    'a folder': 'rm duenna.yaml; mkdir duenna.yaml',
}
INCLUDES = {  # what is included: what stands in the folder
    '../../.ssh/canary': 'true',
    './../../.ssh/canary': 'true',
    'below/../../../.ssh/canary': 'mkdir below',
    '/etc/passwd': 'true',
    '~/.ssh/canary': 'true',
    'link.yaml': 'ln -s ../../.ssh/canary link.yaml',
    'below/canary': 'ln -s ../../.ssh below',
    'zero.yaml': 'ln -s /dev/zero zero.yaml',
    'pipe.yaml': 'mkfifo pipe.yaml',
    'large.yaml': 'truncate -s 9M large.yaml',
    'preset/../../.ssh/canary': 'true',
    'duenna.yaml': 'true',
}
# repositories that lead elsewhere: a run in there goes on as in any other
FOLDERS = [
    'git init -q .; rm .git/config; mkfifo .git/config',
    'git init -q .; ln -sf /dev/zero .git/config',
    'git init -q .; ln -sf ../../../.ssh/canary .git/config',
    "git init -q .; printf '[include]\\npath = ../../../.ssh/canary\\n"
    "path = /dev/zero\\npath = config\\n' >>.git/config",
    'git init -q .; mkfifo pipe; git config include.path ../pipe',
    'git init -q .; git config core.hooksPath /',
    'git init -q .; git config core.hooksPath ../../.ssh',
    'git init -q .; rm -r .git/hooks; ln -s ../../../.ssh .git/hooks',
    'git init -q .; echo ../../../.ssh >.git/commondir',
    'git init -q .; mkdir -p .git/modules/x; ln -s /dev/zero '
    '.git/modules/x/config; ln -s ../../../../../.ssh .git/modules/x/hooks',
    'echo gitdir: ../../.ssh >.git', 'mkfifo .git', 'ln -s ../../.ssh .git',
    'mkfifo package.json .envrc .vimrc Makefile .npmrc',
    'ln -s /dev/zero package.json; ln -s /dev/zero .envrc',
    'ln -s ../../.ssh/canary package.json; ln -s ../../.ssh .vscode',
    'ln -s . a; ln -s a b; mkdir c; ln -s ../c c/d',
    "printf '{\"scripts\":' >package.json; head -c 3000000 /dev/zero | "
    "tr '\\0' '[' >>package.json",
]


class Watch:
    """Is a file opened by anybody?"""

    def __init__(self, path):
        self.libc = ctypes.CDLL(None)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK)
        assert self.libc.inotify_add_watch(self.fd, path.encode(), 0x20) > 0

    def opened(self):
        try:
            return bool(os.read(self.fd, 4096))
        except BlockingIOError:
            return False


@pytest.fixture
def here(bed):
    one = bed('- ' + RULE)
    one.canary_file = one.write('.ssh/canary', 'secret: untouched\n', 0o600)
    give(one.home)
    one.watch = Watch(one.canary_file)
    yield one
    assert not one.watch.opened() or one.may_open
    os.close(one.watch.fd)


def folder(here, name, setup, policy):
    """A folder of the project with this in it."""
    path = '%s/project/%s' % (here.home, name)
    here.write('project/%s/duenna.yaml' % name, policy)
    give(here.project)
    done = subprocess.run(as_user(['sh', '-c', setup]), cwd=path, check=False,
                          env=here.environment(), capture_output=True)
    assert done.returncode == 0, done
    return path


def silent(here, text):
    return 'untouched' not in text and here.canary not in text


def test_a_policy_that_leads_to_a_secret_says_nothing_of_it(here):
    here.may_open = True  # it is named as the policy, by its owner's command
    for n, (what, setup) in enumerate(LEADS.items()):
        where = folder(here, 'p%d' % n, setup, POLICY % RULE)
        for line in (['run', '--', 'true'], ['check', 'duenna.yaml'],
                     ['explain', '--policy', 'duenna.yaml', 'https://a.test/']):
            status, out, err = here.duenna(*line, cwd=where, timeout=20)
            assert status != 0 and out + err, (what, line)
            assert silent(here, out + err), (what, line)
        shutil.rmtree(where)


def test_an_include_leads_nowhere(here):
    here.may_open = False
    for n, (include, setup) in enumerate(INCLUDES.items()):
        text = (POLICY % RULE).replace(
            'rules:\n', 'rules:\n      - include: %s\n' % include)
        where = folder(here, 'i%d' % n, setup, text)
        for line in (['run', '--', 'true'], ['check', 'duenna.yaml']):
            status, out, err = here.duenna(*line, cwd=where, timeout=20)
            assert status in (1, 125), (include, status, out, err)
            assert 'duenna.yaml:5:18: ' in out + err, (include, out, err)
            assert silent(here, out + err), include


def test_a_repository_that_leads_elsewhere_is_as_any_other(here):
    here.may_open = False
    for n, setup in enumerate(FOLDERS):
        where = folder(here, 'f%d' % n, setup, POLICY % RULE)
        look = 'cat .git/* .git/hooks/* package.json; ' if 'ssh' in setup else ''
        got = here.run(look + 'echo ran', cwd=where, timeout=20)
        assert got.exit == 0 and got.out.endswith('ran\n'), (setup, got)
        assert silent(here, got.out + got.err), (setup, got)
        assert 'put back' not in got.err, (setup, got)


@pytest.mark.parametrize('args', [['init'], ['init', '--force']])
def test_init_writes_through_no_link(here, args):
    here.may_open = False
    for n, to in enumerate(('../../.bashrc', '../../.ssh/canary')):
        where = folder(here, 'l%d' % n, 'ln -sf %s duenna.yaml' % to, '')
        status, out, err = here.duenna(*args, cwd=where)
        assert status != 0 and 'duenna.yaml' in err, (out, err)
    assert not os.path.exists(here.home + '/.bashrc')
    assert os.stat(here.canary_file).st_size == len('secret: untouched\n')


def test_the_name_of_a_policy_is_no_path(here):
    here.may_open = False
    for n, name in enumerate(('../../../evil', 'a/b', '.', '..', '--name',
                              'a' * 300, '"a b"', '""', '$(touch x)')):
        where = folder(here, 'n%d' % n, 'true', (POLICY % RULE).replace(
            '  test:', '  %s:' % name))
        status, _, err = here.duenna('run', '--', 'true', cwd=where)
        assert status == 125 and 'is no name' in err, (name, err)
    assert here.logs() == []
