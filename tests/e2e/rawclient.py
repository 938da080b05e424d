# SPDX-License-Identifier: Apache-2.0
"""Run raw cases in one sandbox and put beside each what duenna recorded and
what the origin saw."""
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))


class Case:
    """One case's result: what the client got, the origin's events within its
    time, the audit records of its connection."""

    def __init__(self, spec, result, events, records):
        self.spec, self.events, self.records = spec, events, records
        self.got, self.end = result['got'], result['end']
        self.times, self.alpn = result.get('times', []), result.get('alpn')
        self.began = result['began']
        self.placeholders = result.get('placeholders', {})

    @property
    def status(self):
        at = re.match(r'HTTP/1\.1 (\d{3})', self.got)
        return int(at.group(1)) if at else None

    @property
    def reason(self):
        """The reason that the client was told."""
        at = re.search(r'(?im)^duenna-reason: *(\S+)', self.got)
        return at.group(1) if at else None

    def requests(self):
        return [e for e in self.events if e['event'] == 'request']

    def logged(self):
        """Reasons of this connection's records, allowed ones left out."""
        return [r['reason'] for r in self.records
                if r.get('verdict') == 'deny' and 'reason' in r]

    def alarms(self):
        return [r['reason'] for r in self.records if r['event'] == 'alarm']

    def __repr__(self):
        return '%s: %s %r\n  log %s\n  origin %s' % (
            self.spec['id'], self.end, self.got[:600],
            [(r['event'], r.get('reason')) for r in self.records],
            [(e['event'], e.get('target')) for e in self.events])


def flows(audit):
    """The records of each connection, in the order of their beginning."""
    found = {}
    for row in audit:
        if row.get('duenna.flow'):
            found.setdefault(row['duenna.flow'], []).append(row)
    return list(found.values())


def try_all(bed, cases, timeout=300, args=()):
    """[Case] for these specifications, one connection each, in order."""
    for i, case in enumerate(cases):
        case.setdefault('id', str(i))
    bed.write('project/cases.json', json.dumps(cases))
    with open(HERE + '/raw.py', encoding='utf-8') as f:
        bed.write('project/raw.py', f.read())
    got = bed.run(['/usr/bin/python3', 'raw.py', 'cases.json', 'results.json'],
                  args, timeout=timeout)
    assert got.exit == 0, got
    with open(bed.project + '/results.json', encoding='utf-8') as f:
        results = json.load(f)
    events, each = bed.origin_events(), flows(got.audit)
    assert len(each) == len(cases), \
        '%d connections, %d on record: %r' % (len(cases), len(each), got)
    made = []
    starts = [r['began'] for r in results[1:]] + [float('inf')]
    for case, result, records, over in zip(cases, results, each, starts):
        mine = [e for e in events if result['began'] <= e['t'] < over]
        made.append(Case(case, result, mine, records))
    return made, got


def one(bed, **case):
    """A single case."""
    return try_all(bed, [case])[0][0]


def get(path='/', host='ok.test', method='GET', body='', **fields):
    """The bytes of a plain good request."""
    lines = ['%s %s HTTP/1.1' % (method, path), 'Host: ' + host]
    lines += ['%s: %s' % (k.replace('_', '-'), v) for k, v in fields.items()]
    if body:
        lines.append('Content-Length: %d' % len(body))
    return '\r\n'.join(lines) + '\r\n\r\n' + body
