# SPDX-License-Identifier: Apache-2.0
"""duenna in a container as its runtime makes it, without rights of its own:
`run` says what is refused and how to allow it, and what it says is enough."""
import json
import os
import re
import shutil
import subprocess

import pytest

from bed import base, program

NEEDED = [name for name in ('podman', 'runc')
          if not shutil.which(name, path='/usr/bin:/usr/sbin')]
pytestmark = [
    pytest.mark.skipif(os.environ.get('DUENNA_BED') != 'root',
                       reason='podman of root alone'),
    pytest.mark.skipif(bool(NEEDED), reason='not installed: ' +
                       ' '.join(NEEDED))]
POLICY = 'version: 1\npolicies: {mine: {rules: []}}\n'
# As Docker's own list answers those who have no CAP_SYS_ADMIN.
AS_DOCKER = {'defaultAction': 'SCMP_ACT_ALLOW', 'syscalls': [
    {'names': ['unshare', 'setns', 'mount', 'umount2', 'pivot_root',
               'open_tree', 'move_mount', 'fsopen', 'fsmount', 'fsconfig',
               'mount_setattr'],
     'action': 'SCMP_ACT_ERRNO', 'errnoRet': 1}]}


class Container:
    """A root of the host's programs, and duenna in /opt."""

    def __init__(self, name='pod'):
        self.top = base() + '/' + name
        self.root = self.top + '/root'
        for name in ('usr', 'etc', 'proc', 'sys', 'dev', 'tmp', 'run', 'root',
                     'opt', 'home/u/project', 'var'):
            os.makedirs(self.root + '/' + name)
        for name in ('bin', 'sbin', 'lib', 'lib64'):
            os.symlink('usr/' + name, self.root + '/' + name)
        for name in (program(), os.path.dirname(program()) + '/duenna-nft'):
            shutil.copy(name, self.root + '/opt')
        with open(self.root + '/home/u/project/duenna.yaml', 'w',
                  encoding='ascii') as f:
            f.write(POLICY)
        self.list = self.top + '/docker.json'
        with open(self.list, 'w', encoding='ascii') as f:
            json.dump(AS_DOCKER, f)

    def run(self, options, *command):
        return subprocess.run(
            ['podman', '--runtime', 'runc', '--cgroup-manager', 'cgroupfs',
             '--root', self.top + '/store', '--runroot', self.top + '/state',
             '--storage-driver', 'vfs', 'run', '--rm', '--network', 'none',
             '--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024',
             '-v', '/usr:/usr:ro', '-v', '/etc:/etc:ro', '-w',
             '/home/u/project', *options, '--rootfs', self.root, *command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=False)


@pytest.fixture(scope='module')
def container(peers):  # they make the folder that all is in
    it = Container()
    done = it.run([], 'true')
    if done.returncode:
        pytest.skip('podman starts no container here: ' +
                    done.stderr.strip()[-200:])
    return it


RUN = ('/opt/duenna', 'run', '--', 'sh', '-c', 'echo RAN; grep CapEff '
       '/proc/self/status')


def options_in(text):
    """The options for Docker and Podman that a message names."""
    found = re.findall(r'--security-opt [a-z]+=[a-z]+', text)
    return [word for option in found for word in option.split(' ')]


@pytest.mark.parametrize('kind', ['docker', 'podman'])
def test_a_container_is_told_the_remedy_and_it_is_enough(container, kind):
    # LC-27: Docker's list forbids the namespace, and both cover /proc
    first = ['--security-opt', 'seccomp=' + container.list] \
        if kind == 'docker' else []
    done = container.run(first, *RUN)
    assert done.returncode == 125 and 'RAN' not in done.stdout, done
    assert ('cannot make a user namespace' if kind == 'docker' else
            'cannot mount /proc') in done.stderr, done
    said = container.run(first, '/opt/duenna', 'doctor')
    assert said.returncode == 1 and 'MISSING' in said.stdout, said
    remedy = options_in(done.stderr)
    assert remedy and remedy == options_in(said.stdout), (done, said)
    # one list alone: the last of an option that stands twice counts
    done = container.run(remedy, *RUN)
    assert done.returncode == 0, done
    assert done.stdout == 'RAN\nCapEff:\t0000000000000000\n', done
    said = container.run(remedy, '/opt/duenna', 'doctor')
    assert said.returncode == 0, said


REMEDY = [word for name in ('seccomp', 'apparmor', 'systempaths')
          for word in ('--security-opt', name + '=unconfined')]
BARE = [*REMEDY, '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']


def test_no_capability_is_needed_but_by_root(container):
    done = container.run(BARE, *RUN)
    user = re.findall('--user [0-9:]+', done.stderr)
    assert done.returncode == 125 and 'RAN' not in done.stdout, done
    assert 'Root without CAP_SETFCAP' in done.stderr and user, done
    home = '/home/v/project'
    os.makedirs(container.root + home)
    shutil.copy(container.root + '/home/u/project/duenna.yaml',
                container.root + home)
    subprocess.run(['chown', '-R', '1000:1000', container.root + '/home/v'],
                   check=True)
    done = container.run([*BARE, *user[0].split(' '), '-e', 'HOME=/home/v',
                          '-w', home], *RUN)
    assert (done.returncode, done.stdout) == (
        0, 'RAN\nCapEff:\t0000000000000000\n'), done


def test_with_half_of_the_remedy_nothing_is_run(container):
    for half in ('seccomp=unconfined', 'seccomp=' + container.list):
        done = container.run(['--security-opt', half], *RUN)
        assert done.returncode == 125 and 'RAN' not in done.stdout, done
        assert options_in(done.stderr), done
