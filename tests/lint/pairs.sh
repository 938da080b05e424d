#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every header of wire/ has a fuzzer of its name, every file of a pure room a
# unit test of its name.
cd "$(dirname "$0")/../.." || exit 1
bad=0
want() {
	[ -e "$2" ] || { echo "$1 has no $2"; bad=1; }
}
for h in $(git ls-files 'proxyd/wire/*.h'); do
	want "$h" "tests/fuzz/fuzz_$(basename "$h" .h).c"
done
for c in $(git ls-files 'proxyd/wire/*.c' 'proxyd/policy/*.c'); do
	want "$c" "tests/unit/test_$(basename "$c" .c).c"
done
exit $bad
