# SPDX-License-Identifier: Apache-2.0
"""Other processes: the first one, those of the host, namespaces."""
import ctypes
import fcntl
import os
import resource
import signal

from tries import (ABSTRACT, BYSTANDER, LIBC, MEMORY, Harmless, attempt, call,
                   checked, first, read, write)


@attempt
def descriptors_that_were_left():
    return [fd for fd in os.listdir('/proc/self/fd') if int(fd) > 3]


@attempt
def bystander_by_its_number():
    os.kill(BYSTANDER, 0)
    return BYSTANDER


@attempt
def processes_of_others():
    mine = {os.getpid(), os.getppid(), 1}
    return {int(p) for p in os.listdir('/proc') if p.isdigit()} - mine


@attempt
def signals_to_all():
    """All that can be signalled are its own; the caller sees the bystander."""
    os.kill(-1, signal.SIGKILL)


@attempt
def priority_of_all():
    os.setpriority(os.PRIO_USER, 0, 1)
    return Harmless('of its own processes')


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
def first_process_chosen_when_memory_is_out():
    """Root may; the first process is the sandbox's own."""
    return write('/proc/1/oom_score_adj', '1') and Harmless('its own')


@attempt
def first_process_compared():
    return call('kcmp', 1, os.getpid(), 1, 0, 0) >= 0


@attempt
def namespaces_of_others():
    return first(*[lambda n=n: LIBC.setns(
        os.open('/proc/1/ns/' + n, os.O_RDONLY), 0) == 0
        for n in ('user', 'mnt', 'net', 'pid', 'cgroup', 'ipc', 'uts')])


@attempt
def namespaces_by_a_descriptor():
    first_process = call('pidfd_open', 1, 0)
    return first(*[lambda f=f: checked(LIBC.setns(first_process, f)) == 0
                   for f in (0x10000000, 0x20000, 0x40000000, 0x20000000,
                             0x2000000, 0x8000000, 0x4000000)])


@attempt
def namespaces_above():
    """NS_GET_PARENT"""
    return first(*[lambda n=n: fcntl.ioctl(
        os.open('/proc/self/ns/' + n, os.O_RDONLY), 0xb702) >= 0
        for n in ('user', 'pid')])


@attempt
def cores_for_the_host():
    """1 is the sign against a piped core; 0 is not."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.prlimit(0, resource.RLIMIT_CORE, (0, hard[1]))
    return resource.getrlimit(resource.RLIMIT_CORE) != hard


@attempt
def shared_memory():
    LIBC.shmat.restype = ctypes.c_long
    rows = [row for kind in ('shm', 'msg', 'sem')
            for row in read('/proc/sysvipc/' + kind).split(b'\n')[1:] if row]
    return rows or os.listdir('/dev/shm') or \
        checked(LIBC.shmat(MEMORY, None, 0))


@attempt
def queues_of_messages():
    return checked(LIBC.mq_open(b'/' + ABSTRACT.encode(), os.O_RDONLY)) >= 0
