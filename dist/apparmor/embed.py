#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profile without its comments as C: embed.py OUT FILE, for ns/fail.c,
where @DUENNA@ is %s."""
import sys


def main(out, path):
    with open(path, encoding='ascii') as f:
        lines = [line.rstrip('\n') for line in f if not line.startswith('#')]
    with open(out, 'w', encoding='ascii') as f:
        for line in lines:
            text = line.replace('%', '%%').replace('@DUENNA@', '%s')
            f.write('"\\n  %s"\n' % text.replace('\\', '\\\\')
                    .replace('"', '\\"'))


main(*sys.argv[1:])
