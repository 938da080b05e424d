/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/clock.h"
#include "flow/spend.h"
#include "policy/same.h"

#define MINUTE_MS 60000
#define HOUR_MS 3600000

static void
unref(struct spend_rule *rule)
{
	if (rule != NULL && --rule->refs == 0)
		free(rule);
}

bool
spend_rules_init(struct spend_rules *rules, const struct program *p,
    uint64_t now_ms)
{
	size_t n = program_n_limits(p);

	*rules = (struct spend_rules){ .n = n };
	rules->at = calloc(n + 1, sizeof(struct spend_rule *));
	if (rules->at == NULL)
		return false;
	for (uint32_t r = 0; n != 0 && r < program_n_rules(p); r++) {
		struct program_limits l = program_limits(p, r);
		struct spend_rule *rule;
		if (l.index == VERDICT_NONE || rules->at[l.index] != NULL)
			continue;
		rule = calloc(1, sizeof(*rule));
		if (rule == NULL)
			return false;
		rule->refs = 1;
		budget_init_over(&rule->requests, l.requests_per_minute,
		    MINUTE_MS, now_ms);
		budget_init_over(&rule->upload, l.upload_per_hour, HOUR_MS,
		    now_ms);
		rules->at[l.index] = rule;
	}
	return true;
}

void
spend_rules_release(struct spend_rules *rules)
{
	for (size_t i = 0; rules->at != NULL && i < rules->n; i++)
		unref(rules->at[i]);
	free(rules->at);
	*rules = (struct spend_rules){ 0 };
}

/* One that limited nothing before begins full. */
static void
set_rate(struct budget *b, uint64_t n, const struct budget *fresh)
{
	if (b->n == n)
		return;
	if (b->n == 0)
		*b = *fresh;
	else if (n != 0)
		budget_set_rate(b, n);
}

void
spend_rules_carry(struct spend_rules *rules, const struct program *p,
    const struct spend_rules *former, const struct program *was)
{
	uint32_t near = 0;

	for (uint32_t r = 0; rules->n != 0 && r < program_n_rules(p); r++) {
		struct program_limits l = program_limits(p, r);
		if (l.index == VERDICT_NONE)
			continue;
		uint32_t old = same_rule(p, r, was, &near);
		uint32_t index = old == VERDICT_NONE ?
		    VERDICT_NONE :
		    program_limits(was, old).index;
		if (index == VERDICT_NONE)
			continue;
		struct spend_rule *fresh = rules->at[l.index];
		struct spend_rule *kept = former->at[index];
		set_rate(&kept->requests, l.requests_per_minute,
		    &fresh->requests);
		set_rate(&kept->upload, l.upload_per_hour, &fresh->upload);
		kept->refs++;
		rules->at[l.index] = kept;
		unref(fresh);
	}
}

void
spend_init(struct spend *s, const struct program *p, uint32_t rule,
    const struct spend_rules *rules)
{
	s->limits = program_limits(p, rule);
	if (s->limits.index == VERDICT_NONE)
		return;
	s->rule = rules->at[s->limits.index];
	s->rule->refs++;
}

/* In the largest unit that says it whole. */
static void
put_size(char text[32], uint64_t size)
{
	static const char *const units[] = { "KiB", "MiB", "GiB" };
	unsigned unit = 0;

	size >>= 10;
	while (unit < 2 && size % 1024 == 0) {
		size >>= 10;
		unit++;
	}
	snprintf(text, 32, "%" PRIu64 "%s", size, units[unit]);
}

/* Seconds for Retry-After, rounded up; 0: it never fits. */
static void
set_wait(struct spend *s, uint64_t wait_ms)
{
	s->retry_after_s =
	    wait_ms == UINT64_MAX ? 0 : (uint32_t)((wait_ms + 999) / 1000);
}

static enum reason
refuse_body(struct spend *s)
{
	char most[32];

	put_size(most, s->limits.body);
	snprintf(s->text, sizeof(s->text), "the rule's limit for a body is %s",
	    most);
	return REASON_LIMIT_BYTES;
}

static enum reason
refuse_upload(struct spend *s, uint64_t wait_ms)
{
	char most[32];

	set_wait(s, wait_ms);
	put_size(most, s->limits.upload_per_hour);
	snprintf(s->text, sizeof(s->text),
	    s->retry_after_s == 0 ?
		"it is larger than the rule's upload_per_hour, %s" :
		"the rule's upload_per_hour, %s, is used up; there is room "
		"for this in %" PRIu32 " s",
	    most, s->retry_after_s);
	return REASON_LIMIT_BYTES;
}

static enum reason
refuse_rate(struct spend *s, uint64_t wait_ms)
{
	set_wait(s, wait_ms);
	snprintf(s->text, sizeof(s->text),
	    "the rule's %" PRIu32 " requests_per_minute are used up; the next "
	    "one in %" PRIu32 " s",
	    s->limits.requests_per_minute, s->retry_after_s);
	return REASON_LIMIT_RATE;
}

static enum reason
refuse_connections(struct spend *s)
{
	snprintf(s->text, sizeof(s->text),
	    "the rule's %" PRIu32 " connections are in use; wait until one of "
	    "them is over",
	    s->limits.connections);
	return REASON_LIMIT_CONNS;
}

static bool
has_connection(const struct spend *s)
{
	return s->limits.connections == 0 ||
	    s->rule->n_connections < s->limits.connections;
}

enum reason
spend_request(struct spend *s, uint64_t head, uint64_t length, uint64_t now_ms)
{
	uint64_t wait_ms, bytes = head + length;

	if (s->rule == NULL)
		return REASON_ALLOW;
	if (s->limits.body != 0 && length > s->limits.body)
		return refuse_body(s);
	if (bytes < head)
		bytes = UINT64_MAX;
	if (!has_connection(s))
		return refuse_connections(s);
	if (s->limits.upload_per_hour != 0 &&
	    !budget_spend(&s->rule->upload, bytes, now_ms, &wait_ms))
		return refuse_upload(s, wait_ms);
	if (s->limits.requests_per_minute != 0 &&
	    !budget_spend(&s->rule->requests, 1, now_ms, &wait_ms)) {
		if (s->limits.upload_per_hour != 0)
			budget_return(&s->rule->upload, bytes);
		return refuse_rate(s, wait_ms);
	}
	s->taken = s->limits.upload_per_hour != 0 ? bytes : 0;
	s->counted = true;
	s->rule->n_connections++;
	return REASON_ALLOW;
}

void
spend_undo(struct spend *s, uint64_t now_ms)
{
	if (s->rule != NULL && s->counted && s->limits.requests_per_minute != 0)
		budget_return(&s->rule->requests, 1);
	spend_end(s, 0, now_ms);
	*s = (struct spend){ .rule = NULL };
}

enum reason
spend_connection(struct spend *s, uint64_t now_ms)
{
	uint64_t wait_ms;

	if (s->rule == NULL)
		return REASON_ALLOW;
	if (!has_connection(s))
		return refuse_connections(s);
	if (s->limits.upload_per_hour != 0) {
		if (!budget_spend(&s->rule->upload, 1, now_ms, &wait_ms))
			return refuse_upload(s, wait_ms);
		budget_return(&s->rule->upload, 1);
	}
	s->counted = true;
	s->rule->n_connections++;
	return REASON_ALLOW;
}

bool
spend_upload(struct spend *s, uint64_t n, uint64_t now_ms)
{
	uint64_t wait_ms;

	if (s->rule == NULL || s->limits.upload_per_hour == 0 || n == 0)
		return true;
	if (!budget_spend(&s->rule->upload, n, now_ms, &wait_ms)) {
		(void)refuse_upload(s, wait_ms);
		return false;
	}
	s->taken += n;
	return true;
}

bool
spend_passed(struct spend *s, uint64_t n, uint64_t now_ms)
{
	uint64_t wait_ms;

	if (s->rule == NULL || s->limits.upload_per_hour == 0 || n == 0 ||
	    budget_owe(&s->rule->upload, n, now_ms))
		return true;
	(void)budget_spend(&s->rule->upload, 1, now_ms, &wait_ms);
	(void)refuse_upload(s, wait_ms);
	return false;
}

void
spend_end(struct spend *s, uint64_t sent, uint64_t now_ms)
{
	if (s->rule == NULL)
		return;
	if (s->counted)
		s->rule->n_connections--;
	s->counted = false;
	if (s->taken > sent)
		budget_return(&s->rule->upload, s->taken - sent);
	else if (s->taken != 0)
		(void)budget_owe(&s->rule->upload, sent - s->taken, now_ms);
	s->taken = 0;
	unref(s->rule);
	s->rule = NULL;
}

struct counter {
	struct stage stage; /* first */
	struct spend *spend;
	enum spend_way way;
	uint64_t n;
};

static void
counter_free(struct stage *s)
{
	free(s);
}

static bool
counter_take(struct stage *stage, struct slice in, bool last UNUSED,
    struct buf *out, struct parse_fail *fail)
{
	struct counter *c = (struct counter *)stage;
	struct spend *s = c->spend;
	bool fits = true;

	c->n += in.n;
	if (s->limits.body != 0 && c->n > s->limits.body)
		fits = refuse_body(s) == REASON_ALLOW;
	else if (c->way == SPEND_UP)
		fits = spend_upload(s, in.n, clock_ms());
	if (!fits) {
		*fail = (struct parse_fail){ REASON_LIMIT_BYTES, s->text, 0 };
		return false;
	}
	return buf_put(out, in) || in.n == 0;
}

bool
spend_wants_body(const struct spend *s)
{
	return s->rule != NULL &&
	    (s->limits.body != 0 || s->limits.upload_per_hour != 0);
}

struct stage *
spend_stage(struct spend *s, enum spend_way way)
{
	static const struct stage_ops ops = { counter_take, counter_free };
	struct counter *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->stage.ops = &ops;
	c->spend = s;
	c->way = way;
	return &c->stage;
}
