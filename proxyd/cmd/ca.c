/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>

#include "base/buf.h"
#include "base/json.h"
#include "certs/bundle.h"
#include "certs/trust.h"
#include "cmd/cmd.h"

#define FILE_SIZE_MAX 8388608 /* bytes of a bundle */

static const char usage[] =
    "usage: duenna ca show [--ca FILE] [--json]\n"
    "       duenna ca bundle [--ca FILE] [--roots FILE]\n"
    "       duenna ca env [--json]\n"
    "\n"
    "show    the CA's subject, last day and fingerprint\n"
    "bundle  the public roots and the CA as one PEM file\n"
    "env     the variables by which programs find that bundle\n"
    "\n"
    "`duenna run` makes a CA for each run and shows its certificate to the\n"
    "command as " TRUST_CA ", which is what is read without --ca.\n"
    "Exit status: 0 done, 1 no such certificate, 2 usage.\n";

struct ca_options {
	const char *ca, *roots;
	bool json;
};

enum option_id {
	OPT_CA = 256,
	OPT_ROOTS,
	OPT_JSON,
	OPT_HELP,
};

static const struct option options[] = {
	{ "ca", required_argument, NULL, OPT_CA },
	{ "roots", required_argument, NULL, OPT_ROOTS },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* Read a whole file; false, and said so, if that cannot be done. */
static bool
read_file(const char *path, struct buf *out)
{
	FILE *file = fopen(path, "re");
	uint8_t part[4096];
	size_t n;

	if (file == NULL) {
		fprintf(stderr, "duenna: ca: %s: %s\n", path, strerror(errno));
		if (errno == ENOENT && strcmp(path, TRUST_CA) == 0)
			fputs("duenna: ca: `duenna run` makes a CA for each "
			      "run; ask inside of one, or say --ca FILE\n",
			    stderr);
		return false;
	}
	while ((n = fread(part, 1, sizeof(part), file)) != 0)
		buf_put(out, slice_of(part, n));
	bool good = ferror(file) == 0 && !out->failed;
	fclose(file);
	if (!good)
		fprintf(stderr, "duenna: ca: %s: cannot be read whole\n", path);
	return good;
}

/* The first certificate of a PEM file, in DER. */
static bool
read_ca(const char *path, struct buf *der)
{
	struct buf text;
	bool good;

	buf_init(&text, FILE_SIZE_MAX);
	good = read_file(path, &text);
	if (good) {
		struct slice rest = buf_slice(&text);
		good = bundle_take_pem(&rest, der);
		if (!good)
			fprintf(stderr,
			    "duenna: ca: %s: no certificate in it\n", path);
	}
	buf_release(&text);
	return good;
}

static void
print(struct buf *out)
{
	fwrite(out->p, 1, out->n, stdout);
}

static int
show(const struct ca_options *o)
{
	struct buf der, text, out;
	struct json j;
	bool good;

	buf_init(&der, FILE_SIZE_MAX);
	buf_init(&text, FILE_SIZE_MAX);
	buf_init(&out, FILE_SIZE_MAX);
	good = read_ca(o->ca, &der) && bundle_describe(&text, buf_slice(&der));
	if (good && o->json) {
		json_init(&j, &out);
		json_object(&j);
		json_key_str(&j, "file", o->ca);
		json_key_text(&j, "text", buf_slice(&text));
		json_object_end(&j);
		buf_put_byte(&out, '\n');
		print(&out);
	} else if (good) {
		print(&text);
	}
	buf_release(&der);
	buf_release(&text);
	buf_release(&out);
	return good ? 0 : CMD_NO;
}

/* The roots as they are, then the CA unless it is among them. */
static bool
merge(struct slice roots, struct slice ca, struct buf *out)
{
	struct buf der;
	bool there = false, good = true;

	buf_init(&der, FILE_SIZE_MAX);
	while (bundle_take_pem(&roots, &der)) {
		there = there || slice_eq(buf_slice(&der), ca);
		good = bundle_put_pem(out, buf_slice(&der)) && good;
		buf_clear(&der);
	}
	buf_release(&der);
	return good && (there || bundle_put_pem(out, ca));
}

static int
bundle(const struct ca_options *o)
{
	struct buf der, roots, out;
	bool good;

	buf_init(&der, FILE_SIZE_MAX);
	buf_init(&roots, FILE_SIZE_MAX);
	buf_init(&out, FILE_SIZE_MAX);
	good = read_ca(o->ca, &der) && read_file(o->roots, &roots) &&
	    merge(buf_slice(&roots), buf_slice(&der), &out);
	if (good)
		print(&out);
	buf_release(&der);
	buf_release(&roots);
	buf_release(&out);
	return good ? 0 : CMD_NO;
}

static int
env(const struct ca_options *o)
{
	size_t n;
	const struct trust_variable *v = trust_variables(&n);
	struct buf out;
	struct json j;

	buf_init(&out, FILE_SIZE_MAX);
	json_init(&j, &out);
	if (o->json)
		json_object(&j);
	for (size_t i = 0; i < n; i++) {
		if (o->json)
			json_key_str(&j, v[i].name, v[i].value);
		else
			buf_putf(&out, "export %s='%s'\n", v[i].name,
			    v[i].value);
	}
	if (o->json) {
		json_object_end(&j);
		buf_put_byte(&out, '\n');
	}
	print(&out);
	buf_release(&out);
	return 0;
}

static const struct {
	const char *name;
	int (*main)(const struct ca_options *o);
} verbs[] = {
	{ "show", show },
	{ "bundle", bundle },
	{ "env", env },
};

/* 0 to go on, else the exit status plus one. */
static int
take_option(struct ca_options *o, int option)
{
	switch (option) {
	case OPT_CA:
		o->ca = optarg;
		return 0;
	case OPT_ROOTS:
		o->roots = optarg;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_HELP:
		fputs(usage, stdout);
		return 1;
	default:
		fputs(usage, stderr);
		return CMD_USAGE + 1;
	}
}

int
ca_main(int argc, char **argv)
{
	struct ca_options o = { .ca = TRUST_CA, .roots = TRUST_BUNDLE };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		int end = take_option(&o, option);
		if (end != 0)
			return end - 1;
	}
	if (optind == argc - 1)
		for (size_t i = 0; i < COUNT_OF(verbs); i++)
			if (strcmp(argv[optind], verbs[i].name) == 0)
				return verbs[i].main(&o);
	fputs(usage, stderr);
	return CMD_USAGE;
}
