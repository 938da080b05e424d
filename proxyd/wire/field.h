/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field lines, a list of them with limits, and what each name is to us.
 *
 * Source: RFC 9110 5, 7.6.1; RFC 9112 5.  Stricter: no folding, no blank
 *	   before the colon, no bare CR or LF, no control but the tab.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_FIELD_H
#define WIRE_FIELD_H

#include "base/attr.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/slice.h"

#define FIELD_MAX LIMIT_HEAD_FIELDS /* entries of a list */

struct field {
	struct slice name;  /* one or more token characters, as sent */
	struct slice value; /* without blanks at its ends; may be empty */
	bool never_indexed; /* HTTP/2: kept so on every hop (RFC 7541 7.1.3) */
};

/* The fields of one head, in order.  Others may change or remove entries. */
struct field_list {
	size_t n;
	struct field at[FIELD_MAX]; /* borrowed from the head's input */
};

/* What a name is to us: bits of field_class(). */
enum field_bit {
	FIELD_IS_HOP = 1 << 0,	     /* of one connection: never passed on */
	FIELD_IS_PROXY = 1 << 1,     /* Proxy-*: for a proxy, so for us */
	FIELD_IS_FORWARDED = 1 << 2, /* renames host, path, scheme or client */
	FIELD_IS_OVERRIDE = 1 << 3,  /* changes the method */
	FIELD_IS_ALT_SVC = 1 << 4,   /* leads round us */
	FIELD_IS_FRAMING = 1 << 5,   /* says where a body ends */
	FIELD_IS_HOST = 1 << 6,	     /* says whom */
	FIELD_IS_SINGLE = 1 << 7,    /* may stand once in a request */
	FIELD_IS_SINGLE_ANSWER = 1 << 8, /* may stand once in a response */
};

/* Of a request these are gone when it is written anew. */
#define FIELD_NOT_UPSTREAM                                            \
	(FIELD_IS_HOP | FIELD_IS_PROXY | FIELD_IS_FORWARDED |         \
	    FIELD_IS_OVERRIDE | FIELD_IS_ALT_SVC | FIELD_IS_FRAMING | \
	    FIELD_IS_HOST)

/* Of a response these are. */
#define FIELD_NOT_TO_CLIENT \
	(FIELD_IS_HOP | FIELD_IS_PROXY | FIELD_IS_ALT_SVC | FIELD_IS_FRAMING)

/*
 * The bits of a name, 0 for an ordinary one.  Case does not matter, and `_` is
 * read as `-`: origins that make variables of names take them for the same.
 */
unsigned field_class(struct slice name);

/*
 * May a field of that name stand behind a body?  None that frames, routes,
 * authenticates, controls, or says how to read what came before (RFC 9110
 * 6.5.1; the list is that of RFC 7230 4.1.2, with cookies, and ours above).
 */
bool field_may_trail(struct slice name, bool of_answer);

/* True for a character of a token (RFC 9110 5.6.2). */
bool field_is_token_char(uint8_t c);

/* True for one or more token characters. */
bool field_is_token(struct slice s);

/* True for what may stand in a value: printable, blank, tab, 0x80 and above. */
bool field_is_value_char(uint8_t c);

/* True if no byte is above 0x7f: what rules and credentials read must be so. */
bool field_is_ascii(struct slice value);

/*
 * Take one field line, CRLF and all, off the front of `in`.
 *
 * f	 set on PARSE_DONE only; points into `in`
 * used	 set on PARSE_DONE only: bytes to drop from `in`
 * fail	 set on PARSE_BAD only; REASON_HTTP_MALFORMED
 *
 * An empty line is PARSE_BAD: the caller looks for the end of the head first.
 */
MUST_USE enum parse field_take(struct slice in, struct field *f, size_t *used,
    struct parse_fail *fail);

/* Append; false if the list is full. */
MUST_USE bool field_add(struct field_list *list, struct slice name,
    struct slice value);

/* The first field of that name in any case, or NULL. */
struct field *field_find(struct field_list *list, struct slice name);

/* How many fields have that name, in any case. */
size_t field_count(const struct field_list *list, struct slice name);

/* Remove every field of that name; returns how many there were. */
size_t field_remove(struct field_list *list, struct slice name);

/*
 * Check that fields with a bit of `single` stand once, and that none poses as
 * one that frames; `in` is what fail->at counts from, the names lie in it.
 */
MUST_USE enum parse field_check(struct slice in, const struct field_list *list,
    unsigned single, struct parse_fail *fail);

/*
 * Read a Content-Length: digits alone, without leading zero (others read octal,
 * or a sign), below 2^63.  The reason is REASON_HTTP_FRAMING, `in` as above.
 */
MUST_USE enum parse field_length(struct slice in, struct slice value,
    uint64_t *length, struct parse_fail *fail);

/*
 * Take the next element of a comma-separated list off `rest`, blanks trimmed,
 * empty elements skipped (RFC 9110 5.6.1).  False at the end.
 */
bool field_take_element(struct slice *rest, struct slice *element);

/* True if some Connection field names this field or option. */
bool field_is_named(const struct field_list *list, struct slice name);

/* Remove all fields that are named so, and Connection itself. */
void field_remove_named(struct field_list *list);

/* Does some TE field say `trailers` (RFC 9110 10.1.4)? */
bool field_wants_trailers(const struct field_list *list);

/* How far the Trailer fields of a list were read; zero to begin with. */
struct field_walk {
	size_t next;	   /* field */
	struct slice rest; /* of the one before */
};

/*
 * The next name that a Trailer field announces and that may trail: what may not
 * come is not announced either, some servers take it from there.  False: none.
 */
bool field_take_announced(const struct field_list *list,
    struct field_walk *walk, bool of_answer, struct slice *name);

/* Spell a name with each word capitalised; `out` has room for name.n bytes. */
void field_put_name(struct slice name, uint8_t *out);

#endif
