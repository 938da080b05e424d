# SPDX-License-Identifier: Apache-2.0
"""What the kernel gives to the powerful alone, and to nobody in here."""
import ctypes
import os
import pty
import signal
import socket
import struct
import subprocess

from tries import (ABSTRACT, LIBC, Harmless, attempt, call, checked, first,
                   nested, read, write)


@attempt
def settings_of_the_kernel():
    return first(*[lambda p=p: write(p, '1') for p in (
        '/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname',
        '/proc/sys/kernel/modprobe', '/proc/sys/net/ipv4/ip_forward',
        '/proc/sys/fs/suid_dumpable', '/proc/sys/fs/binfmt_misc/register',
        '/proc/sysrq-trigger', '/proc/sys/vm/drop_caches', '/sys/power/state',
        '/sys/kernel/uevent_helper', '/sys/kernel/mm/ksm/run')], lambda: nested(
            'mount -t proc p /proc && (echo 1 > /proc/sys/kernel/core_pattern)'
            ' && echo written', '-Urmpf'))


@attempt
def groups_of_processes():
    return nested('mkdir /tmp/cg && for t in cgroup2 cgroup; do mount -t $t '
                  'none /tmp/cg && for f in cgroup.kill cgroup.freeze '
                  'cgroup.procs; do (echo 1 > /tmp/cg/$f) && echo $f; done; '
                  'done', '-UrmC')


@attempt
def groups_of_processes_as_they_are():
    """In a user namespace without a map it is who it was, with every
    capability until it becomes another program: who it was may be root."""
    def writable():
        checked(LIBC.unshare(0x10000000 | 0x20000 | 0x2000000))
        os.makedirs('/tmp/groups', exist_ok=True)
        for kind, option in ((b'cgroup2', None), (b'cgroup', b'freezer'),
                             (b'cgroup', b'pids'), (b'cgroup', b'memory')):
            if LIBC.mount(b'none', b'/tmp/groups', kind, 0, option) == 0 and \
                    any(os.access('/tmp/groups/' + name, os.W_OK)
                        for name in os.listdir('/tmp/groups')):
                return True
        return False
    child = os.fork()
    if child == 0:
        try:
            os._exit(writable())
        except OSError:
            os._exit(0)
    return os.waitpid(child, 0)[1]


@attempt
def file_systems():
    """None that has the host's devices or settings in it."""
    return nested('for t in debugfs tracefs securityfs efivarfs configfs '
                  'pstore selinuxfs devtmpfs 9p virtiofs ext4 iso9660; do '
                  'mount -t $t host /tmp && echo $t; done')


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
    """Into a terminal that is its own to control: TIOCSTI, TIOCLINUX."""
    child, master = pty.fork()
    if child == 0:
        os._exit(any(LIBC.ioctl(0, ctypes.c_ulong(request), b'x') == 0
                     for request in (0x5412, 0x541c, 0x5412 | 1 << 32)))
    status = os.waitpid(child, 0)[1]
    os.close(master)
    return status


@attempt
def keys():
    return first(lambda: call('keyctl', 0, -4, 1),
                 lambda: call('add_key', 0, 0, 0, 0, -4),
                 lambda: call('request_key', 0, 0, 0, 0))


@attempt
def kernel_log():
    """Here even where the machine gives its log to everybody."""
    return first(lambda: call('syslog', 3, ctypes.create_string_buffer(99), 99),
                 lambda: call('syslog', 10, None, 0), lambda: read('/dev/kmsg'),
                 lambda: read('/proc/kmsg'))


@attempt
def calls_of_root():
    nothing = ctypes.create_string_buffer(64)
    return first(*[lambda n=n: call(n, nothing, 0, 0, 0) >= 0 for n in
                   ('init_module', 'finit_module', 'delete_module',
                    'kexec_load', 'kexec_file_load', 'acct', 'swapon')],
                 lambda: call('reboot', 1, 2, 3, 0) >= 0,
                 lambda: socket.sethostname('hostile') or 1,
                 lambda: checked(LIBC.setdomainname(b'hostile', 7)) == 0,
                 lambda: checked(LIBC.pivot_root(b'.', b'.')) == 0,
                 lambda: checked(LIBC.iopl(3)) == 0)


@attempt
def clocks():
    """ADJ_TICK; the time; a time zone."""
    tick = ctypes.create_string_buffer(struct.pack('=I', 0x4000), 256)
    return first(lambda: call('adjtimex', tick) >= 0,
                 lambda: call('clock_settime', 0, struct.pack('=qq', 1, 0)) >= 0,
                 lambda: call('settimeofday', None, struct.pack('=ii', 1, 0))
                 >= 0)


@attempt
def programs_of_the_kernel():
    """BPF_PROG_GET_NEXT_ID"""
    return call('bpf', 11, ctypes.create_string_buffer(64), 64) >= 0


@attempt
def counters_of_the_machine():
    """perf events of all processes, and of the first one."""
    event = ctypes.create_string_buffer(struct.pack('=IIQ', 1, 64, 0), 64)
    return first(lambda: call('perf_event_open', event, -1, 0, -1, 0) >= 0,
                 lambda: call('perf_event_open', event, 1, -1, -1, 0) >= 0)


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
def secrets_in_the_environment():
    return [n for n in os.environ if 'SECRET' in n or n.startswith('LD_') or
            n in ('OPENSSL_CONF', 'SSH_AUTH_SOCK', 'https_proxy')]


@attempt
def processes_that_stay():
    """They end with the run; the caller looks for their name."""
    for _ in range(20):
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.execvp('sleep', [ABSTRACT, '1000'])
    return Harmless('until the run ends')
