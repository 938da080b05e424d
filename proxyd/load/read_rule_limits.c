/* SPDX-License-Identifier: Apache-2.0 */
/* `limits:` of a rule: how large, how often, how many, how long. */
#include "base/ascii.h"
#include "base/limits.h"
#include "load/read_policy.h"

#define REQUESTS_MAX 1000000	    /* a minute */
#define IDLE_MAX_MS 86400000	    /* a day */
#define SIZE_MAX_BYTES (1ULL << 40) /* 1024GiB: a count of it fits in 64 bits */

static const struct read_key limits_keys[] = {
	{ "body", READ_HERE },
	{ "requests_per_minute", READ_HERE },
	{ "upload_per_hour", READ_HERE },
	{ "connections", READ_HERE },
	{ "names", READ_HERE },
	{ "idle", READ_HERE },
};

/* Digits without a leading zero, at most eight; 0 for anything else. */
static uint32_t
number_of(struct slice text)
{
	uint32_t v = 0;

	if (text.n == 0 || text.n > 8 || text.p[0] == '0')
		return 0;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_is_digit(text.p[i]))
			return 0;
		v = v * 10 + (uint32_t)(text.p[i] - '0');
	}
	return v;
}

bool
read_size(const struct read *r, const struct doc_node *node, uint64_t *size)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = { { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 } };
	struct slice text;

	*size = 0;
	if (!read_scalar(r, node, "a size such as `10MiB`", &text))
		return false;
	for (size_t i = 0; i < COUNT_OF(units) && text.n > 3; i++)
		if (slice_eq_str(slice_from(text, text.n - 3), units[i].name))
			*size =
			    (uint64_t)number_of(slice_first(text, text.n - 3))
			    << units[i].shift;
	if (*size == 0)
		return read_refuse(r, node,
		    "`%.*s` is no size: expected such as `64KiB`, `10MiB`, "
		    "`1GiB`",
		    SLICE_ARG(text));
	if (*size > SIZE_MAX_BYTES)
		return read_refuse(r, node,
		    "`%.*s` is too large: at most `1024GiB`", SLICE_ARG(text));
	return true;
}

bool
read_count(const struct read *r, const struct doc_node *node, uint32_t most,
    uint32_t *count)
{
	struct slice text;

	if (!read_scalar(r, node, "a number", &text))
		return false;
	*count = node->quoted ? 0 : number_of(text);
	if (*count == 0 || *count > most)
		return read_refuse(r, node,
		    "`%.*s`%s is no such number: expected one from 1 to %u, "
		    "without a unit",
		    SLICE_ARG(text), node->quoted ? " in quotes" : "", most);
	return true;
}

static bool
read_values(const struct read *r, const struct doc_node *node,
    struct load_limits *l)
{
	const struct doc_node *body = read_find(node, "body");
	const struct doc_node *requests =
	    read_find(node, "requests_per_minute");
	const struct doc_node *upload = read_find(node, "upload_per_hour");
	const struct doc_node *connections = read_find(node, "connections");
	const struct doc_node *names = read_find(node, "names");
	const struct doc_node *idle = read_find(node, "idle");
	bool good = body == NULL || read_size(r, body, &l->body);

	good = (requests == NULL ||
		   read_count(r, requests, REQUESTS_MAX,
		       &l->requests_per_minute)) &&
	    good;
	good = (upload == NULL || read_size(r, upload, &l->upload_per_hour)) &&
	    good;
	good =
	    (connections == NULL ||
		read_count(r, connections, LIMIT_UPSTREAMS, &l->connections)) &&
	    good;
	good = (names == NULL ||
		   read_count(r, names, LIMIT_NAMES_OF_RULE, &l->names)) &&
	    good;
	return (idle == NULL ||
		   read_duration(r, idle, IDLE_MAX_MS, &l->idle_ms)) &&
	    good;
}

static bool
is_wild(const struct load_rule *rule)
{
	for (uint32_t i = 0; i < rule->n_patterns; i++)
		if (rule->patterns[i].host.kind == HOST_STAR ||
		    rule->patterns[i].host.kind == HOST_DOUBLE)
			return true;
	return false;
}

static bool
has_passed(const struct load_rule *rule)
{
	for (uint32_t i = 0; i < rule->n_patterns; i++)
		if (scheme_is_passed(rule->patterns[i].scheme))
			return true;
	return false;
}

/* What says nothing of this rule. */
static bool
check_useless(const struct read *r, const struct doc_node *node,
    const struct load_rule *rule)
{
	static const char *const of_requests[] = { "body",
		"requests_per_minute" };
	const struct doc_node *names = read_find_key(node, "names");
	bool passed = has_passed(rule);
	bool good = true;

	for (size_t i = 0; passed && i < COUNT_OF(of_requests); i++) {
		const struct doc_node *key =
		    read_find_key(node, of_requests[i]);
		if (key != NULL)
			good = read_refuse(r, key,
			    "`%s`: what passes unread has no requests; "
			    "`connections`, `upload_per_hour` and `idle` can "
			    "be limited",
			    of_requests[i]);
	}
	if (names != NULL && !is_wild(rule))
		good = read_refuse(r, names,
		    "`names` says nothing without a wildcard: take it out");
	return good;
}

bool
read_rule_limits(const struct read *r, const struct doc_node *node,
    struct load_rule *rule)
{
	const struct doc_node *limits = read_find(node, "limits");

	if (limits == NULL)
		return true;
	if (!read_keys(r, limits, limits_keys, COUNT_OF(limits_keys), NULL))
		return false;
	if (limits->n == 0)
		return read_refuse(r, limits,
		    "empty: expected at least one limit, such as "
		    "`body: 10MiB`");
	bool good = read_values(r, limits, &rule->limits);
	return check_useless(r, limits, rule) && good;
}

bool
read_policy_limits(const struct read *r, const struct load_policy_text *policy)
{
	uint64_t names = 0;

	for (uint32_t i = 0; i < policy->n_rules; i++)
		names += policy->rules[i].limits.names;
	if (names <= LIMIT_NAMES_OF_RULES)
		return true;
	load_error(r->report, policy->at,
	    "`names` of all rules together is more than %d",
	    LIMIT_NAMES_OF_RULES);
	return false;
}
