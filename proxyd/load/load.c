/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load.h"
#include "load/advise.h"
#include "load/compile.h"
#include "load/preset.h"
#include "load/read_policy.h"
#include "load/roots.h"
#include "policy/inside.h"

/* The policy that was asked for; NULL, with an error where one is. */
static const struct load_policy_text *
choose(const struct load_policy_in *in, const struct load_policy_text *list,
    uint32_t n, struct load_report *report)
{
	struct load_at at = list[0].at;

	if (in->policy.n == 0 && (n == 1 || in->any))
		return &list[0];
	if (in->policy.n == 0) {
		load_error(report, at,
		    "the first of %u policies: say which, as FILE:NAME, such as "
		    "%.*s:%.*s",
		    n, SLICE_ARG(list[0].at.file), SLICE_ARG(list[0].name));
		return NULL;
	}
	struct nearest near = nearest_to(in->policy);
	for (uint32_t i = 0; i < n; i++) {
		if (slice_eq(list[i].name, in->policy))
			return &list[i];
		nearest_look(&near, list[i].name);
		if (near.best.p == list[i].name.p)
			at = list[i].at;
	}
	load_error(report, at, "there is no policy `%.*s`; %s `%.*s`%s",
	    SLICE_ARG(in->policy),
	    near.best.n != 0 ? "did you mean" : "the first is",
	    SLICE_ARG(near.best.n != 0 ? near.best : list[0].name),
	    near.best.n != 0 ? "?" : "");
	return NULL;
}

struct loading {
	const struct load_policy_in *in;
	struct arena arena;
	struct load_report *report;
	struct load_policy_text *policies;
	uint32_t n;
};

static bool
compile_all(struct loading *l, const struct load_policy_text *wanted,
    struct buf *image)
{
	bool good = true;

	for (uint32_t i = 0; wanted != NULL && i < l->n; i++) {
		struct load_policy_text *policy = &l->policies[i];
		struct compile_hosts hosts;
		if (policy != wanted && !l->in->any)
			continue;
		compile_hosts(&hosts, &l->arena, policy);
		compile_hidden(&hosts, policy, l->report);
		good = compile_kinds(&hosts, l->report) && good;
		if (l->in->owner_failed)
			good = false; /* credentials of rules are not known */
		if (good && policy == wanted)
			good = compile_program(&hosts, policy, l->in, image,
			    l->report);
	}
	return good;
}

static bool
find_preset(const struct load_policy_in *in, struct slice *text,
    struct load_report *report)
{
	struct load_at at = { in->file.name, 0, 0 };
	struct slice name = slice_from(in->file.name, LOAD_PRESET.n);
	struct buf why;

	if (preset_find(name, text))
		return true;
	buf_init(&why, 4096);
	preset_put_unknown(name, &why);
	load_error(report, at, "%s", buf_text(&why));
	buf_release(&why);
	return false;
}

bool
load_policy(const struct load_policy_in *in, struct buf *image,
    struct load_report *report)
{
	struct loading l = { .in = in, .report = report };
	struct read_policy p = { { &l.arena, report, in->file.name }, in };
	uint32_t before = report->n_errors;

	struct slice text = in->file.bytes;
	const struct doc_node *root = NULL;
	if (!in->preset || find_preset(in, &text, report))
		root = doc_parse(text, in->file.name, &l.arena, report);
	bool good =
	    root != NULL && read_policy_file(&p, root, &l.policies, &l.n);
	/* That it is not there is said beside all other errors. */
	const struct load_policy_text *wanted =
	    l.n == 0 ? NULL : choose(in, l.policies, l.n, report);
	good = good && wanted != NULL && compile_all(&l, wanted, image);
	load_report_sort(report);
	load_report_keep_names(report); /* of what is included: they go */
	arena_release(&l.arena);
	return good && report->n_errors == before;
}

static void
add_system_roots(struct read_owner *o)
{
	struct load_owner_text *t = o->out;
	struct slice pem = o->in->roots, der = { 0 };
	const char *bad;

	/* One that cannot be read is one that is not trusted. */
	while (roots_take(o->r.arena, &pem, &der, &bad)) {
		if (bad != NULL)
			continue;
		t->roots = READ_MORE(&o->r, t->roots, t->n_roots);
		t->roots[t->n_roots++] =
		    (struct load_root){ .der = der, .item = IMAGE_NONE };
	}
}

bool
load_owner(const struct load_owner_in *in, struct buf *image,
    struct load_report *report)
{
	struct arena arena = { 0 };
	struct load_owner_text text = { 0 };
	struct read_owner o = { .r = { &arena, report, SLICE("") },
		.in = in,
		.out = &text };
	uint32_t before = report->n_errors;

	for (size_t i = 0; i < in->n_files; i++) {
		o.file = &in->files[i];
		o.r.file = in->files[i].name;
		const struct doc_node *root =
		    doc_parse(o.file->bytes, o.r.file, &arena, report);
		if (root != NULL)
			read_owner_file(&o, root);
	}
	add_system_roots(&o);
	advise_owner(report, &text);
	bool good = report->n_errors == before;
	if (good && !compile_owner(&text, image)) {
		load_error(report, ((struct load_at){ o.r.file, 1, 1 }),
		    "the configuration and its roots are too large");
		good = false;
	}
	load_report_sort(report);
	arena_release(&arena);
	return good;
}
