#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of git+https once more, from their description, against policy/.

usage: gitrules.py DECIDE [POLICIES [SEED]]

Random policies over few repositories and refs; requests of git's form, near
it, to the forge's API, and commands of pushes.  Both must say the same reason
and, where one decides, the same rule.
"""
import json
import random
import re
import subprocess
import sys

FORGE = {'github.com': 'github', 'lab.test': 'gitlab', 'plain.test': 'none'}
HOSTS = ['github.com', 'lab.test', 'plain.test']
NAMES = ['acme/app', 'Acme/App', 'acme/lib', 'acme/app.wiki', 'acme/a/b', 'x']
GLOBS = NAMES[:4] + ['acme/*', 'acme/**', '*/app', 'acme/a*', '**', 'acme/*/b']
REFS = ['agent/**', 'agent/*', 'main', 'v*', 'a/**/z', '**', 'x-*', '*']
ASKED = ['refs/heads/agent/x', 'refs/heads/agent/x/y', 'refs/heads/agent',
         'refs/heads/main', 'refs/heads/Main', 'refs/tags/v1', 'refs/tags/v',
         'refs/heads/a/z', 'refs/heads/a/b/z', 'refs/heads/a/b/c/z',
         'refs/heads/x-', 'refs/heads/x-1', 'refs/notes/c', 'refs/heads/-x',
         'refs/heads/a..b', 'refs/heads/HEAD', 'refs/heads/x.lock',
         'refs/heads/%2e', 'HEAD', 'refs/heads/', 'refs/heads/a;b']
TAILS = ['/info/refs?service=git-upload-pack', '/info/refs',
         '/info/refs?service=git-receive-pack', '/git-upload-pack',
         '/git-receive-pack', '/git-upload-archive', '/git-receive-pack?x',
         '/Git-Receive-Pack', '/info/refs?service=git-upload-pack&x',
         '/info/lfs/objects/batch', '/HEAD', '/issues', '', '/INFO/refs',
         '/objects/info/packs', '/git-receive-pack;x']
API = ['contents/x', 'git/refs', 'issues', 'pulls/1/merge', 'pulls', '']


def random_rule(r, i, globs=GLOBS):
    host = r.choice(HOSTS)
    roll = r.random()
    rule = {'name': 'r%d' % i}
    if roll < .15:
        rule['deny'] = 'git+https://%s/%s' % (host, r.choice(globs))
        return rule
    if roll < .35:
        host = r.choice(HOSTS + ['api.github.com'] * 2)
        path = r.choice(['/**', '/acme/**', '/repos/acme/app/contents/**',
                         '/api/v4/**', '/acme/app/issues', '/graphql'])
        rule['allow'] = 'https://%s%s' % (host, path)
        if r.random() < .6:
            rule['methods'] = 'any'
        rule['encoded_slash'] = r.random() < .5
        return rule
    rule['allow'] = 'git+https://%s/%s' % (host, r.choice(globs))
    rule['fetch'] = r.random() < .6
    rule['archive'] = r.random() < .2
    if r.random() < .6 or not (rule['fetch'] or rule['archive']):
        push = {'branches': r.sample(REFS, r.randint(1, 2))}
        if r.random() < .4:
            push['tags'] = ['v*']
        for key in ('create', 'update', 'delete', 'force'):
            if r.random() < .3:
                push[key] = r.random() < .5
        if not any(push.get(k, k != 'delete')
                   for k in ('create', 'update', 'delete')):
            push['create'] = True
        rule['push'] = push
    if host != 'github.com' and FORGE[host] != 'none' or 'push' in rule:
        rule['forge'] = FORGE[host]
    return rule


# -- what a request is --------------------------------------------------------

def bare(name):
    while len(name) > 5 and name.lower().endswith('/.git'):
        name = name[:-5]
    return name[:-4] if len(name) > 5 and name.lower().endswith('.git') \
        else name


def shape(method, path, query):
    """(service, repository), or None."""
    m = re.fullmatch(r'(?i)(.*)/info/refs', path)
    if m:
        good = method == 'GET' and path.endswith('/info/refs')
        service = {'service=git-upload-pack': 'fetch',
                   'service=git-receive-pack': 'push'}.get(query)
        return (service if good and service else 'other', m[1]) if m[1] \
            else None
    head, _, last = path.rpartition('/')
    for name, service in (('git-upload-pack', 'fetch'),
                          ('git-receive-pack', 'push'),
                          ('git-upload-archive', 'archive')):
        if last.lower().startswith(name):
            good = last == name and method == 'POST' and query is None
            return (service if good else 'other', head) if head else None
    m = re.match(r'(?i)(.*?)/info/lfs/', path)
    if m:
        return ('lfs' if '/info/lfs/' in path else 'other', m[1]) if m[1] \
            else None
    m = re.match(r'(?i)(/.*?\.git)/', path)
    return ('other', m[1]) if m else None


def parts_fit(pattern, parts):
    if not pattern:
        return not parts
    if pattern[0] == '**':
        return any(parts_fit(pattern[1:], parts[i:])
                   for i in range(len(parts) + 1))
    want = '.+'.join(re.escape(x) for x in pattern[0].split('*'))
    return bool(parts) and re.fullmatch(want, parts[0]) is not None and \
        parts_fit(pattern[1:], parts[1:])


def split(url):
    return re.fullmatch(r'(git\+https|https)://([^/]+)(/.*)', url).groups()


def names(rule, repository):
    _, _, path = split(rule.get('allow') or rule['deny'])
    path, own = bare(path), bare(repository)
    if 'deny' in rule or forge_of(rule) != 'none':
        path, own = path.lower(), own.lower()
    return parts_fit(path.split('/')[1:], own.split('/')[1:])


def forge_of(rule):
    host = split(rule['allow'])[1]
    return rule.get('forge', 'github' if host == 'github.com' else 'none')


def is_git(rule):
    return (rule.get('allow') or rule['deny']).startswith('git+')


# -- refs -----------------------------------------------------------------

def ref_good(ref):
    if not ref.startswith('refs/') or len(ref) > 200 or '..' in ref or \
            ref == 'refs/heads/HEAD':
        return False
    return all(re.fullmatch(r'[A-Za-z0-9_][A-Za-z0-9._+@=-]*', part) and
               not part.endswith(('.', '.lock'))
               for part in ref.split('/'))


def ref_fits(glob, ref):
    """`**` is one component or more."""
    wanted = []
    for part in glob.split('/'):
        wanted += ['*', '**'] if part == '**' else [part]
    return parts_fit(wanted, ref.split('/'))


def judge_ref(push, kind, ref):
    globs = ['refs/heads/' + b for b in push['branches']] + \
        ['refs/tags/' + t for t in push.get('tags', [])]
    if not ref_good(ref) or not any(ref_fits(g, ref) for g in globs):
        return 'git.ref'
    if not push.get(kind, kind != 'delete'):
        return 'git.update'
    if kind == 'update' and ref.startswith('refs/tags/') and \
            not push.get('force'):
        return 'git.update'
    return 'allow'


# -- the forge's API ------------------------------------------------------

def door(rules, method, host, path):
    """The segment that opens it ('' if none does), or None: no side door."""
    if method in ('GET', 'HEAD', 'OPTIONS'):
        return None
    git_host = 'github.com' if host == 'api.github.com' else host
    forge = FORGE.get(git_host)
    own = [rule for rule in rules if 'allow' in rule and is_git(rule) and
           split(rule['allow'])[1] == git_host and
           forge_of(rule) in (forge, 'gitlab') and forge_of(rule) != 'none']
    if not own:
        return None
    if host == 'api.github.com':
        if path.startswith('/graphql'):
            return 'graphql'
        m = re.fullmatch(r'/repos(/[^/]+/[^/]+)/?(.*)', path) or \
            re.fullmatch(r'/repositories/\d+()/?(.*)', path)
        words = {'contents', 'git', 'merge'}
    elif host == 'lab.test':
        if path.startswith('/api/graphql'):
            return 'graphql'
        m = re.fullmatch(r'/api/v4/projects/\d+()/?(.*)', path) or \
            re.fullmatch(r'/api/v4/projects(/[^/]+)/?(.*)', path)
        words = {'files', 'merge'}
    else:
        return None
    if not m or (m[2] and not words & set(m[2].split('/'))):
        return None
    if m[1] and not any(names(rule, m[1].replace('%2F', '/'))
                        for rule in own):
        return None
    return next((x for x in m[2].split('/') if x in words), '')


def opened(pattern, segment):
    return '*' not in pattern or bool(segment) and \
        segment in pattern.split('/')


# -- the decision -----------------------------------------------------------

def decide(rules, ask, command=None):
    method, host, path, query = ask
    here = [r for r in rules
            if split(r.get('allow') or r['deny'])[1] == host]
    if not any('allow' in r for r in here):
        return None  # the connection is refused already
    is_a = shape(method, path, query)
    if is_a and not any(is_git(r) for r in here):
        is_a = None
    if is_a and re.search('[%;]', is_a[1]):
        return 'http.path_invalid', '-'
    named = is_a and any('allow' in r and is_git(r) and names(r, is_a[1])
                         for r in here)
    way = None if is_a else door(rules, method, host, path)
    best = 'http.path_denied' if not is_a else 'git.repo'
    order = [best, 'http.method_denied', 'git.service', 'git.api']
    for rule in here:
        come = best
        if is_git(rule):
            if not is_a or not names(rule, is_a[1]):
                continue
            if 'deny' in rule:
                return 'deny.rule', rule['name']
            if rule.get(is_a[0]) if is_a[0] in (
                    'fetch', 'push', 'archive') else False:
                if command:
                    why = judge_ref(rule['push'], *command)
                    return why, rule['name']
                return 'allow', rule['name']
            come = 'git.service'
        elif not named:
            pattern = split(rule['allow'])[2]
            if not parts_fit(pattern.split('/')[1:], path.split('/')[1:]) or \
                    ('%2F' in path and not rule.get('encoded_slash')):
                continue
            if method not in ('GET', 'HEAD') and 'methods' not in rule:
                come = 'http.method_denied'
            elif way is not None and not opened(pattern, way):
                come = 'git.api'
            else:  # of https: nobody asks about refs then
                return 'internal' if command else 'allow', rule['name']
        best = max(best, come, key=order.index)
    return best, '-'


NUMBERED = ['acme/p%d' % i for i in range(12)] + ['Acme/P3', 'acme/p1*']


def many_rules(r):
    """So many of a host that they are not looked at in turn."""
    return [random_rule(r, i, NUMBERED * 4 + GLOBS[4:])
            for i in range(r.randint(60, 120))]


def random_ask(r, numbered=()):
    if r.random() < .2:
        host = r.choice(['api.github.com', 'lab.test'])
        name = r.choice(['acme/app', 'ACME/App', 'acme/lib', 'other/x',
                         *numbered])
        tail = r.choice(API)
        if host == 'lab.test':
            tail = tail.replace('contents', 'repository/files')
            path = '/api/v4/projects/%s/%s' % (
                r.choice([name.replace('/', '%2F'), '17']), tail)
        else:
            path = r.choice(['/repos/%s/%s' % (name, tail),
                             '/repositories/17/' + tail, '/graphql'])
        return r.choice(['GET', 'POST', 'PUT']), host, path.rstrip('/') or \
            '/', None
    name = r.choice(NAMES + ['acme/%C3%84', 'other/x', *numbered])
    if r.random() < .4:
        name += r.choice(['.git', '.GIT', '/.git', '.git/.git'])
    path, mark, query = ('/' + name + r.choice(TAILS)).partition('?')
    return r.choice(['GET', 'POST', 'POST', 'PUT']), r.choice(HOSTS), path, \
        query if mark else None


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    lines, wanted = [], []
    for i in range(count):
        many = i % 16 == 0
        rules = many_rules(r) if many else \
            [random_rule(r, i) for i in range(r.randint(1, 5))]
        text = json.dumps({'version': 1, 'policies': {'p': {'rules': rules}}})
        lines.append('policy ' + text.encode().hex())
        wanted.append(('ok', rules, None))
        for _ in range(40):
            ask = random_ask(r, NUMBERED[:-1] if many else ())
            command = None
            if ask[2].endswith('/git-receive-pack') and ask[3] is None and \
                    r.random() < .8:
                command = r.choice(['create', 'update', 'delete']), \
                    r.choice(ASKED)
                ask = ('POST',) + ask[1:]
            want = decide(rules, ask, command)
            if want is None:
                continue
            url = 'https://%s%s%s' % (ask[1], ask[2], '' if ask[3] is None
                                      else '?' + ask[3])
            lines.append('%s %s %s' % (*(command or ('ask', ask[0])), url))
            wanted.append((want, rules, lines[-1]))
    out = subprocess.run([sys.argv[1]], input='\n'.join(lines) + '\n',
                         stdout=subprocess.PIPE, text=True, check=True)
    seen = set()
    for got, (want, rules, line) in zip(out.stdout.splitlines(), wanted):
        if want == 'ok':
            good = got == 'ok'
        else:
            reason, _, name = got.partition(' ')
            good = reason == want[0] and (want[1] == '-' or name == want[1])
            seen.add(reason)
        if not good:
            print('%s\n%s: %s, not %s' % (json.dumps(rules, indent=1), line,
                                          got, want))
            return 1
    print('%d questions, %d reasons' % (len(wanted) - count, len(seen)))
    return 0 if len(seen) >= 10 else 1


sys.exit(main())
