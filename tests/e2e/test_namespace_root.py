# SPDX-License-Identifier: Apache-2.0
"""Root in the sandbox's network namespace, and packets that no program sends:
the rules in there are a convenience, that there is no other link is the
boundary.  The root is the bed's own, entering from outside; the command has
no capability to do any of it."""
import os
import re
import signal
import socket
import subprocess
import textwrap
import time

import pytest

from bed import EVIL, ORIGIN, Bed, descendants

RULES = ('- allow: https://ok.test/**\n'
         '- allow: http://ok.test/public/**\n')
TRY = textwrap.dedent('''
    import errno, os, socket, sys
    def tcp(host, port, data=b'', *more):
        """What becomes of a connection, in a word."""
        try:
            with socket.create_connection((host, port), 5) as s:
                for part in (data, *more):
                    s.sendall(part)
                return s.recv(4096).decode('latin-1') or 'closed'
        except OSError as e:
            return errno.errorcode.get(e.errno, str(e))
    GET = b'GET /public/a HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n'
    ''')
# all of a namespace's entries, by one message of ctnetlink
FORGET = ('import socket, struct\n'
          's = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)\n'
          's.send(struct.pack("=IHHIIBBH", 20, 0x102, 5, 1, 0, 0, 0, 0))\n'
          'assert struct.unpack_from("=i", s.recv(100), 16)[0] == 0\n')


class Inside:
    """A shell in a sandbox that does what it is told, line by line."""

    def __init__(self, here):
        self.here, self.steps = here, 0
        here.write('project/t.py', TRY)
        self.run = here.start(['sh', '-s'], stdin=subprocess.PIPE)
        self.wait_for(lambda: self.shell() is not None)

    def shell(self):
        found = [p for p, line in descendants(self.run.child.pid).items()
                 if line[:2] == ['sh', '-s']]
        return found[0] if found else None

    def wait_for(self, what):
        until = time.monotonic() + 20
        while not what():
            assert time.monotonic() < until, self.run.wait(1)
            time.sleep(0.01)

    def begin(self, line):
        self.run.child.stdin.write(line + '\n')
        self.run.child.stdin.flush()

    def do(self, line):
        self.steps += 1
        name = 'step%d' % self.steps
        self.begin('%s\n: > %s' % (line, name))
        self.wait_for(lambda: os.path.exists(
            self.here.project + '/' + name))

    def python(self, code):
        self.do("/usr/bin/python3 - <<'X'\nfrom t import *\n%s\nX" %
                textwrap.dedent(code).strip())

    def root(self, *line):
        """LINE as root of the sandbox's network namespace."""
        done = subprocess.run(
            ['nsenter', '--target', str(self.shell()), '--net', '--', *line],
            capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 0, done
        return done.stdout

    def end(self):
        got = self.run.wait()
        assert got.exit == 0, got
        return got


@pytest.fixture
def inside(peers):
    one = Inside(Bed(RULES, peers=peers))
    yield one
    if one.run.child.poll() is None:
        one.run.child.kill()
        one.run.child.wait()


def test_root_who_flushes_the_rules_cuts_itself_off(inside):
    """LC-11: nothing leaves, everything is refused, the run goes on."""
    inside.do('getent hosts ok.test | cut -d" " -f1 > at')
    inside.do('curl -sS https://ok.test/before')
    inside.here.mark()
    inside.root('nft', 'flush', 'ruleset')
    assert inside.root('nft', 'list', 'ruleset') == ''
    inside.python('''
        at = open('at').read().strip()
        for a in (at, %r, %r, '8.8.8.8', '2001:db8::1', '198.18.0.1'):
            print(*[tcp(a, p) for p in (443, 80, 53, 1, 65535)])
        for a in (%r, '198.18.0.1', '127.0.0.53'):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect((a, 53))
            s.send(b'x')
            s.settimeout(5)
            try:
                print(s.recv(9))
            except OSError as e:
                print(errno.errorcode[e.errno])
        ''' % (EVIL, ORIGIN, EVIL))
    inside.do('curl -sS -m 5 https://ok.test/after; echo "curl $?"')
    got = inside.end()
    assert got.out == 'hello from ok.test/before\n' + \
        (' '.join(['ECONNREFUSED'] * 5) + '\n') * 6 + \
        'ECONNREFUSED\n' * 3 + 'curl 6\n', got
    assert not inside.here.origin_events('open', 'bytes', 'datagram'), got
    assert not inside.here.resolver_questions()


def test_without_rules_the_listeners_serve_nobody(inside):
    """L3-19: who says nowhere where it wanted to go wanted to go to us."""
    inside.root('nft', 'flush', 'ruleset')
    inside.python('''
        for row in list(open('/proc/net/tcp'))[1:]:
            print(tcp('127.0.0.1', int(row.split()[1][-4:], 16), GET)[9:12])
        ''')
    got = inside.end()
    assert sorted(got.out.split('\n')) == ['', '', '403'], got
    assert sorted(got.reasons()) == ['dns.malformed', 'dst.self'], got
    assert not got.find(event='dial'), got
    assert not inside.here.origin_events()


def test_a_connection_whose_entry_is_gone_is_closed(inside):
    """L3-19: the kernel forgets it between the accept and our question."""
    inside.do('getent hosts ok.test | cut -d" " -f1 > at')
    worker = inside.run.roles()['worker'][0]
    os.kill(worker, signal.SIGSTOP)
    inside.begin("/usr/bin/python3 -c '%s'" % textwrap.dedent("""
        from t import *
        s = socket.create_connection((open("at").read().strip(), 80))
        s.sendall(GET)
        open("on", "w")
        s.settimeout(1)  # what we answer finds no way back to it
        try:
            print(s.recv(99) or "closed")
        except OSError as e:
            print(e)
        """))
    try:
        inside.wait_for(lambda: os.path.exists(inside.here.project + '/on'))
        inside.root('/usr/bin/python3', '-c', FORGET)
    finally:
        os.kill(worker, signal.SIGCONT)
    inside.do('curl -sS https://ok.test/later')
    got = inside.end()
    assert got.out.split('\n')[0] in ('closed', 'timed out') or \
        'reset' in got.out, got
    assert 'hello from ok.test/later' in got.out, got
    assert set(got.reasons()) == {'dst.self'}, got
    assert [r['target'] for r in inside.here.origin_requests()] == ['/later']


def test_data_in_the_syn_is_data(inside):
    """L3-07: TCP Fast Open, forced upon the listeners too."""
    inside.root('sh', '-c', 'echo 1539 > /proc/sys/net/ipv4/tcp_fastopen')
    inside.python('''
        for path in (b'/public/syn', b'/private/syn'):
            s = socket.socket()
            s.sendto(GET.replace(b'/public/a', path), socket.MSG_FASTOPEN,
                     (socket.gethostbyname('ok.test'), 80))
            print(s.recv(4096).decode().split()[1])
        ''')
    got = inside.end()
    assert got.out.split() == ['200', '403'], got
    assert [r['target'] for r in inside.here.origin_requests()] == \
        ['/public/syn']
    assert got.reasons() == ['http.path_denied'], got


def test_urgent_data_changes_no_verdict(inside):
    """L3-07: it is left out of the stream, the same way always."""
    inside.python('''
        for before, after in ((b'/pub', b'lic/a'), (b'/public', b'/b'),
                              (b'/publ', b'ic/../x'), (b'/private', b'/c')):
            head, tail = GET.split(b'/public/a')
            s = socket.create_connection(('ok.test', 80), 5)
            s.sendall(head + before)
            s.send(b'X', socket.MSG_OOB)
            s.sendall(after + tail)
            print(s.recv(4096).decode().split()[1])
        ''')
    got = inside.end()
    assert got.out.split() == ['200', '200', '400', '403'], got
    assert [r['target'] for r in inside.here.origin_requests()] == \
        ['/public/a', '/public/b']


def test_a_segment_with_syn_and_fin_opens_nothing(inside):
    """L3-07: written by hand, by root, to the listener and past the rules."""
    inside.do('getent hosts ok.test | cut -d" " -f1 > at')
    with open(inside.here.project + '/at', encoding='ascii') as f:
        at = f.read().strip()
    inside.root('/usr/bin/python3', '-c', textwrap.dedent('''
        import socket, struct
        def total(b):
            s = sum(struct.unpack('!%%dH' %% (len(b) // 2), b))
            return ~((s & 0xffff) + (s >> 16)) & 0xffff
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, 6)
        for to in (%r, %r, %r):
            for flags in (0x03, 0x2b, 0x0b, 0x00, 0x3f):
                tcp = struct.pack('!HHIIBBHHH', 40000 + flags, 80, 1, 0, 0x50,
                                  flags, 1024, 0, 0)
                pseudo = socket.inet_aton('198.18.0.1') + \\
                    socket.inet_aton(to) + struct.pack('!HH', 6, 20)
                raw.bind(('198.18.0.1', 0))
                raw.sendto(tcp[:16] + struct.pack('!H', total(pseudo + tcp)) +
                           tcp[18:], (to, 0))
        ''' % (at, EVIL, ORIGIN)))
    inside.do('curl -sS https://ok.test/later')
    got = inside.end()
    assert len(got.find(event='flow.begin')) == 1, got
    assert [r['target'] for r in inside.here.origin_requests()] == ['/later']
    assert not [e for e in inside.here.origin_events('open')
                if EVIL in e['to']]


def test_multipath_tcp_is_plain_tcp(inside):
    """L3-08: redirected like any other; no second path is joined."""
    inside.python('''
        for path in (b'/public/mp', b'/private/mp'):
            try:
                s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
            except OSError as e:
                print('none')
                continue
            s.settimeout(5)
            s.connect((socket.gethostbyname('ok.test'), 80))
            s.sendall(GET.replace(b'/public/a', path))
            print(s.recv(4096).decode().split()[1])
            try:  # MPTCP_INFO: only a socket that has not fallen back has it
                s.getsockopt(284, 1, 100)
                print('multipath')
            except OSError:
                pass
        ''')
    got = inside.end()
    if got.out.split() == ['none', 'none']:
        assert not inside.here.origin_events()
        return
    assert got.out.split() == ['200', '403'], got
    assert [r['target'] for r in inside.here.origin_requests()] == \
        ['/public/mp']
    assert got.reasons() == ['http.path_denied'], got


def sniffer():
    """All that passes the bed's own links."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setblocking(False)
    return s


def seen_by(sock):
    found = []
    try:
        while True:
            found.append(sock.recv(200))
    except BlockingIOError:
        return found


def test_no_packet_of_any_protocol_leaves(inside):
    """L3-02 to L3-06: by hand, each IP protocol, fragments, source routes."""
    outside = sniffer()
    inside.root('/usr/bin/python3', '-c', textwrap.dedent('''
        import socket, struct
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)
        raw.setsockopt(0, 3, 1)  # we write the head
        six = socket.socket(socket.AF_INET6, socket.SOCK_RAW, 255)
        def send(to, protocol, more=b'', fragment=0):
            head = struct.pack('!BBHHHBBH', 0x45 + len(more) // 4, 0, 0, 7,
                               fragment, 64, protocol, 0)
            data = struct.pack('!HHIIBBHHH', 4000, 80, 1, 0, 0x50, 2, 9, 0, 0)
            try:
                raw.sendto(head + socket.inet_aton('198.18.0.1') +
                           socket.inet_aton(to) + more + data, (to, 0))
            except OSError:
                pass
        for to in (%r, %r, '255.255.255.255', '224.0.0.1'):
            for protocol in range(256):
                send(to, protocol)
            for fragment in (0x2000, 0x2001, 1, 3, 0x1fff):
                send(to, 6, fragment=fragment)
                send(to, 17, fragment=fragment)
            for option in (0x83, 0x89, 0x07):  # routes: loose, strict, record
                send(to, 6, struct.pack('!BBB4sB', option, 7, 4,
                                        socket.inet_aton(%r), 0))
        for to in ('2001:db8::1', 'ff02::1', 'fe80::1%%lo'):
            try:
                six.sendto(b'x' * 40, (to, 0))
            except OSError:
                pass
        ''' % (EVIL, ORIGIN, EVIL)))
    inside.do('curl -sS https://ok.test/after')
    got = inside.end()
    mark = socket.inet_aton('198.18.0.1')
    packets = seen_by(outside)
    outside.close()
    assert [p for p in packets if socket.inet_aton(ORIGIN) in p], 'no packets'
    assert [p for p in packets if mark in p] == []
    assert got.out == 'hello from ok.test/after\n', got
    assert sum(r['duenna.count'] for r in
               got.find(event='drop', reason='l3.proto')) > 700, got
    assert not inside.here.origin_events('datagram')


def test_no_mark_and_no_user_is_an_exception(inside):
    """L3-13: what root there may set on a socket leads nowhere else."""
    said = inside.root('/usr/bin/python3', '-c', TRY + textwrap.dedent('''
        for mark in (0, 1, 0x1337, 0xffffffff):
            for uid in (0, 1, 65534):
                if os.fork() == 0:
                    os.setuid(uid) if mark == 0 else None
                    s = socket.socket()
                    if mark:
                        s.setsockopt(1, 36, mark & 0x7fffffff)
                    s.setsockopt(1, 12, 6)
                    s.setsockopt(0, 1, 0xb8)
                    s.settimeout(5)
                    s.connect((%r, 80))
                    s.sendall(GET)
                    print(s.recv(4096).decode().split()[1])
                    os._exit(0) if sys.stdout.flush() is None else None
                os.wait()
        ''' % EVIL))
    got = inside.end()
    assert said.split() == ['403'] * 12, said
    assert len(got.reasons()) == 12 and not inside.here.origin_events(), got


def test_who_ends_our_sockets_ends_their_own_connections(inside):
    """L3-29: `ss -K`.  Where the kernel cannot, nothing happens at all."""
    roles = inside.run.roles()
    inside.root('ss', '-K', '-tan')
    inside.root('ss', '-K', '-uan')
    inside.do('curl -sS -m 5 http://ok.test/public/x; echo " $?"')
    assert inside.run.roles() == roles
    got = inside.end()
    assert got.out in ('hello from ok.test/public/x 0\n', ' 7\n', ' 6\n'), got


def test_root_cannot_raise_what_a_connection_may_hold(inside):
    """L3-28: the buffers of the sockets that we accept are fixed."""
    inside.root('sh', '-c', 'for k in tcp_wmem tcp_rmem; do echo 4194304 '
                '16777216 67108864 > /proc/sys/net/ipv4/$k; done')
    inside.begin("/usr/bin/python3 -c '%s'" % textwrap.dedent("""
        import time
        from t import *
        s = socket.create_connection(("ok.test", 80))
        s.sendall(GET.replace(b"/public/a", b"/public/_download/50000000"))
        s.recv(1)
        while not os.path.exists("enough"):
            time.sleep(0.01)
        """))
    pattern = r'ESTAB .* (\S+):(\d+) *\n.*skmem:\(r\d+,rb(\d+),t\d+,tb(\d+)'

    def sockets():
        return re.findall(pattern, inside.root('ss', '-Htanm'))
    # the client's own is as large as its root may make it; ours is not
    inside.wait_for(lambda: any(int(s[2]) > 4 << 20 for s in sockets()))
    ours = [s for s in sockets() if s[1] != '80']
    with open(inside.here.project + '/enough', 'w', encoding='ascii'):
        pass
    inside.end()
    assert len(ours) == 1, ours
    assert int(ours[0][2]) == int(ours[0][3]) == 2 * 262144, ours
