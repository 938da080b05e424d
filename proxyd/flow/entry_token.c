/* SPDX-License-Identifier: Apache-2.0 */
/* The token of a proxy: compared by its digest, which is all that we have. */
#include <assert.h>

#include "base/ascii.h"
#include "base/base64.h"
#include "crypto/digest.h"
#include "flow/entry.h"

#define BASIC_MAX 1024 /* bytes of user, colon and token, in Base64 */

_Static_assert(sizeof(((struct entry_token *)NULL)->sha256) == DIGEST_SIZE,
    "room for a digest");

bool
entry_is_token(const struct sandbox *sb, struct slice token)
{
	uint8_t sha256[DIGEST_SIZE];

	if (!sb->token.is_wanted)
		return true;
	digest_sha256(token, sha256);
	return digest_eq(sha256, sb->token.sha256, DIGEST_SIZE);
}

/* What stands behind the first colon (RFC 7617 2). */
static struct slice
password_of(struct slice text)
{
	const uint8_t *colon = text.n == 0 ? NULL : memchr(text.p, ':', text.n);

	if (colon == NULL)
		return (struct slice){ 0 };
	return slice_from(text, (size_t)(colon - text.p) + 1);
}

bool
entry_shows_token(const struct sandbox *sb, struct field_list *fields)
{
	const struct slice scheme = SLICE("basic ");
	uint8_t text[BASIC_MAX];
	size_t n = 0;

	if (!sb->token.is_wanted)
		return true;
	struct field *f = field_find(fields, SLICE("proxy-authorization"));
	if (f == NULL ||
	    !ascii_eq_fold(slice_first(f->value, scheme.n), scheme))
		return false;
	struct slice value = slice_from(f->value, scheme.n);
	bool shown = value.n <= BASIC_MAX && base64_decode(value, text, &n) &&
	    n != 0 && entry_is_token(sb, password_of(slice_of(text, n)));
	explicit_bzero(text, sizeof(text));
	return shown;
}
