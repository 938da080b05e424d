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
from run_bed import here


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


HARMLESS = {'priority_of_all', 'first_process_chosen_when_memory_is_out',
            'plants_in_the_home', 'plants_in_the_project',
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


def give_to_root(path):
    for top, folders, files in os.walk(path):
        for name in ['.', *folders, *files]:
            os.chown(os.path.join(top, name), 0, 0, follow_symlinks=False)


@pytest.fixture(params=['user', 'root'])
def canaries(here, request):
    """All that the hostile command may not touch, as its arguments."""
    root = request.param == 'root'
    if root and os.environ.get('DUENNA_BED') != 'root':
        pytest.skip('the bed was made by an ordinary user')
    git(here, 'init', '-q')
    for name in ('.ssh/canary', 'given', '.gitconfig', '.local/bin/tool'):
        here.write(name, 'untouched' if name != '.gitconfig' else '')
    shutil.copytree(TREE + '/tests/hostile', here.project + '/hostile',
                    ignore=shutil.ignore_patterns('__pycache__'))
    (give_to_root if root else give)(here.home)
    name = 'duenna-%d' % os.getpid()
    listeners = [abstract_listener(n) for n in (name, '/tmp/.X11-unix/X0')]
    libc = ctypes.CDLL(None)
    memory = libc.shmget(0, 4096, 0o1666)
    queue = libc.mq_open(b'/' + name.encode(), os.O_CREAT, 0o666, None)
    assert memory >= 0 and queue >= 0
    here.write('../../../dev/shm/' + name, 'untouched', 0o666)
    line = ['sleep', '1000']
    bystander = subprocess.Popen(line if root else as_user(line))
    yield root, [here.home, here.peers.host_socket, name, str(bystander.pid), EVIL,
           str(memory)]
    assert bystander.poll() is None
    assert os.getpriority(os.PRIO_PROCESS, bystander.pid) == \
        os.getpriority(os.PRIO_PROCESS, 0)
    bystander.kill()
    bystander.wait()
    for server, heard in listeners:
        server.shutdown(socket.SHUT_RDWR)  # its thread holds it open else
        server.close()
        assert heard == []
    os.unlink('/dev/shm/' + name)
    assert libc.mq_unlink(b'/' + name.encode()) == 0
    assert libc.shmctl(memory, 0, None) == 0


def test_nothing_outside_is_reached(here, canaries):
    state = here.home + '/.local/state'
    own = [state, here.project + '/hostile']
    root, canaries = canaries
    before = tree(here.home, own)
    with open(here.home + '/given', encoding='utf-8') as stdin:
        got = here.run(['python3', '-B', 'hostile/escape.py', *canaries],
                       stdin=stdin, timeout=300, root=root,
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
    with open(config, encoding='utf-8') as f:
        assert 'fsmonitor' not in f.read()
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
