# SPDX-License-Identifier: Apache-2.0
"""A hostile command, and the hostile author of a project: what either touches
outside of the sandbox."""
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from bed import (EVIL, ORIGIN, TREE, as_user, give, processes, program,
                 rules_text)

API = '- allow: https://api.test/**\n  credential: api\n'


@pytest.fixture
def here(bed):
    return bed(API)


def git(here, *args):
    return subprocess.run(
        as_user(['git', '-C', here.project, *args]), check=True, text=True,
        capture_output=True, env=here.environment()).stdout


def abstract_listener(name):
    """The host's own; what anybody says to it is kept."""
    heard = []
    server = socket.socket(socket.AF_UNIX)
    server.bind('\0' + name)
    server.listen()

    def serve():
        while True:
            try:
                peer = server.accept()[0]
            except OSError:
                return
            heard.append(name)
            peer.sendall(b'hello')
            peer.close()
    threading.Thread(target=serve, daemon=True).start()
    return server, heard


def stands(path):
    """What a file is, but for when it was read."""
    st = os.stat(path)
    return st.st_dev, st.st_ino, st.st_mode, st.st_size, st.st_mtime_ns, \
        st.st_ctime_ns


HARMLESS = {'priority_of_all', 'plants_in_the_home', 'plants_in_the_project',
            'links_for_what_is_looked_at', 'processes_that_stay'}


def tree(top, but=()):
    """What each file below is, by its path."""
    found = {}
    for folder, folders, names in os.walk(top):
        folders[:] = [f for f in folders if os.path.join(folder, f) not in but]
        for name in names:
            found[os.path.join(folder, name)] = stands(
                os.path.join(folder, name))
    return found


@pytest.fixture
def canaries(here):
    """All that the hostile command may not touch, as its arguments."""
    git(here, 'init', '-q')
    for name in ('.ssh/canary', 'given', '.gitconfig', '.local/bin/tool'):
        here.write(name, 'untouched' if name != '.gitconfig' else '')
    shutil.copytree(TREE + '/tests/hostile', here.project + '/hostile',
                    ignore=shutil.ignore_patterns('__pycache__'))
    give(here.home)
    name = 'duenna-%d' % os.getpid()
    listeners = [abstract_listener(n) for n in (name, '/tmp/.X11-unix/X0')]
    libc = ctypes.CDLL(None)
    memory = libc.shmget(0, 4096, 0o1666)
    queue = libc.mq_open(b'/' + name.encode(), os.O_CREAT, 0o666, None)
    assert memory >= 0 and queue >= 0
    here.write('../../../dev/shm/' + name, 'untouched', 0o666)
    bystander = subprocess.Popen(as_user(['sleep', '1000']))
    yield [here.home, here.peers.host_socket, name, str(bystander.pid), EVIL,
           str(memory)]
    assert bystander.poll() is None
    assert os.getpriority(os.PRIO_PROCESS, bystander.pid) == \
        os.getpriority(os.PRIO_PROCESS, 0)
    bystander.kill()
    bystander.wait()
    for server, heard in listeners:
        server.close()
        assert heard == []
    os.unlink('/dev/shm/' + name)
    assert libc.mq_unlink(b'/' + name.encode()) == 0
    assert libc.shmctl(memory, 0, None) == 0


def test_nothing_outside_is_reached(here, canaries):
    state = here.home + '/.local/state'
    own = [state, here.project + '/hostile']
    before = tree(here.home, own)
    with open(here.home + '/given', encoding='utf-8') as stdin:
        got = here.run(['python3', '-B', 'hostile/escape.py', *canaries],
                       stdin=stdin, timeout=300,
                       env={'SECRET_X': 's', 'LD_PRELOAD': '',
                            'SSH_AUTH_SOCK': '/run/x'})
    rows = [line.split('\t') for line in got.out.splitlines()]
    assert got.exit == 0 and len(rows) >= 70, got
    assert [r for r in rows if r[1] != 'refused' and not
            (r[1] == 'harmless' and r[0] in HARMLESS)] == [], got.out
    # of all that was there only git's own settings of the project may differ,
    # and nothing is new but in the project
    after = tree(here.home, own)
    config = here.project + '/.git/config'
    assert {p for p in before if before[p] != after.get(p)} <= {config}
    assert [p for p in after if p not in before and not
            p.startswith(here.project + '/')] == []
    assert 'fsmonitor' not in git(here, 'config', '--list')
    assert 'will run outside: .envrc: new' in got.err, got
    assert os.listdir(here.project + '/.git/hooks') == \
        [os.path.basename(p) for p in before if '/.git/hooks/' in p]
    assert [line for _, line in processes().values()
            if line[0] == canaries[2]] == []
    # of one name it is allowed to reach the origin, and asked nothing there
    assert here.origin_requests() == []
    assert {(e['event'], e.get('to', ORIGIN + ':443')) for e in
            here.origin_events()} <= {(e, ORIGIN + ':443') for e in
                                      ('open', 'tls', 'close')}
    assert {q['name'] for q in here.resolver_questions()} <= {'api.test'}


def test_a_run_that_is_cut_off_puts_back_what_would_run_outside(here):
    git(here, 'init', '-q')
    run = here.start(['sh', '-c', 'git config core.hooksPath /tmp/evil; '
                      'git config user.name x; echo > .envrc; touch done; '
                      'sleep 60'])
    began = time.monotonic()
    while not os.path.exists(here.project + '/done'):
        assert time.monotonic() - began < 20, run.wait(1)
        time.sleep(0.05)
    for _ in range(3):
        began = time.monotonic()
        killed = run.roles().get('worker')
        os.kill(killed[0], signal.SIGKILL)
        while run.roles().get('worker') in (killed, None) and \
                run.child.poll() is None and time.monotonic() - began < 5:
            time.sleep(0.05)
    got = run.wait(30)
    assert got.exit == 125 and 'cut off' in got.err, got
    with open(here.project + '/.git/config', encoding='utf-8') as f:
        config = f.read()
    assert 'hooksPath' not in config and 'name = x' in config, config
    assert 'will run outside: .envrc: new' in got.err, got


@pytest.mark.parametrize('key', ['http.proxy', 'http.https://git.test/.proxy',
                                 'http.sslVerify', 'http.curloptResolve',
                                 'http.sslCAInfo', 'remote.origin.proxy'])
def test_keys_that_lead_credentials_elsewhere_are_put_back(here, key):
    git(here, 'init', '-q')
    here.run(['git', 'config', key, 'false'])
    assert 'false' not in git(here, 'config', '--list').replace(
        'core.bare=false', '')


def test_what_a_configuration_leads_to_is_looked_at_too(here):
    git(here, 'init', '-q')
    git(here, 'config', 'core.hooksPath', '.githooks')
    git(here, 'config', 'include.path', '../shared.cfg')
    git(here, 'config', '--add', 'include.path', here.project + '/more.cfg')
    here.write('project/.githooks/pre-commit', '#!/bin/sh\n', 0o755)
    here.write('project/shared.cfg', '[alias]\n\tco = checkout\n'
               '[include]\n\tpath = third.cfg\n')
    here.write('project/more.cfg', '')
    here.write('project/third.cfg', '')
    give(here.home)
    got = here.run("""
        echo evil >> .githooks/pre-commit; echo new > .githooks/pre-push
        for f in shared more third; do
            git config -f $f.cfg core.pager /tmp/evil
        done; git config -f shared.cfg user.name kept""")
    assert '.githooks/pre-commit: changed' in got.err, got
    assert '.githooks/pre-push: new' in got.err, got
    assert got.err.count('keys that run programs were changed') == 3, got
    assert '/tmp/evil' not in git(here, 'config', '--list', '--includes')
    assert git(here, 'config', '--includes', 'user.name') == 'kept\n'


EVIL_CFG = 'printf "[core]\\n\\tfsmonitor = /tmp/evil\\n" >evil.cfg; '
LINKED = 'git init -q .; mv .git/config real.cfg; ln -s ../real.cfg .git/config'


@pytest.mark.parametrize('before, command', [
    ('git init -q .; git config extensions.worktreeConfig true',
     EVIL_CFG + 'ln -s ../evil.cfg .git/config.worktree'),
    ('git init -q .', EVIL_CFG + 'ln -sf ../evil.cfg .git/config'),
    ('git init -q .', 'git init -q --bare x; git -C x config core.fsmonitor '
     '/tmp/evil; echo ../x >to; ln -s ../to .git/commondir'),
    (LINKED, 'git config core.fsmonitor /tmp/evil'),
    (LINKED, EVIL_CFG + 'ln -sf ../evil.cfg .git/config'),
    (LINKED, 'cp real.cfg x; rm .git/config; mv x .git/config; '
     'git config core.fsmonitor /tmp/evil')])
def test_a_link_for_a_configuration_is_put_back(here, before, command):
    """git follows it, there or new; what it leads to counts as well."""
    as_owner = subprocess.run(as_user(['sh', '-c', before]), cwd=here.project,
                              env=here.environment(), check=False)
    assert as_owner.returncode == 0
    got = here.run(command)
    assert got.exit == 0 and 'put back: .git/' in got.err, got
    listed = git(here, 'config', '--list')
    assert 'evil' not in listed and 'core.bare=false' in listed, listed


@pytest.mark.parametrize('command, told', [
    (EVIL_CFG + 'git init -q n; ln -sf ../../evil.cfg n/.git/config',
     'n/.git/config: new, and a link'),
    ('git init -q n; rm -r n/.git/hooks; ln -s ../../evil n/.git/hooks',
     'n/.git/hooks: new, with hooks'),
    ('git init -q --bare n; git -C n config core.fsmonitor /tmp/evil; cd n; '
     'mv refs r; ln -s r refs; mv objects o; ln -s o objects',
     'n/config: new, with keys'),
    ('mkdir -p n/objects n/refs; touch n/HEAD; git init -q n/refs/x; '
     'git -C n/refs/x config core.fsmonitor /tmp/evil',
     'n/refs/x/.git/config: new, with keys')])
def test_a_new_repository_that_hides_is_told(here, command, told):
    got = here.run(command)
    assert got.exit == 0 and 'will run outside: ' + told in got.err, got


def test_many_files_do_not_hide_a_repository(here):
    got = here.run(['python3', '-c', """
import os
os.makedirs('a/b/c/d/e/.git/hooks')
open('a/b/c/d/e/.git/hooks/pre-commit', 'w').close()
for i in range(1010):
    os.mkdir(f'a/{i}')
    for k in range(500):
        os.mknod(f'a/{i}/{k}')
"""], timeout=120)
    shutil.rmtree(here.project + '/a')
    assert 'not all of them were looked at' in got.err, got


def test_a_pipe_in_the_place_of_the_policy_is_an_error(here):
    os.unlink(here.project + '/duenna.yaml')
    os.mkfifo(here.project + '/duenna.yaml')
    give(here.home)
    for line in (['run', '--', 'true'], ['check', 'duenna.yaml'],
                 ['explain', '--policy', 'duenna.yaml', 'https://a.test/']):
        assert here.duenna(*line, timeout=20)[0] not in (0, None), line


def test_a_policy_from_a_pipe_that_is_written_to_is_read(here):
    policy = here.write('project/p.yaml', rules_text('- allow: https://ok.test/**'))
    done = subprocess.run(
        as_user(['bash', '-c', '"$0" run --policy <(sleep 0.3; cat "$1") -- '
                 'curl -sS https://ok.test/_whoami', program(), policy]),
        cwd=here.project, env=here.environment(), capture_output=True,
        text=True, timeout=30, check=False)
    assert done.returncode == 0 and '"none"' in done.stdout, done


@pytest.mark.parametrize('key', ['\u202e', '\u2066', '\u200b', '\U000e0041',
                                 '\\x9b31m', '\\L', '\\u202a'])
def test_no_text_of_a_policy_steers_a_terminal(here, key):
    name = here.write('project/a\x1b[31m\u202e.yaml',
                      'version: 1\npolicies: {p: {rules: [], "x%sy": 1}}\n' %
                      key)
    for line in (['check', name], ['run', '--policy', name, '--', 'true']):
        status, out, err = here.duenna(*line)
        assert status != 0
        assert all(c in '\n\t' or c.isprintable() for c in out + err), \
            ascii(out + err)


def test_no_name_of_an_included_file_steers_a_terminal(bed):
    folder = 's\x9b31m\u202e'
    here = bed('version: 1\npolicies:\n  p:\n    rules:\n'
               '      - include: "s\\u009b31m\\u202e/x.yaml"\n', files={
                   folder + '/x.yaml': 'version: 1\npolicies: {p: {rules: '
                                       '[{allow: "https://ok.test/a"}]}}\n'})
    for url in 'https://ok.test/a', 'https://ok.test/b':
        for line in (['explain', '--policy', 'duenna.yaml', url],
                     ['run', '--', 'curl', '-sS', url]):
            _, out, err = here.duenna(*line)
            assert all(c in '\n\r\t' or c.isprintable() for c in out + err), \
                ascii(out + err)
    assert 's??31m???/x.yaml' in here.duenna(
        'explain', '--policy', 'duenna.yaml', url)[1]


@pytest.mark.parametrize('more', [[], ['--policy', 'l.yaml'],
                                  ['--write', 'link'], ['--audit', 'log']])
def test_no_name_of_a_folder_steers_a_terminal(here, more):
    """What could not be started says where, and a repository chose that."""
    folder = here.project + '/w\x1b]0;x\x07\u202e\x9b'
    os.mkdir(folder)
    shutil.copy(here.project + '/duenna.yaml', folder)
    for link in 'l.yaml', 'link':
        os.symlink('duenna.yaml', folder + '/' + link)
    if not more:
        server = socket.socket(socket.AF_UNIX)
        server.bind(folder + '/sock')
    give(here.home)
    got = here.run('true', more, cwd=folder)
    assert got.exit == 125 and '/project/w' in got.err, got
    assert all(c in '\n\t' or c.isprintable() for c in got.out + got.err), \
        ascii(got.out + got.err)


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
