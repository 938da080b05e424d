/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What wire/ makes of bytes, for a second implementation to compare with.
 *
 * Reads lines `KIND HEX`, writes a line for each, in hex; `-` for what is
 * refused or not whole:
 *   host, sni    the canonical name, or address
 *   path         the canonical path
 *   request      of one request and what stands behind it: method, raw
 *                target, body, bytes used, and the request anew (its body
 *                in one chunk if it is chunked, then its trailers)
 */
#include <stdio.h>

#include "base/ascii.h"
#include "wire/h1_body.h"
#include "wire/h1_write.h"
#include "wire/urlpath.h"

#define INPUT_MAX 200000

static uint8_t in_bytes[INPUT_MAX], path_bytes[INPUT_MAX], body[INPUT_MAX];
static uint8_t out[2 * INPUT_MAX], section[LIMIT_TRAILER_SIZE];
static struct field_list trailers;

static void
print(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		printf("%02x", s.p[i]);
}

static void
print_host(const struct host *h, enum parse got)
{
	if (got == PARSE_DONE)
		print(host_slice(h));
	else
		printf("-");
}

static void
on_path(struct slice in)
{
	struct parse_fail fail;
	struct urlpath p;

	if (urlpath_canon(in, INPUT_MAX, path_bytes, &p, &fail) == PARSE_DONE)
		print(p.text);
	else
		printf("-");
}

/* The body behind a head, and `trailers`: false if it is refused or not whole. */
static bool
read_body(struct slice in, const struct http_request *req, size_t *used,
    struct slice *got)
{
	struct parse_fail fail;
	struct h1_body b;
	enum parse answer;
	size_t n = 0, n_section = 0;

	h1_body_init(&b, req->body, req->length, H1_CLIENT);
	do {
		struct slice data;
		size_t taken;
		answer = h1_body_take(&b, slice_from(in, *used), &data, &taken,
		    &fail);
		if (answer == PARSE_BAD)
			return false;
		if (data.n != 0)
			memcpy(body + n, data.p, data.n);
		n += data.n;
		if (b.section.n != 0)
			memcpy(section + n_section, b.section.p, b.section.n);
		n_section += b.section.n;
		*used += taken;
	} while (answer == PARSE_MORE && *used < in.n);
	*got = slice_of(body, n);
	return answer == PARSE_DONE &&
	    h1_trailers_take(slice_of(section, n_section), &trailers);
}

static void
put_body(struct wr *w, const struct http_request *req, struct slice text)
{
	uint8_t head[H1_CHUNK_HEAD_MAX];

	if (req->body != HTTP_BODY_OPEN) {
		wr_bytes(w, text);
		return;
	}
	if (text.n != 0) {
		wr_bytes(w, slice_of(head, h1_body_put_chunk(text.n, head)));
		wr_bytes(w, text);
		wr_bytes(w, SLICE(H1_CHUNK_END));
	}
	if (!http_has_trailers(req))
		trailers.n = 0;
	h1_body_put_end(w, &trailers);
}

static void
on_request(struct slice in)
{
	static struct http_request req;
	struct wr w = wr_of(out, sizeof(out));
	struct parse_fail fail;
	struct urlpath path;
	struct slice text;
	size_t used;

	memset(&req, 0, sizeof(req));
	if (h1_request_take(in, &h1_limits, &req, &used, &fail) != PARSE_DONE ||
	    req.target.form > TARGET_ABSOLUTE ||
	    urlpath_canon(req.target.path, INPUT_MAX, path_bytes, &path,
		&fail) != PARSE_DONE ||
	    !read_body(in, &req, &used, &text)) {
		printf("-");
		return;
	}
	struct http_new_request r =
	    http_new_request(&req, path.text, &req.host.host);
	h1_put_request(&w, &r);
	put_body(&w, &req, text);
	print(req.method);
	printf(" ");
	print(req.raw_target);
	printf(" .");
	print(text);
	printf(" %zu ", used);
	print(wr_slice(&w));
}

static void
on_line(const char *kind, struct slice in)
{
	struct parse_fail fail;
	struct host h;

	if (strcmp(kind, "host") == 0)
		print_host(&h, host_from_http(in, &h, &fail));
	else if (strcmp(kind, "sni") == 0)
		print_host(&h, host_from_sni(in, &h, &fail));
	else if (strcmp(kind, "path") == 0)
		on_path(in);
	else
		on_request(in);
	printf("\n");
}

int
main(void)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		char *hex = strchr(line, ' ');
		size_t n = 0;

		if (hex == NULL)
			return 2;
		*hex++ = '\0';
		for (; ascii_hex((uint8_t)hex[0]) >= 0 && n < INPUT_MAX;
		     hex += 2)
			in_bytes[n++] =
			    (uint8_t)(ascii_hex((uint8_t)hex[0]) * 16 +
				ascii_hex((uint8_t)hex[1]));
		/* A copy of exactly that size: a sanitizer sees over-reads. */
		uint8_t *copy = malloc(n + 1);
		if (copy == NULL)
			return 2;
		memcpy(copy, in_bytes, n);
		on_line(line, slice_of(copy, n));
		free(copy);
	}
	free(line);
	return 0;
}
