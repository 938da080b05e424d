#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each test that covered.tsv names for a case is there.
cd "$(dirname "$0")/../.." || exit 1
LC_ALL=C
export LC_ALL
list=tests/cases/covered.tsv
tab=$(printf '\t')
bad=0
n=0
fault() {
	echo "$list:$n: $1"
	bad=1
}
sort -cu $list || bad=1
while IFS= read -r line; do
	n=$((n + 1))
	id=${line%%"$tab"*}
	rest=${line#*"$tab"}
	where=${rest#*"$tab"}
	case $id in
	[A-Z][A-Z0-9]-[0-9][0-9] | [A-Z][A-Z0-9]-[0-9][0-9][0-9]) ;;
	*) fault "no id: $id" ;;
	esac
	case $line in
	*"$tab"*"$tab"*"$tab"* | *"$tab$tab"* | *"$tab") fault 'not three fields' && continue ;;
	*"$tab-") continue ;;
	*"$tab"*"$tab"?*::?*) ;;
	*) fault 'no file::test' && continue ;;
	esac
	file=${where%%::*}
	test=${where#*::}
	if [ ! -f "$file" ]; then
		fault "no file $file"
		continue
	fi
	# A function by its definition, anything else as it stands.
	case $file:$test in
	*.py:*) grep -qE "^def $test\(" "$file" ;;
	*.c:*[!a-zA-Z0-9_]*) grep -qF -e "$test" "$file" ;;
	*.c:*_*_*) grep -q "^$test(" "$file" ;;
	*) grep -qF -e "$test" "$file" ;;
	esac || fault "$file has no $test"
done <$list
exit $bad
