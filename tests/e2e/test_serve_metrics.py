# SPDX-License-Identifier: Apache-2.0
"""`GET /metrics` of a gateway: OpenMetrics, of what is counted."""
import os
import re
import signal
import socket
import time

import pytest

from serve_bed import Gateway

WEB = '- allow: https://ok.test/**\n'
FAMILY = re.compile(r'# TYPE (duenna_[a-z_]+) (gauge|counter|info)')
SAMPLE = re.compile(
    r'(duenna_[a-z_]+)(?:\{([a-z]+)="([a-z0-9._-]+)"\})? (\d+)')


@pytest.fixture
def gateway(peers):
    it = Gateway(peers, {'web': WEB})
    yield it
    it.end()


def scrape(it):
    """All samples: {(name, label's value or None): number}."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(it.socket)
        s.sendall(b'GET /metrics HTTP/1.1\r\nHost: x\r\n'
                  b'Connection: close\r\n\r\n')
        with s.makefile('rb') as f:
            head, _, text = f.read().decode().partition('\r\n\r\n')
    assert head.startswith('HTTP/1.1 200 ')
    assert 'application/openmetrics-text; version=1.0.0' in head
    assert text.endswith('\n# EOF\n') and text.count('# EOF') == 1
    samples, family, seen = {}, None, set()
    for line in text.splitlines()[:-1]:
        if line.startswith('# TYPE '):
            family = FAMILY.fullmatch(line)
            assert family and family[1] not in seen, line
            seen.add(family[1])
            continue
        if line.startswith('# HELP '):
            assert line.split()[2] == family[1]
            continue
        name, _, value, number = SAMPLE.fullmatch(line).groups()
        end = {'gauge': '', 'counter': '_total', 'info': '_info'}[family[2]]
        assert name == family[1] + end, line
        assert (name, value) not in samples
        samples[name, value] = int(number)
    return samples


def test_metrics_count_what_happens(gateway):
    it = gateway
    first = scrape(it)
    assert first['duenna_sandboxes', None] == 0
    assert first['duenna_ready', None] == 1
    one, two = it.space(), it.space()
    it.attach('one', one)
    it.attach('two', two)
    assert it.ask('attach', 'x', '--policy', 'none', '--netns',
                  one.path)[0] == 1
    assert it.ask('detach', 'two')[0] == 0
    assert it.ask('reload')[0] == 0
    assert it.curl(one, 'https://ok.test/')[0] == 200
    assert it.curl(one, 'https://api.test/')[0] == 403
    for pid in it.roles()['keeper']:
        os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 15
    got = scrape(it)
    while got['duenna_refusals_total', 'tls.sni_denied'] == 0 or \
            got['duenna_role_ends_total', 'keeper'] == 0:
        assert time.monotonic() < until, got
        time.sleep(0.1)
        got = scrape(it)
    want = {('sandboxes', None): 1, ('workers', None): 1,
            ('programs', None): 1, ('attaches_total', None): 2,
            ('detaches_total', None): 1, ('cutoffs_total', None): 0,
            ('reloads_total', None): 1, ('reload_faults_total', None): 0,
            ('calls_total', 'attach'): 3,
            ('answers_total', 'policy.unknown'): 1,
            ('role_ends_total', 'keeper'): 1,
            ('role_ends_total', 'worker'): 0,
            ('refusals_total', 'tls.sni_denied'): 1,
            ('refusals_total', 'http.method_denied'): 0,
            ('records_missing_total', None): 0}
    assert {k: got.get(('duenna_' + k[0], k[1])) for k in want} == want
    assert got['duenna_log_bytes', None] > first['duenna_log_bytes', None]
