/* SPDX-License-Identifier: Apache-2.0 */
#include "cred/attach.h"
#include "base/base64.h"
#include "cred/foreign.h"
#include "wire/query.h"

void
attach_init(struct attach *a)
{
	*a = (struct attach){ 0 };
}

bool
attach_is_value(struct slice value)
{
	if (value.n == 0 || value.p[0] == ' ' || value.p[value.n - 1] == ' ')
		return false;
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < ' ' || value.p[i] == 0x7f)
			return false;
	return true;
}

/* The secret's half of `user:password`; empty if that is not such as the keeper
 * makes it. */
static struct slice
half_of(const struct program_credential *c, struct slice pair)
{
	size_t colon = c->secret_is_user ? pair.n - 1 : c->user.n;

	if (pair.n == 0 || colon >= pair.n || pair.p[colon] != ':' ||
	    (!c->secret_is_user && !slice_has_prefix(pair, c->user)))
		return (struct slice){ 0 };
	return c->secret_is_user ? slice_first(pair, colon) :
				   slice_from(pair, colon + 1);
}

static int
decode(struct slice text, struct secret *into, enum err *err)
{
	uint8_t plain[SECRET_MAX];
	size_t n = 0;
	int result = -1;

	*err = ERR_MESSAGE;
	if (base64_decode(text, plain, &n))
		result = secret_init(into, slice_of(plain, n), err);
	explicit_bzero(plain, sizeof(plain));
	return result;
}

/* What has to be looked for in bodies: the secret without what is ours. */
static int
find_secret(struct attach *a, struct slice value, enum err *err)
{
	const struct program_credential *c = &a->of[a->n];

	*err = ERR_MESSAGE;
	if (!slice_has_prefix(value, c->prefix))
		return -1;
	a->secrets[a->n] = slice_from(value, c->prefix.n);
	if (c->kind != CREDENTIAL_BASIC)
		return 0;
	if (decode(a->secrets[a->n], &a->decoded[a->n], err) != 0)
		return -1;
	a->secrets[a->n] = half_of(c, secret_slice(&a->decoded[a->n]));
	/* What cannot be looked for in bodies does not go out. */
	*err = ERR_MESSAGE;
	return a->secrets[a->n].n == 0 ? -1 : 0;
}

static bool
is_taken(const struct attach *a, const struct program_credential *c)
{
	for (size_t i = 0; i < a->n; i++)
		if (program_same_slot(&a->of[i], c))
			return true;
	return false;
}

int
attach_add(struct attach *a, const struct program_credential *c,
    struct slice value, enum err *err)
{
	bool in_query = c->kind == CREDENTIAL_QUERY;

	if (a->n == ATTACH_MAX) {
		*err = ERR_FULL;
		return -1;
	}
	*err = ERR_MESSAGE;
	if (!field_is_token(c->slot) || !attach_is_value(value) ||
	    value.n > SECRET_MAX || is_taken(a, c))
		return -1;
	if (secret_init(&a->values[a->n], value, err) != 0)
		return -1;
	value = secret_slice(&a->values[a->n]);
	a->of[a->n] = *c;
	if (find_secret(a, value, err) != 0) {
		secret_release(&a->decoded[a->n]);
		secret_release(&a->values[a->n]);
		return -1;
	}
	struct field *f = in_query ? &a->parameters[a->n_parameters++] :
				     &a->fields[a->n_fields++];
	*f = (struct field){ .name = c->slot, .value = value };
	a->n++;
	return 0;
}

/* Is it the name of a header that we fill? */
static bool
is_our_field(const struct attach *a, struct slice name)
{
	for (size_t i = 0; i < a->n_fields; i++)
		if (foreign_same_field(name, a->fields[i].name))
			return true;
	return false;
}

size_t
attach_clear_fields(const struct attach *a, struct field_list *fields)
{
	size_t kept = 0;

	for (size_t i = 0; i < fields->n; i++)
		if (!is_our_field(a, fields->at[i].name))
			fields->at[kept++] = fields->at[i];
	size_t gone = fields->n - kept;
	fields->n = kept;
	return gone;
}

static bool
is_our_parameter(const struct attach *a, struct slice raw_key)
{
	for (size_t i = 0; i < a->n_parameters; i++)
		if (query_is_fold(raw_key, a->parameters[i].name))
			return true;
	return false;
}

bool
attach_clear_query(const struct attach *a, struct slice query, struct wr *w)
{
	struct query_pair pair;
	bool any = false;

	while (query_take(&query, &pair)) {
		if (is_our_parameter(a, pair.key))
			continue;
		query_put_pair(w, &pair);
		any = true;
	}
	return any;
}

void
attach_wipe(struct attach *a)
{
	for (size_t i = 0; i < a->n; i++) {
		secret_release(&a->values[i]);
		secret_release(&a->decoded[i]);
	}
	*a = (struct attach){ 0 };
}
