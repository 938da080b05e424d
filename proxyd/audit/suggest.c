/* SPDX-License-Identifier: Apache-2.0 */
#include <search.h>
#include <stdlib.h>

#include "audit/suggest_inside.h"
#include "base/wr.h"
#include "policy/method.h"
#include "wire/host.h"
#include "wire/urlpath.h"

#define WHAT_MAX 160 /* bytes shown of a refusal that is no rule */

struct suggest {
	void *wishes, *others; /* tsearch's; owned */
	size_t n_wishes, n_others, size;
	uint64_t n_lost; /* refusals that there was no room for */
	struct buf text;
};

struct suggest *
suggest_new(enum err *err)
{
	struct suggest *s = calloc(1, sizeof(*s));

	if (s == NULL)
		*err = ERR_MEMORY;
	else
		buf_init(&s->text, 65536);
	return s;
}

static void
forget(struct suggest *s)
{
	tdestroy(s->wishes, free);
	tdestroy(s->others, free);
	s->wishes = s->others = NULL;
	s->n_wishes = s->n_others = s->size = 0;
	s->n_lost = 0;
}

void
suggest_free(struct suggest *s)
{
	if (s == NULL)
		return;
	forget(s);
	buf_release(&s->text);
	free(s);
}

/* What belongs into one rule stands together. */
static int
compare_wishes(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	int c = slice_compare(x->host, y->host);

	if (c == 0)
		c = slice_compare(x->scheme, y->scheme);
	if (c == 0)
		c = (x->port > y->port) - (x->port < y->port);
	if (c == 0)
		c = (int)x->any_query - (int)y->any_query;
	if (c == 0)
		c = slice_compare(x->shape, y->shape);
	return c != 0 ? c : slice_compare(x->path, y->path);
}

static int
compare_others(const void *a, const void *b)
{
	const struct other *x = a, *y = b;

	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	return slice_compare(slice_of(x->key, x->n_key),
	    slice_of(y->key, y->n_key));
}

static uint64_t
count_of(const struct event *e)
{
	return event_has(e, FIELD_COUNTED) ? event_number_of(e, FIELD_COUNTED) :
					     1;
}

/* Why no rule of a policy is suggested; NULL: one is, "": nothing is said. */
static const char *
why_not(const struct event *e)
{
	enum reason reason = reason_find(event_text_of(e, FIELD_REASON));

	switch ((unsigned)reason) {
	case REASON_HTTP_HOST_DENIED:
	case REASON_TLS_SNI_DENIED:
	case REASON_HTTP_PATH_DENIED:
	case REASON_HTTP_METHOD_DENIED:
	case REASON_HTTP_QUERY_DENIED:
	case REASON_DST_PORT:
	case REASON_GIT_REPO:
	case REASON_GIT_SERVICE:
		return suggest_why_no_git(e, reason);
	case REASON_DENY_RULE:
		return "a rule of the policy says no";
	case REASON_DNS_DENIED:
		return "only asked for: nothing was sent to it";
	case REASON_DST_UNMAPPED_IP:
	case REASON_DST_PRIVATE:
		return "an address without a name; a rule can name an address";
	case REASON_UP_PRIVATE:
		return "its address is not public; see `addresses` and "
		       "`private`";
	case REASON_HTTP_UPGRADE:
		return event_has(e, FIELD_FAULT) ?
		    "an upgrade to no WebSocket; no rule allows that" :
		    NULL;
	case REASON_CRED_CLIENT_AUTH:
		return "a credential of the client's own; see "
		       "`foreign_credentials`";
	case REASON_CRED_MISPLACED:
		return "a placeholder in a wrong place, or for a rule that "
		       "lacks its `credential`";
	case REASON_CRED_FOREIGN:
	case REASON_CRED_PLAINTEXT:
	case REASON_CRED_LEAK:
		return "a credential in a wrong place; no rule allows that";
	case REASON_HTTP_HOST_MISMATCH:
	case REASON_TLS_DST_MISMATCH:
		return "two names for one connection; no rule allows that";
	default:
		return ""; /* a fault, a limit, grammar: no rule's concern */
	}
}

static bool
is_visible(uint8_t c)
{
	return c > 0x20 && c < 0x7f;
}

static struct slice
host_of(const struct event *e)
{
	static const enum event_field places[] = { FIELD_HOST, FIELD_SNI,
		FIELD_DST_NAME, FIELD_DST_ADDRESS };

	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (event_has(e, places[i]))
			return e->text[places[i]];
	return (struct slice){ 0 };
}

/* For a comment of YAML, which holds fewer characters than UTF-8 has. */
static void
put_ascii(struct buf *out, struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (is_visible(text.p[i]))
			buf_put_byte(out, text.p[i]);
		else
			buf_putf(out, "\\x%02x", text.p[i]);
	}
}

static void
put_other(struct suggest *s, const struct event *e, const char *why)
{
	struct buf *t = &s->text;
	struct other *new, **found;

	buf_clear(t);
	if (event_has(e, FIELD_METHOD)) {
		put_ascii(t, slice_first(e->text[FIELD_METHOD], 16));
		buf_put_byte(t, ' ');
	}
	put_ascii(t, host_of(e));
	if (event_has(e, FIELD_PORT))
		buf_putf(t, ":%llu",
		    (unsigned long long)event_number_of(e, FIELD_PORT));
	put_ascii(t, event_text_of(e, FIELD_PATH));
	struct slice key = slice_first(buf_slice(t), WHAT_MAX);
	new = calloc(1, sizeof(*new) + key.n);
	if (new == NULL) {
		s->n_lost += count_of(e);
		return;
	}
	new->reason = reason_find(event_text_of(e, FIELD_REASON));
	new->why = why;
	new->n_key = key.n;
	if (key.n != 0)
		memcpy(new->key, key.p, key.n);
	found = s->n_others < SUGGEST_OTHERS_MAX ?
	    tsearch(new, &s->others, compare_others) :
	    tfind(new, &s->others, compare_others);
	if (found == NULL)
		s->n_lost += count_of(e);
	else
		(*found)->n += count_of(e);
	if (found != NULL && *found == new)
		s->n_others++;
	else
		free(new);
}

/* A name of two labels at least, as a rule can have it. */
static bool
is_name(struct slice text)
{
	struct parse_fail fail;
	struct host host;

	return host_from_http(text, &host, &fail) == PARSE_DONE &&
	    !host.is_ip && host.n_labels >= 2 &&
	    slice_eq(host_slice(&host), text);
}

/* Such as a rule can have: canonical, and not one that only a `deny` fits. */
static bool
is_path(struct slice text)
{
	uint8_t room[LIMIT_PATH_SIZE];
	struct parse_fail fail;
	struct urlpath path;

	return text.n <= sizeof(room) &&
	    urlpath_canon(text, sizeof(room), room, &path, &fail) ==
	    PARSE_DONE &&
	    slice_eq(path.text, text) && !path.has_encoded_dots;
}

static bool
is_http(const struct event *e)
{
	struct slice scheme = event_text_of(e, FIELD_SCHEME);

	return slice_eq_str(scheme, "http") || slice_eq_str(scheme, "https");
}

/* Such as a rule can have; or that opens a WebSocket. */
static bool
is_method(const struct event *e)
{
	uint32_t bit = method_bit(event_text_of(e, FIELD_METHOD));

	if (event_number_of(e, FIELD_UPGRADE) != 0)
		return bit == METHOD_BIT(METHOD_GET) ||
		    slice_eq_str(event_text_of(e, FIELD_METHOD), "CONNECT");
	return bit != 0;
}

static bool
contains(struct slice in, struct slice what)
{
	for (size_t i = 0; i + what.n <= in.n; i++)
		if (slice_eq(slice_first(slice_from(in, i), what.n), what))
			return true;
	return false;
}

/* That of a rule which would allow it. */
static struct slice
scheme_of(const struct event *e)
{
	struct slice scheme = event_text_of(e, FIELD_SCHEME);

	if (event_number_of(e, FIELD_UPGRADE) != 0)
		return slice_eq_str(scheme, "https") ? SLICE("wss") :
						       SLICE("ws");
	return scheme;
}

static struct wish *
wish_new(const struct event *e)
{
	struct slice host = event_text_of(e, FIELD_HOST);
	struct slice scheme = scheme_of(e);
	struct slice path = event_text_of(e, FIELD_PATH);
	struct slice repository = suggest_repository(e);
	uint8_t shape[SHAPE_SIZE_MAX];
	size_t n_shape = 0;
	bool any = event_number_of(e, FIELD_HAS_QUERY) != 0 &&
	    repository.n == 0 &&
	    !suggest_shape(event_text_of(e, FIELD_QUERY), shape, &n_shape);
	if (repository.n != 0) {
		scheme = SLICE(SUGGEST_GIT);
		path = repository;
	}
	size_t n = host.n + scheme.n + path.n + n_shape;
	struct wish *w = calloc(1, sizeof(*w) + n);

	if (w == NULL)
		return NULL;
	w->n_key = n;
	struct wr wr = wr_of(w->key, n);
	wr_bytes(&wr, host);
	wr_bytes(&wr, scheme);
	wr_bytes(&wr, path);
	if (!any)
		wr_bytes(&wr, slice_of(shape, n_shape));
	w->host = slice_of(w->key, host.n);
	w->scheme = slice_of(w->key + host.n, scheme.n);
	w->path = slice_of(w->key + host.n + scheme.n, path.n);
	w->folder = suggest_folder(w->path);
	w->shape = slice_of(w->path.p + path.n, any ? 0 : n_shape);
	w->port = (uint16_t)event_number_of(e, FIELD_PORT);
	w->any_query = any;
	w->escaped = contains(path, SLICE("%2F"));
	w->first = reason_find(event_text_of(e, FIELD_REASON));
	return w;
}

static void
add_to(struct wish *w, const struct event *e)
{
	enum reason r = reason_find(event_text_of(e, FIELD_REASON));

	if (!slice_eq_str(w->scheme, SUGGEST_GIT))
		w->methods |= method_bit(event_text_of(e, FIELD_METHOD));
	w->n += count_of(e);
	w->new_host = w->new_host || r == REASON_HTTP_HOST_DENIED ||
	    r == REASON_TLS_SNI_DENIED;
	w->foreign = w->foreign || event_number_of(e, FIELD_FOREIGN) != 0;
	w->placeholder =
	    w->placeholder || event_number_of(e, FIELD_PLACEHOLDER) != 0;
}

static void
put_wish(struct suggest *s, const struct event *e)
{
	struct wish *new = wish_new(e), **found = NULL;
	bool room =
	    s->n_wishes < SUGGEST_WISHES_MAX && s->size < SUGGEST_SIZE_MAX;

	if (new != NULL)
		found = room ? tsearch(new, &s->wishes, compare_wishes) :
			       tfind(new, &s->wishes, compare_wishes);
	if (found == NULL) {
		s->n_lost += count_of(e);
		free(new);
		return;
	}
	add_to(*found, e);
	if (*found != new) {
		free(new);
		return;
	}
	s->n_wishes++;
	s->size += new->n_key;
}

void
suggest_put(struct suggest *s, const struct event *e)
{
	const char *why = why_not(e);

	if (e->kind == EVENT_START && event_number_of(e, FIELD_REPEATED) == 0)
		forget(s);
	if ((!event_is_denial(e) && !event_is_reported(e)) ||
	    (e->kind != EVENT_REQUEST_END && e->kind != EVENT_FLOW_END &&
		e->kind != EVENT_DNS))
		return;
	/* What went through it has a record of its own. */
	if (event_is_reported(e) && e->kind != EVENT_REQUEST_END)
		return;
	if (why == NULL && e->kind == EVENT_FLOW_END && event_has(e, FIELD_SNI))
		why = "connected, and nothing asked for; does the program "
		      "trust the CA?";
	else if (why == NULL && (!is_http(e) || !event_has(e, FIELD_HOST)))
		why = "no HTTP; a tls:// or tcp:// rule would pass it unread";
	else if (why == NULL && e->kind == EVENT_FLOW_END)
		why = "a proxy was asked for it: nothing was sent to it";
	else if (why == NULL && !is_name(event_text_of(e, FIELD_HOST)))
		why = "not a name that a rule can have";
	else if (why == NULL && !is_method(e))
		why = "a method that no rule can have";
	else if (why == NULL && !is_path(event_text_of(e, FIELD_PATH)))
		why = "no path that a rule can have";
	if (why == NULL)
		put_wish(s, e);
	else if (why[0] != '\0')
		put_other(s, e, why);
}

struct list {
	struct wish **wishes;
	size_t n;
};

static void
on_wish(const void *node, VISIT which, void *arg)
{
	struct list *l = arg;

	if (which == postorder || which == leaf)
		l->wishes[l->n++] = *(struct wish *const *)node;
}

/* Was the name met otherwise?  Then its question says nothing new. */
static bool
was_met(const struct list *l, const struct other *o)
{
	for (size_t i = 0; i < l->n; i++)
		if (slice_eq(l->wishes[i]->host, slice_of(o->key, o->n_key)))
			return true;
	return false;
}

struct told {
	const struct list *list;
	struct buf *out;
	size_t n;
};

static void
on_other(const void *node, VISIT which, void *arg)
{
	const struct other *o = *(struct other *const *)node;
	struct told *t = arg;

	if ((which != postorder && which != leaf) ||
	    (o->reason == REASON_DNS_DENIED && was_met(t->list, o)))
		return;
	if (t->n++ == 0)
		buf_put_str(t->out, "\n# No rule is suggested for:\n");
	buf_putf(t->out, "#   %llu x %s %.*s (%s)\n", (unsigned long long)o->n,
	    reason_name(o->reason), (int)o->n_key, (const char *)o->key,
	    o->why);
}

/* What a rule could be for a name of which there is the question alone. */
static void
on_asked(const void *node, VISIT which, void *arg)
{
	const struct other *o = *(struct other *const *)node;
	struct slice name = slice_of(o->key, o->n_key);
	struct told *t = arg;

	if ((which != postorder && which != leaf) ||
	    o->reason != REASON_DNS_DENIED || was_met(t->list, o) ||
	    !is_name(name))
		return;
	if (t->n++ == 0)
		buf_put_str(t->out,
		    "\n# Of names that were only asked for a log has neither "
		    "method nor path.  GET and\n"
		    "# HEAD of all that is there, as rules:\n");
	buf_putf(t->out, "#     - allow: \"https://%.*s/**\"\n",
	    SLICE_ARG(name));
}

struct suggest_sum
suggest_end(struct suggest *s, struct buf *out)
{
	struct list list = { .wishes = calloc(s->n_wishes + 1,
				 sizeof(*list.wishes)) };
	struct told told = { .list = &list, .out = out };
	struct suggest_sum sum = { 0 };

	if (list.wishes != NULL)
		twalk_r(s->wishes, on_wish, &list);
	else
		out->failed = true;
	buf_put_str(out,
	    "# What was refused, as rules that allow it.  Read each before you "
	    "use it: it lets\n"
	    "# out what was held back.  Put them behind your own, or run this "
	    "file.\n"
	    "version: 1\n"
	    "policies:\n"
	    "  suggested:\n"
	    "    rules:");
	sum.n_rules = suggest_put_rules(list.wishes, list.n, out);
	if (sum.n_rules == 0)
		buf_put_str(out, " []\n");
	twalk_r(s->others, on_other, &told);
	sum.n_others = told.n;
	told.n = 0;
	twalk_r(s->others, on_asked, &told);
	if (s->n_lost != 0)
		buf_putf(out, "\n# %llu refusals more are not in this file.\n",
		    (unsigned long long)s->n_lost);
	free(list.wishes);
	return sum;
}
