# SPDX-License-Identifier: Apache-2.0
"""The sandbox itself, without the rest of duenna: ns-probe is a monitor in
small that answers each connection with the place where it wanted to go."""
import os
import socket

import pytest

from bed import base
from ns_bed import place


# ------------------------------------------------------------------- network

def test_there_is_loopback_and_no_other_link(place):
    assert place.sh('ls /sys/class/net; tail -n +3 /proc/net/dev | cut -d: '
                    '-f1') == ['lo', '    lo']


def test_tcp_to_any_address_and_port_reaches_the_listener(place):
    lines = place.python('''
        for a, p in (('203.0.113.1', 443), ('2001:db8::1', 443),
                     ('8.8.8.8', 1), ('10.0.0.1', 65535), ('::2', 22),
                     ('169.254.169.254', 80), ('198.18.0.1', 81),
                     ('9.9.9.9', 53), ('127.0.0.1', 53), ('fe80::1%1', 5),
                     ('255.255.255.254', 9), ('fd00::9', 53)):
            try:
                s = socket.create_connection((a, p), 5)
                print(s.makefile().read().strip())
            except OSError as e:
                print(a, errno.errorcode[e.errno])
        ''')
    assert lines == [
        'tcp 203.0.113.1 443', 'tcp 2001:db8::1 443', 'tcp 8.8.8.8 1',
        'tcp 10.0.0.1 65535', 'tcp ::2 22', 'tcp 169.254.169.254 80',
        'tcp 198.18.0.1 81', 'tcp 9.9.9.9 53', 'tcp 127.0.0.1 53',
        'tcp fe80::1 5', 'tcp 255.255.255.254 9', 'tcp fd00::9 53']


def test_loopback_stays_inside(place):
    assert place.python('''
        for f, a in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'),
                     (socket.AF_INET, '127.9.9.9')):
            s = socket.socket(f)
            s.bind((a, 0))
            s.listen()
            c = socket.create_connection(s.getsockname()[:2], 5)
            s.accept()[0].sendall(b'mine')
            print(c.recv(10).decode())
        print(error(socket.create_connection, ('127.0.0.1', 9), 5))
        ''') == ['mine', 'mine', 'mine', 'ECONNREFUSED']


def test_udp_elsewhere_fails_at_once_and_is_counted(place):
    lines = place.python('''
        for f, a in ((socket.AF_INET, '203.0.113.1'),
                     (socket.AF_INET6, '2001:db8::1')):
            s = socket.socket(f, socket.SOCK_DGRAM)
            s.settimeout(5)
            s.connect((a, 443))
            s.send(b'quic')
            print(error(s.recv, 10))
        ''', '--counters')
    assert lines == ['ECONNREFUSED', 'ECONNREFUSED']
    assert 'udp 2 icmp 0 other 0' in place.err


def test_dns_to_any_address_reaches_the_answerer(place):
    assert place.python('''
        for a in ('198.18.0.1', '8.8.8.8', '127.0.0.53', '2001:4860::8888',
                  '::1', '255.255.255.254'):
            f = socket.AF_INET6 if ':' in a else socket.AF_INET
            s = socket.socket(f, socket.SOCK_DGRAM)
            s.settimeout(5)
            s.connect((a, 53))
            s.send(b'question')
            print(s.recv(100).decode(), s.getpeername()[0] == a)
        ''', '--counters') == ['question True'] * 6
    assert 'udp 0 icmp 0 other 0' in place.err


def test_nobody_inside_takes_the_listeners_place(place):
    # L3-29: the port is found in /proc/net/tcp
    assert place.python('''
        taken = {int(l.split()[1].split(':')[1], 16)
                 for l in list(open('/proc/net/tcp'))[1:]}
        assert len(taken) == 2
        for port in sorted(taken):
            for address in ('127.0.0.1', '0.0.0.0'):
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                print(error(s.bind, (address, port)))
        ''') == ['EADDRINUSE'] * 4


# ------------------------------------------------------------- what is shown

def test_nothing_of_the_callers_home_is_there(place):
    place.write('.ssh/id_ed25519', 'secret')
    place.write('.gitconfig', '[user]\n\tname = t\n')
    place.write('.config/duenna/token', 'secret')
    place.write('.local/bin/tool', '#!/bin/sh\necho tool\n', 0o755)
    place.write('project/file', 'mine')
    lines = place.sh('find "$HOME" | sort; cat file "$HOME/.gitconfig"; '
                     'echo; "$HOME/.local/bin/tool"; '
                     'echo > "$HOME/.gitconfig"; rm -f "$HOME/.local/bin/tool";'
                     'echo new > "$HOME/.bashrc" && cat "$HOME/.bashrc"')
    h = place.home
    assert lines == [
        h, h + '/.gitconfig', h + '/.local',
        h + '/.local/bin', h + '/.local/bin/tool', h + '/project',
        h + '/project/file', 'mine[user]', '\tname = t', '', 'tool', 'new']
    assert place.err.count('Read-only file system') == 2
    assert not os.path.exists(place.home + '/.bashrc')


def test_the_home_is_kept_under_a_name_and_else_removed(place):
    place.sh('mkdir -p ~/a/b && echo kept > ~/a/b/c && chmod 0 ~/a/b ~/a')
    assert os.listdir(place.state + '/homes') == []
    place.sh('echo kept > ~/x', '--name', 'k')
    assert place.sh('cat ~/x', '--name', 'k') == ['kept']
    assert os.listdir(place.state + '/homes') == ['k']


def test_a_home_too_deep_for_descriptors_is_removed(place):
    place.python('''
        os.chdir(os.environ['HOME'])
        for i in range(3000):
            os.mkdir('d')
            os.mkdir('e')
            os.chdir('d')
        ''')
    assert os.listdir(place.state + '/homes') == []


def test_a_link_planted_in_a_kept_home_is_not_followed(place):
    place.sh('ln -s /tmp ~/.config', '--name', 'k')
    place.write('.config/git/config', '')
    done = place.run('true', '--name', 'k')
    assert done.returncode == 125
    assert 'a link stands in its home' in done.stderr


def test_the_rest_of_the_host_is_not_there(place):
    lines = place.sh('echo /*; ls /var /var/lib /run /tmp; '
                     'touch /x /usr/x /etc/x /opt/x /dev/x /sys/x')
    shown = set(lines[0].split())
    assert shown <= {'/bin', '/dev', '/etc', '/home', '/lib', '/lib32',
                     '/lib64', '/libx32', '/mnt', '/srv', '/media', '/nix',
                     '/opt', '/proc', '/run', '/sbin', '/sys', '/tmp', '/usr',
                     '/var'}
    assert not {'root', 'host', 'stage'} & {p[1:] for p in shown}
    assert place.err.count('Read-only file system') + \
        place.err.count('Permission denied') >= 6


def test_etc_is_the_hosts_under_ours(place):
    lines = place.sh(
        'cat /etc/resolv.conf /etc/hosts; grep hosts: /etc/nsswitch.conf;'
        'cat /etc/ssl/certs/0123abcd.0 /etc/os-release | head -2;'
        'cat /etc/new/deep/file; hostname -f; getent hosts probe-host',
        '--file', '/etc/ssl/certs/0123abcd.0=pem\n',
        '--file', '/etc/new/deep/file=deep\n',
        '--file', '/etc/resolv.conf=nameserver 8.8.8.8\n')
    assert lines[:4] == ['nameserver 198.18.0.1', '127.0.0.1\tlocalhost',
                         '127.0.1.1\tprobe-host',
                         '::1\tlocalhost ip6-localhost ip6-loopback']
    assert 'hosts: files dns' in lines
    assert 'pem' in lines and 'deep' in lines
    assert any(line.startswith('PRETTY_NAME') for line in lines)


def test_devices_and_new_ones(place):
    lines = place.sh(
        'ls /dev /dev/pts; test -c /dev/null && echo x > /dev/null && '
        'head -c 3 /dev/zero | wc -c; echo shm > /dev/shm/f && '
        'cat /dev/shm/f; ls /proc | grep -c "^[0-9]"; readlink /dev/ptmx')
    assert set(lines) >= {'null', 'zero', 'full', 'random', 'urandom', 'tty',
                          'pts', 'shm', 'ptmx', 'fd', '3', 'pts/ptmx'}
    assert not {'vda', 'kvm', 'mem', 'sda', 'fuse'} & set(lines)


def test_sockets_of_the_host_are_absent(place):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(base() + '/ns-host.sock')
    listening.listen()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind('\0ns-abstract')
    abstract.listen()
    try:
        assert place.python('''
            for a in (%r, '\\0ns-abstract', '/run/dbus/system_bus_socket',
                      '/var/run/docker.sock', '/tmp/.X11-unix/X0'):
                print(error(socket.socket(socket.AF_UNIX).connect, a))
            s = socket.socket(socket.AF_UNIX)
            s.bind('own.sock')
            s.listen()
            socket.socket(socket.AF_UNIX).connect('own.sock')
            os.unlink('own.sock')
            ''' % (base() + '/ns-host.sock')) == [
                'ENOENT', 'ECONNREFUSED', 'ENOENT', 'ENOENT', 'ENOENT']
    finally:
        listening.close()
        abstract.close()
        os.unlink(base() + '/ns-host.sock')


@pytest.mark.parametrize('where', ['project/agent.sock', 'shared/a/b.sock'])
def test_a_socket_in_a_shown_folder_is_refused_with_its_name(place, where):
    path = place.write(where)
    os.unlink(path)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    os.makedirs(place.home + '/shared', exist_ok=True)
    done = place.run('echo RAN', '--read', place.home + '/shared')
    listening.close()
    assert (done.returncode, done.stdout) == (125, '')
    assert path in done.stderr


def test_a_stale_socket_in_the_working_directory_is_refused(place):
    listening = socket.socket(socket.AF_UNIX)
    path = place.work + '/deep/er/x.sock'
    os.makedirs(os.path.dirname(path))
    listening.bind(path)
    listening.close()
    done = place.run('echo RAN')
    assert (done.returncode, done.stdout) == (125, '')
    assert 'deep/er/x.sock' in done.stderr


@pytest.mark.parametrize('where', ['', '..', '../..', '/', '.config/duenna',
                                   '.local/state', '/proc', '/etc', '/dev'])
def test_working_directories_that_are_refused(place, where):
    place.write('.config/duenna/config.yaml')
    cwd = os.path.normpath(os.path.join(place.home, where))
    done = place.run('echo RAN', cwd=cwd)
    assert (done.returncode, done.stdout) == (125, '')
    assert cwd in done.stderr


@pytest.mark.parametrize('option', ['--read', '--write'])
def test_binds_that_are_refused(place, option):
    place.write('log/audit.jsonl')
    for path in ('/', place.home, '/proc', '/sys/fs', '/dev/shm', '/etc',
                 place.home + '/log', place.home + '/.local'):
        done = place.run('echo RAN', option, path, '--closed',
                         place.home + '/log/audit.jsonl')
        assert (done.returncode, done.stdout) == (125, ''), path
        assert path in done.stderr


def test_binds_are_read_only_or_not(place):
    place.write('r/file', 'r')
    place.write('w/file', 'w')
    lines = place.sh('cat ../r/file ../w/file; echo; echo 1 > ../r/file; '
                     'echo 2 > ../w/file; cat ../r/file; cat ../w/file',
                     '--read', place.home + '/r', '--write',
                     place.home + '/w')
    assert lines == ['rw', 'r2']
    assert 'Read-only' in place.err
    with open(place.home + '/w/file', encoding='utf-8') as f:
        assert f.read() == '2\n'
