# SPDX-License-Identifier: Apache-2.0
"""What the done-checks share: lines "ok" and "not ok" with what was seen."""
import os
import sys
import traceback

TREE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, TREE + '/tests/e2e')
sys.dont_write_bytecode = True


class Check:
    def __init__(self):
        self.good = self.bad = 0

    def see(self, what, true, seen=''):
        """One line; `seen` is the evidence."""
        seen = ' '.join(str(seen).split())
        line = '%s - %s%s' % ('ok' if true else 'not ok', what,
                              ': ' + seen[:300] if seen else '')
        print(line, flush=True)
        if true:
            self.good += 1
        else:
            self.bad += 1
        return bool(true)


def main(body, in_bed=True, build='build'):
    """Run body(check); 0 only if something was seen and nothing was wrong."""
    os.environ.setdefault('DUENNA_BUILD', os.path.join(TREE, build))
    if in_bed:
        import bed
        if 'DUENNA_BED' not in os.environ:
            bed.enter(['/usr/bin/python3', *sys.argv])
    check = Check()
    try:
        body(check)
    except Exception:
        traceback.print_exc(limit=4, file=sys.stdout)
        check.see('the check came to its end', False,
                  traceback.format_exc().strip().splitlines()[-1])
    print('# %d seen, %d not' % (check.good, check.bad))
    sys.exit(0 if check.good and not check.bad else 1)
