# SPDX-License-Identifier: Apache-2.0
"""A large push takes no memory: neither one that passes, nor one whose pack is
read, nor one that waits on disk until it was."""
import os
import subprocess

import gitcgi
from test_pressure import MIB, Held, memory

# of the packs, in MiB; a gigabyte takes a minute
SIZE = int(os.environ.get('DUENNA_PACK_MIB', '96'))
RULE = '''
- name: %s
  allow: git+https://git.test/much/%s
  forge: %s
  fetch: true
  push: {branches: ["**"]%s}
'''
PROVEN = ', keep: [".github/**"], max_file: 64MiB'
KINDS = (('passed', 'passed', 'gitlab', ', force: true'),
         ('proven', 'proven', 'gitlab', PROVEN),
         ('held', 'held.git', 'none', PROVEN))
# files of 16 MiB that do not compress
SCRIPT = '''
git config --global user.name a
git config --global user.email a@b.test
git config --global core.compression 0
git config --global core.bigFileThreshold 1m
git config --global pack.window 0
set -e
git clone -q https://git.test/much/passed w
cd w
git commit -q --allow-empty -m 1
for k in passed proven held; do
    git push -q https://git.test/much/$k HEAD:refs/heads/agent/x
done
for i in $(seq $((%d / 16))); do
    head -c 16777216 /dev/zero | openssl enc -aes-128-ctr -iv 00 \\
        -K $(printf %%04x $i) 2>/dev/null >f$i
done
git add .
git commit -qm 2
cd ..
for k in passed proven held; do
    held $k
    git -C w push -q https://git.test/much/$k HEAD:refs/heads/agent/x
done
held end
git -C w rev-parse HEAD
'''


def test_a_large_push_takes_no_memory(bed):
    here = bed(''.join(RULE % kind for kind in KINDS))
    paths = {}
    for name, *_ in KINDS:
        paths[name] = '%s/much/%s.git' % (here.peers.git, name)
        gitcgi.make_repository(paths[name], {'README': 'much\n'})
        subprocess.run(['git', 'config', '-f', paths[name] + '/config',
                        'receive.unpackLimit', '1'], check=True)
    held = Held(here, SCRIPT % SIZE)
    most = {}
    for name in (*paths, 'end'):
        held.at(name)
        most[name] = memory(held.role('worker'), 'VmHWM')
        held.go(name)
    got = held.run.wait(300)
    assert got.exit == 0 and got.reasons() == [], got
    for path in paths.values():
        assert subprocess.run(
            ['git', '-c', 'safe.directory=*', '-C', path, 'rev-parse',
             'agent/x'], text=True, stdout=subprocess.PIPE,
            check=True).stdout == got.out, got
    large = [r for r in here.origin_requests() if r['body_size'] > SIZE * MIB]
    assert len(large) == 3, [r['target'] for r in large]
    # RSS at its most
    assert most['end'] < 40 * MIB, most
    assert most['end'] - most['passed'] < 16 * MIB, most
