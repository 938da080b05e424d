/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with errors, and what is said of them: tests/golden/policy-errors.  A
 * line of X.err is `line:column: message`, one for each error, in order.  With
 * UPDATE_GOLDEN set the .err files are written anew: the diff is the review.
 * Comments at the head of a file are options of the command line that belong
 * to it: `# --set KEY=VALUE`, `# --name NAME`, `# --policy NAME`.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "policy_bed.h"

static void
read_whole(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "rb");
	uint8_t chunk[4096];
	size_t n;

	buf_init(out, LIMIT_POLICY_FILE_SIZE * 2);
	if (f == NULL)
		return;
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_put(out, slice_of(chunk, n));
	fclose(f);
}

static void
write_whole(const char *path, struct slice text)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
	assert_int_equal(fclose(f), 0);
}

#define SETS_MAX 8

/* Take `# --OPTION VALUE` off the front. */
static bool
take_option(struct slice *text, const char *option, struct slice *value)
{
	size_t n = strlen(option);

	if (!slice_has_prefix(*text, slice_of(option, n)))
		return false;
	const uint8_t *end = memchr(text->p, '\n', text->n);
	assert_non_null(end);
	*value = slice_of(text->p + n, (size_t)(end - text->p) - n);
	*text = slice_from(*text, (size_t)(end - text->p) + 1);
	return true;
}

/* The options at the head of a file. */
static void
take_options(struct slice text, struct load_policy_in *in,
    struct load_set sets[SETS_MAX])
{
	struct slice value;

	in->sets = sets;
	(void)take_option(&text, "# SPDX", &value);
	for (;;) {
		if (take_option(&text, "# --name ", &in->sandbox))
			continue;
		if (take_option(&text, "# --policy ", &in->policy)) {
			in->any = false;
			continue;
		}
		if (!take_option(&text, "# --set ", &value))
			return;
		const uint8_t *is = memchr(value.p, '=', value.n);
		assert_non_null(is);
		assert_true(in->n_sets < SETS_MAX);
		size_t n = (size_t)(is - value.p);
		sets[in->n_sets++] = (struct load_set){ slice_first(value, n),
			slice_from(value, n + 1) };
	}
}

/* The errors of a file, as its .err has them; its warnings are not there. */
static uint32_t
errors_of(struct slice yaml, struct buf *out)
{
	struct load_report report = { 0 };
	struct load_policy_in in = { .file = { SLICE("f"), SLICE("/work"),
					 yaml },
		.any = true };
	struct load_set sets[SETS_MAX];
	struct buf image;

	take_options(yaml, &in, sets);
	buf_init(&image, IMAGE_SIZE_MAX);
	bool good = load_policy(&in, &image, &report);
	assert_int_equal(good, report.n_errors == 0);
	for (uint32_t i = 0; i < report.n; i++) {
		const struct load_message *m = &report.messages[i];
		if (m->severity == LOAD_ERROR)
			buf_putf(out, "%u:%u: %.*s\n", m->at.line, m->at.column,
			    SLICE_ARG(m->text));
	}
	uint32_t n = report.n_errors;
	load_report_release(&report);
	buf_release(&image);
	return n;
}

/* How many errors a policy has with that URL added; the first is in `out`. */
static uint32_t
errors_of_added(const char *url, struct buf *out)
{
	const struct load_added added = { 3, slice_of_str(url), 4102444800 };
	const struct load_policy_in in = { .file = { SLICE("f"), SLICE("/work"),
					       SLICE("version: 1\npolicies:\n"
						     "  p:\n    rules: []\n") },
		.trusted = true,
		.added = &added,
		.n_added = 1 };
	struct load_report report = { 0 };
	struct buf image;

	buf_init(&image, IMAGE_SIZE_MAX);
	bool good = load_policy(&in, &image, &report);
	uint32_t n = report.n_errors;
	assert_int_equal(good, n == 0);
	buf_clear(out);
	load_report_text(&report, out);
	load_report_release(&report);
	buf_release(&image);
	return n;
}

/* It is one rule without a key more, and not trusted as the file is. */
static void
a_rule_is_added(void **state UNUSED)
{
	static const char *const bad[] = { "", "x", "gopher://a.test/",
		"https://${x}.test/", "https://10.9.8.7/", "https://a.test/\\",
		"https://a.test/\", \"credential\": \"c" };
	struct buf text;

	buf_init(&text, 65536);
	assert_int_equal(errors_of_added("https://a.test/b", &text), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		if (errors_of_added(bad[i], &text) == 0)
			fail_msg("%s", bad[i]);
		assert_non_null(strstr(buf_text(&text), "the rule:1:"));
	}
	buf_release(&text);
}

static int
is_yaml(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 5 && strcmp(d->d_name + n - 5, ".yaml") == 0;
}

static void
check_file(const char *path, bool good)
{
	char err[4096];
	struct buf yaml, got, want;

	snprintf(err, sizeof(err), "%.*s.err", (int)strlen(path) - 5, path);
	read_whole(path, &yaml);
	buf_init(&got, 65536);
	uint32_t n = errors_of(buf_slice(&yaml), &got);
	print_message("# %s\n", strrchr(path, '/') + 1);
	assert_int_equal(n == 0, good);
	if (!good && getenv("UPDATE_GOLDEN") != NULL)
		write_whole(err, buf_slice(&got));
	read_whole(good ? "/dev/null" : err, &want);
	assert_string_equal(buf_text(&got), buf_text(&want));
	buf_release(&yaml);
	buf_release(&got);
	buf_release(&want);
}

static void
check_folder(const char *name, bool good, int least)
{
	struct dirent **found = NULL;
	char dir[2048], path[4096];

	snprintf(dir, sizeof(dir), "%s/../tests/golden/%s", DOCS, name);
	int n = scandir(dir, &found, is_yaml, alphasort);
	assert_true(n >= least);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, found[i]->d_name);
		check_file(path, good);
		free(found[i]);
	}
	free(found);
}

static void
load_says_what_is_wrong_and_where(void **state)
{
	(void)state;
	check_folder("policy-errors", false, 120);
}

static void
load_takes_what_is_right(void **state)
{
	(void)state;
	check_folder("policy-good", true, 12);
}

/* SR-17: a scheme and a port that contradict each other. */
static void
load_warns_of_a_port_of_another_protocol(void **state)
{
	static const struct {
		const char *url, *warning;
	} rows[] = {
		{ "https://a.test:22", "`https` on port 22, where another" },
		{ "https://a.test:80", "`https` on port 80, where another" },
		{ "http://a.test:443", "`http` on port 443: TLS is usual" },
		{ "https://a.test:8443", NULL },
		{ "http://a.test:8080", NULL },
	};
	char text[256];
	struct bed b;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(text, sizeof(text),
		    "version: 1\npolicies:\n  p:\n    rules:\n"
		    "      - allow: %s\n",
		    rows[i].url);
		bed_load(&b, NULL, text);
		assert_non_null(b.program);
		if (rows[i].warning == NULL)
			assert_string_equal(buf_text(&b.text), "");
		else
			assert_non_null(
			    strstr(buf_text(&b.text), rows[i].warning));
		bed_release(&b);
	}
}

/* CF-09: refused from the events, before anything is built of it. */
static void
load_refuses_what_is_too_large_in_time(void **state)
{
	struct buf yaml, got;

	(void)state;
	buf_init(&yaml, 16 << 20);
	buf_init(&got, 65536);
	for (unsigned i = 0; i < 200000; i++)
		buf_put_byte(&yaml, '[');
	assert_int_equal(errors_of(buf_slice(&yaml), &got), 1);
	assert_string_equal(buf_text(&got), "1:17: nested deeper than 16\n");
	buf_clear(&yaml);
	buf_clear(&got);
	while (yaml.n <= LIMIT_POLICY_FILE_SIZE)
		buf_put_str(&yaml, "# a comment\n");
	assert_int_equal(errors_of(buf_slice(&yaml), &got), 1);
	assert_string_equal(buf_text(&got), "1:1: larger than 8388608 bytes\n");
	buf_release(&yaml);
	buf_release(&got);
}

static void
load_keeps_fifty_errors_and_counts_the_rest(void **state)
{
	struct bed b;
	struct buf yaml;

	(void)state;
	buf_init(&yaml, 1 << 20);
	buf_put_str(&yaml, "version: 1\npolicies:\n  p:\n    rules:\n");
	for (unsigned i = 0; i < 70; i++)
		buf_put_str(&yaml, "      - allow: ok.test\n");
	bed_load(&b, NULL, buf_text(&yaml));
	assert_null(b.program);
	assert_non_null(strstr(buf_text(&b.text), "20 more errors\n"));
	bed_release(&b);
	buf_release(&yaml);
}

/* Take the next fenced block of YAML that is a whole file; false at the end. */
static bool
take_example(struct slice *text, struct slice *example)
{
	static const struct slice fence = { (const uint8_t *)"```yaml\n", 8 };

	for (;;) {
		const uint8_t *p = memmem(text->p, text->n, fence.p, fence.n);
		if (p == NULL)
			return false;
		*text = slice_from(*text, (size_t)(p - text->p) + fence.n);
		p = memmem(text->p, text->n, "\n```", 4);
		assert_non_null(p);
		*example = slice_first(*text, (size_t)(p - text->p) + 1);
		*text = slice_from(*text, example->n + 4);
		if (slice_has_prefix(*example, SLICE("version: 1\n")))
			return true;
	}
}

static char *
text_of(struct slice s)
{
	char *copy = malloc(s.n + 1);

	assert_non_null(copy);
	memcpy(copy, s.p, s.n);
	copy[s.n] = '\0';
	return copy;
}

/* CF-27: what the documentation shows is what the program takes. */
static void
load_takes_each_example_of_the_documentation(void **state)
{
	static const char *const pages[] = { "../policies/README.md",
		"../README.md", "architecture.md", "credentials.md",
		"threat-model.md" };
	char *config = NULL, path[4096];
	unsigned n_policies = 0, n_owners = 0;

	(void)state;
	/* The owner's files first: the policies name their credentials. */
	for (size_t i = 0; i < 2 * COUNT_OF(pages); i++) {
		struct slice rest, example;
		struct buf page;
		snprintf(path, sizeof(path), "%s/%s", DOCS,
		    pages[i % COUNT_OF(pages)]);
		read_whole(path, &page);
		rest = buf_slice(&page);
		while (rest.n != 0 && take_example(&rest, &example)) {
			bool policy = memmem(example.p, example.n,
					  "policies:", 9) != NULL;
			struct bed b;
			if (policy != (i >= COUNT_OF(pages)))
				continue;
			char *text = text_of(example);
			print_message("# %s\n", path);
			bool repo = strstr(text, "repo: repository") != NULL;
			bed_load_repo(&b, policy ? config : text,
			    policy ? text :
				     "version: 1\npolicies: "
				     "{p: {rules: []}}\n",
			    repo ? "acme/widgets" : NULL);
			if (b.program == NULL)
				print_message("# %s", buf_text(&b.text));
			assert_non_null(b.program);
			if (!policy)
				assert_non_null(b.owner);
			bed_release(&b);
			n_policies += policy ? 1 : 0;
			n_owners += policy ? 0 : 1;
			if (policy || config != NULL)
				free(text);
			else
				config = text;
		}
		buf_release(&page);
	}
	free(config);
	assert_true(n_policies >= 2 && n_owners >= 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_added),
		cmocka_unit_test(load_says_what_is_wrong_and_where),
		cmocka_unit_test(load_takes_what_is_right),
		cmocka_unit_test(load_warns_of_a_port_of_another_protocol),
		cmocka_unit_test(load_takes_each_example_of_the_documentation),
		cmocka_unit_test(load_refuses_what_is_too_large_in_time),
		cmocka_unit_test(load_keeps_fifty_errors_and_counts_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
