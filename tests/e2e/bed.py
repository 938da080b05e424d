#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The test bed: a small Internet in namespaces of its own.

usage: bed.py enter -- COMMAND [ARG...]

Nothing of the machine is touched: COMMAND runs in new mount, network, IPC and
process namespaces in which every address is local, so that a wrong place is
reachable and reaching it shows.  Works as root and as an ordinary user.  When
COMMAND ends, everything that was started in there is gone.

Inside, `Bed` starts the recording origin and the stub resolver once, and runs
`duenna run` as an ordinary user with a home, a policy and a configuration of
its own for each test.
"""
import glob
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PEERS = TREE + '/tests/peers'
sys.path.insert(0, PEERS)
import gitcgi  # noqa: E402

ORIGIN = '203.0.113.5'       # where the resolver sends every name by default
EVIL = '203.0.113.66'        # the attacker's; nothing may ever arrive there
RESOLVER = '203.0.113.53'
OPEN = '203.0.113.0/24'      # what the owner lets `addresses:` open
UID = 61234                  # of the ordinary user, if the bed was made by root
BUILD = os.environ.get('DUENNA_BUILD', TREE + '/build')

# ---------------------------------------------------------------- entering


def base():
    """A folder of the host that may be covered: the tree is not below it."""
    for path in ('/mnt', '/srv', '/media'):
        if os.path.isdir(path) and not (TREE + '/').startswith(path + '/'):
            return path
    sys.exit('bed: /mnt, /srv and /media are all missing')


def enter(command):
    """Become COMMAND in a new bed; in a bed already, just become it."""
    if 'DUENNA_BED' in os.environ:
        os.execvp(command[0], command)
    root = os.geteuid() == 0
    # a list, so that no proxy or trust bundle of the machine comes along
    env = {k: v for k, v in os.environ.items() if k.startswith('DUENNA_') or
           k in ('HOME', 'TERM', 'LANG', 'CI', 'NO_COLOR', 'COLUMNS')}
    env.update(DUENNA_BED='root' if root else 'user',
               DUENNA_BED_UID=str(UID if root else os.getuid()),
               PATH='/usr/bin:/bin:/usr/sbin:/sbin')
    user = [] if root else ['--user', '--map-root-user']
    os.execvpe('unshare', [
        'unshare', *user, '--mount', '--net', '--ipc', '--pid', '--fork',
        '--kill-child', '--mount-proc', '--propagation', 'private',
        '/usr/bin/python3', os.path.abspath(__file__), 'init', '--',
        *command], env)


def sh(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def init(command):
    """The first process of a bed: set up, run COMMAND, reap what is left."""
    sh('ip', 'link', 'set', 'lo', 'up')
    # any address is here: what gets out is received, and recorded
    sh('ip', 'route', 'add', 'local', 'default', 'dev', 'lo')
    if os.path.exists('/proc/net/if_inet6'):
        sh('ip', '-6', 'route', 'add', 'local', 'default', 'dev', 'lo')
    sh('mount', '-t', 'tmpfs', '-o', 'mode=755', 'bed', base())
    sh('mount', '-t', 'tmpfs', '-o', 'mode=1777', 'bed', '/dev/shm')
    child = subprocess.Popen(command)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, lambda n, _f: child.send_signal(n))
    while True:
        pid, status = os.wait()
        if pid == child.pid:
            code = os.waitstatus_to_exitcode(status)
            sys.exit(code if code >= 0 else 128 - code)


# ------------------------------------------------------------------ inside

def as_user(command):
    """COMMAND as the ordinary user without any capability."""
    uid = os.environ['DUENNA_BED_UID']
    if os.environ['DUENNA_BED'] == 'root':
        return ['setpriv', '--reuid', uid, '--regid', uid, '--clear-groups',
                '--inh-caps=-all', '--', *command]
    # our root is the caller's own user: a namespace below maps it back
    return ['unshare', '--user', '--map-user=' + uid, '--map-group=' + uid,
            '--', *command]


def give(path):
    """Make the ordinary user the owner of path and all below it."""
    if os.environ['DUENNA_BED'] != 'root':
        return
    for top, dirs, files in os.walk(path):
        for name in ['.', *dirs, *files]:
            os.chown(os.path.join(top, name), UID, UID, follow_symlinks=False)


def read_lines(path):
    """The whole JSON lines of a file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as f:
        return [json.loads(line) for line in f if line.endswith('\n')]


class Peers:
    """The origin and the resolver of this bed, started once."""
    one = None

    def __init__(self, default=ORIGIN, canary=None):
        self.dir = base() + '/bed'
        self.pki = self.dir + '/pki'
        self.record = self.dir + '/origin.jsonl'
        self.log = self.dir + '/resolver.jsonl'
        self.script = self.dir + '/resolver.json'
        self.git = self.dir + '/git'
        self.host_socket = self.dir + '/host.sock'
        self.canary = canary or 'canary' + secrets.token_hex(20)
        os.makedirs(self.dir, exist_ok=True)  # the program may be there
        os.makedirs(self.git + '/acme')
        self.commit = gitcgi.make_repository(
            self.git + '/acme/widgets.git',
            {'README': 'widgets of acme\n', 'a.txt': 'a\n' * 5000})
        self.children = [
            self._start('origin.py', '--record', self.record, '--pki',
                        self.pki, '--tls', '443,8443,853', '--plain',
                        '80,8080,5432,22', '--udp', '9,123,443,853,5353',
                        '--unix', self.host_socket, '--git', self.git,
                        '--canary', self.canary, '--rows',
                        self.dir + '/rows.json'),
            self._start('resolver.py', '--log', self.log, '--script',
                        self.script, '--default', default)]
        self.resolve({'evil.test': [{'a': [EVIL]}]})

    @classmethod
    def get(cls):
        if cls.one is None:
            cls.one = cls()
        return cls.one

    def _start(self, program, *args):
        child = subprocess.Popen(
            ['/usr/bin/python3', PEERS + '/' + program, *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if child.stdout.readline() != 'ready\n':
            raise RuntimeError(program + ' did not start')
        return child

    def resolve(self, rows):
        """What the resolver says from now on, by name."""
        with open(self.script + '.new', 'w', encoding='utf-8') as f:
            json.dump({'evil.test': [{'a': [EVIL]}], **rows}, f)
        os.rename(self.script + '.new', self.script)

    def rows(self, answers):
        """What `/_row/ID` answers, byte for byte."""
        with open(self.dir + '/rows.json', 'w', encoding='utf-8') as f:
            json.dump(answers, f)

    def says(self, answers):
        """What the origin answers at a host and target, instead of its line:
        pieces of text, and seconds between them."""
        with open(self.dir + '/rows.json.said', 'w', encoding='utf-8') as f:
            json.dump(answers, f)

    def stop(self):
        for child in self.children:
            child.kill()
            child.wait()


class Result:
    """What came of one `duenna run`."""

    def __init__(self, exit_status, out, err, log, seconds):
        self.exit, self.out, self.err = exit_status, out, err
        self.log, self.seconds = log, seconds
        self.audit = read_lines(log) if log else []

    def __iter__(self):
        return iter((self.exit, self.out, self.err, self.audit))

    def find(self, **want):
        """The records whose fields have these values; `_` stands for `.`
        in a field's name only where no such field has the `_`."""
        def same(row, key, value):
            return row.get(key, row.get(key.replace('_', '.'))) == value
        return [r for r in self.audit
                if all(same(r, k, v) for k, v in want.items())]

    def reasons(self):
        """Reasons of all refusals, in order."""
        return [r['reason'] for r in self.audit if r.get('verdict') == 'deny']

    def __repr__(self):
        return 'exit %s\n--- out\n%s\n--- err\n%s\n--- audit\n%s' % (
            self.exit, self.out[-4000:], self.err[-4000:],
            '\n'.join(json.dumps(r) for r in self.audit[-40:]))


class Running:
    """A `duenna run` that goes on meanwhile."""

    def __init__(self, bed, child, before):
        self.bed, self.child, self.before = bed, child, before
        self.began = time.monotonic()

    def roles(self):
        """role -> list of process ids, of this run alone."""
        return roles_of(self.child.pid)

    def wait(self, timeout=60):
        try:
            out, err = self.child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.child.kill()
            out, err = self.child.communicate()
            err += '\n(bed: still running after %s s, killed)\n' % timeout
        new = sorted(set(self.bed.logs()) - self.before)
        return Result(self.child.returncode, out, err,
                      new[-1] if new else None,
                      time.monotonic() - self.began)


def processes():
    """pid -> (parent, command line as a list) of all in this bed."""
    found = {}
    for path in glob.glob('/proc/[0-9]*'):
        try:
            with open(path + '/stat', encoding='utf-8', errors='replace') as f:
                parent = int(f.read().rpartition(')')[2].split()[1])
            with open(path + '/cmdline', 'rb') as f:
                line = f.read().decode('utf-8', 'replace').split('\0')
        except (OSError, ValueError, IndexError):
            continue
        found[int(path[6:])] = (parent, line)
    return found


def descendants(pid):
    every = processes()
    family, grown = {pid}, True
    while grown:
        more = {p for p, (parent, _) in every.items() if parent in family}
        grown = not more <= family
        family |= more
    return {p: every[p][1] for p in family if p in every}


def roles_of(pid):
    found = {}
    for each, line in descendants(pid).items():
        if line and line[0].startswith('duenna: '):
            found.setdefault(line[0][8:].split()[0], []).append(each)
    return found


def rules_text(rules, open_=OPEN):
    """A policy of these rules (YAML list items), each allow of which may dial
    the documentation addresses that the bed lives on."""
    out = []
    for line in rules.strip('\n').split('\n'):
        out.append('      ' + line)
        if line.startswith('- ') and not line.startswith(('- deny', '- include')):
            out.append('        addresses: [%s]' % open_)
    return 'version: 1\npolicies:\n  test:\n    rules:\n%s\n' % '\n'.join(out)


class Bed:
    """One owner: a home, a project folder, a policy, a configuration."""
    count = 0

    def __init__(self, policy, config=None, files=None, peers=None):
        self.peers = peers or Peers.get()
        Bed.count += 1
        self.home = '%s/home/tester%d' % (base(), Bed.count)
        self.project = self.home + '/project'
        self.settings = self.home + '/.config/duenna'
        self.canary = self.peers.canary
        os.makedirs(self.project)
        os.makedirs(self.settings)
        self.write('project/duenna.yaml',
                   policy if 'policies:' in policy else
                   rules_text(policy))
        self.write('.config/duenna/token', self.canary + '\n', 0o600)
        self.write('.config/duenna/config.yaml', config or self.config(),
                   0o600)
        shutil.copy(self.peers.pki + '/root.pem', self.settings + '/root.pem')
        for name, text in (files or {}).items():
            self.write('project/' + name, text)
        give(self.home)
        self.mark()

    def write(self, name, text, mode=0o644):
        path = self.home + '/' + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    @staticmethod
    def config(more='', only='https://ok.test/**, https://git.test/**, '
               'https://api.test/**', place='[{env: [API_TOKEN], like: ghp_}]',
               credential=''):
        """The owner's configuration, with more lines at its end."""
        return ('version: 1\n'
                'credentials:\n'
                '  api:\n'
                '    kind: token\n'
                '    secret: {file: token}\n'
                '    only: [%s]\n'
                '    place: %s\n%s'
                'private: [%s]\n'
                'upstream:\n'
                '  - names: ["**"]\n'
                '    resolvers: ["%s"]\n'
                '    roots: [root.pem]\n%s' %
                (only, place, credential, OPEN, RESOLVER, more))

    def logs(self):
        return glob.glob(self.home + '/.local/state/duenna/log/*.jsonl')

    def environment(self, **more):
        return {'HOME': self.home, 'PATH': '/usr/bin:/bin:/usr/sbin:/sbin',
                'USER': 'tester', 'LOGNAME': 'tester', 'SHELL': '/bin/sh',
                'LANG': 'C.UTF-8', 'TERM': 'dumb', **more}

    def duenna(self, *args, stdin='', timeout=60, env=None, cwd=None,
               root=False):
        """Run any `duenna` command as the owner; (exit, out, err)."""
        line = [program(), *args]
        done = subprocess.run(
            line if root else as_user(line), input=stdin, text=True,
            errors='replace', capture_output=True, timeout=timeout, cwd=cwd or self.project,
            env=self.environment(**(env or {})), check=False)
        return done.returncode, done.stdout, done.stderr

    def start(self, command, args=(), env=None, stdin=subprocess.DEVNULL,
              root=False, cwd=None, **more):
        """Begin `duenna run ARGS -- COMMAND`."""
        before = set(self.logs())
        line = [program(), 'run', *args, '--', *command]
        child = subprocess.Popen(
            line if root else as_user(line), stdin=stdin, text=True,
            errors='replace', stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=cwd or self.project, env=self.environment(**(env or {})),
            **more)
        return Running(self, child, before)

    def run(self, command, args=(), timeout=60, **more):
        """Run COMMAND in duenna and wait for the end."""
        if isinstance(command, str):
            command = ['sh', '-c', command]
        return self.start(command, args, **more).wait(timeout)

    def mark(self):
        """Forget what the peers have seen so far."""
        self.seen = len(read_lines(self.peers.record))
        self.asked = len(read_lines(self.peers.log))

    def origin_events(self, *kinds):
        rows = read_lines(self.peers.record)[self.seen:]
        return [r for r in rows if not kinds or r['event'] in kinds]

    def origin_requests(self):
        return self.origin_events('request')

    def resolver_questions(self):
        return read_lines(self.peers.log)[self.asked:]


def program():
    """The path of `duenna`, copied to where the ordinary user can read."""
    folder = base() + '/bed/bin'
    if not os.path.exists(folder + '/duenna'):
        os.makedirs(folder, exist_ok=True)
        for name in ('proxyd/duenna', 'nft/duenna-nft'):
            path = os.path.join(BUILD, name)
            if not os.path.exists(path):
                raise FileNotFoundError(path + ' is not built')
            shutil.copy(path, folder)
    return folder + '/duenna'


if __name__ == '__main__':
    if len(sys.argv) < 4 or sys.argv[1] not in ('enter', 'init') or \
            sys.argv[2] != '--':
        sys.exit(__doc__)
    (enter if sys.argv[1] == 'enter' else init)(sys.argv[3:])
