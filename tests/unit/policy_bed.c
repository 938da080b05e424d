/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy_bed.h"

static const char *
no_open(void *ctx, struct slice path, struct buf *out)
{
	(void)ctx;
	(void)path;
	(void)out;
	return "not in this test";
}

/* Files to include: a name is looked up beside the one that includes it. */
static const char *
include(void *ctx, uint32_t from, struct slice path, struct load_included *out)
{
	const struct bed_want *want = ctx;
	char name[4096];

	if (slice_has_prefix(path, SLICE("./")))
		path = slice_from(path, 2);
	const char *of = from == 0 ? "" : want->files[from - 1].name;
	const char *slash = strrchr(of, '/');
	snprintf(name, sizeof(name), "%.*s%.*s",
	    slash == NULL ? 0 : (int)(slash - of) + 1, of, SLICE_ARG(path));
	for (uint32_t i = 0; i < want->n_files; i++) {
		if (strcmp(want->files[i].name, name) != 0)
			continue;
		*out =
		    (struct load_included){ slice_of_str(want->files[i].text),
			    i + 1 };
		return NULL;
	}
	return "No such file or directory";
}

void
bed_load_want(struct bed *b, const struct bed_want *want)
{
	const char *config = want->config, *name = want->name;
	struct load_set set = { SLICE("repo"),
		slice_of_str(want->repo == NULL ? "" : want->repo) };
	struct bed_want files = *want;
	struct load_report report = { .want_advice = want->trusted };
	struct load_file file = { SLICE("owner.yaml"), SLICE("/etc/duenna"),
		config == NULL ? SLICE("") : slice_of_str(config) };
	struct load_owner_in owner = { .files = &file,
		.n_files = 1,
		.home = SLICE("/home/user"),
		.open = no_open };
	struct load_policy_in in = { .file = { SLICE("policy.yaml"),
					 SLICE("/work"),
					 slice_of_str(want->policy) },
		.any = name == NULL,
		.policy = slice_of_str(name == NULL ? "" : name),
		.sets = &set,
		.n_sets = want->repo == NULL ? 0 : 1,
		.include = include,
		.ctx = &files,
		.preset = want->preset,
		.now_s = want->now_s,
		.trusted = want->trusted };
	enum err err;

	if (want->preset)
		in.file.name = in.file.bytes;

	*b = (struct bed){ .program = NULL };
	buf_init(&b->owner_image, IMAGE_SIZE_MAX);
	buf_init(&b->image, IMAGE_SIZE_MAX);
	buf_init(&b->text, 1 << 20);
	if (config != NULL && load_owner(&owner, &b->owner_image, &report)) {
		b->owner = owner_open(buf_slice(&b->owner_image), &err);
		assert_non_null(b->owner);
	}
	in.owner = b->owner;
	in.owner_failed = config != NULL && b->owner == NULL;
	if (load_policy(&in, &b->image, &report)) {
		b->program = program_open(buf_slice(&b->image), &err);
		assert_non_null(b->program);
	}
	load_report_text(&report, &b->text);
	load_report_release(&report);
}

void
bed_load(struct bed *b, const char *config, const char *policy)
{
	bed_load_want(b,
	    &(struct bed_want){ .config = config, .policy = policy });
}

void
bed_load_repo(struct bed *b, const char *config, const char *policy,
    const char *repo)
{
	bed_load_want(b,
	    &(struct bed_want){ .config = config,
		.policy = policy,
		.repo = repo });
}

void
bed_load_trusted(struct bed *b, const char *config, const char *policy)
{
	bed_load_want(b,
	    &(struct bed_want){ .config = config,
		.policy = policy,
		.trusted = true });
}

void
bed_load_named(struct bed *b, const char *config, const char *policies,
    const char *name)
{
	bed_load_want(b,
	    &(struct bed_want){ .config = config,
		.policy = policies,
		.name = name });
}

void
bed_release(struct bed *b)
{
	program_free(b->program);
	owner_free(b->owner);
	buf_release(&b->owner_image);
	buf_release(&b->image);
	buf_release(&b->text);
}

/* Take up to one of `ends` off the front. */
static struct slice
take(struct slice *s, const char *ends)
{
	size_t n = 0;

	while (n < s->n && strchr(ends, s->p[n]) == NULL)
		n++;
	struct slice part = slice_first(*s, n);
	*s = slice_from(*s, n);
	return part;
}

struct facts
bed_request(const struct program *p, const char *method, const char *url)
{
	struct facts f = { .kind = FACTS_REQUEST,
		.method = slice_of_str(method) };
	struct slice rest = slice_of_str(url);

	enum scheme scheme = scheme_find(take(&rest, ":"));
	f.scheme = scheme_below(scheme);
	f.upgrade = scheme_is_upgrade(scheme);
	f.port = scheme_port(scheme);
	rest = slice_from(rest, 3);
	f.host = take(&rest, ":/?");
	if (rest.n != 0 && rest.p[0] == ':') {
		rest = slice_from(rest, 1);
		struct slice port = take(&rest, "/?");
		f.port = 0;
		for (size_t i = 0; i < port.n; i++)
			f.port = (uint16_t)(f.port * 10 + port.p[i] - '0');
	}
	f.path = take(&rest, "?");
	f.has_query = rest.n != 0;
	f.query = slice_from(rest, 1);
	struct ip literal;
	if (ip_parse(f.host, &literal))
		f.dst = literal;
	else if (!program_address(p, f.host, &f.dst))
		f.dst = program_refusal_address(p);
	if (f.scheme == SCHEME_HTTPS && !ip_parse(f.host, &literal)) {
		f.has_sni = true;
		f.sni = f.host;
	}
	return f;
}
