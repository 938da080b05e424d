/* SPDX-License-Identifier: Apache-2.0 */
#include "cred/foreign.h"
#include "base/ascii.h"
#include "wire/query.h"

enum kind {
	NOWHERE,
	FIELD,
	KEY,
};

static const struct {
	const char *name; /* for people */
	enum kind kind;
	const char *text; /* lower case */
} slots[FOREIGN_SLOT_COUNT] = {
	[FOREIGN_AUTHORIZATION] = { "authorization", FIELD, "authorization" },
	[FOREIGN_PROXY_AUTHORIZATION] = { "proxy-authorization", FIELD,
	    "proxy-authorization" },
	[FOREIGN_X_API_KEY] = { "x-api-key", FIELD, "x-api-key" },
	[FOREIGN_API_KEY] = { "api-key", FIELD, "api-key" },
	[FOREIGN_X_GOOG_API_KEY] = { "x-goog-api-key", FIELD,
	    "x-goog-api-key" },
	[FOREIGN_X_AUTH_TOKEN] = { "x-auth-token", FIELD, "x-auth-token" },
	[FOREIGN_PRIVATE_TOKEN] = { "private-token", FIELD, "private-token" },
	[FOREIGN_JOB_TOKEN] = { "job-token", FIELD, "job-token" },
	[FOREIGN_OCP_APIM_SUBSCRIPTION_KEY] = { "ocp-apim-subscription-key",
	    FIELD, "ocp-apim-subscription-key" },
	[FOREIGN_USERINFO] = { "userinfo", NOWHERE, "" },
	[FOREIGN_QUERY_ACCESS_TOKEN] = { "query.access_token", KEY,
	    "access_token" },
	[FOREIGN_QUERY_API_KEY] = { "query.api_key", KEY, "api_key" },
	[FOREIGN_QUERY_PRIVATE_TOKEN] = { "query.private_token", KEY,
	    "private_token" },
};

static const char *const signatures[] = { "sig", "x-amz-signature",
	"x-goog-signature", "signature", "key" };

const char *
foreign_name(enum foreign_slot slot)
{
	return slot < FOREIGN_SLOT_COUNT ? slots[slot].name : "?";
}

static uint8_t
fold(uint8_t c)
{
	return c == '_' ? '-' : ascii_lower(c);
}

bool
foreign_same_field(struct slice a, struct slice b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (fold(a.p[i]) != fold(b.p[i]))
			return false;
	return true;
}

bool
foreign_is_field(struct slice name, enum foreign_slot *slot)
{
	for (size_t i = 0; i < COUNT_OF(slots); i++) {
		if (slots[i].kind == FIELD &&
		    foreign_same_field(name, slice_of_str(slots[i].text))) {
			*slot = (enum foreign_slot)i;
			return true;
		}
	}
	return false;
}

bool
foreign_is_key(struct slice raw_key, enum foreign_slot *slot)
{
	for (size_t i = 0; i < COUNT_OF(slots); i++) {
		if (slots[i].kind == KEY &&
		    query_is_fold(raw_key, slice_of_str(slots[i].text))) {
			*slot = (enum foreign_slot)i;
			return true;
		}
	}
	return false;
}

bool
foreign_is_signature(struct slice raw_key)
{
	for (size_t i = 0; i < COUNT_OF(signatures); i++)
		if (query_is_fold(raw_key, slice_of_str(signatures[i])))
			return true;
	return false;
}

size_t
foreign_strip_fields(struct field_list *fields, uint32_t which)
{
	size_t kept = 0;

	for (size_t i = 0; i < fields->n; i++) {
		enum foreign_slot slot;
		if (foreign_is_field(fields->at[i].name, &slot) &&
		    (which & 1U << slot) != 0)
			continue;
		fields->at[kept++] = fields->at[i];
	}
	size_t gone = fields->n - kept;
	fields->n = kept;
	return gone;
}

bool
foreign_strip_query(struct slice query, uint32_t which, struct wr *w)
{
	struct query_pair pair;
	bool any = false;

	while (query_take(&query, &pair)) {
		enum foreign_slot slot;
		if (foreign_is_key(pair.key, &slot) &&
		    (which & 1U << slot) != 0)
			continue;
		query_put_pair(w, &pair);
		any = true;
	}
	return any;
}
