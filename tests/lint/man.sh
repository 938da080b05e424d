#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The manual pages are well made, and have each option of the commands and each
# key that the schemas know.
cd "$(dirname "$0")/../.." || exit 1
bad=0
if command -v mandoc >/dev/null; then
	# What a page is told to have of a system is not ours to say.
	mandoc -T lint -W warning docs/man/* || bad=1
else
	echo 'mandoc is not here: ./dev setup'
	bad=1
fi
words() { # of Fl or Cm in PAGE: one a line
	sed -nE "s/^\.(It |Op )?(.*\b)?$1 //p" "$2" | tr ' ,|' '\n' | sed -n 's/^-*\([a-zA-Z_-]\+\)$/\1/p' | sort -u
}
miss() { # PAGE, and on stdin the words that it lacks
	local word
	while read -r word; do
		echo "$1 lacks $word"
		bad=1
	done
}
# --help is said once.
miss docs/man/duenna.1 < <(comm -13 <(words Fl docs/man/duenna.1) \
	<(sed -nE 's/^\s+\{ "([a-z-]+)", (no|required)_argument.*/\1/p' proxyd/cmd/*.c | grep -vx help | sort -u))
for schema in policy config; do
	miss docs/man/duenna.yaml.5 < <(comm -13 <(words Cm docs/man/duenna.yaml.5) \
		<(/usr/bin/python3 -c '
import json, sys
def keys(node):
    if isinstance(node, dict):
        found = node.get("properties")
        yield from found if isinstance(found, dict) else ()
        for each in node.values():
            yield from keys(each)
    elif isinstance(node, list):
        for each in node:
            yield from keys(each)
print("\n".join(sorted(set(keys(json.load(open(sys.argv[1])))))))
' "policies/$schema.schema.json" | sort -u))
done
exit $bad
