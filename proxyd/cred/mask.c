/* SPDX-License-Identifier: Apache-2.0 */
#include "cred/mask.h"
#include "base/ascii.h"
#include "base/base64.h"
#include "base/limits.h"
#include "base/wr.h"
#include "cred/search.h"

#define FORMS 42      /* of one secret, at most */
#define GROWTH 6      /* times, of the longest: \u00XX for each byte */
#define GROWTH_MEAN 4 /* of all of them, if every byte must be escaped */

struct mask {
	const struct search *forms; /* borrowed */
	uint8_t held[MASK_HOLD_MAX];
	size_t n_held, n_used; /* now, and at most until now */
	uint64_t hits;
};

static const char hex_lower[] = "0123456789abcdef";
static const char hex_upper[] = "0123456789ABCDEF";

/* A form under construction: room for the longest, wiped after use. */
struct form {
	struct search *into;
	uint8_t *room; /* owned by mask_forms */
	size_t max;
};

static bool
add(struct form *f, const struct wr *w)
{
	return w->bad || search_add(f->into, wr_slice(w));
}

/*
 * The characters of Base64 that do not depend on what stands before and
 * behind, for a secret that begins at a byte of which the offset is `shift`
 * modulo 3.
 */
static bool
add_base64(struct form *f, struct slice secret, size_t shift)
{
	size_t n = shift + secret.n;
	size_t from = (8 * shift + 5) / 6, to = 8 * n / 6;
	uint8_t *plain = f->room;
	char *text = (char *)f->room + n;
	struct wr w;

	if (n + BASE64_SIZE(n) > f->max)
		return true;
	memset(plain, 0, shift);
	memcpy(plain + shift, secret.p, secret.n);
	base64_encode(slice_of(plain, n), text);
	if (!search_add(f->into, slice_of(text + from, to - from)))
		return false;
	/* The same in the alphabet of RFC 4648 section 5. */
	w = wr_of(text + from, to - from);
	for (size_t i = from; i < to; i++) {
		char c = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
		wr_u8(&w, (uint8_t)c);
	}
	return add(f, &w);
}

/* What is not escaped beside letters and digits, by those who percent-encode;
 * `plus`: a blank becomes one. */
static const struct percent {
	const char *stays;
	bool all, plus;
} percents[] = {
	{ "", true, false },			  /* every byte is escaped */
	{ "-._~", false, false },		  /* RFC 3986 2.3 */
	{ "-._~!'()*", false, false },		  /* encodeURIComponent */
	{ "-._~!'()*;,/?:@&=+$#", false, false }, /* encodeURI */
	{ "-._~/", false, false },		  /* Python's quote */
	{ "-._~$&+=:@", false, false },		  /* Go's PathEscape */
	{ "-._~", false, true },		  /* Go's QueryEscape */
	{ "-._*", false, true },		  /* forms of browsers, Java */
	{ "-._", false, true },			  /* PHP's urlencode */
};

static bool
add_percent(struct form *f, struct slice secret, const struct percent *kind,
    const char *hex)
{
	struct wr w = wr_of(f->room, f->max);

	for (size_t i = 0; i < secret.n; i++) {
		uint8_t c = secret.p[i];
		bool stays = ascii_is_alnum(c) ||
		    (c != 0 && strchr(kind->stays, c) != NULL);
		if (stays && !kind->all) {
			wr_u8(&w, c);
		} else if (c == ' ' && kind->plus) {
			wr_u8(&w, '+');
		} else {
			wr_u8(&w, '%');
			wr_u8(&w, (uint8_t)hex[c >> 4]);
			wr_u8(&w, (uint8_t)hex[c & 15]);
		}
	}
	return add(f, &w);
}

/* As HTML shows text and attributes: the quotes are written in many ways. */
static const struct html {
	const char *quote, *apostrophe;
} htmls[] = {
	{ "\"", "'" },
	{ "&quot;", "&#x27;" },
	{ "&#34;", "&#39;" },
	{ "&quot;", "&#39;" },
	{ "&quot;", "&#039;" },
};

static bool
add_html(struct form *f, struct slice secret, const struct html *kind)
{
	struct wr w = wr_of(f->room, f->max);

	for (size_t i = 0; i < secret.n; i++) {
		uint8_t c = secret.p[i];
		const char *as = c == '&' ? "&amp;" :
		    c == '<'		  ? "&lt;" :
		    c == '>'		  ? "&gt;" :
		    c == '"'		  ? kind->quote :
		    c == '\''		  ? kind->apostrophe :
					    NULL;
		if (as == NULL)
			wr_u8(&w, c);
		else
			wr_bytes(&w, slice_of_str(as));
	}
	return add(f, &w);
}

static bool
add_hex(struct form *f, struct slice secret, const char *hex)
{
	struct wr w = wr_of(f->room, f->max);

	for (size_t i = 0; i < secret.n; i++) {
		wr_u8(&w, (uint8_t)hex[secret.p[i] >> 4]);
		wr_u8(&w, (uint8_t)hex[secret.p[i] & 15]);
	}
	return add(f, &w);
}

/*
 * As JSON writers escape: the quote and the backslash always; the slash some;
 * what HTML reads (Go's encoding/json, PHP's flags) as \u00XX some; Gson
 * the equals sign too, .NET plus, quote and backquote.
 */
static bool
add_json(struct form *f, struct slice secret, const char *with_backslash,
    const char *as_number, const char *hex)
{
	struct wr w = wr_of(f->room, f->max);

	for (size_t i = 0; i < secret.n; i++) {
		uint8_t c = secret.p[i];
		if (c != 0 && strchr(with_backslash, c) != NULL) {
			wr_u8(&w, '\\');
			wr_u8(&w, c);
		} else if (c != 0 && strchr(as_number, c) != NULL) {
			wr_bytes(&w, SLICE("\\u00"));
			wr_u8(&w, (uint8_t)hex[c >> 4]);
			wr_u8(&w, (uint8_t)hex[c & 15]);
		} else {
			wr_u8(&w, c);
		}
	}
	return add(f, &w);
}

/* Every byte as \u00XX. */
static bool
add_numbers(struct form *f, struct slice secret, const char *hex)
{
	struct wr w = wr_of(f->room, f->max);

	for (size_t i = 0; i < secret.n; i++) {
		wr_bytes(&w, SLICE("\\u00"));
		wr_u8(&w, (uint8_t)hex[secret.p[i] >> 4]);
		wr_u8(&w, (uint8_t)hex[secret.p[i] & 15]);
	}
	return add(f, &w);
}

/* Every byte in hex digits, which come in two cases. */
static bool
add_digits(struct form *f, struct slice secret, const char *hex)
{
	return add_hex(f, secret, hex) && add_numbers(f, secret, hex) &&
	    add_percent(f, secret, &percents[0], hex);
}

/* The other forms with hex digits. */
static bool
add_with_digits(struct form *f, struct slice secret, const char *hex)
{
	bool good = add_json(f, secret, "\"\\", "<>&'", hex) &&
	    add_json(f, secret, "\"\\", "<>&'=", hex) &&
	    add_json(f, secret, "\\", "\"<>&'+`", hex);

	for (size_t i = 1; i < COUNT_OF(percents); i++)
		good = good && add_percent(f, secret, &percents[i], hex);
	return good;
}

/* Made of what nobody escapes who leaves anything as it is: most tokens are. */
static bool
is_never_escaped(struct slice secret)
{
	for (size_t i = 0; i < secret.n; i++)
		if (!ascii_is_alnum(secret.p[i]) &&
		    memchr("-._", secret.p[i], 3) == NULL)
			return false;
	return true;
}

static bool
add_forms(struct form *f, struct slice secret)
{
	bool good = search_add(f->into, secret);

	for (size_t shift = 0; shift < 3; shift++)
		good = good && add_base64(f, secret, shift);
	good = good && add_digits(f, secret, hex_lower) &&
	    add_digits(f, secret, hex_upper);
	if (is_never_escaped(secret))
		return good;
	good = good && add_json(f, secret, "\"\\", "", hex_lower) &&
	    add_json(f, secret, "\"\\/", "", hex_lower);
	for (size_t i = 0; i < COUNT_OF(htmls); i++)
		good = good && add_html(f, secret, &htmls[i]);
	return good && add_with_digits(f, secret, hex_lower) &&
	    add_with_digits(f, secret, hex_upper);
}

struct search *
mask_forms(const struct slice *secrets, size_t n)
{
	struct form f = { 0 };
	size_t total = 0, longest = 0;
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		total += secrets[i].n;
		if (secrets[i].n > longest)
			longest = secrets[i].n;
	}
	f.max = longest * GROWTH + 16;
	f.room = malloc(f.max);
	f.into = search_new(n * FORMS, (total + 16 * n) * FORMS * GROWTH_MEAN);
	if (f.room == NULL || f.into == NULL)
		good = false;
	for (size_t i = 0; i < n && good; i++)
		if (secrets[i].n >= LIMIT_SECRET_SEARCH_MIN)
			good = add_forms(&f, secrets[i]);
	if (f.room != NULL)
		explicit_bzero(f.room, f.max);
	free(f.room);
	if (!good) {
		search_free(f.into);
		return NULL;
	}
	search_finish(f.into);
	return f.into;
}

struct mask *
mask_new(const struct search *forms)
{
	struct mask *m = malloc(sizeof(*m));

	if (m == NULL)
		return NULL;
	m->forms = forms;
	m->n_held = m->n_used = 0;
	m->hits = 0;
	return m;
}

void
mask_free(struct mask *m)
{
	if (m == NULL)
		return;
	explicit_bzero(m->held, m->n_used);
	free(m);
}

/*
 * Overwrite what is found in `window`; returns from where on bytes must wait
 * for what follows.
 */
static size_t
overwrite(const struct search *forms, uint8_t *p, size_t n, bool last,
    uint64_t *hits)
{
	struct search_hit hit;
	size_t from = 0;

	for (;;) {
		switch (search_next(forms, slice_of(p, n), from, last, &hit)) {
		case SEARCH_HIT:
			memset(p + hit.at, '*', hit.n);
			from = hit.at + hit.n;
			(*hits)++;
			break;
		case SEARCH_HOLD:
			return hit.at;
		case SEARCH_NONE:
		default:
			return n;
		}
	}
}

bool
mask_take(struct mask *m, struct slice in, bool last, struct buf *out)
{
	size_t n = m->n_held + in.n;
	uint8_t *p;
	size_t safe;

	if (n == 0)
		return true;
	/* Put together in `out`, so that a hit may lie across the border. */
	p = buf_room(out, n);
	if (p == NULL)
		return false;
	memcpy(p, m->held, m->n_held);
	if (in.n != 0)
		memcpy(p + m->n_held, in.p, in.n);
	safe = overwrite(m->forms, p, n, last, &m->hits);
	m->n_held = n - safe;
	if (m->n_held > m->n_used)
		m->n_used = m->n_held;
	memcpy(m->held, p + safe, m->n_held);
	explicit_bzero(p + safe, m->n_held);
	buf_added(out, safe);
	return true;
}

uint64_t
mask_hits(const struct mask *m)
{
	return m->hits;
}

uint64_t
mask_text(const struct search *forms, uint8_t *p, size_t n)
{
	uint64_t hits = 0;

	(void)overwrite(forms, p, n, true, &hits);
	return hits;
}
