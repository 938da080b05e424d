# SPDX-License-Identifier: Apache-2.0
"""Files of the host, and what would be run outside later."""
import os
import subprocess

from tries import (HOME, LIBC, Harmless, attempt, call, checked, first,
                   nested, read, write)


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
    code = '''
import ctypes, os, struct
libc = ctypes.CDLL(None)
mount = os.open(".", os.O_RDONLY)
for inode in range(1, 200):
    for size, kind in ((12, 1), (8, 1)):
        handle = struct.pack("=IiIII", size, kind, inode, 0, 0)
        if libc.open_by_handle_at(mount, handle, 0) >= 0:
            print(inode)
'''
    done = subprocess.run(['python3', '-c', code], capture_output=True,
                          text=True, timeout=20, check=False)
    return done.stdout or nested("python3 -c '%s'" % code)


@attempt
def state_of_duenna():
    return first(*[lambda p=p: os.listdir(HOME + p) for p in (
        '/.local/state/duenna', '/.config/duenna', '/.ssh')])


@attempt
def standard_input_for_writing():
    fd = os.open('/proc/self/fd/0', os.O_RDWR)
    return os.write(fd, b'REACHED')


@attempt
def standard_input_truncated():
    return os.truncate('/proc/self/fd/0', 0) is None


@attempt
def standard_input_by_a_link():
    """AT_SYMLINK_FOLLOW"""
    checked(LIBC.linkat(-100, b'/proc/self/fd/0', -100, b'stolen', 0x400))
    return write('stolen', 'REACHED')


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
def hooks_by_namespaces_below_it():
    return nested('unshare -Urm unshare -Urm sh -c "umount -l .git/hooks; '
                  'mount -o remount,bind,rw .git/hooks; '
                  'mount --bind .git/hooks /tmp && mount -o remount,bind,rw '
                  '/tmp; touch .git/hooks/y && echo reached"')


@attempt
def hooks_by_a_copy_of_the_mount():
    """open_tree(2) makes the copy, mount_setattr(2) would make it writable."""
    return nested('''python3 -c '
import ctypes, os, struct
long, libc = ctypes.c_long, ctypes.CDLL(None)
clear = struct.pack("QQQQ", 0, 1, 0, 0)
for path in (b".git/hooks", b".git", b".", b"/usr", b"/"):
    for flags in (0x8001, 1):
        fd = libc.syscall(long(428), long(-100), path, long(flags))
        libc.syscall(long(442), long(fd), b"", long(0x9000), clear, long(32))
        for name in ("hooks/z", ".git/hooks/z", "z", "tmp/../usr/z"):
            where = os.path.join(path.decode(), name)
            if "hooks/" not in where and not where.startswith("/usr"):
                continue
            try:
                os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=fd))
                print(path, name)
            except OSError:
                pass
\'''')


@attempt
def policy():
    def exchanged():
        write('other')
        return call('renameat2', -100, b'other', -100, b'duenna.yaml', 2) == 0
    return first(lambda: open('duenna.yaml', 'a', encoding='ascii'),
                 lambda: os.truncate('duenna.yaml', 0) or 1,
                 lambda: os.unlink('duenna.yaml') or 1,
                 lambda: os.rename('duenna.yaml', 'd') or 1, exchanged,
                 lambda: os.replace('other', 'duenna.yaml') or 1,
                 lambda: os.chmod('duenna.yaml', 0o666) or 1,
                 lambda: os.utime('duenna.yaml', (0, 0)) or 1,
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
def plants_in_the_system():
    return first(*[lambda p=p: write(p) for p in (
        '/etc/ld.so.preload', '/etc/profile.d/x.sh', '/etc/cron.d/x',
        '/etc/sudoers.d/x', '/etc/environment', '/etc/resolv.conf',
        '/usr/local/bin/git', '/usr/bin/x', '/lib/x.so', '/opt/x',
        HOME + '/.local/bin/git', HOME + '/.gitconfig')])


@attempt
def plants_in_the_home():
    """Programs outside read these at their start: from another home."""
    for name in ('.bashrc', '.profile', '.bash_logout', '.zshenv', '.npmrc',
                 '.netrc', '.pam_environment', '.ssh/authorized_keys',
                 '.config/environment.d/x.conf', '.config/autostart/x.desktop',
                 '.config/systemd/user/x.service', '.config/duenna/x.yaml'):
        os.makedirs(os.path.dirname(HOME + '/' + name), exist_ok=True)
        write(HOME + '/' + name, 'export LD_PRELOAD=/tmp/x.so\n')
    return Harmless('a home of its own')


@attempt
def plants_in_the_project():
    """What a shell, an editor or git would run outside is told or put back."""
    write('.envrc', 'export LD_PRELOAD=$PWD/x.so\n')
    subprocess.run(['git', 'config', 'core.fsmonitor', '/tmp/x'], check=True)
    return Harmless('told, or put back')


@attempt
def links_for_what_is_looked_at():
    """When this has ended duenna looks at these, outside, and mends some."""
    for name, to in (('.git/config.worktree', '/given'),
                     ('.vimrc', '/.ssh/canary'), ('.vscode', '/.ssh'),
                     ('package.json', '/.local/bin/tool')):
        os.symlink(HOME + to, name)
    subprocess.run(['git', 'init', '-q', 'below'], check=True)
    os.unlink('below/.git/config')
    os.symlink(HOME + '/.gitconfig', 'below/.git/config')
    return Harmless('not followed')


@attempt
def changes_of_the_home_watched():
    """inotify knows no file of the host's, fanotify no file system."""
    group = checked(LIBC.inotify_init1(0o4000))
    return first(
        lambda: checked(LIBC.inotify_add_watch(
            group, (HOME + '/.ssh/canary').encode(), 0xfff)) >= 0,
        lambda: call('fanotify_mark', call('fanotify_init', 0x200, 0), 0x101,
                     0x20, -100, b'.') == 0,
        lambda: call('fanotify_init', 4, 0) >= 0)
