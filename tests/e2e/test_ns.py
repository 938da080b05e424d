# SPDX-License-Identifier: Apache-2.0
"""The sandbox itself, without the rest of duenna: ns-probe is a monitor in
small that answers each connection with the place where it wanted to go."""
import fcntl
import itertools
import os
import pty
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import termios
import textwrap
import time

import pytest

from bed import BUILD, as_user, base, give, processes

COUNT = itertools.count(1)
SANDBOX_FACTS = '''
import ctypes, errno, mmap, os, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    rc = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    return errno.errorcode.get(ctypes.get_errno()) if rc == -1 else rc
def error(f, *args):
    try:
        f(*args)
    except OSError as e:
        return errno.errorcode[e.errno]
    return None
'''


class Place:
    """A caller: a home, a project folder, a state folder."""

    def __init__(self):
        self.bin = base() + '/ns-bin'
        if not os.path.exists(self.bin):
            os.makedirs(self.bin)
            for name in ('tests/peers/ns-probe', 'nft/duenna-nft'):
                shutil.copy(os.path.join(BUILD, name), self.bin)
        self.home = '%s/ns-home/u%d' % (base(), next(COUNT))
        self.work = self.home + '/project'
        self.state = self.home + '/.local/state/duenna'
        os.makedirs(self.work)
        os.makedirs(self.state)
        give(self.home)

    def write(self, name, text='', mode=0o644):
        path = os.path.join(self.home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        os.chmod(path, mode)
        give(self.home)
        return path

    def line(self, *args, root=False):
        line = [self.bin + '/ns-probe', self.bin + '/duenna-nft', self.state,
                *args]
        return line if root else as_user(line)

    def environment(self, **more):
        return {'HOME': self.home, 'PATH': '/usr/bin:/bin:/usr/sbin:/sbin',
                'LANG': 'C.UTF-8', 'USER': 'tester', 'TERM': 'dumb', **more}

    def run(self, command, *options, root=False, env=None, cwd=None, **more):
        if isinstance(command, str):
            command = ['sh', '-c', command]
        more.setdefault('stdin', subprocess.DEVNULL)
        return subprocess.run(
            self.line(*options, '--', *command, root=root), text=True,
            cwd=cwd or self.work, env=self.environment(**(env or {})),
            capture_output=True, timeout=120, check=False, **more)

    def python(self, code, *options, **more):
        """What CODE prints in the sandbox, line by line; it must succeed."""
        done = self.run(['/usr/bin/python3', '-c',
                         SANDBOX_FACTS + textwrap.dedent(code)],
                        *options, **more)
        assert done.returncode == 0, done
        self.err = done.stderr
        return done.stdout.split('\n')[:-1]

    def sh(self, command, *options, **more):
        done = self.run(command, *options, **more)
        self.err = done.stderr
        return done.stdout.split('\n')[:-1]


@pytest.fixture
def place():
    one = Place()
    done = one.run('true')
    if done.returncode == 125 and 'namespace' in done.stderr:
        pytest.skip(done.stderr)
    yield one
    subprocess.run(['chmod', '-R', 'u+rwx', one.home], check=False)
    shutil.rmtree(one.home, ignore_errors=True)


# ------------------------------------------------------------------- network

def test_there_is_loopback_and_no_other_link(place):
    assert place.sh('ls /sys/class/net; tail -n +3 /proc/net/dev | cut -d: '
                    '-f1') == ['lo', '    lo']


def test_tcp_to_any_address_and_port_reaches_the_listener(place):
    lines = place.python('''
        for a, p in (('203.0.113.1', 443), ('2001:db8::1', 443),
                     ('8.8.8.8', 1), ('10.0.0.1', 65535), ('::2', 22),
                     ('169.254.169.254', 80), ('198.18.0.1', 81),
                     ('9.9.9.9', 53), ('127.0.0.1', 53), ('fe80::1%1', 5),
                     ('255.255.255.254', 9), ('fd00::9', 53)):
            try:
                s = socket.create_connection((a, p), 5)
                print(s.makefile().read().strip())
            except OSError as e:
                print(a, errno.errorcode[e.errno])
        ''')
    assert lines == [
        'tcp 203.0.113.1 443', 'tcp 2001:db8::1 443', 'tcp 8.8.8.8 1',
        'tcp 10.0.0.1 65535', 'tcp ::2 22', 'tcp 169.254.169.254 80',
        'tcp 198.18.0.1 81', 'tcp 9.9.9.9 53', 'tcp 127.0.0.1 53',
        'tcp fe80::1 5', 'tcp 255.255.255.254 9', 'tcp fd00::9 53']


def test_loopback_stays_inside(place):
    assert place.python('''
        for f, a in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'),
                     (socket.AF_INET, '127.9.9.9')):
            s = socket.socket(f)
            s.bind((a, 0))
            s.listen()
            c = socket.create_connection(s.getsockname()[:2], 5)
            s.accept()[0].sendall(b'mine')
            print(c.recv(10).decode())
        print(error(socket.create_connection, ('127.0.0.1', 9), 5))
        ''') == ['mine', 'mine', 'mine', 'ECONNREFUSED']


def test_udp_elsewhere_fails_at_once_and_is_counted(place):
    lines = place.python('''
        for f, a in ((socket.AF_INET, '203.0.113.1'),
                     (socket.AF_INET6, '2001:db8::1')):
            s = socket.socket(f, socket.SOCK_DGRAM)
            s.settimeout(5)
            s.connect((a, 443))
            s.send(b'quic')
            print(error(s.recv, 10))
        ''', '--counters')
    assert lines == ['ECONNREFUSED', 'ECONNREFUSED']
    assert 'udp 2 icmp 0 other 0' in place.err


def test_dns_to_any_address_reaches_the_answerer(place):
    assert place.python('''
        for a in ('198.18.0.1', '8.8.8.8', '127.0.0.53', '2001:4860::8888',
                  '::1', '255.255.255.254'):
            f = socket.AF_INET6 if ':' in a else socket.AF_INET
            s = socket.socket(f, socket.SOCK_DGRAM)
            s.settimeout(5)
            s.connect((a, 53))
            s.send(b'question')
            print(s.recv(100).decode(), s.getpeername()[0] == a)
        ''', '--counters') == ['question True'] * 6
    assert 'udp 0 icmp 0 other 0' in place.err


def test_nobody_inside_takes_the_listeners_place(place):
    # L3-29: the port is found in /proc/net/tcp
    assert place.python('''
        taken = {int(l.split()[1].split(':')[1], 16)
                 for l in list(open('/proc/net/tcp'))[1:]}
        assert len(taken) == 2
        for port in sorted(taken):
            for address in ('127.0.0.1', '0.0.0.0'):
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                print(error(s.bind, (address, port)))
        ''') == ['EADDRINUSE'] * 4


# ------------------------------------------------------------- what is shown

def test_nothing_of_the_callers_home_is_there(place):
    place.write('.ssh/id_ed25519', 'secret')
    place.write('.gitconfig', '[user]\n\tname = t\n')
    place.write('.config/duenna/token', 'secret')
    place.write('.local/bin/tool', '#!/bin/sh\necho tool\n', 0o755)
    place.write('project/file', 'mine')
    lines = place.sh('find "$HOME" | sort; cat file "$HOME/.gitconfig"; '
                     'echo; "$HOME/.local/bin/tool"; '
                     'echo > "$HOME/.gitconfig"; rm -f "$HOME/.local/bin/tool";'
                     'echo new > "$HOME/.bashrc" && cat "$HOME/.bashrc"')
    h = place.home
    assert lines == [
        h, h + '/.gitconfig', h + '/.local',
        h + '/.local/bin', h + '/.local/bin/tool', h + '/project',
        h + '/project/file', 'mine[user]', '\tname = t', '', 'tool', 'new']
    assert place.err.count('Read-only file system') == 2
    assert not os.path.exists(place.home + '/.bashrc')


def test_the_home_is_kept_under_a_name_and_else_removed(place):
    place.sh('mkdir -p ~/a/b && echo kept > ~/a/b/c && chmod 0 ~/a/b ~/a')
    assert os.listdir(place.state + '/homes') == []
    place.sh('echo kept > ~/x', '--name', 'k')
    assert place.sh('cat ~/x', '--name', 'k') == ['kept']
    assert os.listdir(place.state + '/homes') == ['k']


def test_a_home_too_deep_for_descriptors_is_removed(place):
    place.python('''
        os.chdir(os.environ['HOME'])
        for i in range(3000):
            os.mkdir('d')
            os.mkdir('e')
            os.chdir('d')
        ''')
    assert os.listdir(place.state + '/homes') == []


def test_a_link_planted_in_a_kept_home_is_not_followed(place):
    place.sh('ln -s /tmp ~/.config', '--name', 'k')
    place.write('.config/git/config', '')
    done = place.run('true', '--name', 'k')
    assert done.returncode == 125
    assert 'a link stands in its home' in done.stderr


def test_the_rest_of_the_host_is_not_there(place):
    lines = place.sh('echo /*; ls /var /var/lib /run /tmp; '
                     'touch /x /usr/x /etc/x /opt/x /dev/x /sys/x')
    shown = set(lines[0].split())
    assert shown <= {'/bin', '/dev', '/etc', '/home', '/lib', '/lib32',
                     '/lib64', '/libx32', '/mnt', '/srv', '/media', '/nix',
                     '/opt', '/proc', '/run', '/sbin', '/sys', '/tmp', '/usr',
                     '/var'}
    assert not {'root', 'host', 'stage'} & {p[1:] for p in shown}
    assert place.err.count('Read-only file system') + \
        place.err.count('Permission denied') >= 6


def test_etc_is_the_hosts_under_ours(place):
    lines = place.sh(
        'cat /etc/resolv.conf /etc/hosts; grep hosts: /etc/nsswitch.conf;'
        'cat /etc/ssl/certs/0123abcd.0 /etc/os-release | head -2;'
        'cat /etc/new/deep/file; hostname -f; getent hosts probe-host',
        '--file', '/etc/ssl/certs/0123abcd.0=pem\n',
        '--file', '/etc/new/deep/file=deep\n',
        '--file', '/etc/resolv.conf=nameserver 8.8.8.8\n')
    assert lines[:4] == ['nameserver 198.18.0.1', '127.0.0.1\tlocalhost',
                         '127.0.1.1\tprobe-host',
                         '::1\tlocalhost ip6-localhost ip6-loopback']
    assert 'hosts: files dns' in lines
    assert 'pem' in lines and 'deep' in lines
    assert any(line.startswith('PRETTY_NAME') for line in lines)


def test_devices_and_new_ones(place):
    lines = place.sh(
        'ls /dev /dev/pts; test -c /dev/null && echo x > /dev/null && '
        'head -c 3 /dev/zero | wc -c; echo shm > /dev/shm/f && '
        'cat /dev/shm/f; ls /proc | grep -c "^[0-9]"; readlink /dev/ptmx')
    assert set(lines) >= {'null', 'zero', 'full', 'random', 'urandom', 'tty',
                          'pts', 'shm', 'ptmx', 'fd', '3', 'pts/ptmx'}
    assert not {'vda', 'kvm', 'mem', 'sda', 'fuse'} & set(lines)


def test_sockets_of_the_host_are_absent(place):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(base() + '/ns-host.sock')
    listening.listen()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind('\0ns-abstract')
    abstract.listen()
    try:
        assert place.python('''
            for a in (%r, '\\0ns-abstract', '/run/dbus/system_bus_socket',
                      '/var/run/docker.sock', '/tmp/.X11-unix/X0'):
                print(error(socket.socket(socket.AF_UNIX).connect, a))
            s = socket.socket(socket.AF_UNIX)
            s.bind('own.sock')
            s.listen()
            socket.socket(socket.AF_UNIX).connect('own.sock')
            os.unlink('own.sock')
            ''' % (base() + '/ns-host.sock')) == [
                'ENOENT', 'ECONNREFUSED', 'ENOENT', 'ENOENT', 'ENOENT']
    finally:
        listening.close()
        abstract.close()
        os.unlink(base() + '/ns-host.sock')


@pytest.mark.parametrize('where', ['project/agent.sock', 'shared/a/b.sock'])
def test_a_socket_in_a_shown_folder_is_refused_with_its_name(place, where):
    path = place.write(where)
    os.unlink(path)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    os.makedirs(place.home + '/shared', exist_ok=True)
    done = place.run('echo RAN', '--read', place.home + '/shared')
    listening.close()
    assert (done.returncode, done.stdout) == (125, '')
    assert path in done.stderr


def test_a_stale_socket_in_the_working_directory_is_refused(place):
    listening = socket.socket(socket.AF_UNIX)
    path = place.work + '/deep/er/x.sock'
    os.makedirs(os.path.dirname(path))
    listening.bind(path)
    listening.close()
    done = place.run('echo RAN')
    assert (done.returncode, done.stdout) == (125, '')
    assert 'deep/er/x.sock' in done.stderr


@pytest.mark.parametrize('where', ['', '..', '../..', '/', '.config/duenna',
                                   '.local/state', '/proc', '/etc', '/dev'])
def test_working_directories_that_are_refused(place, where):
    place.write('.config/duenna/config.yaml')
    cwd = os.path.normpath(os.path.join(place.home, where))
    done = place.run('echo RAN', cwd=cwd)
    assert (done.returncode, done.stdout) == (125, '')
    assert cwd in done.stderr


@pytest.mark.parametrize('option', ['--read', '--write'])
def test_binds_that_are_refused(place, option):
    place.write('log/audit.jsonl')
    for path in ('/', place.home, '/proc', '/sys/fs', '/dev/shm', '/etc',
                 place.home + '/log', place.home + '/.local'):
        done = place.run('echo RAN', option, path, '--closed',
                         place.home + '/log/audit.jsonl')
        assert (done.returncode, done.stdout) == (125, ''), path
        assert path in done.stderr


def test_binds_are_read_only_or_not(place):
    place.write('r/file', 'r')
    place.write('w/file', 'w')
    lines = place.sh('cat ../r/file ../w/file; echo; echo 1 > ../r/file; '
                     'echo 2 > ../w/file; cat ../r/file; cat ../w/file',
                     '--read', place.home + '/r', '--write',
                     place.home + '/w')
    assert lines == ['rw', 'r2']
    assert 'Read-only' in place.err
    with open(place.home + '/w/file', encoding='utf-8') as f:
        assert f.read() == '2\n'


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
    assert '.git/config: keys that run programs were changed' in place.err


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


# ---------------------------------------------------- the command's own life

@pytest.mark.parametrize('command, status', [
    ('true', 0), ('exit 7', 7), ('exit 255', 255), ('kill -TERM $$', 143),
    ('kill -KILL $$', 137), ('kill -ABRT $$', 134)])
def test_exit_statuses(place, command, status):
    assert place.run(command).returncode == status


def test_a_command_that_does_not_exist_is_127(place):
    done = place.run(['no-such-command'])
    assert done.returncode == 127
    assert 'not found' in done.stderr


def test_a_command_that_is_not_shown_is_127_with_the_line_that_shows_it(place):
    place.write('tools/real/prog', '#!/bin/sh\necho prog\n', 0o755)
    os.makedirs(place.home + '/.local/bin', exist_ok=True)
    os.symlink('../../tools/real/prog', place.home + '/.local/bin/prog')
    give(place.home)
    path = '/usr/bin:' + place.home + '/.local/bin'
    done = place.run(['prog'], env={'PATH': path})
    assert done.returncode == 127
    folder = place.home + '/tools/real'
    assert 'files: {read: [%s]}' % folder in done.stderr
    done = place.run(['prog'], '--read', folder, env={'PATH': path})
    assert (done.returncode, done.stdout) == (0, 'prog\n')


def test_a_command_that_cannot_be_executed_is_126(place):
    place.write('project/data', 'text')
    assert place.run(['./data']).returncode == 126
    assert place.run(['/usr']).returncode == 126


def test_the_environment_is_a_list(place):
    lines = place.sh('env | sort', '--env', 'KEPT', env={
        'LD_PRELOAD': '/evil.so', 'OPENSSL_CONF': '/evil', 'TOKEN': 'secret',
        'https_proxy': 'http://p', 'SSH_AUTH_SOCK': '/x', 'LC_TIME': 'C',
        'KEPT': 'yes', 'TZ': 'UTC', 'RES_OPTIONS': 'x', 'GCONV_PATH': '/x'})
    assert {line.split('=')[0] for line in lines} == {
        'HOME', 'KEPT', 'LANG', 'LC_TIME', 'PATH', 'PWD', 'TERM', 'TZ', 'USER'}


def test_descriptors_above_2_are_closed_but_those_to_keep(place):
    r, w = os.pipe()
    secret = os.open('/', os.O_RDONLY)
    os.write(w, b'kept')
    assert place.python('''
        print([n for n in range(100) if not error(os.fstat, n)])
        print(os.read(%d, 9).decode())
        ''' % r, '--keep-fd', str(r), pass_fds=(r, secret)) == [
            str([0, 1, 2, r]), 'kept']
    assert place.run('true', '--keep-fd', str(secret),
                     pass_fds=(secret,)).returncode == 125
    for fd in (r, w, secret):
        os.close(fd)


def test_standard_input_is_nothing_that_leads_to_the_host(place):
    folder = os.open('/', os.O_RDONLY)
    done = place.run('echo RAN', stdin=folder)
    assert (done.returncode, done.stdout) == (125, '')
    assert 'directory' in done.stderr
    os.close(folder)
    server = socket.socket(socket.AF_UNIX)
    server.bind(base() + '/ns-stdin.sock')
    server.listen()
    named = socket.socket(socket.AF_UNIX)
    named.connect(base() + '/ns-stdin.sock')
    assert place.run('echo RAN', stdin=named.fileno()).returncode == 125
    assert place.run('true', stdin=server.fileno()).returncode == 125
    inet = socket.socket()
    assert place.run('true', stdin=inet.fileno()).returncode == 125
    mine, theirs = socket.socketpair()
    mine.sendall(b'pair')
    mine.shutdown(socket.SHUT_WR)
    assert place.run('cat', stdin=theirs.fileno()).stdout == 'pair'
    os.unlink(base() + '/ns-stdin.sock')
    for s in (server, named, inet, mine, theirs):
        s.close()


def test_what_the_command_leaves_behind_ends_with_it(place):
    began = time.monotonic()
    done = place.run('sleep 30 & setsid sleep 30 & (sleep 30 &) ; echo bye')
    assert done.stdout == 'bye\n'
    assert time.monotonic() - began < 10


def test_the_first_process_reaps(place):
    assert place.sh('for i in 1 2 3; do (sh -c "exit 3" &); done; sleep 0.3;'
                    'ps -A -o stat= | grep -c Z; true') == ['0']


def children(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid),
              encoding='utf-8') as f:
        return [int(p) for p in f.read().split()]


def test_the_monitors_death_is_the_commands(place):
    child = subprocess.Popen(
        place.line('--', 'sh', '-c', 'setsid sleep 100 & echo on; sleep 100'),
        cwd=place.work, env=place.environment(), stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL)
    assert child.stdout.readline() == b'on\n'
    family, todo = [], [child.pid]
    while todo:
        more = children(todo.pop())
        family += more
        todo += more
    assert len(family) >= 3
    child.kill()
    child.wait()
    deadline = time.monotonic() + 5
    while any(os.path.exists('/proc/%d' % p) for p in family):
        assert time.monotonic() < deadline, 'somebody lives on'
        time.sleep(0.02)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM,
                                    signal.SIGHUP, signal.SIGQUIT])
def test_signals_reach_the_command(place, number):
    child = subprocess.Popen(
        place.line('--', 'sh', '-c', 'trap "echo got; exit 9" %d; echo on;'
                   'while :; do sleep 0.1; done' % number),
        cwd=place.work, env=place.environment(), stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL)
    assert child.stdout.readline() == b'on\n'
    child.send_signal(number)
    assert child.communicate(timeout=10)[0] == b'got\n'
    assert child.returncode == 9


def test_the_second_sigterm_kills(place):
    child = subprocess.Popen(
        place.line('--', 'sh', '-c', 'trap "" TERM; echo on;'
                   'while :; do sleep 0.1; done'),
        cwd=place.work, env=place.environment(), stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL)
    assert child.stdout.readline() == b'on\n'
    child.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.5)
    child.terminate()
    assert child.wait(10) == 137


# ------------------------------------------------- machines that do not allow

def refused(place, before):
    """What comes of a start after BEFORE was done in namespaces of its own,
    as their root."""
    line = ' '.join("'%s'" % a for a in place.line('--', 'echo', 'RAN',
                                                   root=True))
    done = subprocess.run(
        ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c',
         before + '; exec ' + line], cwd=place.work, text=True,
        env=place.environment(), capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (125, ''), done
    return done.stderr


@pytest.fixture
def open_place(place):
    """One that root of another namespace may use."""
    subprocess.run(['chmod', '-R', 'a+rwX', place.home], check=True)
    return place


def test_without_user_namespaces_the_sysctl_is_named(open_place):
    said = refused(open_place, 'echo 0 > /proc/sys/user/max_user_namespaces')
    assert 'cannot make a user namespace' in said
    assert 'sysctl -w user.max_user_namespaces=' in said


def test_without_network_namespaces_it_says_so(open_place):
    # the limit counts in the namespace that is left as well
    said = refused(open_place, 'echo 0 > /proc/sys/user/max_net_namespaces')
    assert 'cannot make a network namespace' in said
    assert 'user.max_*_namespaces' in said


def test_with_a_masked_proc_it_says_how_to_unmask_it(open_place):
    said = refused(open_place, 'mount -t tmpfs none /proc/fs')
    assert 'cannot mount /proc' in said
    assert 'systempaths=unconfined' in said


# Execute argv[1] where unshare(2) is answered with EPERM, as Docker does.
NO_UNSHARE = r'''
import ctypes, os, struct, sys
def op(code, k, jt=0, jf=0):
    return struct.pack('HBBI', code, jt, jf, k)
rules = op(0x20, 0) + op(0x15, 272, 0, 1) + op(0x06, 0x50001) + \
    op(0x06, 0x7fff0000)
buf = ctypes.create_string_buffer(rules)
prog = struct.pack('HxxxxxxP', 4, ctypes.addressof(buf))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, ctypes.c_char_p(prog), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
'''


def test_where_seccomp_refuses_namespaces_it_says_which(open_place):
    done = subprocess.run(
        ['/usr/bin/python3', '-c', NO_UNSHARE,
         *open_place.line('--', 'echo', 'RAN', root=True)],
        cwd=open_place.work, env=open_place.environment(), text=True,
        capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (125, ''), done
    assert 'cannot make a user namespace: Operation not permitted' in \
        done.stderr


# ------------------------------------------------------------- the terminal
# `exec`: an interrupt that comes just when dash forks is lost, in any terminal

class Terminal:
    """An interactive shell of the caller's on a terminal of its own."""

    def __init__(self, place):
        self.seen = ''
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(place.work)
            line = as_user(['bash', '--norc', '--noprofile', '-i'])
            os.execvpe(line[0], line, place.environment(
                PS1='$ ', PROBE=' '.join(place.line(root=True) + ['--'])))
        self.pid = pid
        self.expect('$ ')

    def expect(self, text, timeout=10):
        """All that comes up to TEXT."""
        deadline = time.monotonic() + timeout
        while text not in self.seen:
            left = deadline - time.monotonic()
            assert left > 0, 'no %r in %r' % (text, self.seen)
            if select.select([self.fd], [], [], left)[0]:
                self.seen += os.read(self.fd, 4096).decode()
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        self.type(text + '\n')
        self.expect('\n')

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(place):
    one = Terminal(place)
    yield one
    one.close()


def test_the_keyboard_interrupts_the_command(terminal):
    terminal.line('$PROBE sh -c "echo on; exec sleep 100"')
    terminal.expect('on\r\n')
    terminal.type('\x03')
    terminal.expect('$ ')
    terminal.line('echo "status=$?"')
    terminal.expect('status=130')


def test_the_keyboard_ends_the_script_around_it_too(terminal):
    terminal.line('bash -c \'$PROBE sh -c "echo on; exec sleep 100"; echo AFTER\'')
    terminal.expect('on\r\n')
    terminal.type('\x03')
    assert 'AFTER' not in terminal.expect('$ ')


def test_a_command_that_handles_the_interrupt_goes_on(terminal):
    terminal.line('$PROBE sh -c \'trap "echo caught" INT; echo on; '
                  'read x; echo got:$x\'')
    terminal.expect('on\r\n')
    terminal.type('\x03')
    terminal.expect('caught')
    terminal.type('more\n')
    terminal.expect('got:')


def test_the_command_stops_and_goes_on_as_a_job(terminal):
    terminal.line('$PROBE sh -c "stty -echo; echo on; read x; echo got:$x; '
                  'read y; echo end"')
    terminal.expect('on\r\n')
    terminal.type('\x1a')
    terminal.expect('Stopped')
    terminal.expect('$ ')
    terminal.line('stty -a | grep -o " -*echo "; jobs | wc -l')
    assert terminal.expect('$ ').split() == ['echo', '1']
    terminal.line('fg')
    terminal.expect('\n')
    terminal.type('a\n')
    terminal.expect('got:')
    terminal.type('\x1a')
    terminal.expect('$ ')
    terminal.line('bg; sleep 0.3; jobs')
    terminal.expect('$ ')
    terminal.line('fg')
    terminal.type('b\n')
    terminal.expect('end')
    terminal.expect('$ ')


def test_a_job_in_a_subshell_stops_and_goes_on(terminal):
    terminal.line('(trap "" USR1; $PROBE sh -c "echo on; read x; '
                  'echo got:\\$x; exit 4"; exit $?); echo status=$?')
    terminal.expect('on\r\n')
    terminal.type('\x1a')
    terminal.expect('Stopped')
    terminal.expect('$ ')
    terminal.line('fg')
    terminal.expect('\n')
    terminal.type('a\n')
    terminal.expect('got:a')
    terminal.expect('$ ')
    terminal.line('jobs | wc -l')
    assert terminal.expect('$ ').split() == ['0']


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ,
                struct.pack('HHHH', rows, columns, 0, 0))


def test_the_command_hears_of_the_terminals_size(terminal):
    resize(terminal, 24, 80)
    terminal.line('$PROBE bash -c \'trap "stty size" WINCH; echo on; '
                  'while :; do read -t 0.1 x; done\'')
    terminal.expect('on\r\n')
    resize(terminal, 31, 97)
    terminal.expect('31 97')


def test_who_hangs_up_ends_the_command(place, terminal):
    terminal.line('$PROBE sleep 4321')
    deadline = time.monotonic() + 10
    while not (family := [p for p, (_, line) in processes().items()
                          if line[:2] == ['sleep', '4321']]):
        assert time.monotonic() < deadline, 'it does not begin'
        time.sleep(0.02)
    os.close(terminal.fd)
    terminal.fd = os.open('/dev/null', os.O_RDONLY)
    deadline = time.monotonic() + 10
    while os.path.exists('/proc/%d' % family[0]) or os.listdir(
            place.state + '/homes'):
        assert time.monotonic() < deadline, 'it lives on'
        time.sleep(0.02)


def test_a_neighbour_in_a_pipeline_has_the_keyboard(terminal):
    terminal.line('$PROBE echo data | '
                  'sh -c "cat; read x < /dev/tty; echo got:\\$x"')
    terminal.expect('data')
    terminal.type('typed\n')
    terminal.expect('got:typed')
    terminal.expect('$ ')


def test_a_command_in_a_pipeline_gets_the_keyboard_when_it_asks(terminal):
    terminal.line('$PROBE sh -c "echo on; read x < /dev/tty; echo got:\\$x"'
                  ' | cat')
    terminal.expect('on')
    terminal.type('typed\n')
    terminal.expect('got:typed')
    terminal.expect('$ ')


@pytest.mark.parametrize('end', ['kill -9 $$', 'exit 0'])
def test_the_terminal_is_back_in_its_modes(terminal, end):
    terminal.line('$PROBE sh -c "stty raw -echo; %s"; stty -a'
                  % end.replace('$', '\\$'))
    modes = terminal.expect('$ ')
    assert ' icanon' in modes and ' echo ' in modes


def test_a_shell_in_there_has_jobs_of_its_own(terminal):
    terminal.line('$PROBE bash --norc --noprofile -i')
    before = terminal.expect('$ ')
    assert 'cannot set terminal' not in before
    assert 'no job control' not in before
    terminal.line('tty')
    assert terminal.expect('$ ').startswith('/dev/console\r\n')
    terminal.line('sh -c "echo on; exec sleep 100"')
    terminal.expect('on\r\n')
    terminal.type('\x1a')
    terminal.expect('Stopped')
    terminal.expect('$ ')
    terminal.line('kill %1; fg; echo in:$$')
    terminal.expect('in:')
    terminal.line('exit 5')
    terminal.line('echo status=$?')
    terminal.expect('status=5')


def test_nothing_is_typed_into_the_callers_terminal(place, terminal):
    """On the own terminal, where the kernel itself would allow it."""
    place.write('project/type.py', 'import fcntl\n'
                'for request in (0x5412, 0x541C, 1 << 32 | 0x5412):\n'
                '    try:\n'
                '        fcntl.ioctl(0, request, b"x")\n'
                '        print("typed")\n'
                '    except OSError as e:\n'
                '        print(e.strerror)\n')
    terminal.line('$PROBE /usr/bin/python3 type.py; echo end')
    assert terminal.expect('end\r\n').split('\r\n') == \
        ['Operation not permitted'] * 3 + ['']


def test_the_terminals_of_others_are_not_there(terminal):
    terminal.line('$PROBE sh -c "ls /dev/pts; echo end"')
    assert terminal.expect('end').split() == ['ptmx']


# ------------------------------------------------------------ started by root

root = pytest.mark.skipif(os.environ.get('DUENNA_BED') != 'root',
                          reason='the bed was made by an ordinary user')


@root
def test_root_is_root_without_a_capability(place):
    os.chown(place.work, 0, 0)
    os.chown(place.state, 0, 0)
    other = place.write('project/other', 'x', 0o600)
    os.chown(other, 12345, 12345)
    lines = place.sh(
        'id -u; grep CapEff /proc/self/status; cat other; chown 1 /tmp;'
        'echo x > /proc/sys/kernel/core_pattern; cat /etc/shadow;'
        'echo 1 > /proc/sys/net/ipv4/ip_forward; echo b > /proc/sysrq-trigger',
        root=True)
    assert lines == ['0', 'CapEff:\t' + '0' * 16]
    assert place.err.count('Permission denied') >= 1
    assert place.err.count('Read-only file system') >= 2
    assert 'Operation not permitted' in place.err or \
        'Invalid argument' in place.err


@root
def test_root_can_name_another_user(place):
    os.chown(place.state, 0, 0)
    os.chmod(place.state, 0o700)  # as in the home of root
    give(place.work)
    os.chown(place.work, 65534, 65534)
    lines = place.sh('id -u; echo x > file; echo y > ~/z; cat ~/z; '
                     'grep CapBnd /proc/self/status', '--user', 'nobody',
                     root=True)
    assert lines == ['65534', 'y', 'CapBnd:\t' + '0' * 16], place.err
    assert os.stat(place.work + '/file').st_uid == 65534


def test_modes_of_folders_are_not_changed_by_us(place):
    place.sh('true')
    assert stat.S_IMODE(os.stat(place.state + '/homes').st_mode) == 0o711
