/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streaming JSON writer into a buf (RFC 8259).  Commas are its business.
 * Bytes that are not valid UTF-8, controls, DEL and U+2028, U+2029 are escaped,
 * so that the result is one printable line whatever a peer put in: a byte that
 * is no UTF-8 becomes \u00XX of its value, lossy but unambiguous in our logs.
 *
 * No name here is one of jansson's, which reads JSON: json_object(), say, would
 * be whichever the linker met first.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

#define JSON_DEPTH_MAX 16 /* nested objects and arrays */

struct json {
	struct buf *out; /* borrowed */
	int depth;
	bool more[JSON_DEPTH_MAX]; /* something stands before at this depth */
	bool after_key;
};

void json_init(struct json *j, struct buf *out);

void json_object_begin(struct json *j); /* { */
void json_object_end(struct json *j);
void json_array_begin(struct json *j); /* [ */
void json_array_end(struct json *j);

void json_key(struct json *j, const char *key);

void json_text(struct json *j, struct slice s);
void json_str(struct json *j, const char *s);
void json_number(struct json *j, uint64_t v);
void json_bool(struct json *j, bool v);
void json_none(struct json *j);
void json_made(struct json *j, struct slice value); /* is JSON already */

/* key and value in one call */
void json_key_text(struct json *j, const char *key, struct slice s);
void json_key_str(struct json *j, const char *key, const char *s);
void json_key_number(struct json *j, const char *key, uint64_t v);
void json_key_bool(struct json *j, const char *key, bool v);

#endif
