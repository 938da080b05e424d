# SPDX-License-Identifier: Apache-2.0
"""Hosts on which mounts stand in what is shown: in /etc, as in every
container, in /proc, and in the folders that are shown as they are."""
import contextlib
import os
import subprocess

import pytest

from bed import base, give
from ns_bed import place

ROOT = pytest.mark.parametrize('root', [False, True], ids=['user', 'root'])
TREE = ('find /etc /etc/ssl/ /etc/ssl/certs/ -maxdepth 1 '
        r"-printf '%p %y %l %m\n' | sort -u")
OPTIONS = ('--file', '/etc/ssl/certs/0123abcd.0=pem\n',
           '--file', '/etc/new/deep/file=deep\n')


def mount(*args):
    subprocess.run(['mount', *args], check=True)


@contextlib.contextmanager
def mounted(*lines):
    """Mounts of the host, seen from this bed alone: each an argument list of
    mount(8) that ends in where."""
    try:
        for line in lines:
            mount(*line)
        yield
    finally:
        for line in reversed(lines):
            subprocess.run(['umount', '-R', line[-1]], check=False)


def file_of(name, text):
    path = '%s/etc-%s' % (base(), name)
    with open(path, 'w', encoding='ascii') as f:
        f.write(text)
    return path


def container_etc():
    """As a runtime does it, and a folder, with another one in it."""
    folder = base() + '/etc-folder'
    os.makedirs(folder + '/inner', exist_ok=True)
    with open(folder + '/file', 'w', encoding='ascii') as f:
        f.write('in the folder\n')
    return mounted(
        *(('--bind', file_of(name, 'of the host\n'), '/etc/' + name)
          for name in ('resolv.conf', 'hosts', 'hostname')),
        ('--bind', file_of('bundle', 'roots of the host\n'),
         '/etc/ssl/certs/ca-certificates.crt'),
        ('--bind', folder, '/etc/skel'),
        ('-t', 'tmpfs', 'inner', '/etc/skel/inner'))


@ROOT
def test_an_etc_with_mounts_is_the_hosts_under_ours_all_the_same(place, root):
    with container_etc():
        lines = place.sh(
            'cat /etc/resolv.conf /etc/hosts /etc/hostname; '
            'cat /etc/ssl/certs/0123abcd.0 /etc/new/deep/file '
            '/etc/skel/file /etc/ssl/certs/ca-certificates.crt; '
            'getent hosts probe-host; grep -c . /etc/passwd; '
            'grep -c " /etc/passwd ro" /proc/self/mountinfo', *OPTIONS,
            root=root)
    assert place.err == ''
    assert lines[:9] == [
        'nameserver 198.18.0.1', '127.0.0.1\tlocalhost',
        '127.0.1.1\tprobe-host', '::1\tlocalhost ip6-localhost ip6-loopback',
        'probe-host', 'pem', 'deep', 'in the folder', 'roots of the host']
    assert 'probe-host' in lines[9] and int(lines[10]) > 1
    assert lines[11] == '1'  # bound, not a part of an overlay


@ROOT
def test_etc_shows_the_same_with_mounts_and_without(place, root):
    without = place.sh(TREE, *OPTIONS, root=root)
    with mounted(('--bind', '/etc/hosts', '/etc/hosts')):
        lines = place.sh(TREE, *OPTIONS, root=root)
    assert lines == without and len(lines) > 50
    assert '/etc/ssl/certs/0123abcd.0 f  644' in lines
    assert any(' l ' in line for line in lines)


@ROOT
def test_an_etc_with_mounts_cannot_be_written_or_uncovered(place, root):
    with container_etc():
        lines = place.sh('''
            touch /etc/x /etc/ssl/x /etc/ssl/certs/x /etc/skel/x \
                /etc/skel/inner/x /etc/new/deep/x
            echo evil > /etc/skel/file; echo evil > /etc/hosts
            echo evil > /etc/passwd; rm -f /etc/passwd /etc/ssl/certs/0123*
            unshare -Urm sh -c "umount /etc/skel/inner; umount /etc/passwd
                umount /etc/skel; umount -l /etc; umount -l /etc/passwd
                mount -o remount,bind,rw /etc/skel
                echo evil > /etc/skel/file; mount --bind /etc /mnt
                echo evil > /etc/passwd"
            grep -l evil -r /etc/passwd /etc/hosts /etc/skel
            awk '$5 ~ "^/etc" && $6 !~ "ro,nosuid,nodev"' /proc/self/mountinfo
            ''', *OPTIONS, root=root)
    assert lines == []
    assert place.err.count('Read-only file system') >= 9, place.err


def test_an_etc_with_mounts_shows_root_no_hashes(place):
    with container_etc():
        assert place.sh('cat /etc/shadow /etc/gshadow /etc/shadow- '
                        '/etc/gshadow-; echo end', root=True) == ['end']
        assert place.err == ''
    assert place.sh('cat /etc/shadow /etc/gshadow /etc/shadow- '
                    '/etc/gshadow-; echo end', root=True) == ['end']


def test_too_large_an_etc_with_mounts_is_refused(place):
    own = base() + '/etc-large'
    os.makedirs(own)
    for i in range(4097):
        os.symlink('x', '%s/%d' % (own, i))
    with mounted(('--bind', own, '/etc/ssl/certs')):
        done = place.run('echo RAN', *OPTIONS)
    assert (done.returncode, done.stdout) == (125, '')
    assert 'more than 4096 entries' in done.stderr


@contextlib.contextmanager
def submounts(place):
    """A mount with another one below, in each kind of folder that is shown."""
    folders = [place.home + '/r', place.home + '/w', place.work,
               place.home + '/.cargo/bin', '/opt']
    for folder in folders[:-1]:
        os.makedirs(folder + '/sub', exist_ok=True)
    with mounted(('-t', 'tmpfs', 'opt', '/opt')):
        os.mkdir('/opt/sub')
        with mounted(*(('-t', 'tmpfs', '-o', 'mode=777', 'sub', f + '/sub')
                       for f in folders)):
            for f in folders:
                os.mkdir(f + '/sub/deep')
            with mounted(*(('-t', 'tmpfs', '-o', 'mode=777', 'deep',
                            f + '/sub/deep') for f in folders)):
                give(place.home)
                yield folders


@ROOT
def test_what_is_mounted_in_a_shown_folder_is_shown_as_the_folder(place, root):
    with submounts(place) as folders:
        options = ['--read', folders[0], '--write', folders[1]]
        lines = place.sh(
            'for f in %s; do touch $f/sub/x $f/sub/deep/x; '
            'ls -d $f/sub/deep; ls $f/sub/x $f/sub/deep/x; done 2>/dev/null;'
            'unshare -Urm sh -c "for f in %s; do for s in sub sub/deep; do '
            'mount -o remount,bind,rw $f/\\$s; umount $f/\\$s; '
            'touch $f/\\$s/evil; done; done"' % (
                ' '.join(folders), ' '.join([folders[0], *folders[3:]])),
            *options, root=root)
        wanted = []
        for f in folders:
            wanted.append(f + '/sub/deep')
            if f in folders[1:3]:
                wanted += [f + '/sub/deep/x', f + '/sub/x']
        assert lines == wanted
        for f in (folders[0], *folders[3:]):
            assert os.listdir(f + '/sub') == ['deep']
            assert os.listdir(f + '/sub/deep') == []


@ROOT
def test_every_mount_is_read_only_but_those_that_are_to_be_written(place, root):
    with submounts(place) as folders, container_etc():
        lines = place.sh('cut -d" " -f5,6 /proc/self/mountinfo', '--read',
                         folders[0], '--write', folders[1], root=root)
    options = dict(line.split(' ') for line in lines)
    writable = {p for p, o in options.items() if 'ro' not in o.split(',')}
    ours = {p for p in writable if p.startswith(place.home)}
    assert ours == {place.home} | {
        f + sub for f in folders[1:3] for sub in ('', '/sub', '/sub/deep')}
    assert {p for p in writable - ours if not p.startswith('/dev/')} == {
        '/tmp', '/run', '/proc'}
    for path, o in options.items():
        o = o.split(',')
        assert 'nosuid' in o, path
        assert 'nodev' in o or path.startswith('/dev'), path
    assert {'/opt/sub/deep', folders[3] + '/sub/deep'} <= set(options)


@ROOT
def test_a_covered_proc_is_refused_with_what_to_do(place, root):
    # LC-27: as container runtimes cover /proc/kcore, /proc/keys and others
    with mounted(('--bind', '/dev/null', '/proc/keys')):
        done = place.run('echo RAN', root=root)
    assert (done.returncode, done.stdout) == (125, '')
    assert 'cannot mount /proc' in done.stderr
    assert '--security-opt systempaths=unconfined' in done.stderr
    assert 'procMount: Unmasked' in done.stderr
