# SPDX-License-Identifier: Apache-2.0
"""Namespaces that a test makes, and capture-probe, which makes them ready as
the gateway would."""
import os
import subprocess

from bed import BUILD

NFT = os.path.join(BUILD, 'nft/duenna-nft')
PROBE = os.path.join(BUILD, 'tests/peers/capture-probe')
LINE = '''
import errno, socket, sys
def tcp(host, port):
    """What the other end of a connection says, or why there is none."""
    try:
        with socket.create_connection((host, port), 3) as s:
            return s.recv(100).decode().strip()
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
def udp(host, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(3)
        try:
            s.connect((host, port))
            s.send(b'hello')
            return s.recv(100).decode()
        except OSError as e:
            return errno.errorcode.get(e.errno, str(e))
'''


def sh(*command, check=True):
    return subprocess.run(command, check=check, text=True, timeout=30,
                          stdin=subprocess.DEVNULL, capture_output=True)


class Space:
    """A network namespace, alive as long as a process that waits in it."""

    def __init__(self):
        self.keeper = subprocess.Popen(
            ['unshare', '--net', 'sh', '-c', 'echo; exec cat'], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.keeper.stdout.readline()
        self.pid = self.keeper.pid
        self.path = '/proc/%d/ns/net' % self.pid

    def run(self, *command, check=True):
        return sh('nsenter', '--net=' + self.path, *command, check=check)

    def python(self, code):
        """What CODE prints in there."""
        return self.run('/usr/bin/python3', '-c', LINE + code).stdout.strip()

    def nft(self, *command):
        return self.run('nft', *command).stdout

    def close(self):
        self.keeper.kill()
        self.keeper.communicate()


class Capture:
    """A capture-probe at work; `said` is its first line."""

    def __init__(self, mode, where, *options):
        self.child = subprocess.Popen(
            self.command(mode, where, *options), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.said = self.child.stdout.readline().strip()
        self.ports = self.said.split()[1:] if self.said.startswith(
            'ready ') else None

    @staticmethod
    def command(mode, where, *options, nft=NFT):
        return [PROBE, nft, mode, where, *options]

    def line(self):
        return self.child.stdout.readline().strip()

    def kill(self):
        self.child.kill()
        self.child.communicate()

    def end(self):
        """Detach; what it says at its end."""
        out, _ = self.child.communicate('end\n', timeout=30)
        return out.strip()
