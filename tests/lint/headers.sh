#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every header compiles by itself, so that the order of includes never matters.
cd "$(dirname "$0")/../.." || exit 1
bad=0
for h in $(git ls-files 'proxyd/*.h' 'nft/*.h' 'certs/*.h'); do
	[ "$h" != proxyd/base/banned.h ] || continue
	printf '#include "%s"\n' "$h" | ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Werror \
		-fsyntax-only -I. -Iproxyd -xc - || { echo "$h does not stand alone"; bad=1; }
done
exit $bad
