#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Policies as C: embed.py OUT FILE..., for proxyd/load/preset.c."""
import os
import sys


def bytes_of(path):
    with open(path, 'rb') as f:
        data = f.read()
    rows = [data[i:i + 16] for i in range(0, len(data), 16)]
    return ''.join('\t' + ' '.join('%d,' % b for b in r) + '\n' for r in rows)


def main(out, *paths):
    names = [os.path.basename(p)[:-len('.yaml')] for p in sorted(paths)]
    with open(out, 'w', encoding='ascii') as f:
        for name, path in zip(names, sorted(paths)):
            f.write('static const unsigned char %s_text[] = {\n%s};\n\n' %
                    (name.replace('-', '_'), bytes_of(path)))
        f.write('static const struct {\n\tconst char *name;\n'
                '\tconst unsigned char *text;\n\tsize_t n;\n} presets[] = {\n')
        for name in names:
            c = name.replace('-', '_')
            f.write('\t{ "%s", %s_text, sizeof(%s_text) },\n' % (name, c, c))
        f.write('};\n')


main(*sys.argv[1:])
