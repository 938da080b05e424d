# SPDX-License-Identifier: Apache-2.0
"""duenna-nft against nft(8) as the oracle of what is in the kernel."""
import json
import os
import shutil
import subprocess

import pytest

from bed import BUILD, TREE, as_user, base

NFT = os.path.join(BUILD, 'nft/duenna-nft')
GOLDEN = TREE + '/tests/golden/nft/netns-empty.json'
pytestmark = pytest.mark.skipif(not shutil.which('nft'), reason='no nft(8)')


def in_new_netns(script):
    return subprocess.run(
        ['unshare', '--net', 'sh', '-c', script, 'sh', NFT], text=True,
        capture_output=True, timeout=30, check=False,
        env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'})


def rules(text):
    """What nft lists, without what differs from run to run."""
    found = []
    for item in json.loads(text)['nftables']:
        if 'metainfo' in item:
            continue
        for value in item.values():
            value.pop('handle', None)
        found.append(item)
    return found


def test_the_kernel_has_the_rules_that_we_mean():
    done = in_new_netns('"$1" netns-empty 40001 40002 && nft -j list ruleset')
    assert done.returncode == 0, done
    found = rules(done.stdout)
    if os.environ.get('DUENNA_UPDATE_GOLDEN'):
        os.makedirs(os.path.dirname(GOLDEN), exist_ok=True)
        with open(GOLDEN, 'w', encoding='utf-8') as f:
            f.write('[\n' + ',\n'.join(json.dumps(x) for x in found) + '\n]\n')
    with open(GOLDEN, encoding='utf-8') as f:
        assert found == json.load(f)


def test_loading_again_replaces_and_leaves_others_alone():
    done = in_new_netns('nft add table ip other; "$1" netns-empty 1 2 && '
                        '"$1" netns-empty 40001 40002 && nft -j list ruleset')
    assert done.returncode == 0, done
    found = rules(done.stdout)
    assert {'table': {'family': 'ip', 'name': 'other'}} in found
    with open(GOLDEN, encoding='utf-8') as f:
        want = json.load(f)
    assert [x for x in found if x.get('table', {}).get('name') != 'other'] \
        == want


def test_clear_takes_ours_away_and_no_other():
    done = in_new_netns('"$1" clear && nft add table ip other && '
                        '"$1" netns-empty 1 2 && "$1" clear && nft list tables')
    assert (done.returncode, done.stdout) == (0, 'table ip other\n'), done


def test_counters_are_read():
    done = in_new_netns('ip link set lo up; ip addr add 198.18.0.1 dev lo;'
                        '"$1" netns-empty 1 2; echo x > /dev/udp/9 2>/dev/null;'
                        'python3 -c "import socket;'
                        's=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);'
                        's.sendto(b\'x\',(\'198.18.0.1\',9))"; "$1" counters')
    assert done.stdout == 'udp 1\nicmp 0\nother 0\n', done


def test_errors_are_one_line_and_a_status():
    done = in_new_netns('"$1" counters; nft list ruleset')
    assert (done.returncode, done.stdout) == (0, 'udp 0\nicmp 0\nother 0\n')
    for arguments in ('', 'netns-empty', 'netns-empty 0 1',
                      'netns-empty 1 65536', 'netns-empty 1 2 3',
                      'netns-empty -1 2', 'netns-empty 1 x', 'counters x',
                      'clear x'):
        done = in_new_netns('"$1" ' + arguments)
        assert done.returncode == 2, arguments
        assert done.stderr.startswith('usage'), arguments


def test_without_the_capability_nothing_is_done():
    program = base() + '/nft-test'
    shutil.copy(NFT, program)
    done = subprocess.run(as_user([program, 'netns-empty', '1', '2']),
                          text=True, capture_output=True, check=False)
    assert done.returncode == 1, done
    assert done.stderr.startswith('Operation not permitted')
    assert 'duenna' not in subprocess.run(
        ['nft', 'list', 'ruleset'], text=True, capture_output=True,
        check=True).stdout
