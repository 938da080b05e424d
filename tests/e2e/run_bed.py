# SPDX-License-Identifier: Apache-2.0
"""What the tests of `duenna run` have in common."""
import os
import time

import pytest

API = '- allow: https://api.test/**\n  credential: api\n'


@pytest.fixture
def here(bed):
    return bed(API)


def wait_for_file(path, seconds=10):
    until = time.monotonic() + seconds
    while not os.path.exists(path):
        assert time.monotonic() < until, path
        time.sleep(0.05)
