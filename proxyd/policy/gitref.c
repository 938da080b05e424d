/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/gitref.h"
#include "base/ascii.h"

static bool
ends_in(struct slice s, struct slice end)
{
	return s.n >= end.n && slice_eq(slice_from(s, s.n - end.n), end);
}

static bool
is_part(struct slice part, bool glob)
{
	if (part.n == 0 || ends_in(part, SLICE(".lock")) ||
	    part.p[part.n - 1] == '.')
		return false;
	for (size_t i = 0; i < part.n; i++) {
		uint8_t c = part.p[i];
		if (ascii_is_alnum(c) || c == '_' || (glob && c == '*'))
			continue;
		if (i == 0 || memchr("-.+@=", c, 5) == NULL ||
		    (c == '.' && part.p[i - 1] == '.'))
			return false;
	}
	return true;
}

bool
gitref_is_short(struct slice name, bool glob)
{
	struct slice rest = name;

	/* Newer versions of git take no such branch, older ones do. */
	if (name.n > GITREF_MAX || slice_eq(name, SLICE("HEAD")))
		return false;
	for (;;) {
		const uint8_t *slash =
		    rest.n == 0 ? NULL : memchr(rest.p, '/', rest.n);
		size_t n = slash == NULL ? rest.n : (size_t)(slash - rest.p);
		if (!is_part(slice_first(rest, n), glob))
			return false;
		if (slash == NULL)
			return true;
		rest = slice_from(rest, n + 1);
	}
}

bool
gitref_is_good(struct slice ref)
{
	const struct slice refs = SLICE("refs/");

	if (!slice_has_prefix(ref, refs) || ref.n > GITREF_MAX)
		return false;
	if (slice_has_prefix(ref, GITREF_HEADS) &&
	    !gitref_is_short(slice_from(ref, GITREF_HEADS.n), false))
		return false;
	return gitref_is_short(slice_from(ref, refs.n), false);
}
