/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/watchers.h"

struct watcher {
	struct stage stage; /* first */
	struct mask *mask;  /* owned; NULL for placeholders */
	struct watch watch;
	uint64_t before; /* hits of others, already in *hits */
	uint64_t *hits;	 /* borrowed */
	bool *seen;	 /* borrowed */
};

static void
watcher_free(struct stage *s)
{
	struct watcher *w = (struct watcher *)s;

	mask_free(w->mask);
	free(w);
}

static bool
take_mask(struct stage *s, struct slice in, bool last, struct buf *out,
    struct parse_fail *fail)
{
	struct watcher *w = (struct watcher *)s;

	if (!mask_take(w->mask, in, last, out)) {
		*fail = (struct parse_fail){ REASON_INTERNAL,
			"no room for the answer", 0 };
		return false;
	}
	*w->hits = w->before + mask_hits(w->mask);
	return true;
}

static bool
take_leak(struct stage *s, struct slice in, bool last, struct buf *out,
    struct parse_fail *fail)
{
	struct watcher *w = (struct watcher *)s;

	if (mask_take(w->mask, in, last, out) && mask_hits(w->mask) == 0)
		return true;
	*fail = (struct parse_fail){ REASON_CRED_LEAK,
		"a secret stands in the body", 0 };
	return false;
}

static bool
take_placeholders(struct stage *s, struct slice in, bool last, struct buf *out,
    struct parse_fail *fail)
{
	struct watcher *w = (struct watcher *)s;

	(void)last;
	(void)fail;
	watch_take(&w->watch, in);
	*w->seen = *w->seen || w->watch.hits != 0;
	return buf_put(out, in) || in.n == 0;
}

static struct watcher *
watcher_new(const struct stage_ops *ops)
{
	struct watcher *w = calloc(1, sizeof(*w));

	if (w != NULL)
		w->stage.ops = ops;
	return w;
}

static struct stage *
with_mask(struct watcher *w, const struct search *forms)
{
	if (w == NULL)
		return NULL;
	w->mask = mask_new(forms);
	if (w->mask != NULL)
		return &w->stage;
	free(w);
	return NULL;
}

struct stage *
watcher_mask(const struct search *forms, uint64_t *hits)
{
	static const struct stage_ops ops = { take_mask, watcher_free };
	struct watcher *w = watcher_new(&ops);

	if (w != NULL) {
		w->hits = hits;
		w->before = *hits;
	}
	return with_mask(w, forms);
}

struct stage *
watcher_leak(const struct search *forms)
{
	static const struct stage_ops ops = { take_leak, watcher_free };

	return with_mask(watcher_new(&ops), forms);
}

struct stage *
watcher_placeholders(const struct search *forms, bool *seen)
{
	static const struct stage_ops ops = { take_placeholders, watcher_free };
	struct watcher *w = watcher_new(&ops);

	if (w == NULL)
		return NULL;
	w->seen = seen;
	watch_init(&w->watch, forms);
	return &w->stage;
}
