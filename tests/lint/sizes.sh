#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Hard limits: a .c file 500 lines, a header 200, a function 60, its arguments
# 6, nesting 3; tests likewise, and 500 lines a file of Python.  A file that is
# one table (base/reason.h and its like) may say "lint: table" in its first
# lines.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck disable=SC2016 # the dollars are for awk
git ls-files 'proxyd/*.[ch]' 'nft/*.[ch]' 'tests/*.[ch]' 'tests/*.py' | xargs awk '
function ended() {
	if (last == "" || table) return
	limit = last ~ /\.h$/ ? 200 : 500
	if (lines > limit) bad(last ": " lines " lines, more than " limit)
}
function bad(s) { print s; failed = 1 }
FNR == 1 { ended(); last = FILENAME; table = 0; name = "" }
FNR < 20 && /lint: table/ { table = 1 }
{ lines = FNR }
# KNF: the name of a function begins its line, its body stands between braces
# in the first column
/^[a-z_][a-z0-9_]*\(/ { name = $0; sub(/\(.*/, "", name); at = FNR; head = "" }
name != "" && !body { head = head $0 }
/^\{/ && name != "" {
	body = FNR
	args = head; sub(/^[^(]*\(/, "", args)
	depth = 0; n = 1
	for (i = 1; i <= length(args); i++) {
		c = substr(args, i, 1)
		if (c == "(") depth++; else if (c == ")") { if (--depth < 0) break }
		else if (c == "," && depth == 0) n++
	}
	# How many a callback of nghttp2 has is not ours to say.
	if (n > 6 && head !~ /^[a-z_]*\(nghttp2_session /) bad(FILENAME ":" at ": " name " takes " n " arguments, more than 6")
}
body && /^\t\t\t\t\t[a-z}]/ && !/^\t*(case|default|break)/ {
	deep = FILENAME ":" FNR ": " name " is nested deeper than 3"; bad(deep)
}
/^\}/ {
	if (body && FNR - body + 1 > 62) bad(FILENAME ":" at ": " name " has " FNR - body - 1 " lines, more than 60")
	body = 0; name = ""
}
END { ended(); exit failed }'
