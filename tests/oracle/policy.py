#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The policy language once more, from its description, against policy/.

usage: policy.py DECIDE [POLICIES [SEED]]

Random policies over few names, paths and keys, so that rules meet; random
requests near them.  Both must say the same reason and the same rule.
"""
import random
import subprocess
import sys

from language import (EARLIER, LATER, asked_last, conflict, decide,
                      is_upgrade, methods, patterns, split)

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


def random_pattern(r, hosts, segments):
    scheme = r.choice(['https', 'https', 'https', 'http', 'wss'])
    port = r.choice(['', '', '', ':8443', ':80'])
    path = '' if r.random() < .1 else '/' + '/'.join(
        some(r, segments, 0 if hosts is HOSTS else 1, 3))
    if path != '/' and r.random() < .1:
        path += '/'
    return '%s://%s%s%s' % (scheme, r.choice(hosts), port, path)


def random_rule(r, i, hosts=HOSTS, segments=GLOBBED):
    kind = 'deny' if r.random() < .25 else 'allow'
    if hosts is HOSTS and r.random() < .2:
        return {'name': 'r%d' % i, kind: [random_passed(r)]}
    rule = {'name': 'r%d' % i,
            kind: [random_pattern(r, hosts, segments)
                   for _ in range(r.choice([1, 1, 1, 2]))]}
    if is_upgrade(rule):
        rule[kind] = [p.replace('https:', 'wss:').replace('http:', 'ws:')
                      for p in rule[kind]]
    if r.random() < .4 and not is_upgrade(rule):
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
    if kind == 'allow' and r.random() < .35 and not is_upgrade(rule):
        rule['report'] = 'all' if set(methods(rule)) - {'GET', 'HEAD'} else \
            r.choice(['all', True])
    return rule


def many_rules(r):
    """So many of few hosts that they are not looked at in turn."""
    hosts = r.sample(HOSTS[:3] + HOSTS[-5:], r.randint(1, 3))
    numbered = ['p%d' % i for i in range(12)]
    segments = numbered * 2 + ['*', '**', 'p1*', '*-x', 'a%2Fp1', 'b']
    return [random_rule(r, i, hosts, segments)
            for i in range(r.randint(20, 60))]


def near(r, rules):
    """A request that a pattern of theirs fits, or nearly."""
    scheme, host, port, path = split(r.choice(patterns(r.choice(rules))))
    ask = random_ask(r)
    if len(ask) < 6:  # of what passes unread
        return ask
    host = host.replace('**', r.choice(['x', 'x.y', '_x'])).replace(
        '*', r.choice(['x', 'xn--q', 'b']))
    if '.' not in host or r.random() < .1:
        host = ask[2]
    parts = [r.choice(['p1', 'b', 'p3']) if s == '**' else
             s.replace('*', r.choice(['a', '1', 'p3']))
             for s in (path or '/**').split('/')[1:]]
    if r.random() < .2:
        parts[r.randrange(len(parts))] = r.choice(['p1', 'p2', 'b', 'c'])
    return ask[0], scheme, host, port, '/' + '/'.join(parts), ask[5]


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
    if r.random() < .2:
        scheme = {'http': 'ws', 'https': 'wss'}[scheme]
    return method, scheme, r.choice(NAMES), port, path, query


def main():
    decider, n = sys.argv[1], int((sys.argv[2:] + ['600'])[0])
    seed = int((sys.argv[3:] + [random.randrange(1 << 32)])[0])
    r = random.Random(seed)
    lines, wanted = [], []
    for i in range(n):
        many = i % 16 == 0
        rules = many_rules(r) if many else \
            [random_rule(r, i) for i in range(r.randint(1, 8))]
        text = yaml_of(rules, r)
        lines.append('policy ' + text.encode().hex())
        bad = conflict(asked_last(rules))
        wanted.append(('error' if bad else 'ok', text, None))
        for _ in range(0 if bad else 60):
            ask = near(r, rules) if many else random_ask(r)
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
