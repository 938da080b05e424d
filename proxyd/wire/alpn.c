/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/rd.h"
#include "wire/alpn.h"

static const char *const names[] = {
	[ALPN_NONE] = "",
	[ALPN_HTTP11] = "http/1.1",
	[ALPN_H2] = "h2",
};

static const struct {
	const char *list;
	enum alpn first, second; /* ALPN_NONE: there is none */
} offers[ALPN_OFFER_COUNT] = {
	[ALPN_OFFER_NONE] = { "", ALPN_NONE, ALPN_NONE },
	[ALPN_OFFER_HTTP11] = { "\x08http/1.1", ALPN_HTTP11, ALPN_NONE },
	[ALPN_OFFER_H2] = { "\x02h2", ALPN_H2, ALPN_NONE },
	[ALPN_OFFER_H2_HTTP11] = { "\x02h2\x08http/1.1", ALPN_H2, ALPN_HTTP11 },
	[ALPN_OFFER_HTTP11_H2] = { "\x08http/1.1\x02h2", ALPN_HTTP11, ALPN_H2 },
};

static enum alpn_offer
offer_of(enum alpn first, enum alpn second)
{
	enum alpn_offer offer = ALPN_OFFER_NONE;

	while (offers[offer].first != first || offers[offer].second != second)
		offer++;
	return offer;
}

enum alpn_offer
alpn_offer_read(struct slice list)
{
	enum alpn at[2] = { ALPN_NONE, ALPN_NONE }, alpn;
	struct rd r = rd_of(list);
	size_t n = 0;

	while (r.in.n != 0 && !r.bad && n < COUNT_OF(at))
		if (alpn_read(rd_slice8(&r), &alpn) && alpn != at[0])
			at[n++] = alpn;
	return offer_of(at[0], at[1]);
}

struct slice
alpn_offer_list(enum alpn_offer offer)
{
	assert(offer < ALPN_OFFER_COUNT);
	return slice_of_str(offers[offer].list);
}

bool
alpn_offer_has(enum alpn_offer offer, enum alpn alpn)
{
	assert(offer < ALPN_OFFER_COUNT);
	return alpn != ALPN_NONE &&
	    (offers[offer].first == alpn || offers[offer].second == alpn);
}

enum alpn
alpn_offer_first(enum alpn_offer offer)
{
	assert(offer < ALPN_OFFER_COUNT);
	return offers[offer].first;
}

enum alpn_offer
alpn_offer_only(enum alpn alpn)
{
	return offer_of(alpn, ALPN_NONE);
}

enum alpn_offer
alpn_offer_without_h2(enum alpn_offer offer)
{
	return alpn_offer_has(offer, ALPN_HTTP11) ? ALPN_OFFER_HTTP11 :
						    ALPN_OFFER_NONE;
}

bool
alpn_read(struct slice name, enum alpn *alpn)
{
	for (size_t i = ALPN_HTTP11; i < COUNT_OF(names); i++) {
		if (!slice_eq_str(name, names[i]))
			continue;
		*alpn = (enum alpn)i;
		return true;
	}
	return false;
}

struct slice
alpn_name(enum alpn alpn)
{
	return slice_of_str(names[alpn]);
}
