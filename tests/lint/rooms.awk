# SPDX-License-Identifier: Apache-2.0
# usage: awk -f rooms.awk rooms.txt FILE...   prints each include that goes against rooms.txt
FNR == NR && /^[a-z]/ {
	row = $1; sub(/:$/, "", row); known[row]; may[row, row]
	for (i = 2; i <= NF; i++) {
		if (!($i in known)) bad(FILENAME ":" FNR ": " row " names " $i ", which has no row before it")
		may[row, $i]
	}
}
FNR == NR { next }
FNR == 1 {
	n = split(FILENAME, part, "/"); here = part[n - 1]; file = here "/" part[n]
	if (!(here in known)) bad(FILENAME ": " here " has no row in rooms.txt")
}
/^#[ \t]*include "/ {
	split($0, q, "\""); split(q[2], d, "/")
	if (!(d[1] in known)) bad(FILENAME ":" FNR ": name the room in the include: " q[2])
	else if (!((here, d[1]) in may) && !((file, d[1]) in may)) bad(FILENAME ":" FNR ": " file " may not know " d[1])
}
function bad(s) { print s; failed = 1 }
END { exit failed }
