/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record of the audit log as one line of JSON, and back.
 *
 *	{"seq":7,"time":"…","event":"dial", FIELDS IN THEIR ORDER ,"hash":"…"}
 *
 * A line is printable ASCII and LF, whatever peers chose (CVE-2020-8445: forged
 * lines).  In a text `"` and `\` are escaped by `\`; what is valid UTF-8 beyond
 * ASCII is \uXXXX of its UTF-16; a control character is \u00XX; any other byte
 * b is \uEFbb, in the private use area as MirBSD's OPTU encoding does it, and so
 * is each byte of a character that lies itself in U+EF80..U+EFFF.  Hence a
 * reader gets the exact bytes back, and one value has one spelling.
 *
 * line_read() takes exactly what line_put() writes: every other line is BAD.
 */
#ifndef AUDIT_LINE_H
#define AUDIT_LINE_H

#include "audit/event.h"
#include "base/attr.h"
#include "base/buf.h"

#define LINE_HASH_HEX 64 /* digits of the hash */
/* The longest line, LF and all: each byte of the texts six. */
#define LINE_SIZE_MAX (6 * EVENT_SIZE_MAX + 8192)

struct line {
	uint64_t seq;
	uint64_t wall_us; /* of the scribe's clock */
	struct event event;
	struct slice hash;    /* LINE_HASH_HEX digits */
	struct slice covered; /* what the hash covers: up to `,"hash"` */
};

/* Append the part of a line that its hash covers. */
void line_put(struct buf *out, uint64_t seq, uint64_t wall_us,
    const struct event *e);

/* Append what stands behind it: the hash, the brace, LF. */
void line_put_hash(struct buf *out, const char hash[LINE_HASH_HEX + 1]);

/*
 * Read one line, given without its LF.
 *
 * store    emptied, then holds the texts of the event; must outlive `l`
 * detail   set on false: a literal, a few words
 */
MUST_USE bool line_read(struct slice in, struct buf *store, struct line *l,
    const char **detail);

#endif
