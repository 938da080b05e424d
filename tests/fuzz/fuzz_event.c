/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a role says to the scribe, as hostile bytes: an event has one encoding,
 * its line is one printable line, and comes back as the same event.
 */
#include "audit/facts_event.h"
#include "audit/line.h"
#include "fuzz.h"

static void
check_line(const struct event *e, const uint8_t *encoded, size_t n)
{
	static const char hash[] = "0123456789abcdef0123456789abcdef"
				   "0123456789abcdef0123456789abcdef";
	static uint8_t again[EVENT_SIZE_MAX];
	const char *detail;
	struct buf out, store;
	struct line l;

	buf_init(&out, LINE_SIZE_MAX);
	buf_init(&store, LINE_SIZE_MAX + 1);
	line_put(&out, 7, 1796029687123456ULL, e);
	line_put_hash(&out, hash);
	CHECK(!out.failed);
	for (size_t i = 0; i + 1 < out.n; i++)
		CHECK(out.p[i] >= 0x20 && out.p[i] < 0x7f);
	CHECK(line_read(slice_first(buf_slice(&out), out.n - 1), &store, &l,
	    &detail));
	CHECK(l.seq == 7);
	CHECK(event_encode(&l.event, again, sizeof(again)) == n);
	CHECK(memcmp(again, encoded, n) == 0);
	buf_release(&out);
	buf_release(&store);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[EVENT_SIZE_MAX];
	enum event_field field;
	struct facts facts;
	struct event e;

	if (!event_decode(slice_of(data, size), &e))
		return 0;
	CHECK(e.kind < EVENT_COUNT);
	for (int f = 0; f < FIELD_COUNT; f++)
		CHECK(lies_in(event_text_of(&e, (enum event_field)f),
		    slice_of(data, size)));
	CHECK(event_encode(&e, bytes, sizeof(bytes)) == size);
	CHECK(memcmp(bytes, data, size) == 0);
	if (event_check(&e, &field) != NULL)
		CHECK(field < FIELD_COUNT);
	if (facts_from_event(&e, &facts))
		CHECK(facts.fault < REASON_COUNT && facts.kind <= FACTS_DIAL);
	check_line(&e, bytes, size);
	return 0;
}
