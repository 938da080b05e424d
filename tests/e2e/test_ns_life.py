# SPDX-License-Identifier: Apache-2.0
"""The sandbox itself: the command's own life, and machines that do not allow
it."""
import os
import signal
import socket
import stat
import subprocess
import time

import pytest

from bed import base, give
from ns_bed import NO_UNSHARE, place, root


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


def test_where_seccomp_refuses_namespaces_it_says_which(open_place):
    done = subprocess.run(
        ['/usr/bin/python3', '-c', NO_UNSHARE,
         *open_place.line('--', 'echo', 'RAN', root=True)],
        cwd=open_place.work, env=open_place.environment(), text=True,
        capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (125, ''), done
    assert 'cannot make a user namespace: Operation not permitted' in \
        done.stderr


# ------------------------------------------------------------ started by root

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
