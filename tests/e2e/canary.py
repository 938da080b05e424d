# SPDX-License-Identifier: Apache-2.0
"""Search for a token in every form that somebody could read it back from."""
import base64
import os
import re
import urllib.parse


def forms(token):
    """The byte strings that must be nowhere: raw, hex, percent-encoded, and
    the part of its Base64 that does not depend on what stands around it, at
    each of three alignments."""
    raw = token.encode()
    found = {raw, raw.hex().encode(), raw.hex().upper().encode(),
             urllib.parse.quote(token, safe='').encode(),
             ''.join('%%%02X' % b for b in raw).encode()}
    for lead in range(3):
        text = base64.b64encode(b'\0' * lead + raw)
        found.add(text[4 if lead else 0:len(text) - 4])
    return found


def in_bytes(data, wanted):
    return any(form in data for form in wanted)


def files_with(top, wanted, but=()):
    """Paths below top whose contents hold one of the forms."""
    found = []
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if path in but or not os.path.isfile(path):
                continue
            with open(path, 'rb') as f:
                if in_bytes(f.read(), wanted):
                    found.append(path)
    return found


def in_memory(pid, wanted):
    """Is one of the forms in the memory, environment or command line of this
    process?  Wants the right to read it (root of the bed has it)."""
    for name in ('environ', 'cmdline'):
        with open('/proc/%d/%s' % (pid, name), 'rb') as f:
            if in_bytes(f.read(), wanted):
                return True
    with open('/proc/%d/maps' % pid, encoding='utf-8') as f:
        maps = [re.match(r'([0-9a-f]+)-([0-9a-f]+) (\S+)', row).groups()
                for row in f]
    with open('/proc/%d/mem' % pid, 'rb', buffering=0) as mem:
        for low, high, rights in maps:
            low, high = int(low, 16), int(high, 16)
            # a sanitizer's notes on each byte of the rest: terabytes
            if 'r' not in rights or high - low > 1 << 36:
                continue
            if _in_range(mem, low, high, wanted):
                return True
    return False


def _in_range(mem, low, high, wanted, piece=4 << 20):
    overlap = max(len(w) for w in wanted)
    at = low
    while at < high:
        try:
            mem.seek(at)
            data = mem.read(min(piece + overlap, high - at))
        except (OSError, ValueError):
            data = b''
        if in_bytes(data, wanted):
            return True
        at += piece
    return False
