# SPDX-License-Identifier: Apache-2.0
"""duenna run: names, homes and logs of several runs, and how a run ends."""
import os
import signal
import subprocess
import time

import pytest

from bed import descendants, give, read_lines
from run_bed import here, wait_for_file


def test_sigterm_reaches_the_command_and_a_second_one_kills(here):
    run = here.start(['sh', '-c', 'trap "echo caught; exit 9" TERM; touch up; '
                      'while :; do sleep 0.1; done'])
    wait_for_file(here.project + '/up')
    run.child.send_signal(signal.SIGTERM)
    got = run.wait(10)
    assert got.exit == 9 and 'caught' in got.out, got
    run = here.start(['sh', '-c', 'trap "" TERM; touch up2; '
                      'while :; do sleep 0.1; done'])
    wait_for_file(here.project + '/up2')
    run.child.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert run.child.poll() is None
    run.child.send_signal(signal.SIGTERM)
    got = run.wait(10)
    assert got.exit == 137, got


def test_a_clerk_that_is_stopped_ends_the_start(here):
    """It waits for a policy from a pipe meanwhile."""
    pipe = here.project + '/pipe.yaml'
    os.mkfifo(pipe)
    os.chmod(pipe, 0o666)
    writer = os.open(pipe, os.O_RDWR)
    run = here.start('touch ran', ['--policy', 'pipe.yaml'])
    until = time.monotonic() + 10
    while not (clerks := [pid for pid in run.roles().get('clerk', [])
                          if has_open(pid, pipe)]):
        assert time.monotonic() < until
        time.sleep(0.05)
    os.kill(clerks[0], signal.SIGSTOP)
    got = run.wait()
    os.close(writer)
    assert got.exit == 125 and 'was stopped by a signal' in got.err, got
    assert not os.path.exists(here.project + '/ran')


def has_open(pid, path):
    """The first of the two clerks does not have the policy."""
    folder = '/proc/%d/fd/' % pid
    try:
        return path in [os.readlink(folder + fd) for fd in os.listdir(folder)]
    except OSError:  # it has ended
        return False


def test_background_children_end_with_the_command(here):
    run = here.start(['sh', '-c', 'sleep 300 & sleep 300 & exit 3'])
    got = run.wait(15)
    assert got.exit == 3 and got.seconds < 10, got
    assert not [line for line in descendants(os.getpid()).values()
                if line[:2] == ['sleep', '300']]


def test_a_run_without_a_name_has_a_new_home(here):
    """A run that was killed leaves its own: nobody else gets that."""
    homes = here.home + '/.local/state/duenna/homes'
    assert here.run('true').exit == 0
    for i in range(0xf000):
        os.mkdir('%s/test-%04x' % (homes, i))
    for _ in range(2):
        got = here.run('ls -A ~')
        assert got.exit == 0, got
        name, = {e['sandbox'] for e in got.audit if 'sandbox' in e}
        assert name.startswith('test-f'), name
    assert len(os.listdir(homes)) == 0xf000


def test_two_runs_in_one_project_have_a_log_each(here):
    one, two = (here.start(['sh', '-c', 'curl -sS https://api.test/%d' % i])
                for i in (1, 2))
    assert one.wait().exit == 0 and two.wait().exit == 0
    assert len(here.logs()) == 2
    for log in here.logs():
        assert os.stat(log).st_mode & 0o777 == 0o600


def test_a_name_is_one_runs_at_a_time_and_the_home_goes_on(here):
    """L3-11, LG-14: who else wants it is told whose it is."""
    homes = here.home + '/.local/state/duenna/homes'
    line = ['sh', '-c', 'echo x >> ~/mine; touch up; sleep 20']
    run = here.start(line, ['--name', 'same'])
    wait_for_file(here.project + '/up')
    got = here.run('touch ran', ['--name', 'same'])
    assert got.exit == 125 and len(here.logs()) == 1, got
    assert 'process %d:' % run.child.pid in got.err, got
    assert not os.path.exists(here.project + '/ran')
    assert here.run('true', ['--name', 'other']).exit == 0
    run.child.terminate()
    assert run.wait().exit == 143
    got = here.run('cat ~/mine', ['--name', 'same'])
    assert got.out == 'x\n' and 'mine' in os.listdir(homes + '/same'), got
    assert os.listdir(here.home + '/.local/state/duenna/locks') == []


def test_the_home_of_a_run_that_was_killed_goes_with_the_next(here):
    """Unless it was given a name; and of one that runs nothing is touched."""
    state = here.home + '/.local/state/duenna'
    runs = [here.start(['sh', '-c', 'touch ~/mine up%d; sleep 20' % i], more)
            for i, more in enumerate(([], ['--name', 'kept'], []))]
    for i in range(3):
        wait_for_file(here.project + '/up%d' % i)
    for run in runs[:2]:
        run.child.kill()
        run.child.wait()
    assert len(os.listdir(state + '/homes')) == 3
    assert here.run('true').exit == 0
    left = set(os.listdir(state + '/homes'))
    assert left == set(os.listdir(state + '/locks')), left
    locked, = left - {'kept'}
    assert os.path.exists('%s/homes/%s/mine' % (state, locked))
    runs[2].child.terminate()
    assert runs[2].wait().exit == 143
    assert os.listdir(state + '/homes') == ['kept']
    for log in here.logs():  # those of the killed have no end
        os.unlink(log)


def test_runs_of_one_name_in_one_second_have_a_log_each(here):
    for _ in range(4):
        assert here.run('true', ['--name', 'same']).exit == 0
    assert len(here.logs()) == 4
    for log in here.logs():
        assert 'Z-same' in log and read_lines(log)[-1]['seq'] > 4
        assert here.duenna('audit', 'verify', log)[0] == 0


def test_a_program_that_another_run_is_writing_is_not_ours(here):
    """Both by a new policy: neither takes the other's half."""
    assert here.run('true').exit == 0
    programs = here.home + '/.local/state/duenna/programs'
    name, = os.listdir(programs)
    path = programs + '/' + name
    os.rename(path, path + '.part')
    os.truncate(path + '.part', 1)
    assert here.run('true').exit == 0
    assert os.stat(path + '.part').st_size == 1
    assert os.stat(path).st_size > 1


def test_a_log_inside_what_the_command_may_write_is_refused(here):
    got = here.run('true', ['--audit', here.project + '/log.jsonl'])
    assert got.exit == 125 and 'audit' in got.err, got


def test_a_log_of_ones_own_is_continued_and_one_in_use_refused(here):
    log = here.home + '/mine.jsonl'
    assert here.run('true', ['--audit', log]).exit == 0
    run = here.start(['sh', '-c', 'touch up3; sleep 2'], ['--audit', log])
    wait_for_file(here.project + '/up3')
    got = here.run('true', ['--audit', log])
    assert got.exit == 125 and 'mine.jsonl' in got.err, got
    assert run.wait().exit == 0
    assert here.duenna('audit', 'verify', log)[0] == 0


@pytest.mark.parametrize('make', [
    lambda p: os.symlink('/etc/passwd', p), os.mkfifo, os.mkdir])
def test_a_log_that_is_no_plain_file_is_refused(here, make):
    make(here.home + '/odd')
    got = here.run('true', ['--audit', here.home + '/odd'])
    assert got.exit == 125, got


@pytest.mark.parametrize('make, said', [
    (lambda p: os.chmod(p, 0o640), 'others may read'),
    (lambda p: (os.rename(p, p + '2'), os.symlink(p + '2', p)), 'link'),
    (lambda p: (os.unlink(p), os.mkfifo(p, 0o600)), 'no regular file'),
    (lambda p: os.truncate(p, 20), 'audit key')])
def test_a_machines_key_that_others_had_is_refused_and_stays(here, make, said):
    """CF-24: it is never made anew in silence."""
    assert here.run('true').exit == 0
    path = here.home + '/.local/state/duenna/audit.key'
    make(path)
    give(here.home)
    before = os.lstat(path)
    got = here.run('touch ran')
    assert got.exit == 125 and said in got.err and 'audit' in got.err, got
    assert not os.path.exists(here.project + '/ran')
    after = os.lstat(path)
    assert (before.st_ino, before.st_size) == (after.st_ino, after.st_size)


@pytest.mark.parametrize('role', ['worker', 'keeper'])
def test_a_role_that_dies_three_times_ends_the_run(here, role):
    run = here.start(['sleep', '60'])
    killed = set()
    until = time.monotonic() + 20
    while len(killed) < 3 and time.monotonic() < until:
        for pid in set(run.roles().get(role, [])) - killed:
            time.sleep(0.3)  # it is in its place by then
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
    got = run.wait(15)
    assert len(killed) == 3 and got.exit == 125, got
    assert 'the %s ended three times' % role in got.err, got
    alarms = got.find(event='alarm')
    assert alarms and role in alarms[-1]['duenna.detail'], got


def parent(pid):
    with open('/proc/%d/stat' % pid, encoding='ascii') as f:
        return int(f.read().rpartition(')')[2].split()[1])


def ended_log(here, run):
    """The log is closed in due form, whoever died shortly before."""
    got = run.wait(15)
    assert got.exit == 0, got
    assert [e['event'] for e in got.audit][-2:] == ['stop', 'checkpoint'], got
    assert len(got.find(event='detach')) == 1, got
    status, out, err = here.duenna('audit', 'verify', got.log)
    assert status == 0, out + err
    return got


@pytest.mark.parametrize('dead', [['scribe'], ['keeper', 'scribe'],
                                  ['dialer', 'keeper', 'scribe', 'worker']])
def test_roles_that_die_just_before_the_end_close_the_log(here, dead):
    """The monitor hears of their end and of the command's at once."""
    run = here.start(['sh', '-c', 'touch up; until test -e go; do sleep 0.05; '
                      'done; touch over'])
    wait_for_file(here.project + '/up')
    roles = run.roles()
    monitor = parent(roles['scribe'][0])
    os.kill(monitor, signal.SIGSTOP)
    for role in dead:
        os.kill(roles[role][0], signal.SIGKILL)
    here.write('project/go', '')
    wait_for_file(here.project + '/over')
    time.sleep(0.1)  # the command is gone too
    os.kill(monitor, signal.SIGCONT)
    ended_log(here, run)


def test_a_scribe_that_dies_while_the_log_is_closed_is_replaced(here):
    run = here.start(['sh', '-c', 'touch up; until test -e go; do sleep 0.05; '
                      'done; touch over'])
    wait_for_file(here.project + '/up')
    scribe = run.roles()['scribe'][0]
    os.kill(scribe, signal.SIGSTOP)
    here.write('project/go', '')
    wait_for_file(here.project + '/over')
    time.sleep(0.2)  # the last records wait for it
    os.kill(scribe, signal.SIGKILL)
    ended_log(here, run)


def test_another_link_in_the_sandbox_cuts_it_off(here):
    """L3-27: from outside, since nobody inside may make one."""
    run = here.start(['sh', '-c', 'echo; sleep 20; curl -sS https://ok.test/'])
    run.child.stdout.readline()
    inside = [pid for pid, line in descendants(run.child.pid).items()
              if line[0] in ('sh', 'sleep')]
    subprocess.run(['nsenter', '--net=/proc/%d/ns/net' % inside[0], 'ip',
                    'link', 'add', 'other', 'type', 'bridge'], check=True)
    got = run.wait(10)
    assert got.exit == 125 and 'the link other' in got.err, got
    assert [r['reason'] for r in got.find(event='alarm')] == ['l3.link'], got
    assert got.seconds < 10 and not here.origin_requests(), got
