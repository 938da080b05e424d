#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file says its licence: nft/ its own, all else Apache-2.0.
cd "$(dirname "$0")/../.." || exit 1
bad=0
for f in $(git ls-files '*.[ch]' '*.py' '*.sh' '*.awk' '*meson.build' dev .ci/run 'tests/done/*' 'tests/bench/*' 'examples/*' ':!*.md'); do
	case $f in
	nft/*) want='GPL-2.0-or-later' ;;
	*) want='Apache-2.0' ;;
	esac
	head -n 3 "$f" | grep -q "SPDX-License-Identifier: $want" || { echo "$f: no SPDX-License-Identifier: $want"; bad=1; }
done
exit $bad
