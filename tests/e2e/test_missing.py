# SPDX-License-Identifier: Apache-2.0
"""Where something that the sandbox is made of is missing: `run` says what and
how to get it, and the command never runs.  `doctor` says the same before."""
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from bed import TREE, as_user, give, program, roles_of
from ns_bed import NO_UNSHARE

RULES = '- allow: https://ok.test/**\n'


@pytest.fixture
def here(bed):
    return bed(RULES)


def another(here, nft):
    """`duenna` beside another duenna-nft (a script), or beside none."""
    folder = here.home + '/bin'
    os.makedirs(folder)
    shutil.copy(program(), folder)
    if nft is not None:
        here.write('bin/duenna-nft', '#!/bin/sh\n' + nft, 0o755)
    give(folder)
    return folder + '/duenna'


def tried(here, line):
    """Run it; the command would leave a file."""
    done = subprocess.run(line, cwd=here.project, env=here.environment(),
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=30, check=False)
    assert not os.path.exists(here.project + '/ran'), done
    return done


RUN = ['run', '--', 'touch', 'ran']


@pytest.mark.parametrize('nft, said', [
    ('echo "Operation not supported"; exit 1', 'Operation not supported'),
    ('kill -9 $$', 'duenna-nft'),
    (None, 'duenna-nft')], ids=['refused', 'killed', 'missing'])
def test_without_rules_nothing_is_run(here, nft, said):
    done = tried(here, as_user([another(here, nft), *RUN]))
    assert done.returncode == 125 and said in done.stderr, done
    assert not here.origin_events() and not here.resolver_questions()


# A namespace around it, in which no other may be made.
FORBIDDEN = ['unshare', '--user', '--map-current-user', '--keep-caps', 'sh',
             '-c', 'echo 0 > /proc/sys/user/max_%s_namespaces; '
             'exec setpriv --inh-caps=-all --ambient-caps=-all "$@"', '-']


@pytest.mark.parametrize('kind', ['user', 'net', 'mnt', 'pid'])
def test_without_namespaces_nothing_is_run_and_the_remedy_is_said(here, kind):
    around = [word % kind if '%s' in word else word for word in FORBIDDEN]
    for command in (RUN, ['doctor']):
        done = tried(here, as_user([*around, program(), *command]))
        assert done.returncode == (125 if command is RUN else 1), done
        said = done.stderr + done.stdout
        assert 'No space left' in said, done
        assert 'max_%s_namespaces' % ('user' if kind == 'user' else '*') in \
            said, done


def test_a_clerk_that_dies_is_an_error_and_nothing_is_run(here):
    rules = ''.join('      - allow: https://h%d.ok.test/**\n' % i
                    for i in range(60000))
    here.write('project/big.yaml',
               'version: 1\npolicies:\n  p:\n    rules:\n' + rules)
    give(here.project)
    run = here.start(['touch', 'ran'], ['--policy', 'big.yaml'])
    until = time.monotonic() + 20
    clerk = []
    # the first one reads the owner's configuration and is soon gone
    while time.monotonic() < until and run.child.poll() is None and \
            len(clerk) < 1:
        clerk = roles_of(run.child.pid).get('clerk', [])
    assert clerk, 'no clerk was seen'
    os.kill(clerk[0], signal.SIGKILL)
    got = run.wait(20)
    assert got.exit == 125 and 'clerk' in got.err, got
    assert not os.path.exists(here.project + '/ran'), got


PARTS = ['memfd', 'seccomp', 'mounts', 'user ns', 'net ns', 'mount ns',
         'pid ns', 'uts ns', 'cgroup ns', 'overlay', 'proc']


@pytest.mark.parametrize('call, answer, part, remedy', [
    (319, errno.EACCES, 'memfd', 'vm.memfd_noexec'),
    (317, errno.ENOSYS, 'seccomp', 'list of system calls'),
    (442, errno.ENOSYS, 'mounts', 'Linux 5.12 or later'),
    (165, errno.ENODEV, 'overlay', 'modprobe overlay')])
def test_doctor_names_the_part_that_is_missing(here, call, answer, part,
                                               remedy):
    deny = NO_UNSHARE.replace('272', str(call)) \
        .replace('0x50001', hex(0x50000 + answer))
    line = ['/usr/bin/python3', '-c', deny, program()]
    done = tried(here, as_user([*line, 'doctor', '--json']))
    said = json.loads(done.stdout)
    assert done.returncode == 1 and said['ok'] is False, done
    last = said['checks'][-1]  # what leans on it is not tried
    assert (last['name'], last['ok']) == (part, False), done
    assert os.strerror(answer) in last['text'] and remedy in last['remedy']
    if call != 165:  # run asks for an overlay by the newer calls
        assert tried(here, as_user([*line, *RUN])).returncode == 125


def test_doctor_wants_no_overlay_where_run_does_without(here):
    deny = NO_UNSHARE.replace('272', '165') \
        .replace('0x50001', hex(0x50000 + errno.EINVAL))
    done = tried(here, as_user(['/usr/bin/python3', '-c', deny, program(),
                                'doctor']))
    assert 'ok      overlay' in done.stdout, done


def test_doctor_tells_what_run_needs(here):
    status, out, err = here.duenna('doctor')
    assert status == 0 and 'MISSING' not in out, out + err
    names = [row[8:20].rstrip() for row in out.split('\n')[:-1]]
    assert names == ['user', 'kernel', 'landlock', 'ptrace', *PARTS,
                     'nftables', 'IPv6', 'sandbox'], out
    status, out, err = here.duenna('doctor', '--json')
    said = json.loads(out)
    assert status == 0 and said['ok'] is True, out + err
    assert [c['name'] for c in said['checks']] == names
    assert not [d for d in os.listdir('/tmp') if d.startswith('duenna-doctor')]


@pytest.fixture
def inside(here):
    """A `duenna` that the sandbox can run."""
    folder = here.project + '/bin'
    shutil.copytree(os.path.dirname(program()), folder)
    give(folder)
    return here


# A PATH with these programs alone: some take a second or more.
ONLY = 'mkdir tools; for t in %s; do ln -s $(command -v $t) tools; done; ' \
       'PATH=$PWD/tools; '
LAST = '; echo "exit $?"; ls /tmp'


def test_doctor_inside_tries_the_ways_out(inside):
    got = inside.run(ONLY % 'ls curl' + './bin/duenna doctor' + LAST)
    assert got.out.endswith('exit 0\n') and 'MISSING' not in got.out, got
    assert len(got.out.splitlines()) > 15, got
    assert not inside.origin_events() and not inside.resolver_questions()


@pytest.mark.slow
def test_doctor_inside_says_who_trusts_whom(inside):
    got = inside.run('./bin/duenna doctor' + LAST)
    assert got.out.endswith('exit 0\n') and 'MISSING' not in got.out, got
    said = dict(row[8:].split(None, 1) for row in got.out.split('\n')[:-2])
    for tool, issuer in (('curl', 'CN=duenna egress CA '), ('wget', 'the CA'),
                         ('git', 'the CA'), ('python3', 'duenna egress CA '),
                         ('openssl', 'CN = duenna'), ('go', 'CN=duenna'),
                         ('node', 'duenna egress CA ')):
        assert (tool in said) == bool(shutil.which(tool, path='/usr/bin'))
        assert said.get(tool, 'trusts ' + issuer).startswith(
            'trusts ' + issuer), got
    # a name that nobody has was asked for, and it went nowhere
    asked = {r.get('server.address') for r in got.audit} - {None}
    assert asked == {'doctor.duenna.invalid'}, got
    assert not inside.origin_events('open')
    assert not inside.resolver_questions()


def test_doctor_inside_names_who_does_not_trust_and_what_to_set(inside):
    own = {'CURL_CA_BUNDLE': '/etc/hostname', 'GIT_SSL_CAINFO': '/nowhere'}
    got = inside.run(
        ONLY % 'curl git openssl wget sh grep cat' +
        'for o in "" --json "--url https://ok.test/x"; do '
        './bin/duenna doctor $o; echo "exit $?"; done',
        args=[a for name in own for a in ('--env', name)], env=own)
    text, made, allowed = got.out.split('exit 1\n')[:3]
    for name, variable, now in (('curl', *list(own.items())[0]),
                                ('git', *list(own.items())[1])):
        assert re.search(
            r'MISSING %s .*\n +Set %s=/etc/ssl/certs/ca-certificates\.crt '
            r'\(now: %s\)\n' % (name, variable, now), text), got
    checks = {c['name']: c for c in json.loads(made)['checks']}
    assert checks['openssl']['ok'] and not checks['curl']['ok'], got
    assert checks['curl']['remedy'].startswith('Set CURL_CA_BUNDLE='), got
    assert 'remedy' not in checks['openssl'], got
    assert 'ok      openssl     trusts' in allowed, got
    assert {r['target'] for r in inside.origin_requests()} == {'/x'}, got


def test_doctor_says_which_url_it_wants(inside):
    for url in ('http://ok.test/', 'https://', 'ok.test'):
        got = inside.run(['./bin/duenna', 'doctor', '--url', url])
        assert got.exit == 2 and 'wants https://HOST/' in got.err, got
    status, out, err = inside.duenna('doctor', '--url', 'https://ok.test/')
    assert (status, out) == (2, '') and 'inside a sandbox' in err


def ubuntu(line):
    """Run it where AppArmor keeps namespaces from unknown programs."""
    return ['unshare', '--mount', 'sh', '-ec',
            'mount -t tmpfs none /proc/sys/kernel; '
            'echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns; '
            'exec "$@"', '-', *as_user(['/usr/bin/python3', '-c', NO_UNSHARE,
                                        *line])]


def profile():
    """The profile of the tree for this program, without its comments."""
    with open(TREE + '/dist/apparmor/duenna.in', encoding='ascii') as f:
        text = f.read().replace('@DUENNA@', program())
    return [row for row in text.split('\n') if row and row[0] != '#']


@pytest.mark.skipif(os.environ['DUENNA_BED'] != 'root', reason='wants root')
@pytest.mark.parametrize('command', [RUN, ['doctor']], ids=['run', 'doctor'])
def test_ubuntus_refusal_prints_the_profile_of_the_tree(here, command):
    done = tried(here, ubuntu([program(), *command]))
    assert done.returncode == (125 if command is RUN else 1), done
    said = (done.stdout + done.stderr).split('\n')
    first = [i for i, row in enumerate(said) if 'apparmor_parser -r' in row]
    rows = [row.strip() for row in said[first[0] + 1:]]
    want = [row.strip() for row in profile()]
    assert rows[:len(want)] == want, done


@pytest.mark.skipif(
    not shutil.which('apparmor_parser', path='/usr/sbin:/sbin'),
    reason='apparmor_parser is not installed')
def test_the_profile_is_read_by_apparmor():
    said = subprocess.run(['apparmor_parser', '--version'], text=True,
                          capture_output=True, check=True).stdout
    text = '\n'.join(profile()) + '\n'
    if 'version 3.' in said:  # it knows neither this ABI nor the rule
        text = text.replace('abi/4.0', 'abi/3.0').replace('userns,', '')
    done = subprocess.run(['apparmor_parser', '-Q', '-K', '-S'], input=text,
                          text=True, encoding='latin-1', capture_output=True,
                          timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert '\0duenna\0' in done.stdout
