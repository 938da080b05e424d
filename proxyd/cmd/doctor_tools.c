/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/doctor_tools.h"
#include "base/attr.h"

/* `python3 -c`, node and the like print the issuer where their library tells
 * it; the others are believed by their status. */
const struct doctor_tool doctor_tools[] = {
	{ "curl", "curl", "curl -sSv -o answer \"$URL\" 2>&1",
	    "CURL_CA_BUNDLE" },
	/* 8: the server said an error, and so was trusted */
	{ "wget", "wget",
	    "wget -nv -t 1 -T 10 -O answer \"$URL\" 2>&1; s=$?; [ $s = 8 ] || "
	    "exit $s",
	    NULL },
	/* an answer that is no repository's is one that was trusted */
	{ "git", "git",
	    "export GIT_TERMINAL_PROMPT=0; git ls-remote \"$URL\" >out 2>&1 && "
	    "exit; cat out; "
	    "grep -qE 'returned error|is this a git|not found|Username' out",
	    "GIT_SSL_CAINFO" },
	{ "openssl", "openssl",
	    "openssl s_client -verify_return_error -verify_hostname \"$HOST\" "
	    "-servername \"$HOST\" -connect \"$HOST:$PORT\" 2>&1",
	    "SSL_CERT_FILE" },
	{ "python3", "python3",
	    "python3 -c 'import os, socket, ssl\n"
	    "e = os.environ\n"
	    "s = ssl.create_default_context().wrap_socket(\n"
	    "  socket.create_connection((e[\"HOST\"], int(e[\"PORT\"])), 10),\n"
	    "  server_hostname=e[\"HOST\"])\n"
	    "print(\"issuer:\", dict(r[0] for r in s.getpeercert()[\"issuer\"])"
	    ".get(\"commonName\"))' 2>&1",
	    "SSL_CERT_FILE" },
	{ "requests", "python3",
	    "python3 -c 'import requests' 2>/dev/null || exit 3; "
	    "python3 -c 'import os, requests\n"
	    "requests.get(os.environ[\"URL\"], timeout=10)' 2>&1",
	    "REQUESTS_CA_BUNDLE" },
	{ "node", "node",
	    "node -e 'require(\"https\").get(process.env.URL, r => {\n"
	    "console.log(\"issuer:\", r.socket.getPeerCertificate().issuer.CN);"
	    "\nr.destroy(); })' 2>&1",
	    "NODE_EXTRA_CA_CERTS" },
	{ "deno", "deno", "deno eval 'await fetch(Deno.env.get(\"URL\"))' 2>&1",
	    "DENO_CERT" },
	{ "bun", "bun", "bun -e 'await fetch(process.env.URL)' 2>&1",
	    "NODE_EXTRA_CA_CERTS" },
	{ "perl", "perl",
	    "perl -MIO::Socket::SSL -e 1 2>/dev/null || exit 3; "
	    "perl -MIO::Socket::SSL -e '"
	    "IO::Socket::SSL->new(PeerAddr => \"$ENV{HOST}:$ENV{PORT}\", "
	    "SSL_hostname => $ENV{HOST}) or die $SSL_ERROR' 2>&1",
	    "SSL_CERT_FILE" },
	{ "ruby", "ruby",
	    "ruby -ropen-uri -e 'begin; URI.open(ENV[\"URL\"]); "
	    "rescue OpenURI::HTTPError; end' 2>&1",
	    "SSL_CERT_FILE" },
	{ "go", "go",
	    "cat >x.go <<'END'\n"
	    "package main\n"
	    "import (\"fmt\"; \"net/http\"; \"os\")\n"
	    "func main() {\n"
	    "  r, err := http.Get(os.Getenv(\"URL\"))\n"
	    "  if err != nil { fmt.Println(err); os.Exit(1) }\n"
	    "  fmt.Println(\"issuer:\", r.TLS.PeerCertificates[0].Issuer)\n"
	    "}\n"
	    "END\n"
	    "GOCACHE=$PWD/cache go run x.go 2>&1",
	    "SSL_CERT_FILE" },
	/* a JRE alone compiles nothing */
	{ "java", "javac",
	    "cat >X.java <<'END'\n"
	    "import javax.net.ssl.*;\n"
	    "public class X { public static void main(String[] a) throws "
	    "Exception {\n"
	    "  SSLSocket s = (SSLSocket) SSLSocketFactory.getDefault()\n"
	    "    .createSocket(a[0], Integer.parseInt(a[1]));\n"
	    "  System.out.println(\"issuer: \" + ((java.security.cert."
	    "X509Certificate)\n"
	    "    s.getSession().getPeerCertificates()[0])"
	    ".getIssuerX500Principal());\n"
	    "} }\n"
	    "END\n"
	    "java X.java \"$HOST\" \"$PORT\" 2>&1",
	    "JAVA_TOOL_OPTIONS" },
};
const size_t doctor_n_tools = COUNT_OF(doctor_tools);
