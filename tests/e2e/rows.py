# SPDX-License-Identifier: Apache-2.0
"""Read tests/cases/*.rows; its README.md has the format."""
import glob
import os
import re

from bed import OPEN, RESOLVER, TREE, give
from raw import fill

CASES = TREE + '/tests/cases'
PLAIN = {'r': '\r', 'n': '\n', 't': '\t', '0': '\0', '\\': '\\'}
TOKEN = re.compile(r'\\x([0-9a-fA-F]{2})|\\\*\{(\d+)\}|\\\?\{([^}]*)\}|'
                   r'\\([rnt0\\])|\\\{(\w+)\}|\\([<>])|([^\\])', re.S)
SECRET = '%s-canary-0123456789-0123456789'


class Row:
    def __init__(self, ident, kind, policy, reason, data, sees):
        self.id, self.input, self.policy = ident, kind, policy
        self.reason, _, self.alarm = reason.partition(' !')
        self.data, self.sees = data, sees

    @property
    def tls(self):
        return not self.policy.startswith('plain')


def spread(text):
    """The list of a \\?{...}: single bytes and ranges, hexadecimal."""
    for part in text.split(','):
        low, _, high = part.partition('-')
        yield from range(int(low, 16), int(high or low, 16) + 1)


def expand(text):
    """[(suffix of the id, latin-1 string)]: all that one field stands for."""
    done, at = [('', '')], 0
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise ValueError('escape at %d: %r' % (at, text[at:at + 8]))
        at = m.end()
        byte, times, every, letter, name, base64, other = m.groups()
        if times:
            done = [(i, s[:-1] + s[-1] * int(times)) for i, s in done]
        elif every:
            done = [('%s/%02x' % (i, b), s + chr(b)) for i, s in done
                    for b in spread(every)]
        else:
            new = chr(int(byte, 16)) if byte else PLAIN.get(letter, other)
            if name:  # raw.py's fill() puts in what only the sandbox knows
                new = '\ue000%s\ue001' % name.upper()
            elif base64:
                new = '\ue002' if base64 == '<' else '\ue003'
            done = [(i, s + new) for i, s in done]
    return done


def split(line):
    """The six fields; a blank before the line's end may be missing."""
    fields = (line.rstrip('\n') + ' ').split(' | ')
    if len(fields) != 6:
        raise ValueError('%d fields: %r' % (len(fields), line))
    return [f if i == 4 else f.strip(' ') for i, f in enumerate(fields)]


def read():
    """Every row of every file, what stands for many spread out."""
    found = []
    for path in sorted(glob.glob(CASES + '/*.rows')):
        with open(path, encoding='utf-8') as f:
            lines = [x for x in f if x.strip() and not x.startswith('#')]
        for line in lines:
            ident, kind, policy, reason, data, sees = split(line)
            wanted = expand(sees)
            for i, (suffix, one) in enumerate(expand(data)):
                found.append(Row(ident + suffix, kind, policy, reason, one,
                                 wanted[i if len(wanted) > 1 else 0][1]))
    return found


def policies():
    """The rows' policies, allowed to dial where the bed lives."""
    with open(CASES + '/policies.yaml', encoding='utf-8') as f:
        text = ''.join(line for line in f if not line.startswith('#'))
    opened = 'addresses: [%s]' % OPEN
    text = re.sub(r'- \{(name: [\w-]+), allow', r'- {\1, %s, allow' % opened,
                  text)
    return re.sub(r'(?m)^( *)- (name: [\w-]+)$', r'\1- \2\n\1  ' + opened, text)


def config():
    """The rows' owner, and how the bed is reached."""
    with open(CASES + '/owner.yaml', encoding='utf-8') as f:
        return f.read() + ('upstream:\n  - names: ["**"]\n'
                           '    resolvers: ["%s"]\n    roots: [root.pem]\n' %
                           RESOLVER)


def give_secrets(bed):
    """Each credential of owner.yaml has the secret that README.md says."""
    for name in re.findall(r'\{file: (\w+)\}', config()):
        bed.write('.config/duenna/' + name, SECRET % name, 0o600)
    give(bed.settings)


if __name__ == '__main__':
    rows = read()
    print(len(rows), 'cases of', len({r.id.split('/')[0] for r in rows}), 'rows in',
          os.path.relpath(CASES))
