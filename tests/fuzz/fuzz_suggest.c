/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any texts in a log: what is suggested of them is always a policy that loads,
 * with as many rules as it says, and printable.
 *
 * Records stand behind each other, divided by FF; in one its fields, by 00:
 * kind and reason as one byte each, then the texts.
 */
#include "audit/suggest.h"
#include "fuzz.h"
#include "load/load.h"
#include "policy/program.h"

static struct slice
take(struct slice *rest, uint8_t end)
{
	const uint8_t *p = rest->n == 0 ? NULL : memchr(rest->p, end, rest->n);
	size_t n = p == NULL ? rest->n : (size_t)(p - rest->p);
	struct slice part = slice_first(*rest, n);

	*rest = slice_from(*rest, n + 1);
	return part;
}

static void
put(struct suggest *s, struct slice in)
{
	static const enum event_kind kinds[] = { EVENT_REQUEST_END,
		EVENT_FLOW_END, EVENT_DNS, EVENT_START };
	static const enum event_field texts[] = { FIELD_METHOD, FIELD_SCHEME,
		FIELD_HOST, FIELD_PATH, FIELD_QUERY };
	struct event e;

	if (in.n < 3)
		return;
	event_init(&e, kinds[in.p[0] % COUNT_OF(kinds)]);
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, (enum reason)(in.p[1] % REASON_COUNT));
	event_number(&e, FIELD_PORT, in.p[2] * 257U);
	in = slice_from(in, 3);
	for (size_t i = 0; i < COUNT_OF(texts) && in.n != 0; i++)
		event_text(&e, texts[i], take(&in, 0));
	event_bool(&e, FIELD_HAS_QUERY, event_has(&e, FIELD_QUERY));
	suggest_put(s, &e);
}

static void
load(struct slice text, size_t n_rules)
{
	struct load_report report = { 0 };
	struct load_policy_in in = { .file = { SLICE("f.yaml"), SLICE("/w"),
					 text } };
	enum err err = ERR_NONE;
	struct buf image;

	buf_init(&image, IMAGE_SIZE_MAX);
	CHECK(load_policy(&in, &image, &report));
	struct program *p = program_open(buf_slice(&image), &err);
	CHECK(p != NULL && program_n_rules(p) == n_rules);
	program_free(p);
	buf_release(&image);
	load_report_release(&report);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { data, size };
	enum err err = ERR_NONE;
	struct suggest *s = suggest_new(&err);
	struct buf out;

	CHECK(s != NULL);
	while (rest.n != 0)
		put(s, take(&rest, 0xff));
	buf_init(&out, 1 << 20);
	struct suggest_sum sum = suggest_end(s, &out);
	CHECK(!out.failed);
	for (size_t i = 0; i < out.n; i++)
		CHECK(
		    out.p[i] == '\n' || (out.p[i] >= 0x20 && out.p[i] < 0x7f));
	load(buf_slice(&out), sum.n_rules);
	buf_release(&out);
	suggest_free(s);
	return 0;
}
