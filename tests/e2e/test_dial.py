# SPDX-License-Identifier: Apache-2.0
"""The dialer: whom it asks, what it dials, what it writes down of it."""
import contextlib
import os
import shutil
import subprocess
import time

import pytest

from bed import EVIL, OPEN, ORIGIN, RESOLVER, Bed, base

V6 = '2001:db8:113::5'
OK = '- allow: https://ok.test/**'
WILD = '- allow: https://*.wild.test/**'


@contextlib.contextmanager
def host_etc(**files):
    """These files stand in the host's /etc, seen from this bed alone; gives
    the folder that they can be changed in."""
    own = base() + '/bed/etc'
    os.makedirs(own, exist_ok=True)
    for name, text in files.items():
        with open('%s/%s' % (own, name.replace('_', '.')), 'w',
                  encoding='ascii') as f:
            f.write(text)
    # not a mount for each: duenna's own overlay takes none below /etc
    subprocess.run(['mount', '-t', 'overlay', 'etc', '-o',
                    'lowerdir=%s:/etc' % own, '/etc'], check=True)
    try:
        yield own
    finally:
        subprocess.run(['umount', '/etc'], check=True)


def config_without_resolvers():
    return Bed.config().replace('    resolvers: ["%s"]\n' % RESOLVER, '')


def config_with_ipv6():
    return Bed.config().replace('private: [%s]' % OPEN,
                                "private: [%s, '2001:db8::/32']" % OPEN)


def rules_with_ipv6(url):
    return ('version: 1\npolicies:\n  p:\n    rules:\n      - allow: %s\n'
            "        addresses: [%s, '2001:db8::/32']\n" % (url, OPEN))


def opened(here):
    return [e['to'] for e in here.origin_events('open')]


def test_the_record_says_who_was_dialled_and_what_was_not(bed, peers):
    peers.resolve({'ok.test': [{'a': ['10.0.0.1', ORIGIN, '192.168.0.1']}]})
    here = bed(OK)
    got = here.run('curl -sS https://ok.test/x')
    assert 'hello' in got.out, got
    dial, = got.find(event='dial')
    assert dial['verdict'] == 'allow' and dial['rule'] == 'rule-1'
    assert dial['server.address'] == 'ok.test' and dial['server.port'] == 443
    assert dial['network.peer.address'] == ORIGIN
    assert dial['duenna.detail'] == ('1 of its addresses must not be dialled, '
                                     'first 10.0.0.1')
    request, = got.find(event='request.end')
    assert request['duenna.socket'] == dial['duenna.socket']
    assert request['duenna.flow'] == dial['duenna.flow']
    assert dial['seq'] < request['seq']
    assert opened(here) == [ORIGIN + ':443']


def test_a_refused_address_is_named_in_the_log_alone(bed, peers):
    peers.resolve({'ok.test': [{'a': ['10.9.8.7']}]})
    here = bed(OK)
    got = here.run('curl -sS -w "%{http_code}" https://ok.test/x')
    dial, = got.find(event='dial')
    assert dial['verdict'] == 'deny' and dial['reason'] == 'up.private'
    assert 'network.peer.address' not in dial
    assert dial['duenna.detail'].endswith(
        'first 10.9.8.7; `private: ["10.9.8.7"]` of the configuration and '
        '`addresses: ["10.9.8.7"]` of a rule open it'), dial
    assert got.out.endswith('502') and '10.9.8.7' not in got.out + got.err
    assert got.find(event='alarm') == []


def test_for_what_nothing_opens_the_log_names_no_key(bed, peers):
    peers.resolve({'ok.test': [{'a': ['169.254.169.254']}]})
    got = bed(OK).run('curl -sS https://ok.test/x')
    dial, = got.find(event='dial')
    assert dial['duenna.detail'].endswith(
        'first 169.254.169.254, which nothing opens'), dial


def test_an_address_of_the_host_is_not_dialled_though_it_is_open(bed, peers):
    peers.resolve({'ok.test': [{'a': ['203.0.113.99']}]})
    here = bed(OK)
    # it comes up while the run goes on: what counts is the moment of the dial
    run = here.start(['sh', '-c', 'curl -sS https://ok.test/1; '
                      'until [ -e go ]; do sleep 0.05; done; sleep 5; '
                      'curl -sS https://ok.test/2'])
    deadline = time.monotonic() + 10
    while not here.origin_requests() and time.monotonic() < deadline:
        time.sleep(0.05)
    subprocess.run(['ip', 'addr', 'add', '203.0.113.99/32', 'dev', 'lo'],
                   check=True)
    try:
        here.write('project/go', '')
        got = run.wait()
    finally:
        subprocess.run(['ip', 'addr', 'del', '203.0.113.99/32', 'dev', 'lo'],
                       check=True)
    assert 'hello from ok.test/1' in got.out, got
    assert 'hello from ok.test/2' not in got.out and 'dst.self' in got.out, got
    assert opened(here) == ['203.0.113.99:443']


def test_ipv6_is_tried_first_and_ipv4_when_nobody_is_there(bed, peers):
    peers.resolve({'both.test': [{'a': [ORIGIN], 'aaaa': [V6]}]})
    here = bed(rules_with_ipv6('https://both.test/**'), config_with_ipv6())
    got = here.run('curl -sS https://both.test/x')
    assert 'hello' in got.out, got
    assert opened(here) == ['[%s]:443' % V6] or opened(here) == [V6 + ':443']
    dial, = got.find(event='dial')
    assert dial['network.peer.address'] == V6

    peers.resolve({'both.test': [{'a': [ORIGIN], 'aaaa': ['fd00::9', V6]}]})
    subprocess.run(['ip', '-6', 'route', 'add', 'unreachable',
                    V6 + '/128', 'table', 'local'], check=True)
    try:
        got = here.run('curl -sS https://both.test/x')
    finally:
        subprocess.run(['ip', '-6', 'route', 'del', 'unreachable',
                        V6 + '/128', 'table', 'local'], check=True)
    assert 'hello' in got.out, got
    dial, = got.find(event='dial')
    assert dial['network.peer.address'] == ORIGIN, got
    assert got.seconds < 5


@contextlib.contextmanager
def nowhere(*addresses):
    """What is sent to these is never answered."""
    subprocess.run(['ip', 'link', 'add', 'nowhere', 'type', 'veth', 'peer',
                    'name', 'nobody'], check=True)
    try:
        subprocess.run(['ip', 'link', 'set', 'nobody', 'up'], check=True)
        # no neighbour is asked for, so none is missed
        subprocess.run(['ip', 'link', 'set', 'nowhere', 'arp', 'off', 'up'],
                       check=True)
        for address in addresses:
            subprocess.run(['ip', 'route', 'add', address, 'dev', 'nowhere',
                            'table', 'local'], check=True)
        yield
    finally:
        subprocess.run(['ip', 'link', 'del', 'nowhere'], check=True)


def test_an_ipv6_that_leads_nowhere_is_left(bed, peers):
    peers.resolve({'both.test': [{'a': [ORIGIN], 'aaaa': [V6]}],
                   'late.test': [{'a': [ORIGIN], 'aaaa': [V6],
                                  'late': {'a': 0.4}}]})
    here = bed(rules_with_ipv6('[https://both.test, https://late.test]'),
               config_with_ipv6())
    with nowhere(V6 + '/128'):
        got = here.run('curl -sS https://both.test/1; '
                       'curl -sS https://late.test/2')
    assert 'both.test/1' in got.out and 'late.test/2' in got.out, got
    assert [d['network.peer.address'] for d in got.find(event='dial')] == \
        [ORIGIN, ORIGIN]


def test_the_family_that_comes_late_is_tried_as_well(bed, peers):
    peers.resolve({'both.test': [{'a': [ORIGIN], 'aaaa': [V6],
                                  'late': {'aaaa': 0.4}}]})
    here = bed(rules_with_ipv6('https://both.test/**'), config_with_ipv6())
    with nowhere(ORIGIN + '/32'):
        got = here.run('curl -sS https://both.test/x')
    assert 'hello' in got.out, got
    dial, = got.find(event='dial')
    assert dial['network.peer.address'] == V6, got


def test_a_host_with_ipv6_alone(bed, peers):
    peers.resolve({'both.test': [{'a': [ORIGIN], 'aaaa': [V6]}],
                   'four.test': [{'a': [ORIGIN]}]})
    here = bed(rules_with_ipv6('[https://both.test, https://four.test]'),
               config_with_ipv6().replace(
                   '"%s"' % RESOLVER, "'2001:db8:113::53'"))
    local = ['local', 'default', 'dev', 'lo']
    subprocess.run(['ip', 'route', 'del', *local], check=True)
    try:
        got = here.run('curl -sS https://both.test/x; '
                       'curl -sS https://four.test/x')
    finally:
        subprocess.run(['ip', 'route', 'add', *local], check=True)
    assert 'hello from both.test' in got.out, got
    assert 'up.connect' in got.out and 'no route to it' in got.out, got
    first, second = got.find(event='dial')
    assert first['network.peer.address'] == V6
    assert second['reason'] == 'up.connect'


def test_names_under_a_wildcard_have_a_budget(bed):
    here = bed(WILD)
    got = here.run('curl -sS -o /dev/null -w "%{http_code}\\n" '
                   'https://n[1-62].wild.test/x')
    codes = got.out.split()
    assert codes == ['200'] * 60 + ['429'] * 2, got
    assert got.reasons() == ['limit.rate'] * 4, got  # dial and request, twice
    asked = {q['name'] for q in here.resolver_questions()}
    assert asked == {'n%d.wild.test' % i for i in range(1, 61)}


def test_dials_in_flight_have_a_limit(bed, peers):
    names = ['n%d.wild.test' % i for i in range(40)]
    peers.resolve({n: [{'fail': 'silent'}] for n in names})
    here = bed(WILD)
    got = here.run('for i in $(seq 0 39); do curl -sS -m 20 -o /dev/null -w '
                   '"%{http_code}\\n" https://n$i.wild.test/x & done; wait')
    codes = sorted(got.out.split())
    assert codes == ['429'] * 8 + ['504'] * 32, got
    assert got.seconds < 15


def test_the_hosts_own_resolver_is_asked_for_the_name_and_no_other(bed):
    with host_etc(resolv_conf='search evil.test\noptions ndots:9 use-vc\n'
                  'nameserver %s\n' % RESOLVER,
                  hosts='%s ok.test\n127.0.0.1 localhost\n' % EVIL):
        here = bed(OK, config_without_resolvers())
        got = here.run('curl -sS https://ok.test/x',
                       env={'RES_OPTIONS': 'ndots:9', 'LOCALDOMAIN': 'evil.test',
                            'HOSTALIASES': '/etc/hosts'})
    assert 'hello from ok.test' in got.out, got
    assert {q['name'] for q in here.resolver_questions()} == {'ok.test'}
    assert {q['proto'] for q in here.resolver_questions()} == {'udp'}
    assert opened(here) == [ORIGIN + ':443']


def point(link, target):
    """Put the link there as programs that manage networks do: by a rename."""
    if os.path.lexists(link + '.new'):
        os.unlink(link + '.new')
    os.symlink(target, link + '.new')
    os.rename(link + '.new', link)


def wait_for(path):
    deadline = time.monotonic() + 20
    while not os.path.exists(path):
        assert time.monotonic() < deadline, path
        time.sleep(0.02)


@pytest.mark.parametrize('how', ['written', 'renamed', 'linked'])
def test_another_network_is_heard_of_and_asked_once_more(bed, how):
    """/etc/resolv.conf is a link, and its resolver never answers; another one
    comes while a question is open."""
    folder = base() + '/bed/net'
    os.makedirs(folder, exist_ok=True)
    for name, address in (('old', '203.0.113.1'), ('new', RESOLVER)):
        with open('%s/%s' % (folder, name), 'w', encoding='ascii') as f:
            f.write('nameserver %s\n' % address)
    now = folder + '/now'
    point(now, 'old')
    with host_etc() as own, nowhere('203.0.113.1/32'):
        point(own + '/resolv.conf', now)
        here = bed(OK, config_without_resolvers())
        run = here.start(['sh', '-c', 'touch asking; '
                          'curl -sS https://ok.test/1'])
        wait_for(here.project + '/asking')
        if how == 'written':
            shutil.copy(folder + '/new', folder + '/old')
        elif how == 'renamed':
            os.rename(folder + '/new', folder + '/old')
        else:
            point(now, 'new')
        got = run.wait()
    assert 'hello from ok.test/1' in got.out, got
    dial, = got.find(event='dial')
    assert dial['verdict'] == 'allow', got


def test_a_network_that_comes_up_after_the_start(bed):
    folder = base() + '/bed/net'
    os.makedirs(folder, exist_ok=True)
    now = folder + '/now'
    point(now, 'missing')
    # nothing answers on 127.0.0.1 either, which no list at all would mean
    with host_etc() as own, nowhere('203.0.113.1/32'):
        point(own + '/resolv.conf', now)
        here = bed(OK, config_without_resolvers())
        run = here.start(['sh', '-c', 'touch up; until [ -e go ]; do '
                          'sleep 0.05; done; curl -sS https://ok.test/1'])
        wait_for(here.project + '/up')
        with open(folder + '/new', 'w', encoding='ascii') as f:
            f.write('nameserver %s\n' % RESOLVER)
        point(now, 'new')
        time.sleep(1.5)
        here.write('project/go', '')
        got = run.wait()
    assert 'hello from ok.test/1' in got.out, got
    assert {q['name'] for q in here.resolver_questions()} == {'ok.test'}


def test_a_dialer_that_dies_is_started_anew(bed):
    here = bed(OK)
    run = here.start(['sh', '-c', 'curl -sS https://ok.test/1; '
                      'until [ -e go ]; do sleep 0.05; done; '
                      'curl -sS --retry 5 --retry-delay 1 '
                      'https://ok.test/2; sleep 5; curl -sS https://ok.test/3'])
    deadline = time.monotonic() + 10
    while not here.origin_requests() and time.monotonic() < deadline:
        time.sleep(0.05)
    dialer, = run.roles()['dialer']
    os.kill(dialer, 9)
    here.write('project/go', '')
    got = run.wait()
    assert 'hello from ok.test/2' in got.out, got
    assert 'hello from ok.test/3' in got.out, got
    assert 'dialer' in got.err, got  # it says what happened
    assert len(got.find(event='dial', verdict='allow')) >= 2, got
