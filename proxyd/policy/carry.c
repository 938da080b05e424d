/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/carry.h"
#include "base/ascii.h"
#include "policy/inside.h"

/* Which slots of the client our own credentials take. */
static uint32_t
slots_taken(const struct ask *a)
{
	static const struct {
		const char *name;
		enum foreign_slot slot;
		bool in_query;
	} slots[] = {
		{ "authorization", FOREIGN_AUTHORIZATION },
		{ "proxy-authorization", FOREIGN_PROXY_AUTHORIZATION },
		{ "x-api-key", FOREIGN_X_API_KEY },
		{ "api-key", FOREIGN_API_KEY },
		{ "x-goog-api-key", FOREIGN_X_GOOG_API_KEY },
		{ "x-auth-token", FOREIGN_X_AUTH_TOKEN },
		{ "private-token", FOREIGN_PRIVATE_TOKEN },
		{ "job-token", FOREIGN_JOB_TOKEN },
		{ "ocp-apim-subscription-key",
		    FOREIGN_OCP_APIM_SUBSCRIPTION_KEY },
		{ "access_token", FOREIGN_QUERY_ACCESS_TOKEN, true },
		{ "api_key", FOREIGN_QUERY_API_KEY, true },
		{ "private_token", FOREIGN_QUERY_PRIVATE_TOKEN, true },
	};
	uint32_t taken = 0;

	for (uint32_t c = 0; c < a->v.n_credentials; c++) {
		struct program_credential ours = inside_credential(a->m,
		    TABLE_CREDENTIALS, a->v.credentials[c]);
		bool in_query = ours.kind == CREDENTIAL_QUERY;
		for (size_t i = 0; i < COUNT_OF(slots); i++)
			if (slots[i].in_query == in_query &&
			    ascii_eq_fold(ours.slot,
				slice_of_str(slots[i].name)))
				taken |= 1U << slots[i].slot;
	}
	return taken;
}

/* The rule's credentials into the verdict, and what each asks for. */
static void
put_credentials(struct ask *a, bool *no_range)
{
	uint32_t rule = a->v.rule;
	uint32_t n = image_word(a->m, TABLE_RULES, rule, RULE_N_CREDENTIALS);

	*no_range = false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t c =
		    image_word(a->m, TABLE_RULES, rule, RULE_CREDENTIALS + i);
		uint32_t flags = image_word(a->m, TABLE_CREDENTIALS, c,
		    CREDENTIAL_FLAG_BITS);
		a->v.credentials[a->v.n_credentials++] = c;
		if ((flags & CREDENTIAL_RESPONSE_FILTER) == 0)
			continue;
		a->v.search_answer = true;
		/* Piece by piece a token is read past any search. */
		if ((flags & CREDENTIAL_RANGES) == 0)
			*no_range = true;
	}
	/* git needs none, and what it got would tell who comes again. */
	a->v.strip_cookies = n != 0 ||
	    image_word(a->m, TABLE_RULES, rule, RULE_GIT) != IMAGE_NONE;
}

static bool
is_attached(const struct ask *a, uint64_t credential)
{
	for (uint32_t i = 0; i < a->v.n_credentials; i++)
		if (a->v.credentials[i] == credential)
			return true;
	return false;
}

/* Every placeholder that stands in a slot is of a credential of this rule. */
static bool
placeholder_fits(const struct ask *a)
{
	uint64_t also = a->f->placeholder_also;

	if (a->f->placeholder != PLACEHOLDER_IN_SLOT)
		return true;
	for (; also != 0; also >>= 16)
		if (!is_attached(a, (also & UINT16_MAX) - 1))
			return false;
	return is_attached(a, a->f->placeholder_of);
}

/* Some rule for this name carries a credential: signed URLs are refused. */
static bool
is_credential_host(const struct ask *a)
{
	for (uint32_t i = 0; i < a->found.n; i++)
		if (!a->found.at[i].deny_only &&
		    image_word(a->m, TABLE_HOSTS, a->found.at[i].host,
			HOST_HAS_CREDENTIAL) != 0)
			return true;
	return false;
}

enum reason
carry_judge(struct ask *a)
{
	const struct facts *f = a->f;
	uint32_t mode =
	    image_word(a->m, TABLE_RULES, a->v.rule, RULE_FOREIGN_MODE);
	uint32_t flags =
	    image_word(a->m, TABLE_RULES, a->v.rule, RULE_FLAG_BITS);
	bool no_range;

	put_credentials(a, &no_range);
	if (a->v.n_credentials != 0 && f->scheme != SCHEME_HTTPS)
		return REASON_CRED_PLAINTEXT;
	if (!placeholder_fits(a))
		return REASON_CRED_MISPLACED;
	if (f->foreign != 0 && mode == FOREIGN_REFUSE)
		return REASON_CRED_CLIENT_AUTH;
	if (f->signed_url && (flags & RULE_SIGNED_URL) == 0 &&
	    is_credential_host(a))
		return REASON_CRED_CLIENT_AUTH;
	if (f->range && no_range)
		return REASON_HTTP_HEADER;
	/* Where ours goes nothing else may stay, whatever the rule says. */
	a->v.strip =
	    mode == FOREIGN_STRIP ? f->foreign : f->foreign & slots_taken(a);
	return REASON_ALLOW;
}
