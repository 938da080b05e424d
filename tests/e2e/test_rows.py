# SPDX-License-Identifier: Apache-2.0
"""Every row of tests/cases through a real sandbox, over TLS where it has one.

All rows of one policy share a sandbox; each is a connection of its own.
"""
import json

import pytest

import rows
from bed import Bed
from raw import fill
from rawclient import get, try_all

# whose address is dialled; the Host is the row's own
WHERE = {'plain-wild': 'a.ok.test', 'plain-deep': 'a.b.ok.test',
         'plain-underscore': '_x.ok.test', 'plain-alabel': 'xn--bcher-kva.test'}
# what our own reader of the hello refuses; the library may refuse more
READER = {'tls.not_tls', 'tls.no_sni', 'tls.sni_invalid', 'tls.hello_size'}
# ends that are no verdict about the bytes
ENDS = {'client.abort', 'limit.time', 'tls.version'}

# the rows that are a connection each
ROWS = [r for r in rows.read() if r.input in ('request', 'answer', 'hello')]
RAN = {}


def spec(row):
    """The raw case of a row."""
    port = 443 if row.tls else 80
    case = {'id': row.id, 'name': WHERE.get(row.policy, 'ok.test'),
            'port': port, 'tls': row.tls, 'timeout': 8}
    if row.input == 'answer':
        return {**case, 'answers': int(row.reason == 'allow'),
                'send': [get('/_row/' + row.id)]}
    if row.input == 'hello':
        return {**case, 'tls': False, 'answers': 0, 'half_close': True,
                'send': [row.data]}
    answers = row.sees.count(' HTTP/1.1\r\n') if row.reason == 'allow' else 0
    return {**case, 'answers': answers, 'send': [row.data]}


def ran(row, peers):
    """The results of this row's policy, run once."""
    if row.policy not in RAN:
        mine = [r for r in ROWS if r.policy == row.policy]
        peers.rows({r.id: fill(r.data) for r in mine if r.input == 'answer'})
        here = Bed(rows.policies(), rows.config(), peers=peers)
        rows.give_secrets(here)
        cases, got = try_all(here, [spec(r) for r in mine], timeout=600,
                             args=['--policy', 'duenna.yaml:' + row.policy])
        RAN[row.policy] = {c.spec['id']: c for c in cases}, here, got
    return RAN[row.policy][0][row.id]


def body_of(text):
    """Bytes behind a head, without the chunks that they may be in, and the
    trailers."""
    head, _, rest = text.partition('\r\n\r\n')
    if 'transfer-encoding: chunked' not in head.lower():
        return head + '\r\n\r\n', rest
    out = ''
    while rest:
        size, _, rest = rest.partition('\r\n')
        n = int(size.split(';')[0] or '0', 16)
        if n == 0:
            return head + '\r\n\r\n', out + (rest if rest != '\r\n' else '')
        out, rest = out + rest[:n], rest[n + 2:]
    return head + '\r\n\r\n', out


def seen_by_client(got):
    """What the origin's answer became, without our own fields of a refusal."""
    return ''.join(body_of(got)) if got else ''


@pytest.mark.parametrize('row', [r for r in ROWS if r.input == 'request'],
                         ids=lambda r: r.id)
def test_a_request_of_the_table(row, peers):
    case = ran(row, peers)
    seen = ''.join(r['head'] + r['body'] + r.get('trailers', '')
                   for r in case.requests())
    assert seen == fill(row.sees, case.placeholders), case
    assert case.alarms() == ([row.alarm] if row.alarm else []), case
    assert not [e for e in case.events if e['event'] == 'bad-request'], case
    said = [r for r in case.logged() if r not in ENDS or r == row.reason]
    if row.reason == 'allow':
        assert said == [] and case.status and case.status < 500, case
    else:
        assert row.reason in said and set(said) == {row.reason}, case
        assert case.end in ('closed', 'reset'), case


@pytest.mark.parametrize('row', [r for r in ROWS if r.input == 'answer'],
                         ids=lambda r: r.id)
def test_an_answer_of_the_table(row, peers):
    case = ran(row, peers)
    assert case.alarms() == ([row.alarm] if row.alarm else []), case
    if row.reason == 'allow':
        assert case.status and seen_by_client(case.got) == row.sees, case
        return
    faults = [r.get('reason') for r in case.records] + \
        [r.get('duenna.fault') for r in case.records]
    assert row.reason in faults, case
    if 'transfer-encoding: chunked' in case.got.lower():
        assert not case.got.endswith('\r\n0\r\n\r\n'), case
    whole = case.end == 'closed' and case.status == 200 and \
        'duenna' not in case.got.lower() and 'content-length' in case.got.lower()
    if whole:  # begun and cut: less than the length that was announced
        head, body = body_of(case.got)
        length = int(head.lower().split('content-length: ')[1].split('\r')[0])
        assert len(body) < length, case


@pytest.mark.parametrize('row', [r for r in ROWS if r.input == 'hello'],
                         ids=lambda r: r.id)
def test_a_hello_of_the_table(row, peers):
    case = ran(row, peers)
    if row.reason == 'allow':
        # a hello in outline: the library misses an extension, and says so
        assert not set(case.logged()) & READER or \
            case.got == '\x15\3\3\0\2\2\x6d', case
    else:
        assert case.logged() == [row.reason], case
        assert not case.requests(), case


def test_after_all_rows_the_sandbox_is_as_good_as_before(peers):
    """I6, and each record of all rows decided again."""
    if 'base' not in RAN:
        pytest.skip('the rows were not run')
    for name, (_, here, got) in RAN.items():
        assert here.duenna('audit', 'verify', got.log)[0] == 0, name
        status, out, err = here.duenna('audit', 'replay', got.log)
        assert status == 0, (name, out, err)
    here = Bed('- allow: https://ok.test/**', peers=peers)
    got = here.run('curl -sS https://ok.test/still-here')
    assert 'still-here' in got.out, got
    assert json.dumps(got.reasons()) == '[]'
