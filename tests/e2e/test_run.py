# SPDX-License-Identifier: Apache-2.0
"""`duenna run` as a command: what it gives back, what the command sees."""
import json
import os
import subprocess
import time

import pytest

from bed import as_user, program
from canary import forms, in_bytes
from run_bed import here, wait_for_file


@pytest.mark.parametrize('line, status', [
    ('exit 0', 0), ('exit 7', 7), ('kill -TERM $$', 143), ('kill -9 $$', 137)])
def test_it_gives_back_the_commands_exit_status(here, line, status):
    assert here.run(line).exit == status


def test_a_command_that_is_not_there_is_127_and_one_without_x_is_126(here):
    here.write('project/plain', 'x')
    assert here.run(['no-such-command']).exit == 127
    assert here.run(['./plain']).exit == 126


def test_usage_errors_are_125_or_2_and_run_nothing(here):
    for args in (['--nonsense'], ['--policy', 'nowhere.yaml'],
                 ['--name', 'Not Good'], ['--set', 'x']):
        got = here.run('touch ran', args)
        assert got.exit in (2, 125), (args, got)
        assert got.err.strip(), args
        # one line, and where there is more
        assert len(got.err.strip().splitlines()) <= 2, got
    assert not os.path.exists(here.project + '/ran')


def test_without_a_policy_it_refuses_and_prints_how_to_make_one(here):
    os.unlink(here.project + '/duenna.yaml')
    got = here.run('touch ran')
    assert got.exit == 125 and 'version: 1' in got.err, got
    assert '--preset' in got.err and '`duenna init`' in got.err, got
    assert not os.path.exists(here.project + '/ran')


def test_rules_of_the_command_line_are_the_whole_policy(bed):
    here = bed('- allow: https://other.test/**\n')
    got = here.run('curl -sS https://ok.test/a/1; curl -sS https://ok.test/b; '
                   'curl -sS -d x https://ok.test/a/2; '
                   'curl -sS https://other.test/', [
                       '--allow', 'https://ok.test/a/**',
                       '--allow', 'https://ok.test/b'])
    # the bed's addresses are private, and nothing here opens them
    assert [r['reason'] for r in got.audit if r['event'] == 'request.end'] == [
        'up.private', 'up.private', 'http.method_denied',
        'tls.sni_denied'], got


@pytest.mark.parametrize('more, said', [
    (['--allow', 'https://ok.test/**', '--allow', 'ftp://x.test/'],
     ('--allow:2:', "--allow:2 is 'ftp://x.test/'")),
    (['--allow', '"}], x: ['], ('--allow:1:',)),
    (['--allow', ''], ('--allow:1:',)),
    (['--allow', 'https://ok.test/**', '--preset', 'npm'], ('one of',)),
    (['--policy', 'duenna.yaml', '--allow', 'https://ok.test/'], ('one of',))])
def test_a_rule_of_the_command_line_that_is_none_is_named(here, more, said):
    got = here.run('touch ran', more)
    assert got.exit == 125 and all(w in got.err for w in said), got
    assert not os.path.exists(here.project + '/ran')


def test_root_of_a_namespace_of_one_user_is_told_what_to_do(here):
    done = subprocess.run(
        as_user(['unshare', '-r', program(), 'run', '--', 'touch', 'ran']),
        cwd=here.project, env={'HOME': here.home, 'PATH': os.environ['PATH']},
        text=True, capture_output=True, timeout=30, check=False)
    assert done.returncode == 125 and '--map-auto' in done.stderr, done
    assert len(done.stderr.splitlines()) == 1, done
    assert not os.path.exists(here.project + '/ran')


def test_a_policy_is_chosen_by_name(here):
    here.write('project/two.yaml', 'version: 1\npolicies:\n'
               '  one: {rules: []}\n  two: {rules: []}\n')
    assert here.run('true', ['--policy', 'two.yaml:two']).exit == 0
    got = here.run('true', ['--policy', 'two.yaml'])
    assert got.exit == 125 and 'one' in got.err and 'two' in got.err, got
    assert here.run('true', ['--policy', 'two.yaml:three']).exit == 125


def test_an_empty_policy_allows_nothing(bed):
    here = bed('version: 1\npolicies: {p: {rules: []}}\n')
    got = here.run('curl -sS https://ok.test/; curl -sS http://ok.test/')
    assert set(got.reasons()) <= {'tls.sni_denied', 'http.host_denied',
                                  'dns.denied'} and got.reasons(), got
    assert here.origin_events('open') == []


@pytest.mark.parametrize('make', [
    lambda p: os.chmod(p, 0o644), lambda p: os.chmod(p, 0o666),
    lambda p: (os.rename(p, p + '2'), os.symlink(p + '2', p)),
    lambda p: os.chown(p, 65534, 65534)])
def test_a_configuration_that_is_not_the_owners_alone_is_refused(here, make):
    """CF-31: others may read or write it, a link, another user's."""
    path = here.settings + '/config.yaml'
    try:
        make(path)
    except OSError:
        pytest.skip('the bed was made by an ordinary user')
    got = here.run('echo ran')
    assert got.exit == 125 and got.out == '' and path in got.err, got


def test_a_run_has_no_socket_that_anybody_could_find(here):
    """LC-25: neither by path nor abstract, so neither from inside."""
    def names():
        with open('/proc/net/unix', encoding='utf-8') as f:
            return {line.split()[7] for line in f if len(line.split()) > 7}
    before = names()
    run = here.start(['sh', '-c', 'touch on; sleep 20'])
    wait_for_file(here.project + '/on')
    assert len(run.roles()) >= 3 and names() <= before
    run.child.terminate()
    run.wait()


def test_the_environment_is_a_list(here):
    got = here.run('env', ['--env', 'WANTED'], env={
        'WANTED': 'w', 'SECRET_X': 's', 'LD_PRELOAD': '', 'OPENSSL_CONF': '/x',
        'https_proxy': 'http://p:1', 'SSH_AUTH_SOCK': '/run/x',
        'LC_ALL': 'C.UTF-8', 'TZ': 'UTC'})
    names = {line.split('=')[0] for line in got.out.splitlines()}
    assert {'PATH', 'HOME', 'TERM', 'LANG', 'LC_ALL', 'TZ', 'WANTED',
            'API_TOKEN', 'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'} <= names, got
    assert not names & {'SECRET_X', 'LD_PRELOAD', 'OPENSSL_CONF', 'https_proxy',
                        'SSH_AUTH_SOCK', 'SSL_CERT_DIR', 'GIT_SSL_CAPATH'}
    assert 'proxy' in got.err, got


def test_standard_streams_are_the_callers_and_no_more_descriptors(here):
    got = here.run('cat; ls /proc/self/fd | sort -n | tr "\\n" " "; echo e >&2',
                   stdin=None)
    assert 'e\n' in got.err, got
    assert got.out.split()[-4:] in (['0', '1', '2', '3'],), got


def test_the_roles_have_an_empty_environment_and_no_privilege(here):
    run = here.start(['sleep', '4'])
    time.sleep(1.5)
    seen, spaces, limits, owners = {}, {}, {}, {}
    for role, pids in run.roles().items():
        for pid in pids:
            with open('/proc/%d/environ' % pid, 'rb') as f:
                assert f.read().strip(b'\0') == b'', role
            with open('/proc/%d/status' % pid, encoding='utf-8') as f:
                seen[role] = dict(line.rstrip('\n').split(':\t', 1)
                                  for line in f if ':\t' in line)
            spaces[role] = {kind: os.readlink('/proc/%d/ns/%s' % (pid, kind))
                            for kind in ('user', 'net')}
            with open('/proc/%d/limits' % pid, encoding='utf-8') as f:
                limits[role] = [line.split()[4:6] for line in f
                                if line.startswith('Max core')]
            owners[role] = os.stat('/proc/%d/stat' % pid).st_uid
    got = run.wait()
    assert {'worker', 'dialer', 'keeper', 'scribe'} <= set(seen), got
    for role, status in seen.items():
        assert status['NoNewPrivs'].strip() == '1', role
        assert status['Seccomp'].strip() == '2', role
        for caps in ('CapEff', 'CapPrm', 'CapInh', 'CapAmb'):
            assert int(status[caps], 16) == 0, (role, caps, status[caps])
        assert limits[role] == [['0', '0']], (role, limits)
        # what cannot be dumped or traced is not its user's any more
        assert owners[role] != int(status['Uid'].split()[0]), (role, owners)
        ours = {kind: os.readlink('/proc/self/ns/' + kind)
                for kind in ('user', 'net')}
        assert spaces[role]['user'] != ours['user'], role
        assert (spaces[role]['net'] == ours['net']) == (role == 'dialer'), role


def test_no_file_that_the_command_sees_has_the_token_or_the_ca_key(here):
    got = here.run(
        'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; '
        'grep -rlE "PRIVATE KEY" /etc/ssl /etc/duenna /tmp /run $HOME . '
        '2>/dev/null; ls -a $HOME; cat $HOME/.config/duenna/* 2>/dev/null')
    assert not in_bytes(got.out.encode(), forms(here.canary)), got
    assert 'snakeoil' not in got.out and '.key' not in got.out


def test_the_home_is_the_sandboxs_own_and_kept_only_by_name(here):
    here.write('.ssh/id_ed25519', 'a key')
    here.write('.gitconfig', '[user]\n\tname = Real\n')
    got = here.run('ls -a $HOME; cat $HOME/.ssh/id_ed25519; '
                   'git config user.name; echo x > $HOME/kept')
    assert 'a key' not in got.out and 'Real' in got.out, got
    assert here.run('cat $HOME/kept').exit != 0
    assert not os.path.exists(here.home + '/kept')
    here.run('echo y > $HOME/kept', ['--name', 'mine'])
    assert here.run('cat $HOME/kept', ['--name', 'mine']).out == 'y\n'


def test_the_project_is_writable_and_the_policy_is_not(here):
    got = here.run('echo new > made; echo "x" >> duenna.yaml; '
                   'mv duenna.yaml other; rm -f duenna.yaml')
    with open(here.project + '/made', encoding='utf-8') as f:
        assert f.read() == 'new\n', got
    with open(here.project + '/duenna.yaml', encoding='utf-8') as f:
        assert 'api.test' in f.read()


def test_the_home_as_working_directory_is_refused(here):
    got = here.run('true', ['--policy', 'project/duenna.yaml'], cwd=here.home)
    assert got.exit == 125 and '--write' in got.err, got


def test_a_socket_of_the_host_in_the_project_is_a_refusal_that_names_it(here):
    import socket
    path = here.project + '/agent.sock'
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
        got = here.run('true')
    assert got.exit == 125 and 'agent.sock' in got.err, got


def test_processes_of_the_host_are_not_to_be_seen(here):
    got = here.run('ls /proc | grep -c "^[0-9]"; cat /proc/1/cmdline | tr '
                   '"\\0" " "; kill -0 %d' % os.getpid())
    assert int(got.out.split()[0]) < 8, got
    assert 'No such process' in got.err or got.exit != 0


def test_a_program_that_makes_namespaces_inside_wins_nothing(here):
    got = here.run('unshare -Urnm sh -c "curl -sS -m 3 https://api.test/x"; '
                   'unshare -Urm umount /etc; ip link add d type dummy')
    assert here.origin_events('open') == [], got


@pytest.mark.parametrize('family', ['VSOCK', 'PACKET', 'ALG', 'BLUETOOTH'])
def test_other_socket_families_are_refused(here, family):
    got = here.run('python3 -c "import socket as s; '
                   's.socket(s.AF_%s, s.SOCK_RAW)"' % family)
    assert got.exit != 0 and 'Error' in got.err, got


def test_what_happened_is_the_last_line_for_programs(here):
    got = here.run('curl -sS https://evil.test/; curl -sS https://evil.test/; '
                   'exit 3', ['--json', '--quiet'])
    said = json.loads(got.err.splitlines()[-1])
    group, = said['report']['groups']
    assert said['exit'] == got.exit == 3 and said['ran'] is True, got
    assert said['log'] == got.log and said['blocked'] > 0, got
    assert {said['sandbox']} == {r['sandbox'] for r in got.audit
                                 if 'sandbox' in r}, got
    assert said['last_hash'] == got.audit[-1]['hash'], got
    assert group['count'] == 2 and 'evil.test' in group['what'], got
    assert 'duenna: blocked' not in got.err, got
    got = here.run('true', ['--json'])
    said = json.loads(got.err.splitlines()[-1])
    assert said['exit'] == said['blocked'] == 0, got
    assert said['report']['groups'] == [], got


def test_for_programs_what_could_not_be_started_is_said_too(here):
    got = here.run('true', ['--json', '--policy', 'nowhere.yaml'])
    said = json.loads(got.err.splitlines()[-1])
    assert said['exit'] == got.exit == 125 and said['ran'] is False, got
    assert said['log'] is said['report'] is said['last_hash'] is None, got


def test_what_could_not_be_started_is_said_once(here):
    for more, words in ((['--write', '/nonexistent'], 'cannot show'),
                        (['--write', here.home], 'home directory')):
        got = here.run('true', more)
        assert got.exit == 125 and got.err.count(words) == 1, got
        assert got.err.count('\n') == 1 and 'ALARM' not in got.err, got


def test_a_working_directory_that_is_not_the_projects_is_refused(here):
    policy = ['--policy', here.project + '/duenna.yaml']
    os.mkdir(here.project + '/shared')
    os.chmod(here.project + '/shared', 0o1777)
    for where, words in (('/', 'root of the file system'),
                         (here.home, 'your home directory'),
                         (here.project + '/shared', 'everybody shares')):
        got = here.run('touch done', policy, cwd=where)
        assert got.exit == 125 and words in got.err, got
        assert not os.path.exists(where + '/done')


def test_env_wants_a_name(here):
    got = here.run('true', ['--env', 'NAME=value'])
    assert got.exit == 125 and "not 'NAME=value'" in got.err, got
    got = here.run('true', ['--env', 'NOT_SET'])
    assert got.exit == 0, got
    assert got.err.startswith('duenna: warning: --env NOT_SET'), got


def test_run_as_root_gives_the_command_a_user_of_its_own(here):
    if os.environ['DUENNA_BED'] != 'root':
        pytest.skip('the bed was made by an ordinary user')
    for top, dirs, names in os.walk(here.home):  # root's own configuration
        for name in ['.', *dirs, *names]:
            os.chown(os.path.join(top, name), 0, 0)
    got = here.run('id -u; curl -sS https://api.test/_whoami', root=True)
    assert '"good"' in got.out and 'started by root' in got.err, got
    got = here.run('true', ['--quiet'], root=True)
    assert got.exit == 0 and 'started by root' not in got.err, got
