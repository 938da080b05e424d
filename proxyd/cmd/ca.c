/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "certs/bundle.h"
#include "certs/trust.h"
#include "cmd/cmd.h"
#include "cmd/config.h"

#define FILE_SIZE_MAX 8388608 /* bytes of a bundle */

static const char usage[] =
    "usage: duenna ca show [--ca FILE | --config FILE] [--json]\n"
    "       duenna ca bundle [--ca FILE | --config FILE] [--roots FILE]\n"
    "                        [--jks]\n"
    "       duenna ca env [--ca FILE --bundle FILE [--store FILE]]\n"
    "                     [--json | --fish]\n"
    "\n"
    "show    the CA's subject, last day and fingerprint\n"
    "bundle  the public roots and the CA as one PEM file, or Java's store\n"
    "env     the variables by which programs find these files, for a shell:\n"
    "        eval \"$(duenna ca env)\"\n"
    "\n"
    "`duenna run` makes a CA for each run, or has the one that `ca:` of your\n"
    "configuration gives, and shows its certificate to the command as\n" TRUST_CA
    ", which is what is read without --ca; outside of a run\n"
    "it is that of `ca:`.\n"
    "Elsewhere, such as in a container that has the certificate as ca.pem:\n"
    "  duenna ca bundle --ca ca.pem >all.pem\n"
    "  duenna ca bundle --ca ca.pem --jks >all.jks\n"
    "  duenna ca env --ca ca.pem --bundle all.pem --store all.jks\n"
    "Exit status: 0 done, 1 no such certificate, 2 usage.\n";

struct ca_options {
	const char *ca, *config, *roots, *bundle, *store;
	bool json, fish, jks;
};

enum option_id {
	OPT_CA = 256,
	OPT_CONFIG,
	OPT_ROOTS,
	OPT_BUNDLE,
	OPT_STORE,
	OPT_JSON,
	OPT_FISH,
	OPT_JKS,
	OPT_HELP,
};

static const struct option options[] = {
	{ "ca", required_argument, NULL, OPT_CA },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "roots", required_argument, NULL, OPT_ROOTS },
	{ "bundle", required_argument, NULL, OPT_BUNDLE },
	{ "store", required_argument, NULL, OPT_STORE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "fish", no_argument, NULL, OPT_FISH },
	{ "jks", no_argument, NULL, OPT_JKS },
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
			      "run (there is no `ca:` in the configuration); "
			      "ask inside of one, or say --ca FILE\n",
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

#define ROOTS_MAX 4096 /* certificates; systems have some 150 */

/* Certificates, one behind the other, and where each begins. */
struct pile {
	struct buf bytes;
	size_t end[ROOTS_MAX + 1];
	size_t n;
};

static struct slice
pile_at(const struct pile *p, size_t i)
{
	size_t from = i == 0 ? 0 : p->end[i - 1];

	return slice_of(p->bytes.p + from, p->end[i] - from);
}

/* All certificates of a PEM text; false: too many. */
static bool
pile_take(struct pile *p, struct slice text)
{
	while (p->n < ROOTS_MAX && bundle_take_pem(&text, &p->bytes)) {
		p->end[p->n] = p->bytes.n;
		p->n++;
	}
	return p->n < ROOTS_MAX && !p->bytes.failed;
}

static bool
pile_put(struct pile *p, struct slice der)
{
	for (size_t i = 0; i < p->n; i++)
		if (slice_eq(pile_at(p, i), der))
			return true;
	if (!buf_put(&p->bytes, der))
		return false;
	p->end[p->n++] = p->bytes.n;
	return true;
}

/* What `ca:` of the owner's configuration gives: the root of each. */
static bool
take_given(struct pile *p, const char *file)
{
	struct load_report report = { 0 };
	struct slice certs[OWNER_CA_MAX];
	struct config config;
	struct buf text;

	config_load(&config, file, &report);
	for (unsigned which = 0; config.owner != NULL && which < OWNER_CA_KINDS;
	     which++) {
		uint32_t n = owner_ca(config.owner, which, certs);
		if (n != 0)
			(void)pile_put(p, certs[n - 1]);
	}
	buf_init(&text, FILE_SIZE_MAX);
	if (report.n_errors != 0)
		load_report_text(&report, &text);
	fputs(buf_text(&text), stderr);
	buf_release(&text);
	load_report_release(&report);
	config_release(&config);
	return p->n != 0;
}

/*
 * The CA's certificates: of a file; without --ca that of the sandbox we are in,
 * or those that the configuration gives.
 */
static bool
read_cas(const struct ca_options *o, struct pile *p)
{
	struct buf text;

	p->n = 0;
	buf_init(&p->bytes, FILE_SIZE_MAX);
	if (strcmp(o->ca, TRUST_CA) == 0 && access(TRUST_CA, F_OK) != 0 &&
	    take_given(p, o->config))
		return true;
	buf_init(&text, FILE_SIZE_MAX);
	bool good = read_file(o->ca, &text) && pile_take(p, buf_slice(&text));
	buf_release(&text);
	if (good && p->n == 0)
		fprintf(stderr, "duenna: ca: %s: no certificate in it\n",
		    o->ca);
	return good && p->n != 0;
}

static void
print(struct buf *out)
{
	fwrite(out->p, 1, out->n, stdout);
}

static void
put_shown(struct buf *out, const struct ca_options *o, struct slice text)
{
	struct json j;

	if (!o->json) {
		buf_put(out, text);
		return;
	}
	json_init(&j, out);
	json_object_begin(&j);
	json_key_str(&j, "file", o->ca);
	json_key_text(&j, "text", text);
	json_object_end(&j);
	buf_put_byte(out, '\n');
}

static int
show(const struct ca_options *o)
{
	static struct pile cas;
	struct buf text, out;
	bool good = read_cas(o, &cas);

	buf_init(&text, FILE_SIZE_MAX);
	buf_init(&out, FILE_SIZE_MAX);
	for (size_t i = 0; good && i < cas.n; i++)
		good = bundle_describe(&text, pile_at(&cas, i));
	if (good)
		put_shown(&out, o, buf_slice(&text));
	print(&out);
	buf_release(&cas.bytes);
	buf_release(&text);
	buf_release(&out);
	return good ? 0 : CMD_NO;
}

static bool
put_pile(struct buf *out, const struct pile *p, bool jks)
{
	static struct slice ders[ROOTS_MAX + 1];
	bool good = true;

	for (size_t i = 0; i < p->n; i++) {
		ders[i] = pile_at(p, i);
		good = good && (jks || bundle_put_pem(out, ders[i]));
	}
	return good && (!jks || bundle_put_jks(out, ders, p->n));
}

/* The roots as they are, then the CA's unless they are among them. */
static bool
merge(struct slice roots, const struct pile *cas, bool jks, struct buf *out)
{
	static struct pile pile;

	pile.n = 0;
	buf_init(&pile.bytes, FILE_SIZE_MAX);
	bool good = pile_take(&pile, roots) && pile.n + cas->n <= ROOTS_MAX;
	for (size_t i = 0; good && i < cas->n; i++)
		good = pile_put(&pile, pile_at(cas, i));
	good = good && put_pile(out, &pile, jks);
	if (!good)
		fputs("duenna: ca: too many certificates\n", stderr);
	buf_release(&pile.bytes);
	return good;
}

static int
bundle(const struct ca_options *o)
{
	static struct pile cas;
	struct buf roots, out;
	bool good = read_cas(o, &cas);

	buf_init(&roots, FILE_SIZE_MAX);
	buf_init(&out, FILE_SIZE_MAX);
	good = good && read_file(o->roots, &roots) &&
	    merge(buf_slice(&roots), &cas, o->jks, &out);
	if (good)
		print(&out);
	buf_release(&cas.bytes);
	buf_release(&roots);
	buf_release(&out);
	return good ? 0 : CMD_NO;
}

/* A value of the kit, with the files that were named in place of ours. */
static void
put_value(struct buf *out, const struct ca_options *o, const char *value)
{
	const struct {
		const char *ours, *named;
	} files[] = { { TRUST_BUNDLE, o->bundle }, { TRUST_CA, o->ca },
		{ TRUST_JKS, o->store } };

	for (size_t i = 0; i < COUNT_OF(files); i++) {
		const char *at = strstr(value, files[i].ours);
		if (at == NULL)
			continue;
		buf_put(out, slice_of(value, (size_t)(at - value)));
		buf_put_str(out, files[i].named);
		value = at + strlen(files[i].ours);
	}
	buf_put_str(out, value);
}

/* In single quotes: fish has escapes in them, sh has none. */
static void
put_quoted(struct buf *out, const char *text, bool fish)
{
	buf_put_byte(out, '\'');
	for (; *text != '\0'; text++) {
		if (fish && (*text == '\'' || *text == '\\'))
			buf_put_byte(out, '\\');
		else if (*text == '\'')
			buf_put_str(out, "'\\'");
		buf_put_byte(out, (uint8_t)*text);
	}
	buf_put_byte(out, '\'');
}

static void
put_variable(struct buf *out, const struct ca_options *o,
    const struct trust_variable *v)
{
	struct buf value;

	buf_init(&value, FILE_SIZE_MAX);
	put_value(&value, o, v->value);
	buf_putf(out, o->fish ? "set -gx %s " : "export %s=", v->name);
	put_quoted(out, buf_text(&value), o->fish);
	buf_put_byte(out, '\n');
	buf_release(&value);
}

/*
 * A variable that names no file is worse than none: then nothing is trusted.
 * What the caller named may be relative; a variable goes along to any folder.
 */
static bool
find_file(const char **file, char absolute[PATH_MAX])
{
	if (*file == NULL)
		return true;
	if (access(*file, R_OK) == 0 && realpath(*file, absolute) != NULL) {
		if ((*file)[0] != '/')
			*file = absolute;
		return true;
	}
	fprintf(stderr, "duenna: ca: %s: %s\n", *file, strerror(errno));
	fputs("duenna: ca: `duenna run` shows these files to its command; ask "
	      "inside of one, or name your own by --ca and --bundle\n",
	    stderr);
	return false;
}

static bool
is_wanted(const struct ca_options *o, const struct trust_variable *v)
{
	return o->store != NULL || strstr(v->value, TRUST_JKS) == NULL;
}

static void
put_json(struct buf *out, const struct ca_options *o,
    const struct trust_variable *v, size_t n)
{
	struct buf value;
	struct json j;

	json_init(&j, out);
	json_object_begin(&j);
	buf_init(&value, FILE_SIZE_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!is_wanted(o, &v[i]))
			continue;
		buf_clear(&value);
		put_value(&value, o, v[i].value);
		json_key_text(&j, v[i].name, buf_slice(&value));
	}
	buf_release(&value);
	json_object_end(&j);
	buf_put_byte(out, '\n');
}

static int
env(const struct ca_options *given)
{
	static char absolute[3][PATH_MAX];
	struct ca_options o = *given;
	size_t n;
	const struct trust_variable *v = trust_variables(&n);
	struct buf out;

	if (strcmp(o.ca, TRUST_CA) == 0 && o.bundle == NULL &&
	    o.store == NULL) {
		o.bundle = TRUST_BUNDLE;
		o.store = TRUST_JKS;
	} else if (o.bundle == NULL) {
		fputs("duenna: ca: with files of your own: --ca and --bundle, "
		      "and --store for Java\n",
		    stderr);
		return CMD_USAGE;
	}
	if (!find_file(&o.ca, absolute[0]) ||
	    !find_file(&o.bundle, absolute[1]) ||
	    !find_file(&o.store, absolute[2]))
		return CMD_NO;
	buf_init(&out, FILE_SIZE_MAX);
	if (o.json)
		put_json(&out, &o, v, n);
	for (size_t i = 0; !o.json && i < n; i++)
		if (is_wanted(&o, &v[i]))
			put_variable(&out, &o, &v[i]);
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
	case OPT_CONFIG:
		o->config = optarg;
		return 0;
	case OPT_ROOTS:
		o->roots = optarg;
		return 0;
	case OPT_BUNDLE:
		o->bundle = optarg;
		return 0;
	case OPT_STORE:
		o->store = optarg;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_FISH:
		o->fish = true;
		return 0;
	case OPT_JKS:
		o->jks = true;
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
