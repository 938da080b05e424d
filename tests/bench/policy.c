/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large policies: how long they take to be compiled, and a request to be
 * judged.  Found by tests/bench/bench beside the program.
 */
#include <stdio.h>
#include <time.h>

#include "base/attr.h"
#include "load/load.h"
#include "policy/policy.h"

#define ASKED 4000 /* requests, of which the mean is taken */

/* A pattern with a number in it, and a path that it matches, likewise. */
struct form {
	const char *before, *behind, *path_before, *path_behind;
};

static const struct form plain[] = {
	{ "/v1/p", "/**", "/v1/p", "/x" },
};

static const struct form mixed[] = {
	{ "/v1/p", "/**", "/v1/p", "/x" },
	{ "/*/q", "/x", "/v1/q", "/x" },
	{ "/**/r", "/**", "/v1/a/r", "/x/y" },
	{ "/**/s", "", "/v1/a/s", "" },
	{ "/v1/t", "-*/x", "/v1/t", "-1/x" },
	{ "/*-u", "/**", "/v1-u", "/x" },
	{ "/v1/*/w", "/*/x", "/v1/a/w", "/b/x" },
	{ "/v1/**/y", "/**", "/v1/a/y", "/x" },
};

struct large {
	const char *what, *host; /* what stands before the host's number */
	unsigned patterns, hosts;
	const struct form *forms; /* in turn */
	unsigned n_forms;
	bool git; /* rules of git+https: of a repository each */
};

static void
put_rules(struct buf *out, const struct large *l)
{
	buf_put_str(out, "version: 1\npolicies:\n  p:\n    rules:\n");
	for (unsigned i = 0; i < l->patterns; i++) {
		unsigned number = i / l->hosts;
		const struct form *f = &l->forms[number % l->n_forms];
		buf_putf(out,
		    "      - allow: %shttps://%sh%u.example.com%s%u%s\n",
		    l->git ? "git+" : "", l->host, i % l->hosts, f->before,
		    number, f->behind);
		if (l->git)
			buf_put_str(out,
			    "        fetch: true\n        forge: gitlab\n");
	}
}

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct asked {
	const char *method;
	bool turn;	 /* each host in turn, else one again and again */
	unsigned number; /* of the rule of the host */
	bool allow;	 /* what must come of it */
	const char *before, *behind; /* of git: of the repository's number */
};

static void
put_request(struct facts *f, const struct large *l, const struct asked *a,
    unsigned i)
{
	static char host[128], path[128];
	const struct form *form = &l->forms[a->number % l->n_forms];

	/* A prime: not the same part of the image twice. */
	snprintf(host, sizeof(host), "%sh%u.example.com",
	    *l->host == '\0' ? "" : "a.", (a->turn ? i : 1) * 7919U % l->hosts);
	snprintf(path, sizeof(path), "%s%u%s",
	    l->git ? a->before : form->path_before, a->number,
	    l->git ? a->behind : form->path_behind);
	f->host = f->sni = slice_of_str(host);
	f->path = slice_of_str(path);
}

/* Nanoseconds of one verdict. */
static double
ask(const struct program *p, const struct large *l, const struct asked *a)
{
	struct facts f = { .kind = FACTS_REQUEST,
		.scheme = SCHEME_HTTPS,
		.port = 443,
		.method = slice_of_str(a->method),
		.has_sni = true };
	double began = now_ns(), preparing = 0;

	for (int round = 0; round < 2; round++) {
		preparing = now_ns() - began;
		began = now_ns();
		for (unsigned i = 0; i < ASKED; i++) {
			put_request(&f, l, a, i);
			(void)program_address(p, f.host, &f.dst);
			if (round == 1 &&
			    policy_decide(p, &f).allow != a->allow)
				abort();
		}
	}
	return (now_ns() - began - preparing) / ASKED;
}

static void
ask_requests(const struct program *p, const struct large *l)
{
	unsigned n = l->patterns / l->hosts;
	double last = 0;

	for (unsigned i = 0; i < l->n_forms && i < n; i++) {
		double one = ask(p, l,
		    &(struct asked){ "GET", false, n - 1 - i, true, "", "" });
		last = one > last ? one : last;
	}
	printf("a verdict by the first rule of a host %.0f ns, of hosts in "
	       "turn %.0f ns, by the last of %u%s %.0f ns, by none %.0f ns, "
	       "by none that has the method %.0f ns\n",
	    ask(p, l, &(struct asked){ "GET", false, 0, true, "", "" }),
	    ask(p, l, &(struct asked){ "GET", true, 0, true, "", "" }), n,
	    l->n_forms == 1 ? "" : ", the slowest sort,", last,
	    ask(p, l, &(struct asked){ "GET", false, n, false, "", "" }),
	    ask(p, l, &(struct asked){ "PUT", false, n - 1, false, "", "" }));
}

static void
ask_git(const struct program *p, const struct large *l)
{
	static const char pack[] = ".git/git-upload-pack";
	unsigned last = l->patterns / l->hosts - 1;

	printf("a verdict by the last repository of %u %.0f ns, by none %.0f "
	       "ns, about its side doors %.0f ns\n",
	    last + 1,
	    ask(p, l,
		&(struct asked){ "POST", false, last, true, "/acme/r", pack }),
	    ask(p, l,
		&(struct asked){ "POST", false, last + 1, false, "/acme/r",
		    pack }),
	    ask(p, l,
		&(struct asked){ "POST", false, last, false,
		    "/api/v4/projects/acme%2Fr", "/merge" }));
}

static void
measure(const struct large *l)
{
	struct load_report report = { 0 };
	struct buf text, image;
	enum err err;

	buf_init(&text, 1 << 24);
	buf_init(&image, IMAGE_SIZE_MAX);
	put_rules(&text, l);
	struct load_policy_in in = { .file = { SLICE("f"), SLICE("/"),
					 buf_slice(&text) } };
	double began = now_ns();
	bool good = load_policy(&in, &image, &report);
	double took = now_ns() - began;
	began = now_ns();
	struct program *p = good ? program_open(buf_slice(&image), &err) : NULL;
	double opened = now_ns() - began;
	if (p == NULL) {
		buf_clear(&text);
		load_report_text(&report, &text);
		printf("policy   %s: %s\n", l->what, buf_text(&text));
		exit(1);
	}
	printf("policy   %u patterns, %s: %zu KiB of text compiled in "
	       "%.0f ms to %zu KiB, checked in %.0f ms; ",
	    l->patterns, l->what, text.n / 1024, took / 1e6, image.n / 1024,
	    opened / 1e6);
	if (l->git)
		ask_git(p, l);
	else
		ask_requests(p, l);
	program_free(p);
	load_report_release(&report);
	buf_release(&text);
	buf_release(&image);
}

/* All rows, or those that are named by number, from 0 on. */
int
main(int argc, char **argv)
{
	static const struct form git[] = { { "/acme/r", "", "", "" } };
	static const struct large rows[] = {
		{ "50,000 names", "", 100000, 50000, plain, 1, false },
		{ "1,000 names", "", 100000, 1000, plain, 1, false },
		{ "1 name", "", 100000, 1, plain, 1, false },
		{ "1,000 wildcards", "*.", 100000, 1000, plain, 1, false },
		{ "1 name, stars in many places", "", 100000, 1, mixed,
		    COUNT_OF(mixed), false },
		{ "100 names of repositories", "", 10000, 100, git, 1, true },
		{ "1 name of repositories", "", 10000, 1, git, 1, true },
	};

	for (size_t i = 0; argc == 1 && i < COUNT_OF(rows); i++)
		measure(&rows[i]);
	for (int i = 1; i < argc; i++)
		measure(&rows[strtoul(argv[i], NULL, 10) % COUNT_OF(rows)]);
	return 0;
}
