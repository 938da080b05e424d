# SPDX-License-Identifier: Apache-2.0
"""Versions are never translated: a client is given what its origin chose."""
import alpn
import pytest

PORT = 4443
RULES = '- deny: https://denied.mixed.test:4443/**\n' \
    '- allow: https://*.mixed.test:4443/**\n'


@pytest.fixture
def origin(peers):
    with alpn.Origin(PORT, peers.pki) as one:
        yield one


def curl(name, *paths, more=''):
    """What curl prints: a line each answer, then the version of HTTP."""
    return 'curl -sS -m 20 %s -w "%%{http_version} %%{http_code}\\n" %s' % (
        more, ' '.join('https://%s:%d%s' % (name, PORT, p) for p in paths))


@pytest.mark.parametrize('speaks, version, alpn_', [
    (['h2', 'http/1.1'], '2', 'h2'), (['h2'], '2', 'h2'),
    (['http/1.1'], '1.1', 'http/1.1'), ([], '1.1', None)])
def test_the_client_speaks_what_the_origin_chose(bed, origin, speaks, version,
                                                 alpn_):
    here = bed(RULES)
    origin.speaks['a.mixed.test'] = speaks
    got = here.run(curl('a.mixed.test', '/1', '/2'))
    first = 'h2' if version == '2' else 'http/1.1'
    assert got.out == ''.join('%s GET %s\n%s 200\n' % (first, p, version)
                              for p in ('/1', '/2')), got
    # the connection of the handshake is the one of the requests
    assert [(s['offers'], s['alpn']) for s in origin.seen] == \
        [(['h2', 'http/1.1'], alpn_)], origin.seen
    dial, = got.find(event='dial')
    ends = got.find(event='request.end')
    assert {r['duenna.socket'] for r in ends} == {dial['duenna.socket']}, got
    names = [r['event'] for r in got.audit]
    assert names.index('flow.begin') < names.index('dial'), names


def test_a_choice_is_remembered(bed, origin):
    here = bed(RULES)
    origin.speaks['a.mixed.test'] = ['http/1.1']
    got = here.run('for i in 1 2 3; do %s; sleep 5; done' %
                   curl('a.mixed.test', '/1'))
    assert got.out == 'http/1.1 GET /1\n1.1 200\n' * 3, got
    # the later dials are for requests, and offer what the client was given
    assert [s['offers'] for s in origin.seen] == \
        [['h2', 'http/1.1'], ['http/1.1'], ['http/1.1']], origin.seen


def test_clients_without_h2_have_nobody_dialled_before_a_request(bed, origin):
    here = bed('- allow: https://a.mixed.test:4443/ok\n')
    got = here.run('; '.join((curl('a.mixed.test', '/no', more='--http1.1'),
                              curl('a.mixed.test', '/no', more='--no-alpn'))))
    assert got.out.count('1.1 403') == 2 and origin.seen == [], got
    assert not got.find(event='dial'), got
    got = here.run('; '.join((curl('a.mixed.test', '/ok', more='--http1.1'),
                              curl('a.mixed.test', '/ok', more='--no-alpn'))))
    assert got.out == 'http/1.1 GET /ok\n1.1 200\n' * 2, got
    assert [s['offers'] for s in origin.seen] == [['http/1.1'], []], origin.seen


def test_a_refused_request_leaves_a_handshake_at_most(bed, origin):
    """TL-07: no byte of it is at the origin."""
    here = bed('- allow: https://a.mixed.test:4443/ok\n')
    got = here.run(curl('a.mixed.test', '/no'))
    assert 'http.path_denied' in got.out and got.out.endswith('2 403\n'), got
    assert [(s['alpn'], s['requests']) for s in origin.seen] == [('h2', [])]


@pytest.mark.parametrize('name', ['denied.mixed.test', 'unknown.test'])
def test_a_refused_name_is_told_over_h2_and_not_dialled(bed, origin, name):
    here = bed(RULES)
    got = here.run(curl(name, '/x'))
    assert 'duenna refused GET https://%s' % name in got.out, got
    assert got.out.endswith('2 403\n'), got
    assert origin.seen == [] and not got.find(event='dial'), got


def test_an_origin_that_is_down_is_told_over_h2(bed):
    here = bed(RULES)
    got = here.run(curl('a.mixed.test', '/x'))
    assert 'up.connect' in got.out and got.out.endswith('2 502\n'), got
    assert len(got.find(event='dial')) == 1, got


def test_a_faulty_certificate_is_told_over_h2(bed, origin):
    here = bed('- allow: https://expired.test:4443/**\n')
    got = here.run(curl('expired.test', '/x'))
    assert 'certificate is expired' in got.out, got
    assert got.out.endswith('2 502\n'), got
    assert len(origin.seen) == 1 and len(got.find(event='dial')) == 1, got


def test_an_origin_that_changes_its_mind_fails_one_request(bed, origin):
    """From HTTP/2 to HTTP/1.1; the way back fails none."""
    here = bed(RULES)

    def change(*speaks):
        return lambda: origin.speaks.update({'a.mixed.test': speaks})

    origin.then.update({'/last': change('http/1.1'),
                        '/back': change('h2', 'http/1.1')})
    got = here.run('; '.join(curl('a.mixed.test', p) for p in (
        '/last', '/lost', '/new', '/back', '/more')))
    lines = got.out.split('\n')
    assert lines[:2] == ['h2 GET /last', '2 200'], got
    assert 'another version of HTTP' in got.out and '2 502' in lines, got
    assert got.out.endswith(''.join('http/1.1 GET %s\n1.1 200\n' % p
                                    for p in ('/new', '/back', '/more'))), got
    assert [r for s in origin.seen for r in s['requests']] == \
        [('GET', p) for p in ('/last', '/new', '/back', '/more')]


def test_http_1_1_required_is_passed_on_and_remembered(bed, origin):
    here = bed(RULES)
    origin.fails['/old'] = 0xd
    got = here.run(curl('a.mixed.test', '/old') + '; ' +
                   curl('a.mixed.test', '/next'))
    # curl asks again by itself, over HTTP/1.1
    assert got.out == 'http/1.1 GET /old\n1.1 200\n' \
        'http/1.1 GET /next\n1.1 200\n', got


def test_no_overlap_is_an_alert(bed, origin):
    """TL-24: HTTP/2 alone, and an origin that has HTTP/1.1 alone."""
    here = bed(RULES)
    origin.speaks['a.mixed.test'] = ['http/1.1']
    got = here.run('openssl s_client -alpn h2 -connect a.mixed.test:%d '
                   '-servername a.mixed.test < /dev/null 2>&1' % PORT)
    assert 'no application protocol' in got.out, got
    assert got.reasons() == ['tls.version'], got
