#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a page names exists: files of the tree (globs too), tests, links; and
# the pages that the sources name.
cd "$(dirname "$0")/../.." || exit 1
mapfile -t pages < <(git ls-files '*.md')
bad=0
miss() {
	echo "$1: there is no $2"
	bad=1
}
have() { # a path or glob, of the root, of the page's folder, or of proxyd/
	local folder
	for folder in . "$(dirname "$1")" proxyd; do
		compgen -G "$folder/$2" >/dev/null && return 0
		[[ -e $folder/$2.h ]] && return 0
	done
	return 1
}
rooms='tests|docs|proxyd|nft|certs|policies|examples|base|wire|crypto|policy|load|audit|priv|net|tls|cred|http|dns|flow|dial|keep|ns|control|cmd|record'
for page in "${pages[@]}"; do
	while read -r path; do
		have "$page" "$path" || miss "$page" "$path"
	done < <(grep -oE "\`\.?/?($rooms)/[A-Za-z0-9_./*-]+\`" "$page" | tr -d '`' | grep -vx 'http/1.[01]' | sort -u)
	while read -r path; do
		have "$page" "${path%%#*}" || miss "$page" "$path"
	done < <(grep -oE '\]\([^)#:]+(#[^)]*)?\)' "$page" | sed 's/^](//; s/)$//' | sort -u)
	while read -r name; do
		git ls-files | grep -qE "(^|/)$name(\.[a-z]+)?$" ||
			git grep -qw -e "$name" -- 'tests/*.py' 'tests/*.c' || miss "$page" "$name"
	done < <(grep -oE '\btest_[a-z0-9_]+' "$page" | sort -u)
done
while IFS=: read -r file name; do
	[[ -e $name ]] || miss "$file" "$name"
done < <(git grep -ohE '\bdocs/[a-z0-9_-]+\.md' -- 'proxyd/*.[ch]' 'nft/*.[ch]' dev 'tests/*' |
	sort -u | sed 's/^/sources:/')
exit $bad
