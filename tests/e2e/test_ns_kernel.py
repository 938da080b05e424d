# SPDX-License-Identifier: Apache-2.0
"""The sandbox itself: what is pinned and put back, and what the kernel is asked."""
import os
import shutil
import subprocess

import pytest

from bed import as_user, give
from ns_bed import SANDBOX_FACTS, place


# -------------------------------------------------- what is pinned, put back

def repository(place, path='project', worktree=False):
    folder = os.path.join(place.home, path)
    os.makedirs(folder, exist_ok=True)
    subprocess.run(['git', 'init', '-q', folder], check=True,
                   env={**os.environ, 'HOME': '/nonexistent'})
    give(place.home)
    return folder


def test_git_folders_stay_where_they_are_and_hooks_are_read_only(place):
    repository(place)
    repository(place, 'project/deep/er')
    shutil.rmtree(place.work + '/deep/er/.git/hooks')
    lines = place.sh('''
        for g in .git deep/er/.git; do
            mv $g x; rm -rf $g 2>/dev/null; test -d $g && echo there
            echo evil > $g/hooks/pre-commit
        done
        git config user.name me && git config user.name
        unshare -Urm sh -c "mount --bind . /tmp; umount .git/hooks;
            mount -o remount,rw .git/hooks; echo evil > .git/hooks/post-commit"
        ls deep/er/.git/hooks; git -C . status --short | head -3; true''')
    assert lines.count('there') == 2
    assert place.err.count('Device or resource busy') >= 2
    assert place.err.count('Read-only file system') >= 3
    assert os.listdir(place.work + '/deep/er/.git/hooks') == []
    assert not os.path.exists(place.work + '/.git/hooks/post-commit')


def test_keys_that_run_programs_are_put_back_others_stay(place):
    repository(place)
    place.sh('git config user.name sandbox; git config core.fsmonitor ./evil;'
             'git config alias.st "!evil"; git config alias.l log;'
             'git config core.hooksPath hooks2')
    config = subprocess.run(
        ['git', 'config', '-f', place.work + '/.git/config', '-l'],
        check=True, capture_output=True, text=True).stdout
    assert 'user.name=sandbox' in config and 'alias.l=log' in config
    assert 'evil' not in config and 'hookspath' not in config
    assert '.git/config: keys that run programs were changed: ' \
        'core.fsmonitor' in place.err


def test_a_key_that_was_there_before_comes_back(place):
    work = repository(place)
    subprocess.run(['git', 'config', '-f', work + '/.git/config',
                    'filter.lfs.clean', 'git-lfs "clean" -- %f'], check=True)
    give(place.home)
    place.sh('git config filter.lfs.clean evil; rm -f .git/config.worktree;'
             'printf "[core]\\n\\tfsmonitor = x\\n" > .git/config.worktree;'
             'echo ../evil > .git/commondir')
    config = subprocess.run(['git', '-C', work, 'config', '-f',
                             work + '/.git/config', 'filter.lfs.clean'],
                            check=True, capture_output=True, text=True).stdout
    assert config == 'git-lfs "clean" -- %f\n'
    with open(work + '/.git/config.worktree', encoding='utf-8') as f:
        assert 'fsmonitor' not in f.read()
    assert not os.path.exists(work + '/.git/commondir')


def test_an_unreadable_or_missing_configuration_is_put_back(place):
    work = repository(place)
    with open(work + '/.git/config', encoding='utf-8') as f:
        before = f.read()
    place.sh('rm .git/config; ln -s ../evil .git/config')
    with open(work + '/.git/config', encoding='utf-8') as f:
        assert f.read() == before
    assert not os.path.islink(work + '/.git/config')
    place.sh('printf "[core\\n" > .git/config')
    with open(work + '/.git/config', encoding='utf-8') as f:
        assert f.read() == before


def test_start_files_are_told(place):
    place.write('project/.envrc', 'old')
    place.write('project/package.json', '{"scripts": {"a": "b"}}')
    place.write('project/.vscode/settings.json', '{}')
    place.sh('echo evil > .envrc; mkdir -p .claude/x; echo 1 > .claude/x/y;'
             'printf \'{"v": 2, "scripts": {"a": "b"}}\' > package.json;'
             'git init -q new; echo evil > new/.git/hooks/post-checkout;'
             'mkdir sub; echo x > sub/.envrc; printf "a\\033[2J" > duenna.yaml')
    told = sorted(line.split('outside: ')[1] for line in
                  place.err.split('\n') if 'outside: ' in line)
    assert told == ['.claude/x/y: new', '.envrc: changed', 'duenna.yaml: new',
                    'new/.git/hooks: new, with hooks']
    place.sh('printf \'{"scripts": {"a": "evil"}}\' > package.json')
    assert 'package.json: changed' in place.err


def test_hooks_in_the_working_tree_are_told(place):
    work = repository(place)
    place.write('project/tools/hooks/pre-commit', 'old')
    subprocess.run(['git', 'config', '-f', work + '/.git/config',
                    'core.hooksPath', 'tools/hooks'], check=True)
    give(place.home)
    place.sh('echo evil > tools/hooks/pre-commit; echo x > tools/other')
    assert 'tools/hooks/pre-commit: changed' in place.err
    assert 'tools/other' not in place.err


def test_policy_files_are_pinned_with_their_folder(place):
    pin = place.write('project/policies/agent.yaml', 'version: 1')
    top = place.write('project/duenna.yaml', 'version: 1')
    lines = place.sh('echo x > policies/agent.yaml; echo x > duenna.yaml;'
                     'mv policies p; mv duenna.yaml d; rm -rf policies;'
                     'echo x > policies/new; echo ok > fine; ls',
                     '--pin', pin, '--pin', top)
    assert lines == ['duenna.yaml', 'fine', 'policies']
    assert place.err.count('busy') >= 2
    with open(pin, encoding='utf-8') as f:
        assert f.read() == 'version: 1'


# ------------------------------------------------- what the kernel is asked

def test_socket_families_are_few(place):
    families = {'UNIX': 1, 'INET': 2, 'INET6': 10, 'VSOCK': 40, 'PACKET': 17,
                'ALG': 38, 'BLUETOOTH': 31, 'KEY': 15, 'X25': 9, 'SMC': 43,
                'XDP': 44, 'TIPC': 30, 'NFC': 39, 'UNSPEC': 0, 'HIGH': 1 << 32}
    lines = place.python('''
        for f in %r:
            print(call(41, f, 1, 0) if f not in (1, 2, 10) else
                  call(41, f, 1, 0) >= 0)
        print(call(41, (1 << 32) | 40, 1, 0), call(53, 40, 1, 0, 0))
        ''' % list(families.values()))
    want = ['True' if n in ('UNIX', 'INET', 'INET6') else 'EAFNOSUPPORT'
            for n in families]
    assert lines == [*want, 'EAFNOSUPPORT EAFNOSUPPORT']


def test_netlink_is_for_routes_alone(place):
    assert place.python('''
        for protocol in (0, 2, 4, 9, 12, 15, 16):
            print(error(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW,
                        protocol))
        ''') == ['None'] + ['EPROTONOSUPPORT'] * 6


def test_keys_io_uring_and_typing_are_refused(place):
    assert place.python('''
        master, slave = os.openpty()
        print(call(250, 0, -3, 0), call(248, 0, 0, 0, 0, -1),
              call(249, 0, 0, 0, 0))
        print(call(425, 1, 0), call(426, 0, 0, 0, 0, 0, 0), call(427, 0, 0, 0, 0))
        b = ctypes.create_string_buffer(b'x')
        for r in (0x5412, 0x541C, 0xffffffff00005412, 1 << 32 | 0x541C):
            print(call(16, slave, ctypes.c_long(r).value,
                       ctypes.addressof(b)))
        ''') == ['EPERM EPERM EPERM', 'EPERM EPERM EPERM'] + ['EPERM'] * 4


@pytest.mark.skipif(os.uname().machine != 'x86_64', reason='x86-64 code')
def test_other_abis_are_refused(place):
    assert place.python('''
        # mov eax, 20 (getpid of i386); int 0x80; ret
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(bytes.fromhex('b814000000cd80c3'))
        at = ctypes.addressof(ctypes.c_char.from_buffer(code))
        print(ctypes.CFUNCTYPE(ctypes.c_int)(at)())
        print(call(0x40000000 | 39))
        ''') == ['-1', 'EPERM']


def test_no_capability_and_no_core(place):
    lines = place.sh('grep -E "Cap|NoNew|Seccomp:" /proc/self/status;'
                     'ulimit -c; ulimit -Hc')
    assert [line.split()[-1] for line in lines[:7]] == \
        ['0' * 16] * 5 + ['1', '2']
    assert lines[7] in ('0', '1') and lines[8] in ('0', '1')


# become argv[1:] with a session keyring that has a key in it, which who holds
# that keyring sees, and nobody else
WITH_A_KEY = SANDBOX_FACTS + '''
x86 = os.uname().machine == 'x86_64'
keyctl, add_key = (250, 248) if x86 else (219, 217)
assert libc.syscall(keyctl, 1, None) > 0
key = libc.syscall(add_key, b'user', b'duenna-outer-key', b'outer', 5, -3)
assert key > 0, ctypes.get_errno()
assert libc.syscall(keyctl, 5, key, 0x3f000000) == 0
os.execvp(sys.argv[1], sys.argv[1:])
'''


def test_no_key_of_the_callers_session_is_there(place):
    """LC-20: with the caller's keyring it would be in /proc/keys."""
    look = ['sh', '-c', 'cat /proc/keys && echo end']
    seen = [subprocess.run(
        as_user(['/usr/bin/python3', '-c', WITH_A_KEY, *line]), text=True,
        capture_output=True, env=place.environment(), cwd=place.work,
        check=True).stdout for line in (look, place.line('--', *look, root=True))]
    assert 'duenna-outer-key' in seen[0] and seen[1].endswith('end\n'), seen
    assert 'duenna-outer-key' not in seen[1], seen


def test_nested_namespaces_hurt_nobody_else(place):
    lines = place.sh(
        'unshare -Urm sh -c "umount /etc; umount /proc; umount /home; '
        'umount -l /; mount -o remount,rw /usr"; '
        'unshare -Ur sh -c "nft flush ruleset; ip link add d0 type dummy"; '
        'unshare -Urn sh -c "nft flush ruleset; ip link set lo up; '
        'ip link add d0 type dummy && echo own"; cat /etc/resolv.conf; '
        'echo > /dev/tcp/203.0.113.1/443 2>/dev/null; '
        'python3 -c "import socket;print(socket.create_connection('
        '(\'203.0.113.1\',443),5).makefile().read())"')
    assert 'nameserver 198.18.0.1' in lines
    assert 'tcp 203.0.113.1 443' in lines


def test_no_process_outside_is_seen_or_signalled(place):
    bystander = subprocess.Popen(as_user(['sleep', '20']))
    try:
        lines = place.python('''
            import signal
            print(sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))
            print(os.getppid(), os.getpgrp() == os.getpid())
            print(error(os.kill, 1, signal.SIGKILL), error(os.kill, %d, 9))
            print(error(open, '/proc/1/environ'), error(open, '/proc/1/mem'),
                  error(os.listdir, '/proc/1/fd'), error(os.readlink, '/proc/1/cwd'))
            print(repr(open('/proc/1/cmdline').read().strip('\\0')))
            print([call(101, request, pid, 0, 0) for pid in (1, %d)
                   for request in (16, 0x4206)])
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.kill(0, signal.SIGTERM)
            print(error(os.kill, -1, signal.SIGTERM))
            ''' % (bystander.pid, bystander.pid))
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert lines == ['[1, 2]', '1 True', 'None ESRCH',
                     'EACCES EACCES EACCES EACCES', "''",
                     "['EPERM', 'EPERM', 'ESRCH', 'ESRCH']", 'ESRCH']
