#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every detail that a parser of wire/ can give is wanted by some unit test.
cd "$(dirname "$0")/../.." || exit 1
git ls-files 'proxyd/wire/*.c' | xargs grep -ohE '"[a-zA-Z0-9][^"\\]* [^"\\]*"' |
	grep -vE '^"(HTTP/1|[A-Z][A-Za-z-]*: )' | sort -u | {
	bad=0
	while read -r detail; do
		grep -qF -- "$detail" tests/unit/test_*.c || { echo "no unit test wants $detail"; bad=1; }
	done
	exit $bad
}
