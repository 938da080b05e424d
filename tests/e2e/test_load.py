# SPDX-License-Identifier: Apache-2.0
"""Too much of something: it ends itself, not the sandbox and not duenna."""
import os
import resource
import time


# 300 connections beside four that were there before; what these get meanwhile,
# and what a good client gets afterwards.
DESCRIPTORS = '''
import os, socket, ssl, subprocess, time
where = socket.gethostbyname("ok.test"), 443
context = ssl.create_default_context()
first = [context.wrap_socket(socket.create_connection(where),
                             server_hostname="ok.test") for i in range(4)]
children = []
for _ in range(3):
    children.append(os.fork())
    if children[-1] == 0:
        held = [socket.create_connection(where, 3) for i in range(100)]
        time.sleep(3)
        os._exit(0)
time.sleep(1)
for s in first:
    s.settimeout(5)
    s.sendall(b"GET /y HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n")
    print(s.recv(1000)[9:12].decode(), flush=True)
for each in children:
    os.waitpid(each, 0)
time.sleep(1)
subprocess.run(["curl", "-sS", "-m", "10", "https://ok.test/after"])
'''


def test_a_worker_out_of_descriptors_recovers(bed):
    here = bed('- allow: https://ok.test/**')
    got = here.start(
        ['/usr/bin/python3', '-c', DESCRIPTORS],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                              (200, 200))).wait()
    assert 'hello from ok.test/after' in got.out, got
    assert got.out.split()[:4] == ['429'] * 4, got
    assert got.reasons().count('limit.conns') == 4, got


def test_the_roles_may_have_more_descriptors_than_the_command(bed):
    """The usual 1,024 are fewer than the connections of one sandbox."""
    here = bed('- allow: https://ok.test/**')
    run = here.start(
        ['sh', '-c', 'ulimit -Sn; echo >began; sleep 6'],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                              (256, 4096)))
    while not os.path.exists(here.project + '/began'):
        time.sleep(0.01)
    limit, until = None, time.monotonic() + 5
    while limit != [['4096'] * 2] and time.monotonic() < until:
        worker, = run.roles()['worker']
        with open('/proc/%d/limits' % worker, encoding='ascii') as f:
            limit = [row.split()[3:5] for row in f if 'open files' in row]
    got = run.wait()
    assert got.out == '256\n' and limit == [['4096'] * 2], (limit, got)


DENIALS = '''
import socket
where = socket.gethostbyname("plain.test"), 80
for i in range(4000):
    s = socket.create_connection(where)
    s.sendall(b"GET /%d HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n" % i)
    assert b" 403 " in s.recv(100)
    s.close()
'''


def test_refusals_beyond_the_budget_are_counted_to_the_last(bed):
    here = bed('- allow: http://plain.test/ok')
    got = here.run(['/usr/bin/python3', '-c', DENIALS])
    rows = got.find(event='request.end', reason='http.path_denied')
    assert got.exit == 0 and 2000 <= len(rows) < 4000, got
    assert sum(r.get('duenna.count', 1) for r in rows) == 4000, got
    # their connections have no records of their own
    assert not got.find(event='flow.begin') + got.find(event='flow.end'), got


def test_what_is_open_at_the_end_of_a_run_ends_with_it(bed):
    """A client that ended only its side still waits for its answer."""
    here = bed('- allow: https://ok.test/**')
    got = here.run('curl -sS -m 1 https://ok.test/_silent/20')
    ends = got.find(event='request.end') + got.find(event='flow.end')
    assert [r['reason'] for r in ends] == ['shutdown'] * 2, got
    assert got.seconds < 2, got
