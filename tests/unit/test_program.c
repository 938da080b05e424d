/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/inside.h"
#include "policy/shelf.h"
#include "policy_bed.h"

static const char config[] = "version: 1\n"
			     "credentials:\n"
			     "  one:\n"
			     "    kind: header\n"
			     "    header: X-Key\n"
			     "    prefix: 'k '\n"
			     "    secret: {env: KEY}\n"
			     "    only: https://a.test/**\n"
			     "    ranges: true\n"
			     "    response_filter: false\n"
			     "    echo: mask\n";

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  agent:\n"
    "    rules:\n"
    "      - name: first\n"
    "        deny: https://a.test/x\n"
    "      - allow: ['https://a.test/**', 'https://b.test/']\n"
    "      - allow: https://*.a.test/\n"
    "      - allow: https://a.test/y\n"
    "        credential: one\n";

static void
program_tells_what_is_in_it(void **state)
{
	struct slice host;
	struct bed b;

	(void)state;
	bed_load(&b, config, policy);
	const struct program *p = b.program;
	assert_non_null(p);
	assert_true(slice_eq_str(program_policy_name(p), "agent"));
	assert_int_equal(program_n_rules(p), 4);
	struct program_rule r = program_rule(p, 0);
	assert_true(slice_eq_str(r.name, "first"));
	assert_true(slice_eq_str(r.text, "https://a.test/x"));
	assert_true(slice_eq_str(r.file, "policy.yaml"));
	assert_int_equal(r.line, 5);
	assert_true(r.deny);
	assert_false(program_rule_is_wild(p, 0));
	r = program_rule(p, 1);
	assert_true(slice_eq_str(r.name, "rule-2"));
	assert_false(program_rule_host(p, 1, &host));
	assert_true(program_rule_is_wild(p, 2));
	assert_false(program_rule_host(p, 2, &host));
	assert_true(program_rule_host(p, 3, &host));
	assert_true(slice_eq_str(host, "a.test"));
	r = program_rule(p, 3);
	assert_int_equal(r.n_credentials, 1);
	assert_int_equal(program_n_credentials(p), 1);
	struct program_credential c = program_credential(p, r.credentials[0]);
	assert_true(slice_eq_str(c.name, "one"));
	assert_int_equal(c.kind, CREDENTIAL_HEADER);
	assert_true(slice_eq_str(c.slot, "X-Key"));
	assert_true(slice_eq_str(c.prefix, "k "));
	assert_false(c.response_filter);
	assert_true(c.ranges);
	assert_true(c.echo_mask);
	bed_release(&b);
}

static void
program_says_what_the_sandbox_sees_of_refusals(void **state)
{
	static const struct {
		const char *line;
		bool code_only;
	} rows[] = { { "", false }, { "    refusals: full\n", false },
		{ "    refusals: code\n", true } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[512];
		struct bed b;
		snprintf(text, sizeof(text), "%s%s", policy, rows[i].line);
		bed_load(&b, config, text);
		assert_non_null(b.program);
		assert_int_equal(program_shows_code_alone(b.program),
		    rows[i].code_only);
		bed_release(&b);
	}
}

/* An image cut or changed anywhere is refused, or harmless. */
static void
program_refuses_what_is_not_whole(void **state)
{
	struct bed b;
	enum err err;

	(void)state;
	bed_load(&b, config, policy);
	struct slice whole = buf_slice(&b.image);
	for (size_t n = 0; n < whole.n; n++) {
		err = ERR_NONE;
		assert_null(program_open(slice_first(whole, n), &err));
		assert_int_equal(err, ERR_INTEGRITY);
	}
	uint8_t *copy = malloc(whole.n);
	assert_non_null(copy);
	for (size_t i = 0; i < whole.n; i++) {
		memcpy(copy, whole.p, whole.n);
		copy[i] ^= 0xff;
		struct program *p = program_open(slice_of(copy, whole.n), &err);
		if (p == NULL)
			continue;
		struct facts f =
		    bed_request(p, "GET", "https://x.a.test/y?z=1");
		(void)policy_decide(p, &f);
		for (uint32_t r = 0; r < program_n_rules(p); r++)
			(void)program_rule(p, r);
		program_free(p);
	}
	free(copy);
	bed_release(&b);
}

/* What is searched by hash or half is as it was written, or is not opened. */
static void
program_refuses_tables_that_disagree(void **state)
{
	static const struct {
		unsigned table, word;
	} rows[] = {
		{ TABLE_HOSTS, HOST_ADDRESS },
		{ TABLE_ADDRESSES, ADDRESS_V4 },
		{ TABLE_ADDRESSES, ADDRESS_HOST },
	};
	struct bed b;

	(void)state;
	bed_load(&b, config, policy);
	struct slice whole = b.program->image.bytes;
	uint8_t *copy = malloc(whole.n);
	assert_non_null(copy);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const uint8_t *record =
		    image_record(&b.program->image, rows[i].table, 0);
		enum err err = ERR_NONE;
		memcpy(copy, whole.p, whole.n);
		copy[(size_t)(record - whole.p) + rows[i].word * 4 + 3] ^= 1;
		assert_null(program_open(slice_of(copy, whole.n), &err));
		assert_int_equal(err, ERR_INTEGRITY);
	}
	free(copy);
	bed_release(&b);
}

static int
memfd(struct slice bytes, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void
program_maps_only_what_is_sealed(void **state)
{
	static const int some[] = { 0, F_SEAL_WRITE,
		F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_WRITE | F_SEAL_GROW };
	struct bed b;
	enum err err = ERR_NONE;

	(void)state;
	bed_load(&b, config, policy);
	for (size_t i = 0; i < COUNT_OF(some); i++) {
		int fd = memfd(buf_slice(&b.image), some[i]);
		assert_null(program_map(fd, &err));
		assert_int_equal(err, ERR_INTEGRITY);
		close(fd);
	}
	int fd = memfd(buf_slice(&b.image),
	    F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	struct program *p = program_map(fd, &err);
	close(fd);
	assert_non_null(p);
	assert_true(slice_eq(program_image(p), buf_slice(&b.image)));
	program_free(p);
	program_free(NULL);
	assert_null(program_map(-1, &err));
	bed_release(&b);
}

static void
program_of_one_digest_is_mapped_once(void **state)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	enum err err = ERR_NONE;
	struct shelf *s = shelf_new(&err);
	struct program *p, *q;
	struct bed b;

	(void)state;
	assert_non_null(s);
	bed_load(&b, config, policy);
	int fd = memfd(buf_slice(&b.image), seals);
	assert_null(shelf_map(s, SLICE("sha256:00"), -1, &err));
	assert_int_equal(shelf_n(s), 0);
	p = shelf_map(s, SLICE("sha256:00"), fd, &err);
	assert_non_null(p);
	assert_ptr_equal(shelf_map(s, SLICE("sha256:00"), fd, &err), p);
	q = shelf_map(s, SLICE("sha256:01"), fd, &err);
	assert_non_null(q);
	assert_ptr_not_equal(p, q);
	assert_int_equal(shelf_n(s), 2);
	/* It stays as long as anybody has it. */
	program_free(p);
	shelf_sweep(s);
	assert_int_equal(shelf_n(s), 2);
	program_free(p);
	shelf_sweep(s);
	assert_int_equal(shelf_n(s), 1);
	shelf_free(s);
	assert_true(slice_eq(program_image(q), buf_slice(&b.image)));
	program_free(q);
	close(fd);
	bed_release(&b);
}

/* The same text and key give the same bytes; another key other addresses. */
static void
program_is_the_same_each_time(void **state)
{
	struct bed one, two;

	(void)state;
	bed_load(&one, config, policy);
	bed_load(&two, config, policy);
	assert_true(slice_eq(buf_slice(&one.image), buf_slice(&two.image)));
	bed_release(&one);
	bed_release(&two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program_tells_what_is_in_it),
		cmocka_unit_test(
		    program_says_what_the_sandbox_sees_of_refusals),
		cmocka_unit_test(program_refuses_what_is_not_whole),
		cmocka_unit_test(program_refuses_tables_that_disagree),
		cmocka_unit_test(program_maps_only_what_is_sealed),
		cmocka_unit_test(program_of_one_digest_is_mapped_once),
		cmocka_unit_test(program_is_the_same_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
