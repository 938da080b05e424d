# SPDX-License-Identifier: Apache-2.0
"""The token: attached last, in its slot, by the keeper's leave; else nothing."""
import base64
import os
import subprocess
import time

import pytest

from bed import BUILD, OPEN, Bed, descendants, give
from canary import forms, in_bytes, in_memory
from rawclient import get, one, try_all

API = '''
- name: api
  allow: https://api.test/**
  methods: any
  credential: api
- allow: https://ok.test/**
  methods: any
'''


@pytest.fixture
def here(bed):
    return bed(API)


def placeholder(here):
    got = here.run('printf %s "$API_TOKEN"')
    assert got.out.startswith('ghp_'), got
    return got.out


def slots(requests):
    return [[v for n, v in r['fields'] if n.lower() == 'authorization']
            for r in requests]


def test_a_placeholder_in_its_slot_is_replaced(here):
    """Each other form, and each that is misplaced, is a row of cr.rows."""
    got = here.run('curl -sS -u "$API_TOKEN:" https://api.test/_whoami')
    assert '"good"' in got.out, got
    assert slots(here.origin_requests()) == [['Bearer ' + here.canary]]


def test_rules_of_one_host_share_connections_and_not_credentials(bed):
    here = bed("""
- allow: https://api.test/mine/**
  credential: api
- allow: https://api.test/open/**
""")
    got = here.run('curl -sS https://api.test/open/1 https://api.test/mine/2 '
                   'https://api.test/open/3 https://api.test/mine/4')
    assert got.exit == 0, got
    assert slots(here.origin_requests()) == \
        [[], ['Bearer ' + here.canary], [], ['Bearer ' + here.canary]], got
    assert len(got.find(event='dial', verdict='allow')) == 1, got
    assert len(got.find(event='release', verdict='allow')) == 2, got


def test_a_misplaced_placeholder_says_so_at_another_allowed_host(here):
    got = here.run('curl -sS -H "Authorization: Bearer $API_TOKEN" '
                   'https://ok.test/x')
    assert got.reasons() == ['cred.misplaced'] == \
        [r['reason'] for r in got.find(event='alarm')], got
    assert 'cred.misplaced' in got.out and here.origin_requests() == [], got


def test_a_placeholder_in_a_body_passes_and_raises_an_alarm(here):
    got = here.run('curl -sS -d "env: $API_TOKEN" https://ok.test/_sink; '
                   'echo "$API_TOKEN"')
    token = got.out.split()[-1]
    assert here.origin_requests()[0]['body'] == 'env: ' + token, got
    assert got.find(event='alarm', reason='cred.misplaced'), got


def test_what_is_in_a_body_that_is_encoded_is_not_searched(here):
    """CR-14, as docs/credentials.md says: it opens nothing anywhere."""
    got = here.run('printf %s "$API_TOKEN" | gzip -n | tee sent | curl -sS '
                   '-H "Content-Encoding: gzip" --data-binary @- '
                   'https://ok.test/_sink')
    with open(here.project + '/sent', 'rb') as f:
        assert here.origin_requests()[0]['body'].encode('latin-1') == f.read()
    assert not got.find(event='alarm') and got.reasons() == [], got


def test_the_real_token_in_a_body_is_cut(here):
    here.write('project/leak', 'x' * 200000 + here.canary + 'y' * 200000)
    got = here.run('curl -sS -T leak https://api.test/_sink')
    assert 'cred.leak' in [r.get('reason') for r in got.audit], got
    seen = here.origin_requests()
    assert not any(here.canary in r['body'] for r in seen)
    came = ''.join(e['data'] for e in here.origin_events('bytes'))
    assert here.canary not in came.replace('Bearer ' + here.canary, '')


def test_no_value_of_the_clients_own_is_in_the_log(here):
    for args in ('-u me:mine-mine https://ok.test/x',
                 '-H "x-api-key: mine-mine" https://ok.test/x',
                 '"https://ok.test/x?access_token=mine-mine"'):
        got = here.run('curl -sS ' + args)
        assert got.reasons() == ['cred.client_auth'], (args, got)
        with open(got.log, encoding='utf-8') as f:
            assert 'mine-mine' not in f.read(), args
    assert here.origin_requests() == []


def test_an_echo_is_masked_in_every_plain_form(here):
    got = here.run('curl -sS -D - https://api.test/_echo; '
                   'curl -sS -D - https://api.test/_echo-field')
    assert not in_bytes(got.out.encode(), forms(here.canary)), got
    assert 'Authorization: Bearer ' in got.out, got
    assert got.find(event='alarm', reason='cred.echo'), got


def test_an_echo_byte_by_byte_is_masked_too(here):
    got = here.run('curl -sS https://api.test/_echo-drip')
    assert here.canary not in got.out and 'Host: api.test' in got.out, got


def test_a_mask_keeps_the_length(here):
    got = here.run('curl -sS https://api.test/_echo | wc -c')
    assert int(got.out) == len(here.origin_requests()[0]['head']), got


def test_a_route_that_echoes_three_times_is_closed(here):
    with open(here.project + '/duenna.yaml', encoding='utf-8') as f:
        text = f.read()
    here.write('project/duenna.yaml', text.replace(
        '- name: api', '- name: other\n        allow: https://api.test/other/**'
        '\n        addresses: [%s]\n        credential: api\n'
        '      - name: api' % OPEN))
    got = here.run('for i in 1 2 3 4 5; do curl -sS -o /dev/null -w '
                   '"%{http_code} " https://api.test/_echo; done; curl -sS '
                   'https://api.test/other/_whoami https://ok.test/x '
                   'https://api.test/_echo')
    assert got.out.startswith('200 200 200 403 403'), got
    assert '"good"' in got.out and 'hello from ok.test' in got.out, got
    assert got.out.endswith('finds this by `duenna audit show --flow %s`\n' %
                            got.find(reason='cred.echo')[-1]['duenna.flow'])
    assert 'rule `api` is closed in this run; `echo: mask` on its credential' \
        in got.out, got
    assert got.reasons() == ['cred.echo'] * 3, got
    assert len(here.origin_requests()) == 5


def lifted(bed, key):
    """The API with one more key on its credential."""
    return bed(API, Bed.config().replace('    secret: {file: token}\n',
                                         '    secret: {file: token}\n' + key))


def test_an_origin_that_is_known_to_echo_is_masked_and_never_closed(bed):
    here = lifted(bed, '    echo: mask\n')
    got = here.run('for i in 1 2 3 4 5; do curl -sS https://api.test/_echo; '
                   'done')
    assert not in_bytes(got.out.encode(), forms(here.canary)), got
    assert got.out.count('Bearer ' + '*' * len(here.canary)) == 5, got
    assert got.reasons() == [] and len(got.find(event='alarm')) == 5, got


def test_an_owner_may_have_answers_unsearched(bed):
    here = lifted(bed, '    response_filter: false\n')
    got = here.run('curl -sS -H "Accept-Encoding: gzip" -H "Range: bytes=0-" '
                   'https://api.test/_echo')
    assert here.canary in got.out and got.reasons() == [], got
    assert 'Accept-Encoding: gzip' in here.origin_requests()[0]['head']


def test_an_owner_may_let_ranges_through(bed):
    here = lifted(bed, '    ranges: true\n')
    got = here.run('curl -sS -H "Range: bytes=0-" https://api.test/_echo')
    assert got.reasons() == [] and here.canary not in got.out, got
    assert 'Range: bytes=0-' in here.origin_requests()[0]['head'], got


def test_a_short_secret_is_no_oracle(bed):
    """CR-30: what the sandbox could guess is not masked, and that is said."""
    here = bed(API, Bed.config().replace('{file: token}', '{file: short}'))
    here.write('.config/duenna/short', 'fifteen-bytes-0', 0o600)
    give(here.settings)
    got = here.run('for i in 1 2 3 4; do curl -sS https://api.test/_echo; done')
    assert got.out.count('Bearer fifteen-bytes-0') == 4, got
    assert got.reasons() == [] and '16' in got.err, got


def test_a_range_is_refused_where_a_token_is_attached(here):
    got = here.run('curl -sS -r 0-5 https://api.test/x; '
                   'curl -sS -r 0-5 https://ok.test/x')
    assert 'http.header' in got.out and 'hello' in got.out, got
    assert [r['host'] for r in here.origin_requests()] == ['ok.test']


def test_identity_is_asked_for_and_an_encoded_answer_is_refused(here):
    text = base64.urlsafe_b64encode(
        b'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n'
        b'Content-Length: 3\r\n\r\nabc').decode().rstrip('=')
    got = here.run('curl -sS --compressed https://api.test/x; '
                   'curl -sS https://api.test/_raw/' + text)
    fields = dict(map(tuple, here.origin_requests()[0]['fields']))
    assert fields.get('Accept-Encoding', 'identity') == 'identity', fields
    assert got.reasons() == ['up.response'] and 'up.response' in got.out, got


def test_cookies_are_taken_out_in_silence_where_a_token_is_attached(here):
    got = here.run('curl -sS -D - -b a=b https://api.test/_cookie; '
                   'curl -sS -D - -b a=b https://ok.test/_cookie')
    assert got.out.count('cookie: none') == 1, got
    assert got.out.count('cookie: a=b') == 1
    assert got.out.lower().count('set-cookie') == 1
    assert len(got.find(event='request.end', duenna_cookie=True)) == 2, got


def test_a_redirect_is_not_followed_and_the_next_request_has_no_token(here):
    got = here.run('curl -sS -L https://api.test/_redirect/ok.test/_whoami')
    assert '"none"' in got.out, got
    assert slots(here.origin_requests())[1] == []


def test_plain_http_never_carries_a_token(bed):
    here = bed('- allow: https://api.test/**\n  credential: api\n'
               '- allow: http://api.test/**')
    got = here.run('curl -sS http://api.test/_whoami; curl -sS -H '
                   '"Authorization: Bearer $API_TOKEN" http://api.test/x')
    assert '"none"' in got.out, got
    assert slots(here.origin_requests()) == [[]]
    assert got.reasons() == ['cred.misplaced'], got


@pytest.mark.parametrize('what', ['missing', 'empty', 'unreadable', 'folder',
                                  'two lines', 'control'])
def test_a_token_that_cannot_be_had_refuses_what_needs_it(bed, what):
    here = bed(API)
    path = here.settings + '/token'
    if what in ('missing', 'folder'):
        os.unlink(path)
    if what == 'folder':
        os.mkdir(path)
    elif what == 'unreadable':
        os.chmod(path, 0)
    elif what != 'missing':
        with open(path, 'w', encoding='utf-8') as f:
            f.write({'empty': '', 'two lines': here.canary + '\nb\n',
                     'control': here.canary + '\x01b\n'}[what])
    give(here.settings)
    got = here.run('curl -sS -w "%{http_code}" https://api.test/x; '
                   'curl -sS https://ok.test/x')
    warnings = [x for x in got.err.split('\n') if 'credential `api`' in x]
    assert len(warnings) == 1 and path in warnings[0], got
    assert 'cred.unavailable' in warnings[0], got
    assert 'cred.unavailable' in got.out and '503' in got.out, got
    assert 'credential `api` cannot be had' in got.out, got
    assert path not in got.out and got.reasons()[-1] == 'cred.unavailable', got
    assert here.canary not in got.err
    assert 'hello from ok.test' in got.out
    assert [r['host'] for r in here.origin_requests()] == ['ok.test']


def test_a_variable_that_is_not_set_refuses_what_needs_it(bed):
    here = bed(API, Bed.config().replace('{file: token}', '{env: REAL_TOKEN}'))
    got = here.run('curl -sS https://api.test/x; curl -sS https://ok.test/x')
    assert 'credential `api`: REAL_TOKEN: the variable is not set' in got.err
    assert 'cred.unavailable' in got.out and 'hello from ok.test' in got.out
    assert [r['host'] for r in here.origin_requests()] == ['ok.test']


def test_a_secret_that_others_may_read_is_used_with_a_warning(bed):
    here = bed(API)
    os.chmod(here.settings + '/token', 0o640)
    got = here.run('curl -sS https://api.test/_whoami')
    assert '"good"' in got.out and 'chmod 600' in got.err, got


def test_a_secret_that_others_may_write_does_not_start(bed):
    here = bed(API)
    os.chmod(here.settings + '/token', 0o620)
    got = here.run('true')
    assert got.exit == 125 and 'chmod go-w' in got.err, got
    assert here.settings + '/config.yaml:5:' in got.err, got
    # a run that could not begin has a log that is whole, or none
    assert not got.audit or got.audit[-1]['event'] == 'checkpoint', got


def test_a_secret_that_the_command_would_see_does_not_start(bed):
    here = bed(API, Bed.config().replace('{file: token}',
                                         '{file: ~/project/token}'))
    here.write('project/token', 'a-secret-of-twenty-bytes', 0o600)
    got = here.run('true')
    assert got.exit == 125 and 'which the command sees' in got.err, got


@pytest.mark.parametrize('mode, status', [(0o640, 0), (0o604, 0), (0o620, 125),
                                          (0o602, 125)])
def test_a_token_that_others_have_a_hand_in(here, mode, status):
    """CF-22: who may read it is warned of, who may write it is too much."""
    os.chmod(here.settings + '/token', mode)
    got = here.run('curl -sS https://api.test/_whoami')
    assert got.exit == status and here.settings + '/token' in got.err, got
    assert ('"good"' in got.out) == (status == 0)
    assert len(here.origin_requests()) == (status == 0)


@pytest.mark.skipif('asan' in BUILD,
                    reason='the sanitizer copies the environment')
def test_a_token_from_a_variable_is_attached_and_not_shown(bed):
    here = bed(API, Bed.config().replace('{file: token}', '{env: REAL_TOKEN}'))
    run = here.start(['sh', '-c', 'curl -sS https://api.test/_whoami; env; '
                      'cat /proc/1/environ; : > asked; read go'],
                     env={'REAL_TOKEN': here.canary}, stdin=subprocess.PIPE)
    until = time.monotonic() + 20
    while not os.path.exists(here.project + '/asked'):
        assert time.monotonic() < until, run.wait(1)
        time.sleep(0.02)
    holders = {pid for pid in descendants(run.child.pid)
               if in_memory(pid, forms(here.canary))}
    keepers = run.roles()['keeper']
    got = run.wait()
    assert '"good"' in got.out, got
    assert here.canary not in got.out and 'REAL_TOKEN' not in got.out
    # the monitor was started with it, as the caller's shell was
    assert holders == {run.child.pid, *keepers}, (holders, keepers)


def test_a_header_credential_has_its_own_slot(bed):
    config = Bed.config(credential='''  key:
    kind: header
    header: X-Api-Key
    secret: {file: token}
    only: [https://ok.test/**]
''')
    here = bed('- allow: https://ok.test/**\n  credential: key', config)
    got = here.run('curl -sS https://ok.test/_whoami')
    assert '"good"' in got.out, got
    assert [v for n, v in here.origin_requests()[0]['fields']
            if n == 'X-Api-Key'] == [here.canary]


@pytest.mark.parametrize('keys, sent', [
    ('user: x-access-token', 'x-access-token:%s'), ('slot: user', '%s:')])
def test_a_basic_credential_has_the_secret_in_its_half(bed, keys, sent):
    here = bed(API, Bed.config().replace('kind: token',
                                         'kind: basic\n    ' + keys))
    got = here.run('curl -sS -u "$API_TOKEN:" https://api.test/_echo; '
                   'curl -sS https://api.test/x')
    value = base64.b64encode((sent % here.canary).encode()).decode()
    assert slots(here.origin_requests()) == [['Basic ' + value]] * 2, got
    assert not in_bytes(got.out.encode(), forms(here.canary)), got
    assert got.find(event='alarm', reason='cred.echo'), got


def test_a_query_credential_is_in_its_parameter_and_nowhere_else(bed):
    """CR-02: nor in the record, in a refusal, in what is echoed."""
    here = bed('- allow: https://api.test/**\n  methods: any\n'
               '  credential: api',
               Bed.config().replace('kind: token',
                                    'kind: query\n    parameter: key')
               .replace('ghp_', 'AIza'))
    got = here.run('curl -sS "https://api.test/_echo?a=b&key=$API_TOKEN"; '
                   'curl -sS https://api.test/_cut; '
                   'curl -sS "https://api.test/_echo?key=mine"; '
                   'curl -sS -d "x$API_TOKEN" https://api.test/_sink')
    assert [r['target'] for r in here.origin_requests()] == [
        x + 'key=' + here.canary
        for x in ('/_echo?a=b&', '/_cut?', '/_sink?')], got
    for text in (got.out, got.err, open(got.log, encoding='utf-8').read()):
        assert not in_bytes(text.encode(), forms(here.canary)), got
    assert 'key=' + '*' * len(here.canary) in got.out, got
    assert got.reasons()[-1] == 'cred.client_auth', got
    said = here.duenna('explain', 'https://api.test/x')[1]
    assert 'credential `api` in the parameter key' in said, said
    up = [r['duenna.bytes.up'] for r in got.find(event='request.end')]
    assert up[0] < 200 + len('key='), got  # its length is not counted


SECOND = 'second-' + 'k' * 30
TWO = Bed.config(credential='''  key:
    kind: header
    header: X-Api-Key
    secret: {file: second}
    only: [https://api.test/**]
''')


def test_two_credentials_go_together_or_not_at_all(bed):
    here = bed('- allow: https://api.test/**\n  credential: [api, key]', TWO)
    key = here.write('.config/duenna/second', SECOND, 0o600)
    give(here.settings)
    got = here.run('curl -sS https://api.test/_whoami')
    fields = here.origin_requests()[0]['fields']
    assert ['Authorization', 'Bearer ' + here.canary] in fields, got
    assert ['X-Api-Key', SECOND] in fields, got
    for event in ('request.begin', 'request.end'):
        assert [r['duenna.credential'] for r in got.find(event=event)] == \
            ['api key'], got
    here.mark()
    os.truncate(key, 0)
    got = here.run('curl -sS https://api.test/_whoami')
    assert got.reasons()[-1] == 'cred.unavailable' and 'second' in got.err, got
    assert not here.origin_requests(), got


def test_a_request_that_is_tried_again_has_a_release_for_each_time(here):
    got = here.run('curl -sS https://api.test/_stale https://api.test/_stale')
    assert got.out == 'fresh\n' * 2, got
    assert slots(here.origin_requests()) == [['Bearer ' + here.canary]] * 3
    for event in ('request.begin', 'release'):
        assert len(got.find(event=event, verdict='allow')) == 3, got


def test_a_rule_outside_of_the_ceiling_does_not_load(bed):
    here = bed('- allow: https://other.test/**\n  credential: api')
    got = here.run('true')
    assert got.exit == 125 and 'only' in got.err, got


def test_the_release_and_the_dial_have_records_of_their_own(here):
    got = here.run('curl -sS https://api.test/x')
    request = got.find(event='request.end', verdict='allow')[0]
    for event in ('dial', 'release', 'request.begin'):
        rows = got.find(event=event)
        assert rows and rows[0]['seq'] < request['seq'], (event, got)
        assert rows[0]['duenna.flow'] == request['duenna.flow']


def test_a_denied_request_never_asks_the_keeper(here):
    got = here.run('curl -sS https://api.test/x; curl -sS -X TRACE '
                   'https://api.test/y; curl -sS https://evil.test/z')
    assert len(got.find(event='release')) == 1, got


def test_pipelined_requests_have_a_token_each(here):
    cases, _ = try_all(here, [dict(
        name='api.test', answers=3,
        send=[''.join(get('/%d' % i, 'api.test') for i in range(3))])])
    assert slots(cases[0].requests()) == [['Bearer ' + here.canary]] * 3
