/* SPDX-License-Identifier: Apache-2.0 */
#include "cred/look.h"
#include "base/ascii.h"
#include "base/base64.h"
#include "cred/foreign.h"
#include "wire/query.h"

#define BASIC_MAX 4096 /* bytes of Base64 that are looked into */
#define ALSO_BITS 16   /* of facts->placeholder_also for each further one */

struct look {
	const struct look_head *head;
	const struct look_slots *slots;
	const struct placeholder_set *set;
	struct facts *facts;
};

int
look_slots_init(struct look_slots *slots, const struct program *p)
{
	uint32_t n = program_n_credentials(p);

	*slots = (struct look_slots){ 0 };
	slots->at = calloc((size_t)n + 1, sizeof(*slots->at));
	if (slots->at == NULL)
		return -1;
	slots->n = n;
	for (uint32_t i = 0; i < n; i++) {
		struct program_credential c = program_credential(p, i);
		slots->at[i] = (struct look_slot){ c.slot, c.prefix,
			c.kind == CREDENTIAL_QUERY };
	}
	return 0;
}

void
look_slots_release(struct look_slots *slots)
{
	free(slots->at);
	*slots = (struct look_slots){ 0 };
}

/* A place that is no slot: any mark in it is misplaced or foreign. */
static void
look_outside(struct look *l, struct slice text)
{
	if (!placeholder_is_marked(text))
		return;
	if (!placeholder_are_ours(l->set, text))
		l->facts->placeholder = PLACEHOLDER_FOREIGN;
	else if (l->facts->placeholder != PLACEHOLDER_FOREIGN)
		l->facts->placeholder = PLACEHOLDER_MISPLACED;
}

/* In the slot of `credential`: once each, up to four different ones. */
static void
note_in_slot(struct look *l, uint32_t credential)
{
	struct facts *f = l->facts;
	unsigned shift = 0;

	if (f->placeholder == PLACEHOLDER_NONE) {
		f->placeholder = PLACEHOLDER_IN_SLOT;
		f->placeholder_of = credential;
		return;
	}
	if (f->placeholder != PLACEHOLDER_IN_SLOT)
		return;
	while (shift < 3 * ALSO_BITS && (f->placeholder_also >> shift) != 0)
		shift += ALSO_BITS;
	/* The same slot twice, or more than a rule can have. */
	if (credential == f->placeholder_of || shift == 3 * ALSO_BITS ||
	    credential >= UINT16_MAX) {
		f->placeholder = PLACEHOLDER_MISPLACED;
		return;
	}
	for (unsigned s = 0; s < shift; s += ALSO_BITS)
		if (((f->placeholder_also >> s) & UINT16_MAX) ==
		    credential + 1) {
			f->placeholder = PLACEHOLDER_MISPLACED;
			return;
		}
	f->placeholder_also |= (uint64_t)(credential + 1) << shift;
}

/* Cut `scheme SP parameter`; a value without a blank is all parameter. */
static struct slice
parameter_of(struct slice value, struct slice *scheme)
{
	size_t n = 0;

	*scheme = (struct slice){ 0 };
	while (n < value.n && value.p[n] != ' ' && value.p[n] != '\t')
		n++;
	if (n == value.n)
		return value;
	*scheme = slice_first(value, n);
	while (n < value.n && (value.p[n] == ' ' || value.p[n] == '\t'))
		n++;
	return slice_from(value, n);
}

/* A Base64 text inside of Basic: the mark may hide one level deeper. */
static void
look_nested(struct look *l, struct slice text)
{
	uint8_t plain[BASIC_MAX / 4 * 3];
	size_t n;

	if (text.n <= BASIC_MAX && base64_decode(text, plain, &n))
		look_outside(l, slice_of(plain, n));
}

/*
 * The user and the password of Basic.  Returns the placeholder that is one of
 * them while the other has no mark; else NULL, and what is wrong was noted.
 */
static const struct placeholder *
look_basic(struct look *l, struct slice encoded)
{
	uint8_t plain[BASIC_MAX / 4 * 3];
	size_t n = 0, colon = 0;

	if (encoded.n > BASIC_MAX || !base64_decode(encoded, plain, &n))
		return NULL;
	while (colon < n && plain[colon] != ':')
		colon++;
	struct slice user = slice_of(plain, colon);
	struct slice password = slice_from(slice_of(plain, n), colon + 1);
	const struct placeholder *p = NULL;
	if (!placeholder_is_marked(password))
		p = placeholder_find(l->set, user);
	else if (!placeholder_is_marked(user))
		p = placeholder_find(l->set, password);
	if (p == NULL) {
		look_outside(l, slice_of(plain, n));
		look_nested(l, user);
		look_nested(l, password);
	}
	return p;
}

/* Is `name` the header of that credential, letter by letter but for case? */
static bool
is_slot_of(const struct look *l, uint32_t credential, struct slice name)
{
	return credential < l->slots->n && !l->slots->at[credential].in_query &&
	    ascii_eq_fold(name, l->slots->at[credential].name);
}

/* The placeholder behind the prefix that some credential of this header has. */
static const struct placeholder *
find_prefixed(const struct look *l, const struct field *f)
{
	for (uint32_t c = 0; c < l->slots->n; c++) {
		struct slice prefix = l->slots->at[c].prefix;
		const struct placeholder *p = NULL;
		if (is_slot_of(l, c, f->name) &&
		    slice_has_prefix(f->value, prefix))
			p = placeholder_find(l->set,
			    slice_from(f->value, prefix.n));
		if (p != NULL)
			return p;
	}
	return NULL;
}

/* One field.  True if its value is a placeholder in its slot. */
static bool
look_field(struct look *l, const struct field *f)
{
	struct slice scheme;
	struct slice parameter = parameter_of(f->value, &scheme);
	const struct placeholder *p = placeholder_find(l->set, parameter);

	look_outside(l, f->name);
	look_outside(l, scheme);
	if (p == NULL && ascii_eq_fold(scheme, SLICE("basic")))
		p = look_basic(l, parameter);
	if (p == NULL)
		p = find_prefixed(l, f);
	if (p == NULL) {
		look_outside(l, parameter);
		return false;
	}
	if (!is_slot_of(l, p->credential, f->name)) {
		look_outside(l, slice_of(p->text, p->n));
		return false;
	}
	note_in_slot(l, p->credential);
	return true;
}

static void
look_fields(struct look *l)
{
	struct facts *f = l->facts;

	for (size_t i = 0; i < l->head->fields->n; i++) {
		const struct field *field = &l->head->fields->at[i];
		enum foreign_slot slot;
		bool ours = look_field(l, field);
		if (!ours && field->value.n != 0 &&
		    foreign_is_field(field->name, &slot))
			f->foreign |= 1U << slot;
		if (foreign_same_field(field->name, SLICE("cookie")))
			f->cookie = true;
		if (foreign_same_field(field->name, SLICE("range")) ||
		    foreign_same_field(field->name, SLICE("if-range")))
			f->range = true;
	}
}

static bool
has_escapes(struct slice raw)
{
	return raw.n != 0 &&
	    (memchr(raw.p, '%', raw.n) != NULL ||
		memchr(raw.p, '+', raw.n) != NULL);
}

static void
look_escaped(struct look *l, struct slice raw)
{
	uint8_t plain[LIMIT_TARGET_SIZE];
	size_t n = 0;
	int c;

	while (n < sizeof(plain) && (c = query_take_char(&raw)) >= 0)
		plain[n++] = (uint8_t)c;
	look_outside(l, slice_of(plain, n));
}

/* A text and what its escapes hide, neither of them a slot. */
static void
look_decoded(struct look *l, struct slice raw)
{
	look_outside(l, raw);
	if (has_escapes(raw))
		look_escaped(l, raw);
}

/* The placeholder that is all of a parameter's value, in its slot; or NULL. */
static const struct placeholder *
find_in_parameter(const struct look *l, const struct query_pair *pair)
{
	uint8_t plain[PLACEHOLDER_SIZE_MAX];
	struct slice raw = pair->value;
	size_t n = 0;
	int c;

	while (n < sizeof(plain) && (c = query_take_char(&raw)) >= 0)
		plain[n++] = (uint8_t)c;
	const struct placeholder *p =
	    raw.n == 0 ? placeholder_find(l->set, slice_of(plain, n)) : NULL;
	if (p == NULL || p->credential >= l->slots->n)
		return NULL;
	const struct look_slot *slot = &l->slots->at[p->credential];
	return slot->in_query && query_is_fold(pair->key, slot->name) ? p :
									NULL;
}

static void
look_pair(struct look *l, const struct query_pair *pair)
{
	const struct placeholder *p = find_in_parameter(l, pair);
	enum foreign_slot slot;

	if (p != NULL) {
		note_in_slot(l, p->credential);
		return;
	}
	look_decoded(l, pair->key);
	look_decoded(l, pair->value);
	if (foreign_is_key(pair->key, &slot))
		l->facts->foreign |= 1U << slot;
	if (foreign_is_signature(pair->key))
		l->facts->signed_url = true;
}

/* What was checked as the query is the target's end; else all is outside. */
static void
look_target(struct look *l)
{
	struct slice target = l->head->target, rest = l->head->query;
	struct query_pair pair;

	if (rest.n <= target.n &&
	    slice_eq(slice_from(target, target.n - rest.n), rest))
		target = slice_first(target, target.n - rest.n);
	look_decoded(l, target);
	while (query_take(&rest, &pair))
		look_pair(l, &pair);
}

void
look_at(const struct look_head *head, const struct look_slots *slots,
    const struct placeholder_set *set, struct facts *facts)
{
	struct look l = { head, slots, set, facts };

	facts->foreign = 0;
	facts->signed_url = facts->cookie = facts->range = false;
	facts->placeholder = PLACEHOLDER_NONE;
	facts->placeholder_of = 0;
	facts->placeholder_also = 0;
	look_outside(&l, head->method);
	look_target(&l);
	look_fields(&l);
}

enum placeholder_seen
look_trailers(const struct field_list *fields,
    const struct placeholder_set *set)
{
	const struct look_slots none = { 0 };
	const struct look_head head = { .fields = fields };
	struct facts facts = { 0 };
	struct look l = { &head, &none, set, &facts };

	look_fields(&l);
	return facts.placeholder;
}
