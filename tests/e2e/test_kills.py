# SPDX-License-Identifier: Apache-2.0
"""Roles that stand still or die at random moments under traffic (LC-01, LC-02,
LG-13).

DUENNA_ROUNDS deaths (8) in runs of eight; DUENNA_SEED begins another series.
Between them the resolver lies.  What it asserts is not when something works again, but that nothing leaves that
must not, nothing twice, nothing without its token or its record.
"""
import collections
import os
import random
import signal
import time

import pytest

from bed import ORIGIN, Bed, descendants, processes

ROUNDS = int(os.environ.get('DUENNA_ROUNDS', '8'))
SEED = int(os.environ.get('DUENNA_SEED', '1'))
A_RUN = 8    # deaths: two of each role, since the third cuts the sandbox off
ROLES = ['worker', 'dialer', 'keeper', 'scribe']
SIGNALS = [signal.SIGKILL] * 3 + [signal.SIGABRT, signal.SIGTERM]
RULES = '''
- allow: https://api.test/v1/**
  credential: api
- allow: https://ok.test/up/**
  methods: [POST]
'''
# Four threads that ask all the time, each with a connection that it keeps as
# long as it lasts; a line for each answer, or what came instead.
TRAFFIC = '''
import http.client, os, random, ssl, threading
context = ssl.create_default_context()
lines = open('answers', 'a', buffering=1)
def work(n):
    r, open_, i = random.Random(%d + n), {}, 0
    while not os.path.exists('enough'):
        i += 1
        host, method, path, size = r.choice((
            ('api.test', 'GET', '/v1/', 0), ('api.test', 'GET', '/admin/', 0),
            ('ok.test', 'POST', '/up/', r.randrange(1, 400000))))
        path += '%%d-%%d' %% (n, i)
        try:
            if host not in open_ or r.random() < 0.3:
                open_[host] = http.client.HTTPSConnection(host, timeout=20,
                                                          context=context)
            open_[host].request(method, path, b'x' * size or None)
            answer = open_[host].getresponse()
            answer.read()
            came = answer.status
            if answer.will_close:
                del open_[host]
        except (OSError, http.client.HTTPException) as e:
            came = type(e).__name__
            open_.pop(host, None)
        lines.write('%%s %%s\\n' %% (path, came))
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
'''


def wait_for(true, seconds=20):
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def answers(here):
    path = here.project + '/answers'
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as f:
        return [line.split() for line in f if line.endswith('\n')]


def good(here, since=0):
    return [a for a in answers(here)[since:] if a[1] == '200']


def pause_one(run, rng):
    pids = sum(run.roles().values(), [])
    pid = rng.choice(pids) if pids else None
    try:
        if pid:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(rng.uniform(0, 0.4))
            os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


NAMES = {name: [{'a': [ORIGIN], 'ttl': 0}] for name in ('api.test', 'ok.test')}
LIES = [{'fail': fault} for fault in ('servfail', 'silent', 'wrong-id',
                                      'wrong-question', 'truncated')] + \
    [{'a': [address], 'ttl': 0} for address in (
        '10.0.0.1', '169.254.169.254', '127.0.0.1', '0.0.0.0')]


def lie(here, rng):
    """The resolver fails, or leads into the host, for a moment."""
    here.peers.resolve({**NAMES, rng.choice([*NAMES]): [rng.choice(LIES)]})
    time.sleep(rng.uniform(0, 0.3))
    here.peers.resolve(NAMES)


def kill_some(here, run, rng, n):
    """N deaths of the roles; sometimes the next comes before the last one is
    made up for, while another role is held up, or the resolver lies."""
    deaths = []
    for role in rng.sample(ROLES * (A_RUN // len(ROLES)), n):
        time.sleep(rng.uniform(0, 0.4))
        if rng.random() < 0.3:
            pause_one(run, rng)
        if rng.random() < 0.3:
            lie(here, rng)
        if not wait_for(lambda r=role: run.roles().get(r)):
            break
        pid, number = run.roles()[role][0], rng.choice(SIGNALS)
        deaths.append((role, number.name))
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
        if rng.random() < 0.5:
            wait_for(lambda r=role, p=pid: run.roles().get(r) not in
                     (None, [p]))
    return deaths


def judge_origin(here, log):
    """What left: only what policy allows, with its token, once, on record."""
    times, begun = collections.Counter(), {
        r['url.path'] for r in log if r['event'] == 'request.begin'}
    for r in here.origin_requests():
        tokens = [v for n, v in r['fields'] if n.lower() == 'authorization']
        if r['target'].startswith('/up/'):
            assert tokens == [] and r['method'] == 'POST', r
            times[r['target']] += 1
            continue
        assert r['target'].startswith('/v1/'), r
        assert tokens == ['Bearer ' + here.canary], r
        assert r['target'] in begun, r
    assert max(times.values(), default=1) == 1, times
    assert {e['to'] for e in here.origin_events('open')} == {ORIGIN + ':443'}


def judge_log(here, got, ended):
    options = [] if ended else ['--open']
    assert got.log, got
    for line in (['verify', *options], ['replay']):
        status, out, err = here.duenna('audit', *line, got.log)
        assert status == 0, (line, out, err)


def one_run(here, rng, n):
    """Up to N deaths, then an end in peace, or the monitor's own."""
    run = here.start(['/usr/bin/python3', '-c',
                      TRAFFIC % rng.randrange(1 << 30)])
    assert wait_for(lambda: good(here)), run.wait(1)
    deaths = kill_some(here, run, rng, n)
    peace = rng.random() < 0.75
    if peace:
        now = len(answers(here))
        assert wait_for(lambda: good(here, now), 30), (deaths, run.wait(1))
        with open(here.project + '/enough', 'w', encoding='utf-8'):
            pass
    family = set(descendants(run.child.pid)) - {run.child.pid}
    if not peace:
        time.sleep(rng.uniform(0, 0.1))
        run.child.kill()
        assert wait_for(lambda: not family & {
            p for p, (_, line) in processes().items() if line[0]}), deaths
    got = run.wait(60)
    assert got.exit == (0 if peace else -9), (deaths, got)
    assert 'Sanitizer' not in got.err and 'runtime error' not in got.err, got
    assert not family & {p for p, (_, line) in processes().items()
                         if line[0]}, deaths
    for path, came in answers(here):
        if path.startswith('/admin/'):
            assert came in ('403', '503') or not came.isdigit(), (path, came)
    judge_origin(here, got.audit)
    judge_log(here, got, peace)
    return len(deaths) + (not peace)


@pytest.mark.parametrize('n', range((ROUNDS + A_RUN - 1) // A_RUN))
def test_roles_that_die_at_random_moments(peers, n):
    rng = random.Random(SEED * 100003 + n)
    here = Bed(RULES, peers=peers)
    peers.resolve(NAMES)
    try:
        assert one_run(here, rng, min(A_RUN, ROUNDS - n * A_RUN)) != 0
    finally:
        peers.resolve({})
