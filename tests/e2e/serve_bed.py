# SPDX-License-Identifier: Apache-2.0
"""A gateway: its folders, its process, and namespaces that it is handed."""
import itertools
import json
import os
import shutil
import signal
import subprocess
import time

import bed as bed_module
from bed import Bed, base, program, read_lines, rules_text

COUNT = itertools.count(1)


class Namespace:
    """An empty network namespace, held by a process."""

    def __init__(self):
        self.child = subprocess.Popen(  # pylint: disable=consider-using-with
            ['/usr/bin/unshare', '-n', '/bin/sleep', '600'])
        ours = os.stat('/proc/self/ns/net').st_ino
        until = time.monotonic() + 10
        while os.stat(self.path).st_ino == ours:
            assert time.monotonic() < until
            time.sleep(0.01)

    @property
    def path(self):
        return '/proc/%d/ns/net' % self.child.pid

    def run(self, *line, timeout=30):
        return subprocess.run(
            ['/usr/bin/nsenter', '--net=' + self.path, *line], timeout=timeout,
            capture_output=True, text=True, check=False)

    def stop(self):
        self.child.kill()
        self.child.wait()


class Gateway:
    def __init__(self, peers, policies):
        self.home = '%s/gateway%d' % (base(), next(COUNT))
        self.conf = self.home + '/etc'
        self.state = self.home + '/state'
        self.socket = self.home + '/control.sock'
        self.peers = peers
        self.spaces = []
        os.makedirs(self.conf + '/policies')
        for name, rules in policies.items():
            self.policy(name, rules)
        with open(self.conf + '/token', 'w', encoding='utf-8') as f:
            f.write(peers.canary + '\n')
        os.chmod(self.conf + '/token', 0o600)
        shutil.copy(peers.pki + '/root.pem', self.conf + '/root.pem')
        with open(self.conf + '/main.yaml', 'w', encoding='utf-8') as f:
            f.write(Bed.config())
        os.chmod(self.conf + '/main.yaml', 0o600)
        self.child = None
        self.before = []  # words before its own
        self.start()

    def policy(self, name, rules):
        with open('%s/policies/%s.yaml' % (self.conf, name), 'w',
                  encoding='utf-8') as f:
            f.write(rules if 'policies:' in rules else rules_text(rules))

    def start(self):
        self.child = subprocess.Popen(  # pylint: disable=consider-using-with
            [*self.before, program(), 'serve', '--config', self.conf, '--state', self.state,
             '--control', self.socket], stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 20
        while not os.path.exists(self.socket):
            assert self.child.poll() is None, self.child.stderr.read()
            assert time.monotonic() < until
            time.sleep(0.02)

    def stop(self, number=signal.SIGTERM):
        """Exit status and what it said."""
        self.child.send_signal(number)
        said = self.child.communicate(timeout=20)[1]
        return self.child.returncode, said

    def end(self):
        if self.child.poll() is None:
            self.stop()
        for space in self.spaces:
            space.stop()

    def space(self):
        self.spaces.append(Namespace())
        return self.spaces[-1]

    def ask(self, *args, stdin=''):
        done = subprocess.run(
            [program(), args[0], '--control', self.socket, *args[1:]],
            input=stdin, capture_output=True, text=True, timeout=30,
            check=False)
        return done.returncode, done.stdout, done.stderr

    def attach(self, name, space, policy='web', *more):
        code, out, err = self.ask('attach', name, '--policy', policy,
                                  '--netns', space.path, '--json', *more)
        assert code == 0, err
        return json.loads(out)

    def curl(self, space, url, *more):
        """Status and body of an answer; the status 0: there is none."""
        done = space.run('/usr/bin/curl', '-sS', '-m', '20', '--cacert',
                         self.state + '/ca.pem', '-w', '\n%{http_code}',
                         *more, url)
        body, _, status = done.stdout.rpartition('\n')
        return int(status or 0), body + done.stderr

    def records(self):
        rows = []
        folder = self.state + '/log'
        for name in sorted(os.listdir(folder)):
            rows += read_lines(folder + '/' + name)
        return rows

    def peers_requests(self):
        return [e for e in read_lines(self.peers.record)
                if e['event'] == 'request']

    def roles(self):
        return bed_module.roles_of(self.child.pid)

