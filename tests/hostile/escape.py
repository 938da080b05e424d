#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The command of a hostile run: tries to touch what is outside of the sandbox.

usage: escape.py HOME HOST_SOCKET ABSTRACT BYSTANDER EVIL MEMORY < FILE

The canaries: a home, a socket and an abstract socket of the host's (whose name
a queue of messages has too), a process, an address, shared memory, FILE.
Prints a line a try: its name, "refused", "harmless" or "REACHED", and how.  A
try returns something true when it got where it must not get.  Needs nothing
but Python, so that it runs in any sandbox.
"""
import errno
import ssl
import subprocess

import processes  # noqa: F401 (what is imported adds its tries, in this order)
import sockets  # noqa: F401
import network  # noqa: F401
import files  # noqa: F401
import kernel  # noqa: F401
from tries import TRIES, Harmless


def tried(f):
    """(result, how) of one try."""
    try:
        got = f()
    except subprocess.TimeoutExpired:
        return 'refused', 'too slow'
    except ssl.SSLError as e:
        return 'refused', str(e.reason)
    except OSError as e:
        return 'refused', errno.errorcode.get(e.errno, str(e))
    if isinstance(got, Harmless):
        return 'harmless', got
    return ('REACHED', repr(got)[:200]) if got else ('refused', '')


def main():
    for f in TRIES:
        print('\t'.join((f.__name__, *tried(f))), flush=True)


if __name__ == '__main__':
    main()
