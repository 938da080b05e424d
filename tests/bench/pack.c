/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: pack [names] <PACK
 *
 * Reads a pack as the gateway does, in pieces of 16 KiB, and says what it had,
 * how long it took, and how much memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "git/pack.h"

#define PIECE 16384

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The peak of this program alone: what getrusage() says may be its parent's. */
static long
peak_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	}
	if (f != NULL)
		fclose(f);
	return kib;
}

int
main(int argc, char **argv)
{
	static uint8_t piece[PIECE];
	struct pack_cfg cfg = { .id_size = OID_SHA1,
		.strict = true,
		.names = argc > 1 && strcmp(argv[1], "names") == 0 };
	struct parse_fail fail = { .detail = "it is cut" };
	enum parse answer = PARSE_MORE;
	enum err err;
	struct pack *p = pack_new(&cfg, &err);
	double spent = 0;
	size_t n;

	while (p != NULL && answer == PARSE_MORE &&
	    (n = fread(piece, 1, sizeof(piece), stdin)) != 0) {
		struct slice in = slice_of(piece, n);
		double began = seconds();
		while (in.n != 0 && answer != PARSE_BAD) {
			size_t used, pass;
			answer = pack_take(p, in, &used, &pass, &fail);
			in = slice_from(in, used);
		}
		spent += seconds() - began;
	}
	if (p == NULL || answer != PARSE_DONE) {
		fprintf(stderr, "pack: %s\n", fail.detail);
		return 1;
	}
	const struct pack_facts *f = pack_facts(p);
	size_t kept = 0;
	while (pack_nth(p, kept) != NULL)
		kept++;
	double mib = 1 << 20;
	printf("%u objects, %.0f MiB of %.0f MiB inflated; kept %zu; "
	       "trees not kept %u\n",
	    f->n_objects, (double)f->bytes / mib, (double)f->inflated / mib,
	    kept, f->unread[OBJECT_TREE]);
	printf("%.2f s of processor time: %.0f MiB/s; peak %ld MiB\n", spent,
	    (double)f->bytes / mib / spent, peak_kib() / 1024);
	pack_free(p);
	return 0;
}
