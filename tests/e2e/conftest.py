# SPDX-License-Identifier: Apache-2.0
"""Every test here runs inside the bed; outside of it, pytest enters one."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bed as bed_module  # noqa: E402


def pytest_configure(config):
    if 'DUENNA_BED' in os.environ:
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


@pytest.fixture
def bed(peers):
    """A maker of beds: bed(policy, config=...); see bed.Bed."""
    made = []

    def make(policy, config=None, **more):
        made.append(bed_module.Bed(policy, config, **more))
        return made[-1]

    yield make
    peers.resolve({})
