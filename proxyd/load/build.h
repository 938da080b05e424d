/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing an image: words into tables, strings into one blob.  The other half
 * of policy/image.h.
 */
#ifndef LOAD_BUILD_H
#define LOAD_BUILD_H

#include "base/buf.h"
#include "base/ip.h"
#include "policy/image.h"

struct build {
	struct buf tables[IMAGE_TABLES_MAX];
	uint32_t words[IMAGE_TABLES_MAX]; /* written so far, of each */
	struct buf strings;		  /* behind room for the head */
	struct slice last;		  /* the last string put: often again */
	uint32_t last_at;
	uint32_t flags; /* of the head; 0 after build_init() */
};

void build_init(struct build *b);
void build_release(struct build *b);

void build_word(struct build *b, unsigned table, uint32_t word);
void build_string(struct build *b, unsigned table, struct slice s);
/* The name of a file, for people: as a terminal may show it. */
void build_file(struct build *b, unsigned table, struct slice s);
void build_ip(struct build *b, unsigned table, const struct ip *ip);

/*
 * What is written so far as an image that can be read, until more is written.
 * The head is missing.  False if a ceiling was met.
 */
bool build_view(const struct build *b, const struct image_form *form,
    struct image *m);

/*
 * The whole image, into `out`; false if it met a ceiling.
 *
 * form	 inside_program or inside_owner
 * key	 of the synthetic addresses
 */
bool build_finish(struct build *b, const struct image_form *form,
    struct slice name, const uint8_t key[IMAGE_KEY_SIZE], struct buf *out);

#endif
