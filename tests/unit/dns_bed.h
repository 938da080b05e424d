/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of dns/ have in common: questions written, answers read. */
#ifndef TESTS_DNS_BED_H
#define TESTS_DNS_BED_H

#include "base/rd.h"
#include "base/wr.h"

/* A policy that knows ok.test, *.wild.test and a literal address. */
static const char dns_bed_policy[] = "version: 1\n"
				     "policies:\n"
				     "  p:\n"
				     "    rules:\n"
				     "      - allow: https://ok.test\n"
				     "      - allow: https://*.wild.test\n"
				     "      - allow: http://192.0.2.7\n";

struct question {
	const char *name; /* labels with dots; `\\.` is a dot inside a label */
	uint16_t type, class, flags, n_questions, n_additional;
	const char *tail; /* bytes behind the question */
	size_t n_tail;
};

static inline struct question
question_of(const char *name, uint16_t type)
{
	return (struct question){
		.name = name,
		.type = type,
		.class = 1,
		.flags = 0x100,
		.n_questions = 1,
	};
}

static inline void
put_labels(struct wr *w, const char *name)
{
	while (*name != '\0') {
		uint8_t label[256];
		size_t n = 0;
		for (; *name != '\0' && *name != '.'; name++) {
			if (name[0] == '\\')
				name++;
			label[n++] = (uint8_t)*name;
		}
		name += *name == '.';
		wr_slice8(w, slice_of(label, n));
	}
	wr_u8(w, 0);
}

static inline struct slice
question_put(const struct question *q, uint16_t id, uint8_t *out, size_t max)
{
	struct wr w = wr_of(out, max);

	wr_u16(&w, id);
	wr_u16(&w, q->flags);
	wr_u16(&w, q->n_questions);
	wr_u16(&w, 0);
	wr_u16(&w, 0);
	wr_u16(&w, q->n_additional);
	put_labels(&w, q->name);
	wr_u16(&w, q->type);
	wr_u16(&w, q->class);
	wr_bytes(&w, slice_of(q->tail, q->n_tail));
	return wr_slice(&w);
}

/* What an answer says. */
struct answered {
	uint16_t id, flags, n_answers, n_authority, n_additional;
	unsigned rcode;	   /* with the upper bits of EDNS */
	uint32_t ttl;	   /* of the first record */
	uint16_t type;	   /* of the first record */
	struct slice data; /* of the first record */
};

/* Read it to its last byte; false: it is not well-formed. */
static inline bool
answered_read(struct slice in, struct answered *a)
{
	struct rd r = rd_of(in);

	*a = (struct answered){ .id = rd_u16(&r), .flags = rd_u16(&r) };
	uint16_t n_questions = rd_u16(&r);
	a->n_answers = rd_u16(&r);
	a->n_authority = rd_u16(&r);
	a->n_additional = rd_u16(&r);
	a->rcode = a->flags & 15;
	for (unsigned i = 0; i < n_questions; i++) {
		for (uint8_t n; (n = rd_u8(&r)) != 0;)
			rd_bytes(&r, n);
		rd_bytes(&r, 4);
	}
	unsigned n = a->n_answers + a->n_authority;
	for (unsigned i = 0; i < n && !r.bad; i++) {
		rd_bytes(&r, 2); /* pointer to the question */
		uint16_t type = rd_u16(&r);
		rd_u16(&r);
		uint32_t ttl = rd_u32(&r);
		struct slice data = rd_slice16(&r);
		if (i == 0) {
			a->type = type;
			a->ttl = ttl;
			a->data = data;
		}
	}
	for (unsigned i = 0; i < a->n_additional && !r.bad; i++) {
		rd_bytes(&r, 5);
		a->rcode |= (unsigned)rd_u8(&r) << 4;
		rd_bytes(&r, 3);
		rd_slice16(&r);
	}
	return rd_is_done(&r);
}

#endif
