#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""raw.py's cases one by one; runs inside the sandbox.  A case a line comes on
standard input, its result goes to standard output before the next is read."""
import json
import sys

import raw

for line in sys.stdin:
    print(json.dumps(raw.try_case(json.loads(line))), flush=True)
