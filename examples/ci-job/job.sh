#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: job.sh REPOSITORY COMMIT    build and test, where CI_TOKEN is set; what
# was blocked is the last line of standard error, as JSON
here=$(dirname "$0")
exec duenna run --json --policy "$here/duenna.yaml" --config "$here/owner.yaml" \
	--set "repo=$1" --set "commit=$2" -- \
	sh -c 'meson setup build && ninja -C build && meson test -C build'
