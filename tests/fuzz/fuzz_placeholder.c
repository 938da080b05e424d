/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines "Name: value", the first one the target.  `$`, `^` and `!` are
 * placeholders of credentials 0, 1 and 2 (a parameter's), `@` is one of another
 * sandbox.
 */
#include "base/ascii.h"
#include "cred/foreign.h"
#include "cred/look.h"
#include "cred/search.h"
#include "cred/watch.h"
#include "fuzz.h"

#define TEXT_MAX 8192

static const char *const texts[] = { "ghp_dUeNnA7qAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	"duenna-dUeNnA7qBBBBBBBBBBBBBBBBBBBBBBBBBBBB",
	"sk-dUeNnA7qDDDDDDDDDDDDDDDDDDDDDDDDDDDD",
	"ghp_dUeNnA7qCCCCCCCCCCCCCCCCCCCCCCCCCCCC" };
static struct look_slot rows[] = {
	{ { (const uint8_t *)"Authorization", 13 },
	    { (const uint8_t *)"Bearer ", 7 } },
	{ { (const uint8_t *)"X-Key", 5 }, { NULL, 0 }, false },
	{ { (const uint8_t *)"key", 3 }, { NULL, 0 }, true },
};
static const struct look_slots slots = { rows, COUNT_OF(rows) };

static struct placeholder_set *
the_set(void)
{
	static struct placeholder_set set;
	enum err err;

	if (set.n == 0)
		for (uint32_t i = 0; i < COUNT_OF(rows); i++)
			CHECK(placeholder_set_add(&set, i,
				  slice_of_str(texts[i]), &err) == 0);
	return &set;
}

static size_t
expand(struct slice in, uint8_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < in.n && n + 64 < TEXT_MAX; i++) {
		const char *kinds = "$^!@";
		const char *kind = in.p[i] == 0 ? NULL : strchr(kinds, in.p[i]);
		if (kind == NULL) {
			out[n++] = in.p[i];
			continue;
		}
		struct slice text = slice_of_str(texts[kind - kinds]);
		memcpy(out + n, text.p, text.n);
		n += text.n;
	}
	return n;
}

static struct slice
take_until(struct slice *rest, uint8_t end)
{
	const uint8_t *p = rest->n == 0 ? NULL : memchr(rest->p, end, rest->n);
	size_t n = p == NULL ? rest->n : (size_t)(p - rest->p);
	struct slice part = slice_first(*rest, n);

	*rest = slice_from(*rest, n + 1);
	return part;
}

/*
 * Base64 may spell the mark by chance: a Basic value is judged decoded, and
 * replaced as a whole.
 */
static bool
has_basic(const struct look_head *head)
{
	for (size_t i = 0; i < head->fields->n; i++) {
		struct slice value = head->fields->at[i].value;
		while (
		    value.n != 0 && (value.p[0] == ' ' || value.p[0] == '\t'))
			value = slice_from(value, 1);
		if (value.n > 6 &&
		    ascii_eq_fold(slice_first(value, 6), SLICE("Basic ")))
			return true;
	}
	return false;
}

static void
check(const struct look_head *head, const struct facts *f, struct slice all)
{
	size_t n_marked = 0;
	struct slice path =
	    slice_first(head->target, head->target.n - head->query.n);

	for (size_t i = 0; i < head->fields->n; i++) {
		n_marked += placeholder_is_marked(head->fields->at[i].name);
		n_marked += placeholder_is_marked(head->fields->at[i].value);
	}
	/* A mark is never overlooked, and one in the path is never right. */
	if (n_marked != 0 || placeholder_is_marked(head->target))
		CHECK(f->placeholder != PLACEHOLDER_NONE);
	if (placeholder_is_marked(path) || n_marked > 4)
		CHECK(f->placeholder != PLACEHOLDER_IN_SLOT);
	if (f->placeholder == PLACEHOLDER_IN_SLOT)
		CHECK(f->placeholder_of < COUNT_OF(rows) &&
		    (has_basic(head) || placeholder_are_ours(the_set(), all)));
	else
		CHECK(f->placeholder_of == 0 ||
		    f->placeholder != PLACEHOLDER_NONE);
}

static void
check_watch(struct slice all)
{
	struct search *forms = watch_forms(the_set());
	struct watch one, many;

	CHECK(forms != NULL);
	watch_init(&one, forms);
	watch_init(&many, forms);
	watch_take(&one, all);
	for (size_t i = 0; i < all.n; i++)
		watch_take(&many, slice_of(all.p + i, 1));
	CHECK(one.hits == many.hits);
	search_free(forms);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct field_list fields;
	uint8_t text[TEXT_MAX], query[TEXT_MAX];
	struct slice all = slice_of(text, expand(slice_of(data, size), text));
	struct slice rest = all;
	struct look_head head = { .method = SLICE("GET"), .fields = &fields };
	struct facts f;

	fields.n = 0;
	head.target = take_until(&rest, '\n');
	head.query = head.target;
	(void)take_until(&head.query, '?');
	/* `all` ends with the last line that is looked at. */
	for (size_t n = all.n - rest.n; rest.n != 0; n = all.n - rest.n) {
		struct slice line = take_until(&rest, '\n');
		struct slice name = take_until(&line, ':');
		if (field_add(&fields, name.n == 0 ? SLICE("X") : name, line))
			continue;
		all.n = n;
		break;
	}
	look_at(&head, &slots, the_set(), &f);
	check(&head, &f, all);
	check_watch(all);

	struct wr w = wr_of(query, sizeof(query));
	(void)foreign_strip_query(head.query, f.foreign, &w);
	CHECK(!w.bad && w.n <= head.query.n);
	struct look_head again = head;
	again.query = wr_slice(&w);
	CHECK(foreign_strip_fields(&fields, f.foreign) <= FIELD_MAX);
	look_at(&again, &slots, the_set(), &f);
	CHECK(f.foreign == 0);
	return 0;
}
