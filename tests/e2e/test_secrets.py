# SPDX-License-Identifier: Apache-2.0
"""Secrets that a command of the owner's prints, and files that change."""
import os
import signal
import subprocess
import time

import pytest

from bed import Bed, as_user, give, processes, program, read_lines

API = '''
- name: api
  allow: https://api.test/**
  methods: any
  credential: api
- allow: https://ok.test/**
  methods: any
'''
ASK = 'curl -sS https://api.test/_whoami; curl -sS https://ok.test/x'


def asked(bed, script, more='', mode=0o700, policy=API, **config):
    """A bed whose token is printed by this shell script; %s is its folder."""
    here = bed(policy)
    path = here.write('.config/duenna/ask', '#!/bin/sh\ncd %s\n%s\n' %
                      (here.settings, script), mode)
    here.write('.config/duenna/config.yaml', Bed.config(**config).replace(
        '{file: token}', '{command: [%s, one, two]%s}' % (path, more)), 0o600)
    give(here.settings)
    return here


def slots(requests):
    return [v for r in requests for n, v in r['fields']
            if n == 'Authorization']


def running(word):
    return [p for p, (_, line) in processes().items() if word in line]


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    return what()


def test_what_a_command_prints_is_attached(bed):
    """CR-27: no descriptor but the pipe, no terminal, a list of names."""
    here = asked(bed, 'cat token; echo a second line\n'
                 '{ env; echo "args: $*"; cut -d " " -f 6-7 /proc/self/stat;\n'
                 '} >seen; ls -l /proc/self/fd >>seen',
                 ', pass: [PASSED]')
    got = here.run(ASK + '; env', env={'PASSED': 'yes', 'OTHER': 'no'})
    assert '"good"' in got.out and 'hello from ok.test' in got.out, got
    assert slots(here.origin_requests()) == ['Bearer ' + here.canary]
    assert here.canary not in got.out and 'PASSED' not in got.out
    with open(here.settings + '/seen', encoding='utf-8') as f:
        seen = f.read().split('\n')
    names = {x.partition('=')[0] for x in seen if '=' in x}
    assert names - {'PWD', 'OLDPWD', 'SHLVL', '_'} == \
        {'HOME', 'USER', 'PATH', 'LANG', 'PASSED'}, seen
    for line in ('HOME=' + here.home, 'USER=tester', 'PATH=/usr/bin:/bin',
                 'LANG=C', 'OLDPWD=/', 'args: one two'):
        assert line in seen, (line, seen)
    links = dict(x.split()[-3::2] for x in seen if ' -> ' in x)
    assert links['0'] == links['2'] == '/dev/null', links
    # 3 is the folder that ls(1) reads
    assert set(links) == {'0', '1', '2', '3'}, links
    session, terminal = next(x for x in seen if x.replace(' ', '').isdigit()
                             ).split()
    assert terminal == '0' and session != str(os.getsid(0)), seen
    assert got.find(event='release', verdict='allow'), got


BAD = {
    'nothing': ('true', 'printed nothing'),
    'an empty line': ('echo; cat token', 'printed nothing'),
    'status': ('cat token; exit 3', 'exited with 3'),
    'signal': ('cat token; kill -9 $$', 'killed by signal 9'),
    'NUL': (r'printf "token-of-twenty-bytes\0\n"', 'control character'),
    'CR': (r'printf "token\rof-twenty-bytes\n"', 'control character'),
    'much': ('exec head -c 100000 /dev/zero', 'more than 64 KiB'),
}


@pytest.mark.parametrize('what', BAD)
def test_a_command_that_fails_refuses_what_needs_it(bed, what):
    script, why = BAD[what]
    here = asked(bed, script)
    got = here.run(ASK)
    warnings = [x for x in got.err.split('\n') if 'credential `api`' in x]
    assert len(warnings) == 1 and why in warnings[0], got
    assert here.settings + '/ask' in warnings[0], got
    assert 'cred.unavailable' in got.out, got
    assert 'hello from ok.test' in got.out and got.exit == 0, got
    assert [r['host'] for r in here.origin_requests()] == ['ok.test']
    assert here.canary not in got.err


@pytest.mark.parametrize('mode, why', [(0o600, 'Permission denied'),
                                       (None, 'No such file')])
def test_a_command_that_cannot_be_started_refuses_what_needs_it(bed, mode,
                                                                why):
    here = asked(bed, 'cat token', mode=mode or 0o700)
    if mode is None:
        os.unlink(here.settings + '/ask')
    got = here.run(ASK)
    assert why in got.err and 'cred.unavailable' in got.out, got
    assert [r['host'] for r in here.origin_requests()] == ['ok.test']


def test_a_command_that_hangs_and_one_whose_child_stays(bed):
    """Ten seconds, both at once; nothing of either is left."""
    here = asked(bed, 'exec sleep 1007', credential='''  stays:
    kind: token
    secret: {command: [/bin/sh, -c, "echo token-of-a-parent-here; sleep 1009 &"]}
    only: [https://ok.test/**]
''', policy='''
- name: api
  allow: https://api.test/**
  credential: api
- name: stays
  allow: https://ok.test/**
  credential: stays
- name: none
  allow: https://none.test/**
''')
    got = here.run('curl -sS https://none.test/x; curl -sS https://ok.test/y;'
                   'curl -sS https://api.test/z; curl -sS https://api.test/z')
    assert 'hello from none.test' in got.out, got
    assert slots(here.origin_requests()) == ['Bearer token-of-a-parent-here']
    assert got.out.count('cred.unavailable') == 2, got
    assert 'it took longer than 10 s' in got.err, got
    assert not running('1007') and not running('1009')


def test_a_slow_command_holds_up_nothing_but_who_waits_for_it(bed):
    here = asked(bed, 'while ! test -e ../../project/go; do sleep 0.02; done;'
                 'cat token')
    got = here.run('curl -sS https://ok.test/x; '
                   'for i in 1 2 3; do curl -sS https://api.test/_whoami & '
                   'done; sleep 0.2; touch go; wait')
    assert 'hello from ok.test' in got.out, got
    assert got.out.count('"good"') == 3, got
    assert slots(here.origin_requests()) == ['Bearer ' + here.canary] * 3


def test_a_command_runs_only_for_a_rule_that_names_it_and_ends_with_us(bed):
    here = asked(bed, 'echo x >>runs; exec sleep 1013')
    got = here.run('true')
    assert got.exit == 0 and not running('1013'), got
    runs = here.settings + '/runs'
    assert os.path.exists(runs) and not os.unlink(runs)
    here.write('project/duenna.yaml', 'version: 1\npolicies: {p: {rules: []}}')
    here.run('true')
    assert not os.path.exists(runs)


def test_a_command_where_the_sandbox_may_write_does_not_start(bed):
    """Nor one that it may put there later, or that a link of its leads to."""
    here = asked(bed, 'cat token')
    ran = here.home + '/ran'
    path = here.write('project/ask', '#!/bin/sh\necho mine; touch %s\n' % ran,
                      0o755)
    os.symlink(here.settings + '/ask', here.project + '/out')
    os.symlink(here.project + '/out', here.home + '/hop')
    os.symlink(here.project + '/later', here.home + '/planted')
    for command in ('[%s]' % path, '[/bin/sh, %s]' % path,
                    '[%s/not-there]' % here.project,
                    '[/bin/cat, "--from=%s/later"]' % here.project,
                    '[%s/hop]' % here.home, '[%s/planted]' % here.home):
        here.write('.config/duenna/config.yaml', Bed.config().replace(
            '{file: token}', '{command: %s}' % command), 0o600)
        give(here.settings)
        got = here.run('true')
        assert got.exit == 125 and 'where the sandbox may write' in got.err, \
            (command, got)
        assert not os.path.exists(ran), command


def test_a_file_that_the_sandbox_may_make_does_not_start(bed):
    """What it writes there would be sent as the owner's, to its own account."""
    for where in ('{file: ~/project/later, for: 1s}', '{file: ~/planted}'):
        here = bed(API, Bed.config().replace('{file: token}', where))
        os.symlink(here.project + '/later', here.home + '/planted')
        got = here.run('true')
        assert got.exit == 125 and 'which the command sees' in got.err, got


def test_a_caller_that_ignores_its_children_is_no_hindrance(bed):
    """With SIGCHLD ignored nobody can wait for a child (sigaction(2))."""
    here = asked(bed, 'cat token')
    done = subprocess.run(
        as_user(['bash', '-c', 'trap "" CHLD; exec "$0" run -- bash -c "'
                 'curl -sS https://api.test/_whoami; echo x >/dev/udp/'
                 '203.0.113.66/99; trap"', program()]), cwd=here.project,
        env=here.environment(), capture_output=True, text=True, timeout=30,
        check=False)
    assert '"good"' in done.stdout and 'SIGCHLD' in done.stdout, done
    assert 'No child processes' not in done.stderr, done
    log, = here.logs()
    assert [r['duenna.detail'] for r in read_lines(log)
            if r['event'] == 'drop'] == ['UDP'], log


ROTATED = '''n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) >n
test $n = 0 && exec cat token; echo fresh-token-of-many-bytes-$n'''


def test_a_running_request_keeps_the_token_that_it_began_with(bed):
    """CR-28: the new one is for new requests; a body is sent once."""
    here = asked(bed, ROTATED, ', for: 1s')
    got = here.run('''
        mkfifo pipe
        curl -sS -T - https://api.test/_sink <pipe & exec 3>pipe
        echo first >&3
        until curl -sS https://api.test/_whoami | grep -q other; do
            sleep 0.05
        done
        curl -sS https://api.test/_whoami
        echo second >&3; exec 3>&-; wait''')
    requests = here.origin_requests()
    upload = [r for r in requests if r['target'] == '/_sink']
    assert [r['body'] for r in upload] == ['first\nsecond\n'], got
    assert slots(upload) == ['Bearer ' + here.canary], got
    others = slots(r for r in requests if r['target'] != '/_sink')
    assert others[0] == 'Bearer ' + here.canary
    assert others[-1].startswith('Bearer fresh-token-of-many-bytes-'), got
    assert got.reasons() == [], got


def test_a_file_with_a_time_is_read_again(bed):
    here = bed(API, Bed.config().replace('{file: token}',
                                         '{file: token, for: 1s}'))
    run = here.start(['sh', '-c', '''
        curl -sS https://api.test/_whoami; touch one
        until curl -sS https://api.test/_whoami | grep -q other; do
            sleep 0.05
        done; echo two >&2; touch two
        until curl -sS https://api.test/_whoami | grep -q unavailable; do
            sleep 0.05
        done; curl -sS https://ok.test/x'''])
    path = here.settings + '/token'
    assert wait_until(lambda: os.path.exists(here.project + '/one'))
    with open(path, 'w', encoding='utf-8') as f:
        f.write('another-token-of-thirty-bytes\n')
    assert wait_until(lambda: os.path.exists(here.project + '/two'))
    os.unlink(path)
    got = run.wait()
    assert '"good"' in got.out and 'hello from ok.test' in got.out, got
    assert 'No such file' in got.err, got


def test_a_keeper_that_is_started_anew_has_the_commands_run_again(bed):
    here = asked(bed, ROTATED)
    run = here.start(['sh', '-c', '''
        curl -sS https://api.test/_whoami; touch one
        until curl -sS https://api.test/_whoami | grep -q other; do
            sleep 0.05
        done'''])
    assert wait_until(lambda: os.path.exists(here.project + '/one'))
    keeper, = run.roles()['keeper']
    os.kill(keeper, signal.SIGKILL)
    got = run.wait()
    assert got.exit == 0 and '"good"' in got.out, got
