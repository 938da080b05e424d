# SPDX-License-Identifier: Apache-2.0
"""Every row of tests/cases/dn.rows, over UDP and TCP, in one sandbox."""
import json
import os
import struct

import rows
from bed import Bed

TYPES = {'A': 1, 'NS': 2, 'CNAME': 5, 'SOA': 6, 'PTR': 12, 'MX': 15, 'TXT': 16,
         'AAAA': 28, 'LOC': 29, 'SRV': 33, 'SVCB': 64, 'HTTPS': 65,
         'AXFR': 252, 'ANY': 255}
RCODES = {0: 'NOERROR', 1: 'FORMERR', 3: 'NXDOMAIN', 4: 'NOTIMP', 5: 'REFUSED',
          16: 'BADVERS'}
HERE = os.path.dirname(os.path.abspath(__file__))


def message(row, ident):
    """The bytes of a row, with an id of their own, as latin-1."""
    if row.input == 'message':
        return struct.pack('>H', ident).decode('latin-1') + row.data[2:]
    name, _, kind = row.data.rpartition(' ')
    labels = b''.join(bytes([len(x)]) + x.encode('latin-1')
                      for x in name.split('.') if x)
    return (struct.pack('>HHHHHH', ident, 0x100, 1, 0, 0, 0) + labels + b'\0' +
            struct.pack('>HH', TYPES[kind], 1)).decode('latin-1')


def read(answer):
    """(rcode, [(type, ttl, data)]) of an answer; its names are pointers."""
    raw = answer.encode('latin-1')
    flags, questions, answers, authority, more = struct.unpack('>HHHHH',
                                                               raw[2:12])
    assert flags & 0x8000, answer
    at, found, upper = 12, [], 0
    for _ in range(questions):
        while raw[at]:
            at += raw[at] + 1
        at += 5
    for i in range(answers + authority + more):
        at += 1 if raw[at] == 0 else 2
        kind, _, ttl, size = struct.unpack('>HHIH', raw[at:at + 10])
        at += 10 + size
        if i < answers:
            found.append((kind, ttl, raw[at - size:at]))
        if kind == 41:
            upper = ttl >> 24
    assert at == len(raw), answer
    return RCODES[flags & 15 | upper << 4], found


def check(row, answer, known):
    """known: what is learnt of addresses on the way."""
    word, _, rest = row.sees.partition(' ')
    if word == 'silence':
        assert answer is None, (row.id, answer)
        return
    assert answer is not None, row.id
    rcode, found = read(answer)
    assert rcode == word, (row.id, rcode)
    what = rest.split(' ')[0]
    if what not in ('address', 'refusal'):
        assert found == [], (row.id, found)
        return
    (kind, ttl, data), = found
    assert (kind, data[0]) == (1, 198), (row.id, found)
    assert ttl == (30 if what == 'address' else 1), (row.id, ttl)
    known[what].add(data)


def wanted_detail(row):
    words = row.sees.split(' ')[1:]
    return ' '.join(w for w in words if w not in ('address', 'refusal'))


def check_records(mine, audit):
    """Each refused question has a record, with the row's reason."""
    said = [r for r in audit if r['event'] == 'dns']
    refused = [r for r in mine if r.reason != 'allow']
    refused += [r for r in refused if '/' not in r.id]  # these over TCP too
    assert [r['reason'] for r in said] == [r.reason for r in refused]
    for row, record in zip(refused, said):
        detail = wanted_detail(row)
        assert detail in ('', record.get('duenna.detail')), (row.id, record)
        name = record.get('server.address', '')
        assert name.isascii() and name.isprintable(), (row.id, record)
        assert name == name.lower(), (row.id, record)


def test_each_question_of_the_table(bed, peers):
    mine = [r for r in rows.read() if r.input in ('question', 'message')]
    assert len(mine) >= 150
    cases = [{'id': i, 'message': message(r, i), 'tcp': '/' not in r.id,
              'silent': r.sees == 'silence'} for i, r in enumerate(mine, 1)]
    here = bed(rows.policies(), rows.config())
    rows.give_secrets(here)
    here.write('project/cases.json', json.dumps(cases))
    with open(HERE + '/rawdns.py', encoding='utf-8') as f:
        here.write('project/rawdns.py', f.read())
    got = here.run(['/usr/bin/python3', 'rawdns.py', 'cases.json', 'out.json'],
                   ['--policy', 'duenna.yaml:names'])
    assert got.exit == 0, got
    with open(here.project + '/out.json', encoding='utf-8') as f:
        result = json.load(f)
    assert result['foreign'] == []
    known = {'address': set(), 'refusal': set()}
    for i, row in enumerate(mine, 1):
        check(row, result['udp'].get(str(i)), known)
        if '/' not in row.id:
            assert result['tcp'].get(str(i)) == result['udp'].get(str(i)), row.id
    assert len(known['refusal']) == 1 and len(known['address']) == 3, known
    assert not known['refusal'] & known['address']
    check_records(mine, got.audit)
    assert here.resolver_questions() == []  # no question left
    assert here.origin_events() == []


def test_each_row_is_for_a_policy_that_is_there():
    """The rows of all classes name policies and inputs that are known."""
    names = rows.policies()
    for row in rows.read():
        assert row.policy == '-' or '\n  %s:\n' % row.policy in names, row.id
        assert row.input in ('request', 'answer', 'hello', 'question',
                             'message', 'dial', 'judge', 'leave'), row.id
    assert Bed.config() != rows.config()
