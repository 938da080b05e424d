/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large policies: how long they take to be compiled, and a request to be
 * judged.  Found by tests/bench/bench beside the program.
 */
#include <stdio.h>
#include <time.h>

#include "load/load.h"
#include "policy/policy.h"

#define PATTERNS 100000
#define ASKED 4000 /* requests, of which the mean is taken */

static void
put_rules(struct buf *out, unsigned hosts, bool wild)
{
	buf_put_str(out, "version: 1\npolicies:\n  p:\n    rules:\n");
	for (unsigned i = 0; i < PATTERNS; i++) {
		buf_putf(out,
		    "      - allow: https://%sh%u.example.com/v1/p%u/**\n",
		    wild ? "*." : "", i % hosts, i / hosts);
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
	bool wild;
	unsigned hosts; /* how many there are */
	bool turn;	/* each in turn, else one again and again */
	unsigned path;	/* the path of that rule of the host */
	bool allow;	/* what must come of it */
};

/* Nanoseconds of one verdict. */
static double
ask(const struct program *p, const struct asked *a)
{
	char host[128], text[128];
	struct facts f = { .kind = FACTS_REQUEST,
		.scheme = SCHEME_HTTPS,
		.port = 443,
		.method = SLICE("GET"),
		.has_sni = true };
	double began = now_ns(), preparing;

	for (int round = 0; round < 2; round++) {
		preparing = now_ns() - began;
		began = now_ns();
		for (unsigned i = 0; i < ASKED; i++) {
			/* A prime: not the same part of the image twice. */
			snprintf(host, sizeof(host), "%sh%u.example.com",
			    a->wild ? "a." : "",
			    (a->turn ? i : 1) * 7919U % a->hosts);
			snprintf(text, sizeof(text), "/v1/p%u/x", a->path);
			f.host = f.sni = slice_of_str(host);
			f.path = slice_of_str(text);
			(void)program_address(p, f.host, &f.dst);
			if (round == 1 &&
			    policy_decide(p, &f).allow != a->allow)
				abort();
		}
	}
	return (now_ns() - began - preparing) / ASKED;
}

static void
measure(const char *what, unsigned hosts, bool wild)
{
	struct load_report report = { 0 };
	struct buf text, image;
	enum err err;

	buf_init(&text, 1 << 24);
	buf_init(&image, IMAGE_SIZE_MAX);
	put_rules(&text, hosts, wild);
	struct load_policy_in in = { .file = { SLICE("f"), SLICE("/"),
					 buf_slice(&text) } };
	double began = now_ns();
	bool good = load_policy(&in, &image, &report);
	double took = now_ns() - began;
	struct program *p = good ? program_open(buf_slice(&image), &err) : NULL;
	if (p == NULL) {
		load_report_text(&report, &text);
		printf("policy   %s: %s\n", what, buf_text(&text));
		exit(1);
	}
	unsigned last = PATTERNS / hosts - 1;
	struct asked first = { wild, hosts, false, 0, true },
		     cold = { wild, hosts, true, 0, true },
		     end = { wild, hosts, false, last, true },
		     none = { wild, hosts, false, last + 1, false };
	printf("policy   100,000 patterns, %s: %zu KiB of text compiled in "
	       "%.0f ms to %zu KiB; a verdict by the first rule of a host "
	       "%.0f ns, of hosts in turn %.0f ns, by the last of %u %.0f ns, "
	       "by none %.0f ns\n",
	    what, text.n / 1024, took / 1e6, image.n / 1024, ask(p, &first),
	    ask(p, &cold), last + 1, ask(p, &end), ask(p, &none));
	program_free(p);
	load_report_release(&report);
	buf_release(&text);
	buf_release(&image);
}

int
main(void)
{
	measure("50,000 names", 50000, false);
	measure("1,000 names", 1000, false);
	measure("1 name", 1, false);
	measure("1,000 wildcards", 1000, true);
	return 0;
}
