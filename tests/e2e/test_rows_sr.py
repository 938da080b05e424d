# SPDX-License-Identifier: Apache-2.0
"""Every row of tests/cases/sr.rows: a resolver that says those addresses."""
import contextlib
import ipaddress
import json
import os
import re
import subprocess

import rows
from rawclient import get

HERE = os.path.dirname(os.path.abspath(__file__))
OWN = ('127.0.0.2', '198.51.100.7', '20.0.113.9')  # beside 127.0.0.1 and ::1


@contextlib.contextmanager
def own_addresses():
    """The host has these too."""
    for address in OWN:
        subprocess.run(['ip', 'addr', 'add', address + '/32', 'dev', 'lo'],
                       check=True)
    try:
        yield
    finally:
        for address in OWN:
            subprocess.run(['ip', 'addr', 'del', address + '/32', 'dev', 'lo'],
                           check=True)


def step(addresses):
    """What the resolver says."""
    return {'a': [a for a in addresses if ':' not in a],
            'aaaa': [a for a in addresses if ':' in a]}


def spec(row):
    host, port = row.data.split(' ')[:2]
    literal = host[0].isdigit()
    return {'id': row.id, 'name': host, 'port': int(port), 'tls': not literal,
            **({'address': host} if literal else {}), 'send': [
                get('/a/_early-close/200', host if port in ('80', '443') else
                    host + ':' + port, Connection='close')]}


def opened(event):
    """The address of a connection that came to the origin."""
    return ipaddress.ip_address(event['to'].rpartition(':')[0].strip('[]'))


def check_row(row, result, dial, to):
    allowed = [ipaddress.ip_address(a) for a in row.sees.split(' ') if a]
    assert dial['reason'] == row.reason, (row.id, dial)
    assert dial['verdict'] == ('allow' if allowed else 'deny'), (row.id, dial)
    if allowed:
        assert result['got'].startswith('HTTP/1.1 200 '), (row.id, result)
        assert to in allowed, (row.id, to)
        assert ipaddress.ip_address(dial['network.peer.address']) == to, row.id
        return
    assert row.reason in result['got'], (row.id, result)
    status = 403 if row.reason == 'dst.self' else 502
    assert result['got'].startswith('HTTP/1.1 %d ' % status), (row.id, result)
    for address in row.data.split(' ')[2:]:
        assert address not in result['got'], (row.id, result)


def test_each_address_of_the_table(bed, peers):
    mine = [r for r in rows.read() if r.input == 'dial']
    assert len(mine) >= 150
    here = bed(rows.policies(), rows.config())
    rows.give_secrets(here)
    for name in ('raw.py', 'rawline.py'):
        with open(HERE + '/' + name, encoding='utf-8') as f:
            here.write('project/' + name, f.read())
    results = []
    with own_addresses():
        run = here.start(['/usr/bin/python3', 'rawline.py'],
                         ['--policy', 'duenna.yaml:dials'],
                         stdin=subprocess.PIPE)
        for row in mine:
            host, _, *addresses = row.data.split(' ')
            peers.resolve({host: [step(addresses)]})
            run.child.stdin.write(json.dumps(spec(row)) + '\n')
            run.child.stdin.flush()
            results.append(json.loads(run.child.stdout.readline()))
        got = run.wait()
    assert got.exit == 0, got
    dials = got.find(event='dial')
    assert len(dials) == len(mine), got
    to = [opened(e) for e in here.origin_events('open')]
    assert len(to) == len([r for r in mine if r.reason == 'allow'])
    for row, result, dial in zip(mine, results, dials):
        check_row(row, result, dial, to.pop(0) if row.sees else None)


def test_what_the_owner_lets_a_policy_open(bed):
    """A rule a line: each that must not load is an error of its line."""
    mine = [r for r in rows.read() if r.input == 'leave']
    assert len(mine) >= 20
    lines = ['version: 1', 'policies:', '  test:', '    rules:']
    for row in mine:
        url, address = ((row.data, '10.1.2.3') if '://' in row.data else
                        ('https://h%d.test/**' % len(lines), row.data))
        lines.append("      - {allow: '%s', addresses: ['%s']}" %
                     (url, address))
    here = bed('\n'.join(lines) + '\n', rows.config())
    _, out, err = here.duenna('check', 'duenna.yaml')
    errors = {int(line): why for line, why in re.findall(
        r'(?m)^duenna\.yaml:(\d+):\d+: (?!warning: )(.*)$', out + err)}
    for at, row in enumerate(mine, 5):
        if row.reason == 'allow':
            assert at not in errors, (row.id, errors[at])
        else:
            assert row.sees in errors.get(at, ''), (row.id, errors.get(at))
