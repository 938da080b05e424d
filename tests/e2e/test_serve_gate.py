# SPDX-License-Identifier: Apache-2.0
"""`duenna serve`, mode gate: a sandbox behind a link whose other end stands in
a namespace that the gateway is handed (DESIGN 3)."""
import concurrent.futures
import os
import signal
import time

import pytest

from capture_bed import Gate
from serve_bed import Gateway, Namespace

RULES = {'web': '- allow: https://ok.test/**\n',
         'api': '- allow: https://api.test/**\n'}
OK, API = 'https://ok.test/', 'https://api.test/'
ADDRESS = '10.0.0.1/24'


@pytest.fixture(name='it')
def make_gateway(peers):
    it = Gateway(peers, RULES)
    yield it
    it.end()


@pytest.fixture(name='gate')
def make_gates():
    made = []

    def make():
        made.append(Gate())
        return made[-1]

    yield make
    for one in made:
        one.close()


def attach(it, name, gate, *more, policy='web'):
    return it.ask('attach', name, '--policy', policy, '--gate',
                  gate.gate.path, '--interface', 'host0', *more)


def attached(it, name, gate, policy='web'):
    code, _, err = attach(it, name, gate, '--address', ADDRESS, policy=policy)
    assert code == 0, err
    return gate


class Guest:
    """Where a sandbox runs, for Gateway.curl()."""

    def __init__(self, gate):
        self.path = gate.guest.path

    run = Namespace.run


def curl(it, gate, url, *more):
    return it.curl(Guest(gate), url, *more)


def wait_until_cut(it, name, meanwhile=lambda: None):
    """The record that says why."""
    until = time.monotonic() + 20
    while it.ask('status', name)[0] == 0:
        assert time.monotonic() < until
        meanwhile()
        time.sleep(0.05)
    return [r for r in it.records() if r['event'] == 'alarm'
            and r.get('sandbox') == name]


def test_what_leaves_by_the_link_is_judged(it, gate):
    box = attached(it, 'box', gate())
    assert curl(it, box, OK)[0] == 200
    status, body = curl(it, box, API)
    assert status == 403 and 'tls.sni_denied' in body
    assert it.ask('detach', 'box')[0] == 0
    assert curl(it, box, OK)[0] == 0
    attached(it, 'again', box)
    assert curl(it, box, OK)[0] == 200


def test_ipv6_where_the_link_has_it(it, gate):
    box = gate()
    box.with_ipv6()
    code, _, err = attach(it, 'box', box, '--address', ADDRESS, '--address',
                          'fd00::1/64')
    assert code == 0, err
    assert curl(it, box, OK)[0] == 200
    # names have IPv4 addresses here: this one was not handed out
    status, body = curl(it, box, OK, '--resolve', 'ok.test:443:2001:db8::9')
    assert status == 403 and 'dst.unmapped_ip' in body, body


def test_equal_links_are_kept_apart(it, gate):
    """One name of a link, one MAC, one address, twice (L3-25)."""
    web, api = attached(it, 'web', gate()), attached(it, 'api', gate(), 'api')
    before = len(it.peers_requests())
    asked = [(box, url) for box in (web, api) for url in (OK, API)] * 4
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda one: curl(it, *one)[0], asked))
    assert got == [200, 403, 403, 200] * 4
    assert len(it.peers_requests()) - before == 8
    seen = {(r['sandbox'], r['server.address'], r['verdict'])
            for r in it.records() if 'server.address' in r}
    assert seen == {('web', 'ok.test', 'allow'), ('web', 'api.test', 'deny'),
                    ('api', 'api.test', 'allow'), ('api', 'ok.test', 'deny')}


def test_a_link_that_appears_cuts_that_sandbox_off(it, gate):
    one, two = attached(it, 'one', gate()), attached(it, 'two', gate())
    one.gate.run('ip', 'link', 'add', 'br0', 'type', 'bridge')
    alarm, = wait_until_cut(it, 'one')
    assert alarm['reason'] == 'l3.link' and 'br0' in alarm['duenna.detail']
    assert curl(it, one, OK)[0] == 0
    assert curl(it, two, OK)[0] == 200
    code, _, err = attach(it, 'one', one, '--address', ADDRESS)
    assert code == 1 and 'br0 beside host0' in err


def test_a_worker_that_keeps_ending_is_no_fault_of_the_link(it, gate):
    box = attached(it, 'box', gate())

    def kill():
        for pid in it.roles().get('worker', []):
            os.kill(pid, signal.SIGKILL)

    alarm, = wait_until_cut(it, 'box', kill)
    assert alarm['reason'] == 'internal'
    assert curl(it, box, OK)[0] == 0


def test_a_worker_that_ends_gets_the_link_again(it, gate):
    box = attached(it, 'box', gate())
    mine, = it.roles()['worker']
    os.kill(mine, signal.SIGKILL)
    until = time.monotonic() + 20
    while curl(it, box, OK)[0] != 200:
        assert time.monotonic() < until


def test_a_gate_goes_on_after_a_restart(it, gate):
    box = attached(it, 'box', gate())
    it.stop(signal.SIGKILL)
    assert curl(it, box, OK)[0] == 0
    os.unlink(it.socket)
    it.start()
    assert curl(it, box, OK)[0] == 200
    assert curl(it, box, API)[0] == 403


def test_what_is_no_gate_is_refused(it, gate):
    """Among them the gateway's namespace and the machine's (L3-27)."""
    box = gate()
    ours = '/proc/%d/ns/net' % it.child.pid
    for args, want in (
            (('--gate', ours), "duenna's own network namespace"),
            (('--gate', '/proc/1/ns/net'), 'network namespace'),
            (('--gate', '/proc/1/ns/mnt'), 'not of networks'),
            (('--gate', it.conf), 'not the file of a namespace'),
            (('--gate', box.guest.path), 'has the link eth0 beside host0'),
            (('--gate', box.gate.path, '--address', '10.0.0.1/33'),
             'addresses'),
            (('--gate', box.gate.path), 'has no address, and none was given'),
            (('--gate', box.gate.path, '--mac', '02:00:00:00:00:02'),
             'is not looked at')):
        code, _, err = it.ask('attach', 'box', '--policy', 'web',
                              '--interface', 'host0', *args)
        assert code == 1 and want in err, (args, err)
    assert it.ask('status', 'box')[0] == 1
    attached(it, 'box', box)
    code, _, err = attach(it, 'other', box, '--address', ADDRESS)
    assert code == 1 and 'sandbox `box` has that namespace' in err
