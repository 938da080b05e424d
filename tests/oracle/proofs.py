#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is shown of a push, against what git itself says of it.

usage: proofs.py PROOFS [COUNT [SEED]]    PROOFS is the program made of proofs.c

Repositories with merges, octopus merges, several roots, renames, links,
submodules, names that differ in case, deltas by offset and by name, of SHA-1 and
SHA-256; of each some pushes: thin or not, forward, backward or sideways.

yes may be said only where git says yes, no only where it says no, and what a
real upload-pack is asked for where the answer is "open" must settle it.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

ENV = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
}
V2 = {"GIT_PROTOCOL": "version=2"}
DIRS = [".github", ".github/workflows", "src", "src/lib", "ci"]
NAMES = ["ci.yml", "a", "b.c", "Makefile", "build.sh"]
KEEP = [
    ".github/**",
    ".github/workflows/**",
    ".github/workflows/ci.yml",
    ".github/workflows/*.yml",
    "Makefile",
    "*/Makefile",
    "src/*/a",
    "ci",
    "**",
]


def git(repo, *args, data=None, env=None):
    run = subprocess.run(
        ["git", "-C", repo, *args],
        input=data,
        stdout=subprocess.PIPE,
        check=True,
        env={**ENV, **(env or {})},
    )
    return run.stdout


class Repo:
    """A history, and what git says of it."""

    def __init__(self, rng, path, fmt):
        self.rng, self.path, self.fmt = rng, path, fmt
        subprocess.run(
            ["git", "init", "-q", "--bare", "--object-format=" + fmt, path],
            check=True,
            env=ENV,
        )
        git(path, "config", "uploadpack.allowFilter", "true")
        self.digits = 64 if fmt == "sha256" else 40
        git(path, "fast-import", "--quiet", "--date-format=raw", data=self.make())
        if rng.random() < 0.5:
            git(path, "repack", "-adfq", "--depth=%d" % rng.choice([4, 50]))
        self.parents, self.trees = {}, {}
        for line in git(path, "log", "--all", "--format=%H %P").decode().split("\n"):
            if line:
                commit, *parents = line.split()
                self.parents[commit] = parents
        # dates are all one: without an order of its own a seed would not repeat
        self.commits = sorted(self.parents)
        self.kinds = {}
        for line in git(
            path,
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname) %(objecttype)",
        ).split(b"\n"):
            if line:
                name, kind = line.decode().split()
                self.kinds[name] = kind

    def make(self):
        """A history for git fast-import."""
        rng, out = self.rng, []
        n = rng.randrange(4, 16)
        text = ["line %d of many that are alike\n" % i for i in range(60)]
        for i in range(1, n + 1):
            out.append("reset refs/heads/c%d\n" % i)
            out.append("commit refs/heads/c%d\nmark :%d\n" % (i, i))
            out.append("author A <a@example.com> %d +0000\n" % (1000 + i))
            out.append("committer C <c@example.com> %d +0000\n" % (1000 + i))
            out.append("data 3\nc%02d\n" % i)
            if i > 1 and rng.random() > 0.1:
                # mostly the one before, sometimes an older one, several at times
                first = i - 1 if rng.random() < 0.7 else rng.randrange(1, i)
                out.append("from :%d\n" % first)
                others = set(range(1, i)) - {first}
                for other in rng.sample(
                    sorted(others), min(len(others), rng.choice([0, 0, 0, 1, 1, 3]))
                ):
                    out.append("merge :%d\n" % other)
            for _ in range(rng.randrange(0, 4) if i > 1 else 8):
                out.append(self.change(text))
            out.append("\n")
        out.append("reset refs/heads/master\nfrom :%d\n\n" % rng.randrange(1, n + 1))
        if rng.random() < 0.5:
            out.append("tag v1\nfrom :%d\ntagger T <t@example.com> 5 +0000\n" % n)
            out.append("data 2\nv1\n")
        return "".join(out).encode()

    def change(self, text):
        rng = self.rng
        path = rng.choice(DIRS) + "/" + rng.choice(NAMES)
        if rng.random() < 0.3:
            path = rng.choice(NAMES)
        if rng.random() < 0.1:
            path = re.sub("[a-z]", lambda m: m[0].upper(), path, count=2)
        what = rng.random()
        if what < 0.1:
            return "D %s\n" % rng.choice([path, rng.choice(DIRS)])
        if what < 0.2:
            return "M 160000 %s %s\n" % ("%x" % rng.randrange(1, 16) * self.digits, path)
        if what < 0.25:  # a whole folder becomes a link
            return "M 120000 inline %s\ndata 1\nx\n" % rng.choice(DIRS)
        mode = rng.choice(["100644", "100644", "100755", "120000"])
        if rng.random() < 0.5:
            body = "x%d" % rng.randrange(4)
        else:
            lines = list(text)
            lines[rng.randrange(len(lines))] = "changed %d\n" % rng.randrange(9)
            body = "".join(lines)
        return "M %s inline %s\ndata %d\n%s\n" % (mode, path, len(body), body)

    def ancestors(self, *tips):
        seen, todo = set(), list(tips)
        while todo:
            commit = todo.pop()
            if commit not in seen:
                seen.add(commit)
                todo += self.parents[commit]
        return seen

    def tree(self, commit):
        """path -> (mode, name) of all entries."""
        if commit not in self.trees:
            entries = {}
            for line in git(
                self.path, "ls-tree", "-rtz", "--full-tree", commit
            ).split(b"\0"):
                if line:
                    head, path = line.decode().split("\t")
                    mode, _, name = head.split()
                    entries[path] = (mode, name)
            self.trees[commit] = entries
        return self.trees[commit]


def kept(pattern, commit):
    """What `keep:` speaks of in a commit: entries of the pattern, in whichever
    case, and links and submodules on the way to them."""
    if pattern == "**":
        return commit
    parts = pattern.removesuffix("/**").lower().split("/")
    found = {}
    for path, (mode, name) in commit.items():
        have = path.lower().split("/")
        if len(have) > len(parts):
            continue
        for part, one in zip(parts, have):
            glob = "[^/]+".join(re.escape(piece) for piece in part.split("*"))
            if not re.fullmatch(glob, one):
                break
        else:
            if len(have) == len(parts) or mode in ("120000", "160000"):
                found[path] = (mode, name)
    return found


class Asker:
    """proofs.c, and a real upload-pack for what it asks."""

    def __init__(self, program, fmt, repo, folder):
        self.p = subprocess.Popen(
            [program, fmt], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.repo, self.folder, self.asked = repo, folder, 0

    def __call__(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        answer = self.p.stdout.readline()
        if not answer:
            raise AssertionError("no answer to " + line)
        return answer.rstrip("\n")

    def upload_pack(self, verb, line):
        return self.tell(verb, self(line))

    def offer(self):
        """A file with what the upstream offers in protocol 2."""
        path = os.path.join(self.folder, "offer")
        flags = ["--stateless-rpc", "--http-backend-info-refs", "."]
        with open(path, "wb") as f:
            f.write(git(self.repo.path, "upload-pack", *flags, env=V2))
        return path

    def tell(self, verb, request):
        """Let the upstream answer the question, and `verb` what comes of it."""
        assert request != "nothing"
        path = os.path.join(self.folder, "answer")
        with open(path, "wb") as f:
            f.write(
                git(
                    self.repo.path,
                    "upload-pack",
                    "--stateless-rpc",
                    ".",
                    data=request.replace("~", "\n").encode(),
                    env=V2,
                )
            )
        self.asked += 1
        return self(verb + " " + path)

    def close(self):
        self.p.stdin.close()
        assert self.p.wait() == 0


def push(rng, repo, ask, folder, tally):
    """One push: what is in the pack, and what is shown of it."""
    tip = rng.choice(repo.commits)
    has = repo.ancestors(*rng.sample(repo.commits, min(len(repo.commits), rng.choice([1, 1, 2]))))
    has_tips = sorted(has)
    hidden = rng.choice(repo.commits) if rng.random() < 0.3 else tip
    thin = rng.random() < 0.4
    flags = ["--thin"] * thin + ["--delta-base-offset"] * (rng.random() < 0.7)
    revs = [tip, hidden] + ["^" + h for h in has_tips]
    pack = git(
        repo.path,
        "pack-objects",
        "--revs",
        "--stdout",
        "-q",
        *flags,
        data="\n".join(revs).encode() + b"\n",
    )
    path = os.path.join(folder, "pack")
    with open(path, "wb") as f:
        f.write(pack)
    said = ask("pushed " + path).split()
    assert said[0] == "done" and said[3:] == ["0", "0"], said
    unknown = int(said[1])
    # by name a file's delta may be against another one, which has no name here
    assert thin or len(flags) == 0 or unknown == 0, said
    new = repo.ancestors(tip, hidden) - has
    objects = ask("objects").split()
    named = dict(zip(objects[1::2], objects[::2]))
    for name, kind in named.items():
        assert repo.kinds[name] == kind, (name, kind)
    commits = {n for n, kind in named.items() if kind == "commit"}
    # git sends a commit as a delta against one that is not sent, now and then
    assert commits <= new and len(new - commits) <= unknown, (new, commits)
    if not thin:
        index = os.path.join(folder, "index")
        git(repo.path, "index-pack", "-o", index, path)
        with open(index, "rb") as f:
            listed = git(repo.path, "show-index", data=f.read()).decode()
        os.remove(index)
        listed = [line.split()[1] for line in listed.splitlines()]
        want = {n for n in listed if repo.kinds[n] in ("commit", "tree", "tag")}
        assert set(named) == want, (want - set(named), set(named) - want)
    covers(repo, ask, tip, commits, unknown)
    descends(rng, repo, ask, tip, has_tips, tally)
    same(rng, repo, ask, tip, has_tips, thin, tally)
    prove(rng, repo, ask, [tip, hidden], has, unknown, tally)


def covers(repo, ask, tip, commits, unknown):
    said = ask("covers " + tip)
    stray = commits - repo.ancestors(tip)
    if stray:
        assert said.split()[0] == "no" and said.split()[1] in stray, said
    else:
        assert said == ("open" if unknown else "yes"), said


def descends(rng, repo, ask, tip, has, tally):
    for old in rng.sample(has, min(len(has), 3)):
        truth = old in repo.ancestors(tip)
        ask("none")
        said = ask("descends %s %s" % (tip, old)).split()
        tally["descends", said[0]] = tally.get(("descends", said[0]), 0) + 1
        if said[0] == "open":
            # Asked for what it builds on; "have" the old tip.
            assert ask.upload_pack("answer", "ask " + old).startswith("done")
            said = ask("descends %s %s" % (tip, old)).split()
            assert (said[0] == "yes") == truth, (said, truth, tip, old)
        assert said[0] != ("no" if truth else "yes"), (said, truth, tip, old)


def same(rng, repo, ask, tip, has, thin, tally):
    for pattern in rng.sample(KEEP, 4):
        base = rng.choice(has)
        one, two = repo.tree(tip), repo.tree(base)
        truth = kept(pattern, one) == kept(pattern, two)
        ask("none")
        line = "kept %s %s %s" % (tip, base, pattern)
        said = ask(line).split()
        for _ in range(2):
            if said[0] != "open" or (thin and "cut" in said):
                break
            if any(name not in repo.kinds for name in said[2:]):
                break
            assert ask.upload_pack("answer", "ask -").startswith("done")
            said = ask(line).split()
        tally["kept", said[0]] = tally.get(("kept", said[0]), 0) + 1
        assert said[0] == ("yes" if truth else "no"), (said, truth, pattern, tip, base)


def is_kept(repo, old, tip, keep):
    """Is what `keep` names as in the old tip, or as in a commit where the push
    left HEAD's history?"""
    ends, seen, todo = {old} - {None}, set(), [tip]
    head = repo.ancestors(git(repo.path, "rev-parse", "HEAD").decode().strip())
    while todo:
        commit = todo.pop()
        if commit in head:
            ends.add(commit)
        elif commit not in seen:
            seen.add(commit)
            todo += repo.parents[commit]
    return any(
        all(kept(k, repo.tree(tip)) == kept(k, repo.tree(end)) for k in keep)
        for end in ends
    )


def prove(rng, repo, ask, tips, has, unknown, tally):
    """A rule on a push of one ref or two, to the end."""
    new = repo.ancestors(*tips) - has
    tips = tips[: rng.choice([1, 2])]
    commands = [(rng.choice([None, *sorted(has)]), tip) for tip in tips]
    keep = rng.sample(KEEP, rng.choice([0, 0, 1, 1, 2]))
    force = rng.random() < 0.4
    truth = not new - repo.ancestors(*tips)
    for old, tip in commands:
        truth &= force or old is None or old in repo.ancestors(tip)
        truth &= not keep or is_kept(repo, old, tip, keep)
    words = [old or "0" * repo.digits for old, tip in commands]
    ids = " ".join("%s %s" % (old, tip) for old, (_, tip) in zip(words, commands))
    ask("none")
    said = ask("prove %d %s %s" % (force, ",".join(keep) or "-", ids))
    asked = 0
    while said.split()[0] not in ("shown", "refused"):
        asked += said != "offer"
        if said == "offer":
            said = ask("told " + ask.offer())
        else:
            said = ask.tell("told", said.split(" ", 1)[1])
    assert asked <= 8
    tally["prove", said.split()[0]] = tally.get(("prove", said.split()[0]), 0) + 1
    tally["asked", asked] = tally.get(("asked", asked), 0) + 1
    if said == "shown":
        assert truth or unknown, (commands, keep, force)
    else:
        assert not truth or unknown or asked == 8, (said, commands, keep, force)


def head(repo, ask):
    """What it offers, and its HEAD."""
    size = 32 if repo.fmt == "sha256" else 20
    assert ask("offer " + ask.offer()) == "11111 %d" % size
    want = git(repo.path, "rev-parse", "HEAD").decode().strip()
    assert ask.upload_pack("head", "ask-head").split() == [want]


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    tally, asked = {}, 0
    for i in range(seed, seed + count):
        rng = random.Random(i)
        with tempfile.TemporaryDirectory() as folder:
            fmt = "sha256" if i % 3 == 0 else "sha1"
            repo = Repo(rng, os.path.join(folder, "r.git"), fmt)
            ask = Asker(program, fmt, repo, folder)
            try:
                for _ in range(3):
                    push(rng, repo, ask, folder, tally)
                head(repo, ask)
            except AssertionError:
                print("seed %d" % i)
                raise
            ask.close()
            asked += ask.asked
    # that all of it was tried
    for key in [
        ("descends", "yes"),
        ("descends", "no"),
        ("descends", "open"),
        ("kept", "yes"),
        ("kept", "no"),
        ("prove", "shown"),
        ("prove", "refused"),
    ]:
        assert tally.get(key, 0) > 0, tally
    print("%d repositories, %d questions: %s" % (count, asked, tally))


if __name__ == "__main__":
    main()
