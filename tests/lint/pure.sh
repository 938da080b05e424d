#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: pure.sh [BUILD]   what the pure rooms import: their own symbols, those
# of the pure files of base/, and functions that touch nothing but memory.  Of
# policy/ some files stand apart: three map an image or keep it, whole.c marks what it saw of
# one, explain*.c write text
cd "$(dirname "$0")/../.." || exit 1
lib=${1-build}/proxyd
ok='memcpy memmove memset memcmp memchr memrchr memmem strlen strnlen
__assert_fail __stack_chk_fail __memcpy_chk __memmove_chk __memset_chk
bsearch _GLOBAL_OFFSET_TABLE_'
base='ip.c.o|reason.c.o|siphash.c.o|base64.c.o'
apart='program.c.o|owner.c.o|shelf.c.o|whole.c.o|explain.c.o|explain_git.c.o|explain_part.c.o'
bad=0
for room in wire policy; do
	[ -e "$lib/$room/lib$room.a" ] || { echo "$lib/$room/lib$room.a is not built"; exit 1; }
	below=$lib/wire/libwire.a
	{
		nm -A "$lib/base/libbase.a" | grep -E "[:/]($base):" | grep -v ' U '
		nm -A "$below" | grep -v ' U '
		nm -A "$lib/$room/lib$room.a" |
			awk -v apart="[:/]($apart):" '!($0 ~ apart && $(NF - 1) == "U")'
	} | awk -v ok="$ok" '
		BEGIN { n = split(ok, a); for (i = 1; i <= n; i++) may[a[i]] }
		$(NF - 1) == "U" { need[$NF] = $1; next }
		NF { may[$NF] }
		END { for (s in need) if (!(s in may)) { print need[s], s; bad = 1 } exit bad }' || bad=1
done
exit $bad
