#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""JUnit files of meson and pytest to rows: status, step, name, detail.

usage: tally.py STEP FILE EXIT

A run that left no file, or that says failure by its exit status alone, is a
failed row: nothing passes by being absent.
"""
import os
import sys
import xml.etree.ElementTree as tree


def status(case):
    for child in case:
        if child.tag in ('failure', 'error'):
            return 'not ok', child.get('message') or ''
        if child.tag == 'skipped':
            return 'skip', child.get('message') or ''
    return 'ok', ''


def main(step, path, code):
    rows = []
    if os.path.exists(path):
        for case in tree.parse(path).getroot().iter('testcase'):
            name = (case.get('classname') or '') + ' ' + case.get('name')
            rows.append((*status(case), name.strip()))
    if not rows:
        rows.append(('not ok', 'no test ran', step))
    elif code and not any(r[0] == 'not ok' for r in rows):
        rows.append(('not ok', 'exit status %d' % code, step))
    for what, detail, name in rows:
        detail = ' '.join(detail.split())[:160]
        print('\t'.join((what, step, ' '.join(name.split()), detail)))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
