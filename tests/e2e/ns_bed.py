# SPDX-License-Identifier: Apache-2.0
"""ns-probe in a caller's home: a monitor in small that answers each connection
with the place where it wanted to go."""
import itertools
import os
import shutil
import subprocess
import textwrap

import pytest

from bed import BUILD, as_user, base, give

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


root = pytest.mark.skipif(os.environ.get('DUENNA_BED') != 'root',
                          reason='the bed was made by an ordinary user')
