#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs as no git writes them, read by us and by git's own index-pack.

usage: packs.py PROOFS [COUNT [SEED]]    PROOFS is the program made of proofs.c

Numbers longer than they need be, deltas before their bases and against each
other, sizes that lie, compressed streams in odd forms, bytes between and behind.
What we take git has to take too, with the same commits, trees and tags in it:
else a proof would be made of another push than the server gets.
"""

import hashlib
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

COMMIT, TREE, BLOB, TAG, OFS, REF = 1, 2, 3, 4, 6, 7
KINDS = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}
PERSON = b"A <a@example.com> 1 +0000\n"


def name(kind, body):
    return hashlib.sha1(b"%s %d\0" % (KINDS[kind], len(body)) + body).digest()


def head(rng, kind, size):
    out, byte, size = bytearray(), kind << 4 | size & 15, size >> 4
    while size or rng.random() < 0.05:  # at times longer than it need be
        out.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    out.append(byte)
    return bytes(out)


def distance(n):
    out = [n & 0x7F]
    n >>= 7
    while n:
        n -= 1
        out.append(0x80 | n & 0x7F)
        n >>= 7
    return bytes(reversed(out))


def varint(rng, n):
    out = bytearray()
    while n > 0x7F or rng.random() < 0.1:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def deflate(rng, body):
    what = rng.random()
    if what < 0.6:
        return zlib.compress(body, rng.randrange(0, 10))
    c = zlib.compressobj(rng.randrange(0, 10), zlib.DEFLATED, rng.randrange(9, 16))
    out = b""
    for i in range(0, len(body), 7):
        out += c.compress(body[i : i + 7]) + c.flush(
            rng.choice([zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_BLOCK])
        )
    out += c.flush()
    if what < 0.63:  # its checksum is wrong
        out = out[:-1] + bytes([out[-1] ^ 1])
    elif what < 0.65:
        out = out[:-2]
    elif what < 0.67:
        c = zlib.compressobj(6, zlib.DEFLATED, 15, 8, 0, b"a dictionary")
        out = c.compress(body) + c.flush()
    return out


def delta(rng, base, body):
    out = varint(rng, len(base)) + varint(rng, len(body))
    at = 0
    while at < len(body):
        n = min(len(body) - at, rng.randrange(1, 40))
        found = base.find(body[at : at + n])
        if found >= 0 and rng.random() < 0.9:
            op, args = 0x80, b""
            for bit, value in enumerate(struct.pack("<I", found)):
                if value or rng.random() < 0.2:
                    op |= 1 << bit
                    args += bytes([value])
            for bit, value in enumerate(struct.pack("<I", n)[:3]):
                if value or rng.random() < 0.2:
                    op |= 0x10 << bit
                    args += bytes([value])
            out += bytes([op]) + args
        else:
            out += bytes([n]) + body[at : at + n]
        at += n
    return out


def body_of(rng, kind, known):
    """Content of an object; commits and trees name earlier ones, or none."""

    def some(kind):
        names = [n for n, k in known.items() if k == kind]
        return rng.choice(names) if names else rng.randbytes(20)

    if kind == COMMIT:
        parents = b"".join(
            b"parent " + some(COMMIT).hex().encode() + b"\n"
            for _ in range(rng.choice([0, 1, 1, 2]))
        )
        return b"tree %s\n%sauthor %scommitter %s\nm%d\n" % (
            some(TREE).hex().encode(), parents, PERSON, PERSON, rng.randrange(1 << 30))
    if kind == TREE:
        entries = sorted(b"f%d" % rng.randrange(50) for _ in range(rng.randrange(0, 9)))
        return b"".join(b"100644 " + e + b"\0" + rng.randbytes(20) for e in sorted(set(entries)))
    if kind == TAG:
        return b"object %s\ntype commit\ntag t%d\ntagger %s\nt\n" % (
            some(COMMIT).hex().encode(), rng.randrange(1 << 30), PERSON)
    return b"blob %d\n" % rng.randrange(1 << 30) * rng.randrange(1, 50)


def make(rng):
    """A pack."""
    n = rng.randrange(0, 14)
    known, bodies, later = {}, [], []
    for _ in range(n):
        kind = rng.choice([COMMIT, COMMIT, TREE, TREE, BLOB, TAG])
        body = body_of(rng, kind, known)
        if name(kind, body) in known and rng.random() < 0.9:
            continue
        known[name(kind, body)] = kind
        bodies.append((kind, body))
    if rng.random() < 0.3:
        rng.shuffle(bodies)
    out, at = b"PACK" + struct.pack(">II", 2, len(bodies)), {}
    for i, (kind, body) in enumerate(bodies):
        size, prefix, data = len(body), b"", body
        others = [j for j in range(len(bodies)) if j != i and bodies[j][0] == kind]
        code = kind
        if others and rng.random() < 0.5:
            j = rng.choice(others)
            data = delta(rng, bodies[j][1], body)
            if kind != BLOB and rng.random() < 0.03:  # of a blob it is not applied
                data += rng.choice([b"\0", b"\1", b"\x80", b"\1x"])
            size = len(data)
            if j in at and rng.random() < 0.6:
                code, prefix = OFS, distance(len(out) - at[j])
                if rng.random() < 0.02:
                    prefix = distance(max(1, len(out) - at[j] + rng.choice([-1, 1])))
            else:
                code, prefix = REF, name(*bodies[j])
                if rng.random() < 0.05:
                    prefix = rng.randbytes(20)
        if rng.random() < 0.01:
            size += rng.choice([-1, 1])
        if rng.random() < 0.01:
            code = rng.choice([0, 5, BLOB, TREE])
        at[i] = len(out)
        out += head(rng, code, max(0, size)) + prefix + deflate(rng, data)
        if rng.random() < 0.005:
            out += b"\0"
    out += hashlib.sha1(out).digest()
    what = rng.random()
    if what < 0.02:
        out += b"\0"
    elif what < 0.04:
        out = out[:-1]
    elif what < 0.06:
        i = rng.randrange(len(out))
        out = out[:i] + bytes([out[i] ^ 1 << rng.randrange(8)]) + out[i + 1 :]
    return out


def by_git(folder, pack):
    """What git finds in it: {name: kind}, or None if it refuses."""
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent",
           "GIT_CONFIG_NOSYSTEM": "1"}
    run = subprocess.run(
        ["git", "index-pack", "-o", os.path.join(folder, "index.idx"), pack],
        cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if run.returncode != 0:
        return None
    shown = subprocess.run(
        ["git", "verify-pack", "-v", os.path.join(folder, "index.idx")],
        cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True)
    if shown.returncode != 0:  # index-pack takes one object twice, others do not
        return None
    found = {}
    for line in shown.stdout.splitlines():
        words = line.split()
        if len(words) >= 5 and len(words[0]) == 40:
            found[words[0]] = words[1]
    return found


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    ours = subprocess.Popen([program, "sha1"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)

    def ask(line):
        ours.stdin.write(line + "\n")
        ours.stdin.flush()
        return ours.stdout.readline().rstrip("\n")

    tally = {}
    for i in range(seed, seed + count):
        rng = random.Random(i)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "index.pack")
            with open(path, "wb") as f:
                f.write(make(rng))
            said = ask("pushed " + path).split(" ", 1)
            found = by_git(folder, path)
            key = (said[0], "refused" if found is None else "taken")
            tally[key] = tally.get(key, 0) + 1
            if said[0] == "bad":
                if found is not None:
                    tally[said[1]] = tally.get(said[1], 0) + 1
                continue
            unknown, _, commits, trees = map(int, said[1].split())
            words = ask("objects").split()
            named = dict(zip(words[1::2], words[::2]))
            if found is None:
                # what git could not resolve we know nothing of
                assert unknown, "seed %d: taken, but not by git" % i
                continue
            want = {n: k for n, k in found.items() if k != "blob"}
            assert not (commits or trees) and (unknown or named == want), "seed %d" % i
            assert named.items() <= want.items(), "seed %d" % i
    ours.stdin.close()
    assert ours.wait() == 0
    print("%d packs: %s" % (count, tally))


if __name__ == "__main__":
    main()
