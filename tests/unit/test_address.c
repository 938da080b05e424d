/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of tests/cases/sr.rows against the judge and the loader. */
#include "case.h"
#include "policy/address.h"
#include "policy_bed.h"
#include "row.h"

/* What the host has itself; in a real sandbox its bed has them. */
static const char *const own_texts[] = { "127.0.0.1", "127.0.0.2", "::1",
	"198.51.100.7", "20.0.113.9" };

static char *owner, *policies;
static struct bed bed; /* the policy `dials` */

static struct ip
ip_of(struct slice text)
{
	struct ip ip;

	if (!ip_parse(text, &ip))
		fail_msg("no address: %.*s", SLICE_ARG(text));
	return ip;
}

static enum reason
judge(struct slice host, uint16_t port, const struct ip *ip)
{
	struct ip own[COUNT_OF(own_texts)];

	for (size_t i = 0; i < COUNT_OF(own); i++)
		own[i] = ip_of(slice_of_str(own_texts[i]));
	const struct address_of of = { host, port, 0 };
	return address_judge(bed.program, &of, ip, own, COUNT_OF(own));
}

/* The next word of a row. */
static struct slice
word(const char **at)
{
	const char *begin = *at;
	size_t n = strcspn(begin, " ");

	*at += n + (begin[n] == ' ');
	return slice_of(begin, n);
}

/*
 * The two questions that the judge is made of: a public name may go where the
 * registries allow it, the widest rule nowhere but to metadata not.
 */
static void
check_parts(const struct case_row *row, struct slice host, const struct ip *ip,
    enum reason said)
{
	bool refused = said == REASON_UP_PRIVATE;

	if (slice_eq_str(host, "pub.test"))
		assert_int_equal(address_is_global(ip), !refused);
	if (strncmp(row->id, "SR-04", 5) == 0)
		assert_int_equal(address_is_metadata(ip), refused);
}

/* `host port address...`: each address for itself, whatever stands beside. */
static void
check_dial(const struct case_row *row)
{
	const char *at = row->bytes;
	struct slice host = word(&at), port = word(&at);
	enum reason first = REASON_COUNT;
	struct buf opened;

	buf_init(&opened, 4096);
	while (*at != '\0') {
		struct slice text = word(&at);
		struct ip ip = ip_of(text);
		enum reason said = judge(host,
		    (uint16_t)strtoul((const char *)port.p, NULL, 10), &ip);
		check_parts(row, host, &ip, said);
		if (said == REASON_ALLOW)
			buf_putf(&opened, "%s%.*s", opened.n == 0 ? "" : " ",
			    SLICE_ARG(text));
		if (first == REASON_COUNT || said == REASON_ALLOW)
			first = said;
	}
	if (strcmp(reason_name(first), row->reason) != 0 ||
	    !slice_eq_str(buf_slice(&opened), row->sees))
		fail_msg("%s: %s, may be dialled: %.*s", row->id,
		    reason_name(first), SLICE_ARG(buf_slice(&opened)));
	buf_release(&opened);
}

/* An address or prefix of `addresses:`, or a URL whose host is a literal. */
static void
check_leave(const struct case_row *row)
{
	bool url = strstr(row->bytes, "://") != NULL;
	struct bed b;
	char text[512];

	snprintf(text, sizeof(text),
	    "version: 1\npolicies:\n  p:\n    rules:\n"
	    "      - {allow: '%s', addresses: ['%s']}\n",
	    url ? row->bytes : "https://a.test", url ? "10.1.2.3" : row->bytes);
	bed_load(&b, owner, text);
	bool loaded = b.program != NULL;
	bool said = strstr(buf_text(&b.text), row->sees) != NULL;
	if (loaded != (strcmp(row->reason, "allow") == 0) || !said)
		fail_msg("%s: %s", row->id, buf_text(&b.text));
	bed_release(&b);
}

static void
check_row(const struct case_row *row)
{
	if (strcmp(row->input, "leave") == 0) {
		check_leave(row);
		return;
	}
	assert_string_equal(row->policy, "dials");
	assert_true(strcmp(row->input, "dial") == 0 ||
	    strcmp(row->input, "judge") == 0);
	check_dial(row);
}

static void
address_judges_each_row(void **state)
{
	(void)state;
	case_file("sr", 200, check_row);
}

/* Put `to` in the place of each `from` in the image. */
static unsigned
replace(struct slice image, const uint8_t from[4], const uint8_t to[4])
{
	unsigned n = 0;

	for (size_t i = 0; i + 4 <= image.n; i++) {
		if (memcmp(image.p + i, from, 4) != 0)
			continue;
		memcpy((void *)(uintptr_t)(image.p + i), to, 4);
		n++;
	}
	return n;
}

/* SR-04: a literal that no loader would have taken is not dialled either. */
static void
address_refuses_metadata_that_came_past_the_loader(void **state)
{
	static const uint8_t loaded[] = { 10, 96, 0, 1 },
			     forced[] = { 169, 254, 169, 254 };
	struct slice name = SLICE("169.254.169.254");
	struct ip ip = ip_of(name), before = ip_of(SLICE("10.96.0.1"));
	struct bed b;
	enum err err;

	(void)state;
	bed_load(&b, owner,
	    "version: 1\npolicies:\n  p:\n    rules:\n"
	    "      - {allow: 'http://10.96.0.1/**', addresses: [10.96.0.1]}\n");
	assert_non_null(b.program);
	const struct address_of literal = { SLICE("10.96.0.1"), 80, 0 };
	const struct address_of forced_of = { name, 80, 0 };
	assert_int_equal(address_judge(b.program, &literal, &before, NULL, 0),
	    REASON_ALLOW);
	program_free(b.program);
	assert_true(replace(buf_slice(&b.image), loaded, forced) >= 2);
	b.program = program_open(buf_slice(&b.image), &err);
	assert_non_null(b.program);
	/* The rule holds now for that address, and still it is not dialled. */
	struct facts f =
	    bed_request(b.program, "GET", "http://169.254.169.254/");
	assert_int_equal(policy_decide(b.program, &f).reason, REASON_ALLOW);
	assert_false(program_opens(b.program, name, 80, &ip, 0));
	assert_int_equal(address_judge(b.program, &forced_of, &ip, NULL, 0),
	    REASON_DST_PRIVATE);
	bed_release(&b);
}

static int
set_up(void **state)
{
	(void)state;
	owner = case_text("owner.yaml");
	policies = case_text("policies.yaml");
	bed_load_named(&bed, owner, policies, "dials");
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	return bed.program == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	bed_release(&bed);
	free(owner);
	free(policies);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_judges_each_row),
		cmocka_unit_test(
		    address_refuses_metadata_that_came_past_the_loader),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
