/* SPDX-License-Identifier: Apache-2.0 */
#include "cred/watch.h"
#include "cred/search.h"

struct search *
watch_forms(const struct placeholder_set *set)
{
	struct search *s = search_new(set->n, set->n * sizeof(set->at[0].text));

	if (s == NULL)
		return NULL;
	for (size_t i = 0; i < set->n; i++) {
		if (!search_add(s, slice_of(set->at[i].text, set->at[i].n))) {
			search_free(s);
			return NULL;
		}
	}
	search_finish(s);
	return s;
}

void
watch_init(struct watch *w, const struct search *forms)
{
	w->forms = forms;
	w->hits = 0;
	w->n_held = 0;
}

/* Keep window[at..], which may be a beginning. */
static void
hold(struct watch *w, struct slice window, size_t at)
{
	struct slice rest = slice_from(window, at);

	memmove(w->held, rest.p, rest.n);
	w->n_held = rest.n;
}

/*
 * What lies across the border between the held bytes and `in`.  Returns how
 * many bytes of `in` have been dealt with.
 */
static size_t
take_border(struct watch *w, struct slice in)
{
	struct slice head = slice_first(in, PLACEHOLDER_SIZE_MAX);
	size_t n_held = w->n_held, from = 0;
	struct search_hit hit;

	memcpy(w->held + n_held, head.p, head.n);
	struct slice window = slice_of(w->held, n_held + head.n);
	w->n_held = 0;
	while (from < n_held) {
		enum search_result result =
		    search_next(w->forms, window, from, false, &hit);
		if (result == SEARCH_NONE || hit.at >= n_held)
			return 0;
		if (result == SEARCH_HOLD) {
			hold(w, window, hit.at);
			return in.n; /* shorter than any pattern */
		}
		w->hits++;
		from = hit.at + hit.n;
	}
	return from - n_held;
}

void
watch_take(struct watch *w, struct slice in)
{
	struct search_hit hit;
	size_t from = 0;

	if (in.n == 0)
		return;
	if (w->n_held != 0)
		from = take_border(w, in);
	while (from < in.n) {
		switch (search_next(w->forms, in, from, false, &hit)) {
		case SEARCH_HIT:
			w->hits++;
			from = hit.at + hit.n;
			break;
		case SEARCH_HOLD:
			hold(w, in, hit.at);
			return;
		case SEARCH_NONE:
		default:
			return;
		}
	}
}
