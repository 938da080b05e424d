#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every header of wire/ has a fuzzer of its name, and a unit test names it;
# message.h reads no bytes.
cd "$(dirname "$0")/../.." || exit 1
bad=0
want() {
	[ -e "$2" ] || { echo "$1 has no $2"; bad=1; }
}
for h in $(git ls-files 'proxyd/wire/*.h' | grep -v /message.h); do
	want "$h" "tests/fuzz/fuzz_$(basename "$h" .h).c"
done
for h in $(git ls-files 'proxyd/wire/*.h'); do
	grep -qF "\"${h#proxyd/}\"" tests/unit/*.[ch] || { echo "$h is in no unit test"; bad=1; }
done
exit $bad
