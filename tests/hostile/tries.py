# SPDX-License-Identifier: Apache-2.0
"""What the tries share: where the canaries are, and how to say what came."""
import ctypes
import os
import socket
import subprocess
import sys

HOME, HOST_SOCKET, ABSTRACT, BYSTANDER, EVIL, MEMORY = sys.argv[1:7]
BYSTANDER, MEMORY = int(BYSTANDER), int(MEMORY)
LIBC = ctypes.CDLL(None, use_errno=True)
TRIES = []
NUMBERS = {  # system calls without a function in Python: x86_64, aarch64
    'process_vm_readv': (310, 270), 'pidfd_getfd': (438, 438),
    'pidfd_open': (434, 434), 'kcmp': (312, 272), 'add_key': (248, 217),
    'request_key': (249, 218), 'keyctl': (250, 219),
    'io_uring_setup': (425, 425), 'open_by_handle_at': (304, 265),
    'init_module': (175, 105), 'finit_module': (313, 273),
    'delete_module': (176, 106), 'kexec_load': (246, 104),
    'kexec_file_load': (320, 294), 'reboot': (169, 142),
    'settimeofday': (164, 170), 'clock_settime': (227, 112),
    'adjtimex': (159, 171), 'acct': (163, 89), 'swapon': (167, 224),
    'syslog': (103, 116), 'bpf': (321, 280), 'perf_event_open': (298, 241),
    'fanotify_init': (300, 262), 'fanotify_mark': (301, 263),
    'renameat2': (316, 276)}


class Harmless(str):
    """It succeeded, and why nothing outside was touched; the caller looks."""


def attempt(f):
    TRIES.append(f)
    return f


def checked(rc):
    """The result of a function of libc; an error is an OSError."""
    if rc == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return rc


def call(name, *args):
    """The result of a system call; an error is an OSError."""
    number = NUMBERS[name][os.uname().machine != 'x86_64']
    return checked(LIBC.syscall(
        ctypes.c_long(number),
        *[ctypes.c_long(a) if isinstance(a, int) else a for a in args]))


def read(path):
    with open(path, 'rb') as f:
        return f.read(4096)


def write(path, text='x', mode='w'):
    with open(path, mode, encoding='ascii') as f:
        f.write(text)
    return path


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


def foreign(got):
    """An answer, if it is not one of duenna's own refusals."""
    return got if got and b'Duenna-Reason' not in got else None


def spoken(sock, where):
    """Does somebody of the host's answer at `where`?"""
    with sock:
        sock.settimeout(3)
        sock.connect(where)
        sock.sendall(b'GET /_whoami HTTP/1.1\r\nHost: evil.test\r\n\r\n')
        return foreign(sock.recv(4096))


def tcp(host, port):
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    return spoken(socket.socket(family), (host, port))
