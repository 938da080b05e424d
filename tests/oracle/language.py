# SPDX-License-Identifier: Apache-2.0
"""The policy language once more, from its description: decide() says the
reason and the rule, conflict() and is_hidden() what the loader finds."""
import re
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
        r'(https?|wss?|tls|tcp)://([^/:]+)(?::(\d+))?(/.*)?', url).groups()
    return scheme, host, int(port or (
        80 if below(scheme) == 'http' else 443)), path


def kind(scheme):
    return scheme if scheme in ('tls', 'tcp') else 'served'


def below(scheme):
    """What the connection speaks."""
    return {'ws': 'http', 'wss': 'https'}.get(scheme, scheme)


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
        tests = [host_fits(h, host, deny), p == port,
                 s == scheme or (deny and s == below(scheme)),
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
    if is_upgrade(rule):
        usual = ['GET']
    given = rule.get('methods', usual)
    return ANY if given == 'any' else given


def is_total(rule, pattern):
    return 'deny' in rule and 'methods' not in rule and 'query' not in rule \
        and split(pattern)[3] in (None, '/**') and not is_upgrade(rule)


def is_upgrade(rule):
    return any(split(p)[0] in ('ws', 'wss') for p in patterns(rule))


def live(rules):
    """Those that have not expired, when decide.c asks."""
    return [rule for rule in rules if rule.get('expires', LATER) == LATER]


def connection(rules, ask):
    """Host, port and scheme, before any request: (reason, rule) or None; or
    the reason alone with which it would be refused, were that enforced."""
    _, scheme, host, port, _, _ = ask
    best = enforced = 0
    scheme = below(scheme)
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
            come = 1 + (p == port) + (
                p == port and below(s) == scheme and fits)
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
    if 'deny' in a and sa in ('http', 'https'):
        sb = below(sb)
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
    # The connection is there; the upgrade, or a rule without, may not be.
    enforced = 3
    best = 3 if any(progress(rule, ask) > 2 for rule in live(rules)
                    if 'deny' not in rule) else 2
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
            enforced = max(enforced, best)
    return REASON[STAGES[best]], '-'
