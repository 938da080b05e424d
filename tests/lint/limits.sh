#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: limits.sh [--update]   docs/limits.md has the rows of base/limits.h
cd "$(dirname "$0")/../.." || exit 1
rows() {
	cat <<'TEXT'
# Limits

Everything that a peer can make large, slow or many has a limit. This page is
made from `proxyd/base/limits.h` by `tests/lint/limits.sh --update`; the lint
fails when the two differ. Sizes are bytes; names that end in `_MS` are
milliseconds, in `_S` seconds, in `_MIB` times 2^20 bytes.

| limit | value | what |
|---|---|---|
TEXT
	# shellcheck disable=SC2016 # backquotes of Markdown
	sed -n 's/^\tX(\([A-Z0-9_]*\), \([0-9]*\), "\([^"]*\)").*/| `\1` | \2 | \3 |/p' \
		proxyd/base/limits.h
}
if [ "${1-}" = --update ]; then
	rows >docs/limits.md
	exit
fi
rows | diff -u docs/limits.md - >&2
