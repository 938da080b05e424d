/* SPDX-License-Identifier: Apache-2.0 */
/* A secret, how to cut, and a body in which the secret stands now and then:
 * `$` as it is, `%`, `#` and `^` in other forms. */
#include "base/base64.h"
#include "cred/mask.h"
#include "cred/search.h"
#include "fuzz.h"

#define SECRET_N 20
#define BODY_MAX 2000

/* The first and longest pattern from `from` on, found without any wit. */
static enum search_result
naive(const struct slice *patterns, size_t n, struct slice window, size_t from,
    struct search_hit *hit)
{
	for (size_t at = from; at < window.n; at++) {
		hit->n = 0;
		hit->at = at;
		for (size_t i = 0; i < n; i++)
			if (patterns[i].n > hit->n &&
			    slice_has_prefix(slice_from(window, at),
				patterns[i]))
				hit->n = patterns[i].n;
		if (hit->n != 0)
			return SEARCH_HIT;
	}
	return SEARCH_NONE;
}

/* Three patterns of the input itself, so that they are found often. */
static void
check_search(struct slice in)
{
	struct slice patterns[3] = { slice_first(in, 8),
		slice_first(slice_from(in, in.n / 2), 11),
		slice_first(slice_from(in, in.n / 3), 9) };
	struct search *s = search_new(3, 64);
	struct search_hit hit, want;
	size_t n = 0, from = 0;

	CHECK(s != NULL);
	for (size_t i = 0; i < 3; i++) {
		CHECK(search_add(s, patterns[i]));
		if (patterns[i].n >= SEARCH_PATTERN_MIN)
			patterns[n++] = patterns[i];
	}
	search_finish(s);
	while (from < in.n) {
		enum search_result got = search_next(s, in, from, true, &hit);
		CHECK(got == naive(patterns, n, in, from, &want));
		if (got == SEARCH_NONE)
			break;
		CHECK(hit.at == want.at && hit.n == want.n);
		from = hit.at + 1;
	}
	search_free(s);
}

#define FORMS 4
#define FORM_MAX (6 * SECRET_N)

/* The secret as it is, percent-encoded, as JSON numbers, in Base64: written here
 * by other means. */
struct shown {
	char text[FORMS][FORM_MAX + 1];
	size_t n[FORMS];
};

static void
show(const uint8_t *secret, struct shown *s)
{
	char *percent = s->text[1], *json = s->text[2];

	memcpy(s->text[0], secret, SECRET_N);
	for (size_t i = 0; i < SECRET_N; i++) {
		snprintf(percent + 3 * i, 4, "%%%02X", secret[i]);
		snprintf(json + 6 * i, 7, "\\u%04x", secret[i]);
	}
	/* Its last character has bits of what stands behind. */
	(void)base64_encode(slice_of(secret, SECRET_N), s->text[3]);
	s->n[0] = SECRET_N;
	s->n[1] = 3 * SECRET_N;
	s->n[2] = 6 * SECRET_N;
	s->n[3] = SECRET_N * 8 / 6;
}

static size_t
make_body(struct slice in, const struct shown *s, uint8_t *body)
{
	static const char marks[] = "$%#^";
	size_t n = 0;

	for (size_t i = 0; i < in.n && n + FORM_MAX < BODY_MAX; i++) {
		const char *mark = in.p[i] == 0 ? NULL : strchr(marks, in.p[i]);
		if (mark != NULL) {
			size_t k = (size_t)(mark - marks);
			memcpy(body + n, s->text[k], s->n[k]);
			n += s->n[k];
		} else {
			body[n++] = in.p[i];
		}
	}
	return n;
}

static void
check_cuts(const struct search *forms, struct slice body, uint8_t seed,
    const struct shown *s)
{
	uint8_t whole[BODY_MAX];
	struct mask *m = mask_new(forms);
	struct buf out;
	size_t at = 0;

	CHECK(m != NULL);
	memcpy(whole, body.p, body.n);
	uint64_t hits = mask_text(forms, whole, body.n);
	buf_init(&out, 2 * BODY_MAX);
	while (at < body.n) {
		size_t n = 1 + (seed = (uint8_t)(seed * 181 + 101)) % 40;
		struct slice part = slice_first(slice_from(body, at), n);
		CHECK(mask_take(m, part, false, &out));
		at += part.n;
		CHECK(out.n <= at && at - out.n <= MASK_HOLD_MAX);
	}
	CHECK(mask_take(m, (struct slice){ 0 }, true, &out));
	/* However it is cut, the same comes out, as long as what went in. */
	CHECK(mask_hits(m) == hits);
	CHECK(slice_eq(buf_slice(&out), slice_of(whole, body.n)));
	for (size_t i = 0; i < body.n; i++) {
		CHECK(whole[i] == body.p[i] || whole[i] == '*');
		for (size_t k = 0; k < FORMS; k++)
			CHECK(!slice_has_prefix(
			    slice_from(slice_of(whole, body.n), i),
			    slice_of(s->text[k], s->n[k])));
	}
	buf_release(&out);
	mask_free(m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t secret[SECRET_N], body[BODY_MAX];
	struct slice in = { data, size };
	struct slice s = { secret, SECRET_N };

	check_search(in);
	if (size < SECRET_N + 1)
		return 0;
	for (size_t i = 0; i < SECRET_N; i++)
		secret[i] = (uint8_t)('+' + data[1 + i] % 80);
	struct search *forms = mask_forms(&s, 1);
	CHECK(forms != NULL);
	struct shown shown;
	show(secret, &shown);
	size_t n = make_body(slice_from(in, SECRET_N + 1), &shown, body);
	check_cuts(forms, slice_of(body, n), data[0], &shown);
	search_free(forms);
	return 0;
}
