#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The policy language once more, from its description, against policy/.

usage: policy.py DECIDE [POLICIES [SEED]]

Random policies over few names, paths and keys, so that rules meet; random
requests near them.  Both must say the same reason and the same rule.
"""
import random
import re
import subprocess
import sys
from urllib.parse import unquote_to_bytes

ANY = ('GET HEAD POST PUT PATCH DELETE OPTIONS PROPFIND PROPPATCH MKCOL COPY '
       'MOVE LOCK UNLOCK REPORT SEARCH').split()
STAGES = ['host', 'port', 'scheme', 'path', 'method', 'query']
REASON = {'host': None, 'port': 'dst.port', 'scheme': 'http.upgrade',
          'path': 'http.path_denied', 'method': 'http.method_denied',
          'query': 'http.query_denied'}
EARLIER, LATER = '2026-01-01T00:00:00Z', '2096-01-01T00:00:00Z'
SUB = "!$&'()*+,;=:@"


# -- one pattern against one request ----------------------------------------

def host_fits(pattern, name, deny):
    if not pattern.startswith('*'):
        return pattern == name
    stars, _, behind = pattern.partition('.')
    if behind and not name.endswith('.' + behind):
        return False
    covered = (name[:-len(behind) - 1] if behind else name).split('.')
    if stars == '*' and len(covered) != 1:
        return False
    odd = any(c.startswith('xn--') or '_' in c for c in covered)
    return deny or not odd


def fold(segment):
    return re.sub('%([0-9A-F]{2})', lambda m: chr(int(m[1], 16))
                  if chr(int(m[1], 16)) in SUB else m[0], segment)


def segment_fits(pattern, segment):
    parts = pattern.split('*')
    wanted = '.+'.join(re.escape(fold(p)) for p in parts)
    return re.fullmatch(wanted, fold(segment), re.S) is not None


def segments_fit(pattern, path):
    if not pattern:
        return not path
    if pattern[0] == '**':
        return any(segments_fit(pattern[1:], path[i:])
                   for i in range(len(path) + 1))
    return bool(path) and segment_fits(pattern[0], path[0]) and \
        segments_fit(pattern[1:], path[1:])


def path_fits(pattern, path):
    return segments_fit(pattern.split('/')[1:], path.split('/')[1:])


def has_dots(path):
    return any(re.fullmatch(r'\.\.?((;|%3B).*)?', part)
               for s in path.split('/') for part in s.split('%2F'))


# -- the query ----------------------------------------------------------------

def decode(s):
    return unquote_to_bytes(s.replace('+', ' '))


def glob(pattern, value):
    if any(c < 0x20 or c == 0x7f for c in value):
        return False
    wanted = b''
    for part in re.findall(r'\*\*|\*|%[0-9A-Fa-f]{2}|.', pattern):
        if part == '**':
            wanted += b'.*'
        elif part == '*':
            wanted += b'[^/]+'
        else:
            wanted += re.escape(unquote_to_bytes(part))
    return re.fullmatch(wanted, value, re.S) is not None


def query_fits(rule, query):
    conditions = rule.get('query')
    if conditions is None:
        return True
    deny = 'deny' in rule
    conditions = dict(conditions)
    others = conditions.pop('others', 'refuse')
    if not deny and ';' in query:
        return False
    pairs = [p.partition('=') for p in query.split('&') if p]
    for key, want in conditions.items():
        values = [(k, v) for k, _, v in pairs if decode(k) == key.encode()]
        if want == 'absent':
            if values:
                return False
            continue
        fit = [want == 'any' or any(glob(g, decode(v)) for g in want)
               for _, v in values]
        if deny:
            if not any(fit):
                return False
        elif fit != [True] or re.search(
                '%(2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])',
                values[0][0]):
            return False
    if deny or others == 'allow':
        return True
    return all(decode(k).decode('latin-1') in conditions for k, _, _ in pairs)


# -- a rule, a policy ---------------------------------------------------------

def split(url):
    scheme, host, port, path = re.fullmatch(
        r'(https?|tls|tcp)://([^/:]+)(?::(\d+))?(/.*)?', url).groups()
    return scheme, host, int(port or (80 if scheme == 'http' else 443)), path


def kind(scheme):
    return scheme if scheme in ('tls', 'tcp') else 'served'


def kind_there(rules, host, port):
    """Of the first rule, allow or deny, that fits host and port."""
    for rule in rules:
        for pattern in patterns(rule):
            s, h, p, _ = split(pattern)
            if p == port and host_fits(h, host, 'deny' in rule):
                return kind(s)
    return 'served'


def conflict(rules):
    """Two kinds for one exact host and port."""
    seen = {}
    return any(seen.setdefault((h, p), kind(s)) != kind(s)
               for rule in rules for pattern in patterns(rule)
               for s, h, p, _ in [split(pattern)] if not h.startswith('*'))


def progress(rule, ask):
    """How many stages the rule gets through: 6 is all."""
    method, scheme, host, port, path, query = ask
    deny = 'deny' in rule
    best = 0
    for pattern in patterns(rule):
        s, h, p, pp = split(pattern)
        come = 0
        tests = [host_fits(h, host, deny), p == port, s == scheme,
                 path_fits(pp or '/**', path) and
                 (deny or '%2F' not in path or
                  (rule.get('encoded_slash') and not has_dots(path))),
                 (deny and 'methods' not in rule) or
                 method in methods(rule),
                 query_fits(rule, query)]
        while come < 6 and tests[come]:
            come += 1
        best = max(best, come)
    return best


def methods(rule):
    usual = 'any' if rule.get('report') == 'all' else ['GET', 'HEAD']
    given = rule.get('methods', usual)
    return ANY if given == 'any' else given


def is_total(rule, pattern):
    return 'deny' in rule and 'methods' not in rule and 'query' not in rule \
        and split(pattern)[3] in (None, '/**')


def live(rules):
    """Those that have not expired, when decide.c asks."""
    return [rule for rule in rules if rule.get('expires', LATER) == LATER]


def connection(rules, ask):
    """Host, port and scheme, before any request: (reason, rule) or None; or
    the reason alone with which it would be refused, were that enforced."""
    _, scheme, host, port, _, _ = ask
    best = enforced = 0
    of_name = 'tls.sni_denied' if scheme in ('https', 'tls') else \
        'http.host_denied'
    # What is spoken there does not change when a rule expires.
    fits = kind(scheme) == kind_there(rules, host, port)
    for rule in live(rules):
        deny = 'deny' in rule
        for pattern in patterns(rule):
            if deny and not is_total(rule, pattern):
                continue
            s, h, p, _ = split(pattern)
            if not host_fits(h, host, deny):
                continue
            come = 1 + (p == port) + (p == port and s == scheme and fits)
            if come == 3 and deny:
                return 'deny.rule', rule['name']
            if come == 3 and rule.get('report'):
                if enforced < 2:
                    return of_name if enforced == 0 else 'dst.port'
                come = 2
            if not deny and not rule.get('report'):
                enforced = max(enforced, come)
            if come == 3:
                return {'tls': ('allow.pass', rule['name']),
                        'tcp': ('allow.tcp', rule['name'])}.get(scheme)
            if not deny:
                best = max(best, come)
    if best == 0:
        return of_name, '-'
    return ('dst.port' if best == 1 else 'http.upgrade'), '-'


# -- rules that an earlier one hides: they are never the reason ---------------

def host_covers(a, b):
    if not b.startswith('*'):
        return host_fits(a, b, False)
    if a == b:
        return True
    if not a.startswith('**'):
        return False
    behind = a[3:]
    inner = b.partition('.')[2]
    if behind == inner:
        return True
    return bool(inner) and host_fits(a, inner, False)


def piece_covers(a, b):
    """Segments as lists of characters, `*` among them."""
    if not a:
        return not b
    if a[0] == '*':
        return any(piece_covers(a[1:], b[i:]) for i in range(1, len(b) + 1))
    return bool(b) and a[0] == b[0] and piece_covers(a[1:], b[1:])


def path_covers(a, b):
    if not a:
        return not b
    if a[0] == '**':
        return any(path_covers(a[1:], b[i:]) for i in range(len(b) + 1))
    return bool(b) and b[0] != '**' and piece_covers(
        pieces(a[0]), pieces(b[0])) and path_covers(a[1:], b[1:])


def pieces(segment):
    return [c for i, part in enumerate(segment.split('*'))
            for c in (['*'] if i else []) + list(
                fold(part).replace('*', '\0'))]


def hides(a, pa, b, pb):
    (sa, ha, porta, patha), (sb, hb, portb, pathb) = split(pa), split(pb)
    all_a = 'deny' in a and 'methods' not in a
    all_b = 'deny' in b and 'methods' not in b
    if kind(sa) != kind(sb):
        return porta == portb and host_covers(ha, hb)
    return (sa, porta) == (sb, portb) and 'query' not in a and \
        a.get('expires', '9') >= b.get('expires', '9') and \
        (all_a or not all_b and set(methods(b)) <= set(methods(a))) and \
        not (b.get('encoded_slash') and 'allow' in a and
             not a.get('encoded_slash')) and host_covers(ha, hb) and \
        path_covers((patha or '/**').split('/')[1:],
                    (pathb or '/**').split('/')[1:])


def patterns(rule):
    return rule.get('allow') or rule['deny']


def asked_last(rules):
    """Those with `report:` stand behind all others."""
    return sorted(rules, key=lambda rule: bool(rule.get('report')))


def is_hidden(rules, i):
    return all(any(hides(a, pa, rules[i], pb) for a in rules[:i]
                   for pa in patterns(a)) for pb in patterns(rules[i]))


def decide(rules, ask):
    rules = asked_last(rules)
    refused = connection(rules, ask)
    if isinstance(refused, tuple):
        return refused
    best = enforced = 3  # the connection is there
    for i, rule in enumerate(rules):
        if not live([rule]):
            continue
        come = progress(rule, ask)
        if come == 6 and rule.get('report'):
            return 'report:' + (refused or REASON[STAGES[enforced]]), \
                rule['name']
        if come == 6:
            return ('deny.rule' if 'deny' in rule else 'allow'), rule['name']
        if 'deny' not in rule and come > best and not is_hidden(rules, i):
            best = come
        if not rule.get('report'):
            enforced = best
    return REASON[STAGES[best]], '-'


# -- random ones --------------------------------------------------------------

NAMES = ['a.test', 'b.a.test', 'c.b.a.test', 'xn--q.a.test', '_x.a.test',
         'd.test', 'aa.test']
HOSTS = NAMES + ['*.a.test', '**.a.test', '*.b.a.test', '**.b.a.test', '**']
SEGMENTS = ['a', 'b', 'ab', 'a!b', 'a%21b', 'A', 'aab', 'a%2Fb', '%2A',
            'a%2F..', '%C3%84']
GLOBBED = SEGMENTS[:9] + ['*', '**', 'a*', '*b', '*a*', 'a*b', '**']
PARAMETERS = {'name': ('host', 'a.test'), 'below': ('host', 'B.A.test'),
              'seg': ('segment', 'ab'), 'bang': ('segment', 'a!b'),
              'repo': ('repository', 'a/b'), 'branch': ('ref', 'aab/A'),
              'one': ('segment', '1')}
KEYS = ['k', 'key', 'q']
VALUES = ['1', '2', 'a%20b', 'a+b', 'runs/1', 'runs%2F1', '', '%00', 'x;y']
GLOBS = ['1', '*', '**', 'runs/*', 'a b', '', '%2A', '1*', '**/1']
SPELLINGS = ['k', '%6B', 'key', 'k%65y', 'q', 'other']


def some(r, items, low=1, high=3):
    return [r.choice(items) for _ in range(r.randint(low, high))]


def random_passed(r):
    """Of the names that others have too; a tcp rule has to say its port."""
    return r.choice(['tls://%s', 'tls://%s:8443', 'tcp://%s:8443',
                     'tcp://%s:443', 'tcp://%s:80']) % r.choice(NAMES)


def random_pattern(r):
    scheme = r.choice(['https', 'https', 'https', 'http'])
    port = r.choice(['', '', '', ':8443', ':80'])
    path = '' if r.random() < .1 else '/' + '/'.join(some(r, GLOBBED, 0, 3))
    if path != '/' and r.random() < .1:
        path += '/'
    return '%s://%s%s%s' % (scheme, r.choice(HOSTS), port, path)


def random_rule(r, i):
    kind = 'deny' if r.random() < .25 else 'allow'
    if r.random() < .2:
        return {'name': 'r%d' % i, kind: [random_passed(r)]}
    rule = {'name': 'r%d' % i, kind: [random_pattern(r) for _ in
                                      range(r.choice([1, 1, 1, 2]))]}
    if r.random() < .4:
        rule['methods'] = 'any' if r.random() < .3 else \
            sorted(set(some(r, ['GET', 'HEAD', 'POST', 'DELETE'])))
    if r.random() < .35:
        query = {k: r.choice(['any', 'absent', some(r, GLOBS), some(r, GLOBS)])
                 for k in set(some(r, KEYS, 0, 2))}
        if kind == 'allow' and r.random() < .4:
            query['others'] = r.choice(['allow', 'refuse'])
        rule['query'] = query
    if kind == 'allow' and r.random() < .3:
        rule['encoded_slash'] = True
    if kind == 'allow' and r.random() < .2:
        rule['expires'] = r.choice([EARLIER, LATER])
    if kind == 'allow' and r.random() < .35:
        rule['report'] = 'all' if set(methods(rule)) - {'GET', 'HEAD'} else \
            r.choice(['all', True])
    return rule


def quoted(v):
    return "'" + v + "'"


def parametrised(r, pattern):
    """The same pattern with parameters in place of some of its elements."""
    scheme, rest = pattern.split('://')
    where, *segments = rest.split('/')
    host, *port = where.split(':')
    if r.random() < .3:
        host = next(('${%s}' % n for n, (t, v) in PARAMETERS.items()
                     if t == 'host' and v.lower() == host), host)
    path = ['', *segments, '']
    for name, (kind_of, value) in PARAMETERS.items():
        if kind_of != 'host' and r.random() < .3:
            path = '/'.join(path).replace('/%s/' % value, '/${%s}/' % name,
                                          1).split('/')
    return '%s://%s' % (scheme, ':'.join([host, *port]) +
                        '/'.join(path)[:-1])


def written(r, key, value):
    if key in ('allow', 'deny'):
        return [parametrised(r, v) for v in value]
    if key == 'query':
        return {k: [g.replace('1', '${one}') if g == '1' else g for g in v]
                if isinstance(v, list) else v for k, v in value.items()}
    return value


def yaml_of(rules, r):
    lines = ['version: 1', 'policies:', '  p:', '    parameters:']
    lines += ["      %s: {type: %s, default: '%s'}" % (n, *p)
              for n, p in PARAMETERS.items()]
    lines.append('    rules:')
    for rule in rules:
        first = '      - '
        for key, value in rule.items():
            value = written(r, key, value)
            if isinstance(value, bool):
                text = 'true'
            elif isinstance(value, dict):
                text = '{%s}' % ', '.join('%s: %s' % (
                    k, v if isinstance(v, str) else
                    '[%s]' % ', '.join(map(quoted, v)))
                    for k, v in value.items())
            elif isinstance(value, list):
                text = '[%s]' % ', '.join(map(quoted, value))
            else:
                text = value
            lines.append('%s%s: %s' % (first, key, text))
            first = '        '
    return '\n'.join(lines) + '\n'


def random_ask(r):
    if r.random() < .15:
        return ('GET', r.choice(['tls', 'tcp']), r.choice(NAMES),
                r.choice([443, 443, 8443, 80]), '/', '')
    scheme = r.choice(['https', 'https', 'https', 'http'])
    port = r.choice([443 if scheme == 'https' else 80] * 4 + [8443, 80])
    path = '/' + '/'.join(some(r, SEGMENTS, 0, 3))
    if path != '/' and r.random() < .15:
        path += '/'
    query = '&'.join('%s=%s' % (r.choice(SPELLINGS), r.choice(VALUES))
                     if r.random() < .9 else r.choice(SPELLINGS)
                     for _ in range(r.choice([0, 0, 1, 1, 2, 3])))
    method = r.choice(['GET'] * 5 + ['HEAD', 'POST', 'DELETE', 'get', 'TRACE'])
    return method, scheme, r.choice(NAMES), port, path, query


def main():
    decider, n = sys.argv[1], int((sys.argv[2:] + ['600'])[0])
    seed = int((sys.argv[3:] + [random.randrange(1 << 32)])[0])
    r = random.Random(seed)
    lines, wanted = [], []
    for _ in range(n):
        rules = [random_rule(r, i) for i in range(r.randint(1, 8))]
        text = yaml_of(rules, r)
        lines.append('policy ' + text.encode().hex())
        bad = conflict(asked_last(rules))
        wanted.append(('error' if bad else 'ok', text, None))
        for _ in range(0 if bad else 60):
            ask = random_ask(r)
            method, scheme, host, port, path, query = ask
            url = '%s://%s:%d%s' % (scheme, host, port, path)
            url += '?' + query if query else ''
            lines.append('ask %s %s' % (method, url))
            wanted.append(('%s %s' % decide(rules, ask), text, lines[-1]))
    got = subprocess.run([decider], input='\n'.join(lines) + '\n', text=True,
                         stdout=subprocess.PIPE, check=True).stdout.split('\n')
    bad, reasons = 0, {}
    for have, (want, text, ask) in zip(got, wanted):
        reasons[want.split()[0]] = reasons.get(want.split()[0], 0) + 1
        if have != want:
            bad += 1
            if bad < 4:
                print('%s%s\n  policy/ says %s, the second one %s\n' %
                      (text, ask, have, want))
    print('seed %d: %d policies, %d answers, %d differ; %s' % (
        seed, n, len(wanted) - n, bad, reasons))
    refusals = ['dst.port', 'http.path_denied', 'http.method_denied',
                'http.query_denied', 'tls.sni_denied', 'http.host_denied']
    missing = [x for x in ['allow', 'allow.pass', 'allow.tcp', 'error',
                           'deny.rule', 'http.upgrade'] + refusals +
               ['report:tls.sni_denied', 'report:http.path_denied']
               if not reasons.get(x)]
    if missing:
        print('never seen: %s' % missing)
    sys.exit(bad != 0 or bool(missing))


main()
