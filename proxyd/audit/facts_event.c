/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/facts_event.h"
#include "base/ascii.h"
#include "base/wr.h"
#include "policy/policy.h"
#include "wire/gitpath.h"
#include "wire/query.h"

static const char *const kind_names[] = {
	[FACTS_NAME] = "name",
	[FACTS_CONNECT] = "connect",
	[FACTS_REQUEST] = "request",
	[FACTS_DIAL] = "dial",
	[FACTS_COMMAND] = "command",
};

static void
put_number(struct event *e, enum event_field field, uint64_t value)
{
	if (value != 0)
		event_number(e, field, value);
}

static void
put_bool(struct event *e, enum event_field field, bool value)
{
	if (value)
		event_bool(e, field, true);
}

static void
put_text(struct event *e, enum event_field field, struct slice value)
{
	if (value.n != 0)
		event_text(e, field, value);
}

/*
 * The query with those values that count, into `out`.  A value that no rule
 * judges is left out; a raw `;` in it stays, since no condition fits a query
 * that has one.  The two that git sends stay: they say what was asked for.
 */
static struct slice
shorten(const struct program *p, const struct facts *f,
    uint8_t out[LIMIT_TARGET_SIZE])
{
	struct wr w = wr_of(out, LIMIT_TARGET_SIZE);
	struct slice rest = f->query;
	struct query_pair pair;
	bool more = false;

	if (gitpath_is_query(f->query))
		return f->query;
	while (query_take(&rest, &pair)) {
		bool semicolon = pair.value.n != 0 &&
		    memchr(pair.value.p, ';', pair.value.n) != NULL;
		if (more)
			wr_u8(&w, '&');
		more = true;
		wr_bytes(&w, pair.key);
		if (!pair.has_value)
			continue;
		if (policy_judges_value(p, f->host, pair.key)) {
			wr_u8(&w, '=');
			wr_bytes(&w, pair.value);
		} else if (semicolon) {
			wr_bytes(&w, SLICE("=;"));
		} else if (pair.key.n == 0) {
			wr_u8(&w, '='); /* else it would be no pair */
		}
	}
	return wr_slice(&w);
}

static bool
decides_as(const struct program *p, const struct facts *f, struct slice query,
    const struct verdict *v)
{
	struct facts other = *f;

	other.query = query;
	struct verdict w = policy_decide(p, &other);
	return w.allow == v->allow && w.report == v->report &&
	    w.reason == v->reason && w.rule == v->rule;
}

static void
put_query(const struct program *p, const struct facts *f,
    const struct verdict *v, struct facts_text *text, struct event *e)
{
	struct slice query;

	put_bool(e, FIELD_HAS_QUERY, f->has_query);
	/* Where a fault decides alone, the query counts for nothing. */
	if (p == NULL || !f->has_query || f->fault != REASON_ALLOW ||
	    f->query.n > LIMIT_TARGET_SIZE)
		return;
	query = shorten(p, f, text->query);
	/* A record that cannot be decided again is worse than a long one. */
	event_text(e, FIELD_QUERY,
	    decides_as(p, f, query, v) ? query : f->query);
}

static void
put_verdict(const struct program *p, const struct verdict *v, struct event *e)
{
	event_str(e, FIELD_VERDICT, verdict_name(v));
	event_reason(e, v->reason);
	if (p == NULL || v->rule >= program_n_rules(p))
		return;
	event_text(e, FIELD_RULE, program_rule(p, v->rule).name);
	event_number(e, FIELD_RULE_INDEX, v->rule);
}

static void
put_request(const struct facts *f, struct event *e)
{
	put_text(e, FIELD_METHOD, f->method);
	put_text(e, FIELD_PATH, f->path);
	put_bool(e, FIELD_UPGRADE, f->upgrade);
	put_number(e, FIELD_FOREIGN, f->foreign);
	put_bool(e, FIELD_SIGNED_URL, f->signed_url);
	put_bool(e, FIELD_COOKIE, f->cookie);
	put_bool(e, FIELD_RANGE, f->range);
	put_number(e, FIELD_PLACEHOLDER, f->placeholder);
	if (f->placeholder == PLACEHOLDER_IN_SLOT)
		event_number(e, FIELD_PLACEHOLDER_OF, f->placeholder_of);
	put_number(e, FIELD_PLACEHOLDER_ALSO, f->placeholder_also);
}

/* Old id, new id, ref: the ids are never cut, and a ref that is, is too long. */
static void
put_command(const struct git_command *c, struct facts_text *text,
    struct event *e)
{
	struct wr w = wr_of(text->command, sizeof(text->command));

	wr_bytes(&w, c->old_id);
	wr_u8(&w, ' ');
	wr_bytes(&w, c->new_id);
	wr_u8(&w, ' ');
	wr_bytes(&w, slice_first(c->ref, EVENT_TEXT_MAX));
	event_text(e, FIELD_GIT_COMMAND, wr_slice(&w));
}

void
facts_to_event(const struct program *p, const struct facts *asked,
    const struct verdict *said, struct facts_text *text, struct event *e)
{
	struct facts push = *asked;
	struct verdict alone = *said;
	const struct facts *f = asked;
	const struct verdict *v = said;

	/*
	 * Each command of a push has a record of its own; that of the request
	 * has what was wrong with the whole.
	 */
	if (asked->kind == FACTS_PUSH) {
		push.kind = FACTS_REQUEST;
		f = &push;
		if (!v->allow) {
			push.fault = v->reason;
			alone.rule = VERDICT_NONE;
			v = &alone;
		}
	}
	put_verdict(p, v, e);
	event_str(e, FIELD_FACTS_KIND, kind_names[f->kind]);
	if (f->fault != REASON_ALLOW)
		event_str(e, FIELD_FAULT, reason_name(f->fault));
	/* Where it can count. */
	if (p != NULL && program_may_expire(p))
		put_number(e, FIELD_NOW, f->now_s);
	if (f->dst.family != 0) {
		ip_text(&f->dst, text->dst);
		event_str(e, FIELD_DST_ADDRESS, text->dst);
	}
	if (p != NULL && f->kind != FACTS_NAME && f->host.n == 0 && !f->has_sni)
		put_text(e, FIELD_DST_NAME, policy_destination(p, &f->dst));
	if (f->has_sni)
		event_text(e, FIELD_SNI, f->sni);
	if (f->kind == FACTS_NAME)
		event_number(e, FIELD_QTYPE, f->qtype);
	else
		event_str(e, FIELD_SCHEME, scheme_name(f->scheme));
	if (f->kind == FACTS_DIAL)
		event_number(e, FIELD_FACTS_RULE, f->rule);
	put_text(e, FIELD_HOST, f->host);
	put_number(e, FIELD_PORT, f->port);
	if (f->kind == FACTS_REQUEST || f->kind == FACTS_COMMAND)
		put_request(f, e);
	if (f->kind == FACTS_COMMAND)
		put_command(&f->command, text, e);
	put_query(p, f, v, text, e);
}

/* The index of a name in a list, or -1. */
static int
find_name(const char *const *names, size_t n, struct slice name)
{
	for (size_t i = 0; i < n; i++)
		if (slice_eq_str(name, names[i]))
			return (int)i;
	return -1;
}

/* A number that fits its type, and of an enum below its count. */
static bool
take_number(const struct event *e, enum event_field field, uint64_t max,
    uint64_t *v)
{
	*v = event_number_of(e, field);
	return *v <= max;
}

static bool
take_numbers(const struct event *e, struct facts *f)
{
	uint64_t port, qtype, rule, foreign, placeholder, of, also;

	if (!take_number(e, FIELD_PORT, UINT16_MAX, &port) ||
	    !take_number(e, FIELD_QTYPE, UINT16_MAX, &qtype) ||
	    !take_number(e, FIELD_FACTS_RULE, UINT32_MAX, &rule) ||
	    !take_number(e, FIELD_FOREIGN, (1U << FOREIGN_SLOT_COUNT) - 1,
		&foreign) ||
	    !take_number(e, FIELD_PLACEHOLDER, PLACEHOLDER_FOREIGN,
		&placeholder) ||
	    !take_number(e, FIELD_PLACEHOLDER_OF, UINT32_MAX, &of) ||
	    !take_number(e, FIELD_PLACEHOLDER_ALSO, UINT64_MAX, &also))
		return false;
	f->port = (uint16_t)port;
	f->qtype = (uint16_t)qtype;
	f->rule = (uint32_t)rule;
	f->foreign = (uint32_t)foreign;
	f->placeholder = (enum placeholder_seen)placeholder;
	f->placeholder_of = (uint32_t)of;
	f->placeholder_also = also;
	return true;
}

static void
take_request(const struct event *e, struct facts *f)
{
	f->method = event_text_of(e, FIELD_METHOD);
	f->path = event_text_of(e, FIELD_PATH);
	f->has_query = event_number_of(e, FIELD_HAS_QUERY) != 0;
	f->query = event_text_of(e, FIELD_QUERY);
	f->upgrade = event_number_of(e, FIELD_UPGRADE) != 0;
	f->signed_url = event_number_of(e, FIELD_SIGNED_URL) != 0;
	f->cookie = event_number_of(e, FIELD_COOKIE) != 0;
	f->range = event_number_of(e, FIELD_RANGE) != 0;
}

/* An id as a record has it; off the front. */
static bool
take_id(struct slice *rest, struct slice *id)
{
	size_t n = 0;

	while (n < rest->n && ascii_hex(rest->p[n]) >= 0)
		n++;
	*id = slice_first(*rest, n);
	if ((n != 40 && n != 64) || n == rest->n || rest->p[n] != ' ')
		return false;
	*rest = slice_from(*rest, n + 1);
	return true;
}

static bool
is_zero(struct slice id)
{
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] != '0')
			return false;
	return true;
}

static bool
take_command(const struct event *e, struct git_command *c)
{
	struct slice rest = event_text_of(e, FIELD_GIT_COMMAND);

	if (!take_id(&rest, &c->old_id) || !take_id(&rest, &c->new_id) ||
	    c->old_id.n != c->new_id.n || rest.n == 0)
		return false;
	c->ref = rest;
	c->kind = is_zero(c->new_id) ? GIT_COMMAND_DELETE :
	    is_zero(c->old_id)	     ? GIT_COMMAND_CREATE :
				       GIT_COMMAND_UPDATE;
	return true;
}

bool
facts_from_event(const struct event *e, struct facts *f)
{
	int kind = find_name(kind_names, COUNT_OF(kind_names),
	    event_text_of(e, FIELD_FACTS_KIND));
	enum scheme scheme = scheme_find(event_text_of(e, FIELD_SCHEME));

	if (kind < 0 || (scheme == SCHEME_COUNT && kind != FACTS_NAME) ||
	    (scheme != SCHEME_COUNT && scheme != scheme_below(scheme)))
		return false;
	*f = (struct facts){ .kind = (enum facts_kind)kind };
	f->now_s = event_number_of(e, FIELD_NOW);
	if (scheme != SCHEME_COUNT)
		f->scheme = scheme;
	if (event_has(e, FIELD_FAULT))
		f->fault = reason_find(e->text[FIELD_FAULT]);
	if (f->fault == REASON_COUNT)
		return false;
	if (event_has(e, FIELD_DST_ADDRESS) &&
	    !ip_parse(e->text[FIELD_DST_ADDRESS], &f->dst))
		return false;
	f->has_sni = event_has(e, FIELD_SNI);
	f->sni = event_text_of(e, FIELD_SNI);
	f->host = event_text_of(e, FIELD_HOST);
	if (kind == FACTS_REQUEST || kind == FACTS_COMMAND)
		take_request(e, f);
	if (kind == FACTS_COMMAND && !take_command(e, &f->command))
		return false;
	return take_numbers(e, f);
}
