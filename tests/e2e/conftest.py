# SPDX-License-Identifier: Apache-2.0
"""Every test here runs inside the bed; outside of it, pytest enters one.

After each test the invariants that always hold are looked at: the token is
nowhere but in its slot, each log verifies, and every verdict of it comes out
again from its facts.
"""
import json
import os
import re
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
pytest.register_assert_rewrite('pass_bed', 'ns_bed')  # they assert, too
import bed as bed_module  # noqa: E402
from canary import files_with, forms, in_bytes  # noqa: E402

REPLAYED = bed_module.BUILD + '/e2e-replay.tsv'  # for done-check 8
DECIDED = ('flow.begin', 'flow.end', 'request.begin', 'request.end', 'dial',
           'dns')  # events whose verdict follows from their facts
SLOTS = ('authorization', 'x-api-key')
PARAMETER = 'key'  # that credentials of kind `query` have here


def pytest_configure(config):
    if 'DUENNA_BED' in os.environ:
        if os.path.exists(REPLAYED):
            os.unlink(REPLAYED)
        return
    capture = config.pluginmanager.getplugin('capturemanager')
    if capture:
        capture.stop_global_capturing()
    sys.stdout.flush()
    bed_module.enter(['/usr/bin/python3', '-m', 'pytest',
                      *config.invocation_params.args])


@pytest.fixture(scope='session')
def peers():
    one = bed_module.Peers.get()
    yield one
    one.stop()


def outside_of_the_slot(request):
    """What the origin received, but for the values of the slots."""
    target = re.sub('[?&]%s=[^&]*' % PARAMETER, '', request['target'])
    rest = [target, request['body']]
    rest += [n + ': ' + v for n, v in request['fields']
             if n.lower() not in SLOTS]
    return '\n'.join(rest).encode('latin-1')


def token_is_only_in_its_slot(it):
    wanted = forms(it.canary)
    kept = [it.settings + '/token', it.project + '/leak']
    assert not files_with(it.home, wanted, but=kept)
    for request in it.origin_requests():
        assert not in_bytes(outside_of_the_slot(request), wanted), request


def logs_hold(it):
    for log in it.logs():
        root = os.stat(log).st_uid == 0
        said = [it.duenna('audit', what, '--json', log, root=root)
                for what in ('verify', 'replay')]
        with open(REPLAYED, 'a', encoding='utf-8') as f:
            f.write('%s\t%d\t%d\n' % (os.path.basename(log), said[0][0],
                                      said[1][0]))
        assert said[0][0] == 0, said[0]
        assert said[1][0] == 0, said[1]
        # each record of a decision was, or this proves nothing
        rows = bed_module.read_lines(log)
        wanted = [r for r in rows if r['event'] in DECIDED and 'verdict' in r]
        assert json.loads(said[1][1])['decided'] >= len(wanted), said[1]


@pytest.fixture
def bed(peers):
    """A maker of beds: bed(policy, config=...); see bed.Bed."""
    made = []

    def make(policy, config=None, **more):
        made.append(bed_module.Bed(policy, config, **more))
        return made[-1]

    yield make
    peers.resolve({})
    for it in made:
        token_is_only_in_its_slot(it)
        logs_hold(it)
