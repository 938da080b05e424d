/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/log.h"
#include "policy/hostset.h"
#include "policy/inside.h"
#include "policy/program.h"
#include "policy/shape.h"
#include "policy/whole.h"

/*
 * 198.18.0.0/24 of the benchmarking block is not given to patterns: .1 is the
 * answerer, .2 is what all refused names get.
 */
#define REFUSAL_ADDRESS ip_v4(198, 18, 0, 2)

static const uint32_t words[PROGRAM_TABLES] = {
	[TABLE_NODES] = NODE_WORDS,
	[TABLE_HOSTS] = HOST_WORDS,
	[TABLE_LISTS] = 1,
	[TABLE_LITERALS] = LITERAL_WORDS,
	[TABLE_ADDRESSES] = ADDRESS_WORDS,
	[TABLE_ROUTES] = ROUTE_WORDS,
	[TABLE_RULES] = RULE_WORDS,
	[TABLE_QUERIES] = QUERY_WORDS,
	[TABLE_GLOBS] = GLOB_WORDS,
	[TABLE_PREFIXES] = PREFIX_WORDS,
	[TABLE_CREDENTIALS] = CREDENTIAL_WORDS,
	[TABLE_LIMITS] = LIMITS_WORDS,
	[TABLE_GIT] = GIT_WORDS,
	[TABLE_TEXTS] = TEXT_WORDS,
	[TABLE_INDEXES] = INDEX_WORDS,
	[TABLE_SHAPES] = SHAPE_WORDS,
	[TABLE_SLOTS] = 1,
};

/* clang-format off */
static const struct image_check checks[] = {
	{ TABLE_NODES, NODE_LABEL_S, CHECK_STRING, 0 },
	{ TABLE_NODES, NODE_CHILDREN, CHECK_RANGE, TABLE_NODES },
	{ TABLE_NODES, NODE_EXACT, CHECK_INDEX_OR_NONE, TABLE_HOSTS },
	{ TABLE_NODES, NODE_STAR, CHECK_INDEX_OR_NONE, TABLE_HOSTS },
	{ TABLE_NODES, NODE_DOUBLE, CHECK_INDEX_OR_NONE, TABLE_HOSTS },
	{ TABLE_HOSTS, HOST_KIND, CHECK_BELOW, HOST_KINDS },
	{ TABLE_HOSTS, HOST_TEXT_S, CHECK_STRING, 0 },
	{ TABLE_HOSTS, HOST_LIST, CHECK_RANGE, TABLE_LISTS },
	{ TABLE_HOSTS, HOST_HAS_CREDENTIAL, CHECK_BELOW, 2 },
	{ TABLE_HOSTS, HOST_INDEX, CHECK_INDEX_OR_NONE, TABLE_INDEXES },
	{ TABLE_INDEXES, INDEX_HEADS, CHECK_RANGE, TABLE_LISTS },
	{ TABLE_INDEXES, INDEX_SHAPES, CHECK_RANGE, TABLE_SHAPES },
	{ TABLE_SHAPES, SHAPE_KIND, CHECK_BELOW, SHAPE_KINDS },
	{ TABLE_SHAPES, SHAPE_SLOTS, CHECK_RANGE, TABLE_SLOTS },
	{ TABLE_LISTS, 0, CHECK_INDEX, TABLE_ROUTES },
	{ TABLE_LITERALS, LITERAL_FAMILY, CHECK_BELOW, 7 },
	{ TABLE_LITERALS, LITERAL_HOST, CHECK_INDEX, TABLE_HOSTS },
	{ TABLE_ADDRESSES, ADDRESS_HOST, CHECK_INDEX, TABLE_HOSTS },
	{ TABLE_ROUTES, ROUTE_RULE, CHECK_INDEX, TABLE_RULES },
	{ TABLE_ROUTES, ROUTE_HOST, CHECK_INDEX, TABLE_HOSTS },
	{ TABLE_ROUTES, ROUTE_SCHEME, CHECK_BELOW, SCHEME_COUNT },
	{ TABLE_ROUTES, ROUTE_PORT, CHECK_BELOW, 65536 },
	{ TABLE_ROUTES, ROUTE_PATH_S, CHECK_STRING, 0 },
	{ TABLE_ROUTES, ROUTE_TEXT_S, CHECK_STRING, 0 },
	{ TABLE_RULES, RULE_NAME_S, CHECK_STRING, 0 },
	{ TABLE_RULES, RULE_FILE_S, CHECK_STRING, 0 },
	{ TABLE_RULES, RULE_FLAG_BITS, CHECK_BELOW, RULE_FLAGS + 1 },
	{ TABLE_RULES, RULE_FOREIGN_MODE, CHECK_BELOW, FOREIGN_MODES },
	{ TABLE_RULES, RULE_ROUTES, CHECK_RANGE, TABLE_ROUTES },
	{ TABLE_RULES, RULE_QUERIES, CHECK_RANGE, TABLE_QUERIES },
	{ TABLE_RULES, RULE_PREFIXES, CHECK_RANGE, TABLE_PREFIXES },
	{ TABLE_RULES, RULE_LIMITS, CHECK_INDEX_OR_NONE, TABLE_LIMITS },
	{ TABLE_RULES, RULE_GIT, CHECK_INDEX_OR_NONE, TABLE_GIT },
	{ TABLE_GIT, GIT_FLAG_BITS, CHECK_BELOW, GIT_FLAGS + 1 },
	{ TABLE_GIT, GIT_FORGE, CHECK_BELOW, FORGES },
	{ TABLE_GIT, GIT_LIST + 2 * GIT_REFS, CHECK_RANGE, TABLE_TEXTS },
	{ TABLE_GIT, GIT_LIST + 2 * GIT_KEEP, CHECK_RANGE, TABLE_TEXTS },
	{ TABLE_GIT, GIT_LIST + 2 * GIT_OPTIONS, CHECK_RANGE, TABLE_TEXTS },
	{ TABLE_GIT, GIT_LIST + 2 * GIT_AUTHORS, CHECK_RANGE, TABLE_TEXTS },
	{ TABLE_GIT, GIT_LIST + 2 * GIT_COMMITTERS, CHECK_RANGE, TABLE_TEXTS },
	{ TABLE_TEXTS, TEXT_GLOB_S, CHECK_STRING, 0 },
	{ TABLE_TEXTS, TEXT_WRITTEN_S, CHECK_STRING, 0 },
	{ TABLE_RULES, RULE_N_CREDENTIALS, CHECK_BELOW,
	    VERDICT_CREDENTIALS_MAX + 1 },
	{ TABLE_QUERIES, QUERY_KEY_S, CHECK_STRING, 0 },
	{ TABLE_QUERIES, QUERY_KIND, CHECK_BELOW, QUERY_KINDS },
	{ TABLE_QUERIES, QUERY_GLOB, CHECK_RANGE, TABLE_GLOBS },
	{ TABLE_GLOBS, GLOB_TEXT_S, CHECK_STRING, 0 },
	{ TABLE_PREFIXES, PREFIX_FAMILY, CHECK_BELOW, 7 },
	{ TABLE_PREFIXES, PREFIX_BITS, CHECK_BELOW, 129 },
	{ TABLE_CREDENTIALS, CREDENTIAL_NAME_S, CHECK_STRING, 0 },
	{ TABLE_CREDENTIALS, CREDENTIAL_SLOT_S, CHECK_STRING, 0 },
	{ TABLE_CREDENTIALS, CREDENTIAL_PREFIX_S, CHECK_STRING, 0 },
	{ TABLE_CREDENTIALS, CREDENTIAL_USER_S, CHECK_STRING, 0 },
	{ TABLE_CREDENTIALS, CREDENTIAL_KIND, CHECK_BELOW, CREDENTIAL_KINDS },
	{ TABLE_CREDENTIALS, CREDENTIAL_FLAG_BITS, CHECK_BELOW,
	    CREDENTIAL_FLAGS + 1 },
};
/* clang-format on */

const struct image_form inside_program = { IMAGE_PROGRAM, PROGRAM_TABLES, words,
	checks, COUNT_OF(checks), PROGRAM_FLAGS };

void *
inside_map(int fd, size_t *size, enum err *err)
{
	const int want = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;

	/* Unsealed, the sender could change it behind our checks. */
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & want) != want || fstat(fd, &st) != 0 ||
	    st.st_size <= 0 || st.st_size > IMAGE_SIZE_MAX) {
		*err = ERR_INTEGRITY;
		return NULL;
	}
	*size = (size_t)st.st_size;
	void *p = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		log_error("cannot map an image: errno=%d", errno);
		*err = ERR_SYSTEM;
		return NULL;
	}
	return p;
}

struct program *
program_open(struct slice image, enum err *err)
{
	struct program *p = calloc(1, sizeof(*p));

	if (p == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	p->refs = 1;
	if (!image_open(image, &inside_program, &p->image)) {
		free(p);
		*err = ERR_INTEGRITY;
		return NULL;
	}
	if (!whole_program(&p->image, err)) {
		free(p);
		return NULL;
	}
	for (uint32_t i = 0; i < program_n_rules(p) && !p->expires; i++)
		p->expires = program_expires(p, i) != 0;
	p->image.timed = p->expires;
	return p;
}

struct program *
program_map(int fd, enum err *err)
{
	size_t size;
	void *map = inside_map(fd, &size, err);

	if (map == NULL)
		return NULL;
	struct program *p = program_open(slice_of(map, size), err);
	if (p == NULL) {
		munmap(map, size);
		return NULL;
	}
	p->map = map;
	return p;
}

struct program *
program_ref(struct program *p)
{
	p->refs++;
	return p;
}

bool
program_is_shared(const struct program *p)
{
	return p->refs > 1;
}

void
program_free(struct program *p)
{
	if (p == NULL || --p->refs != 0)
		return;
	if (p->map != NULL)
		munmap(p->map, p->image.bytes.n);
	free(p);
}

struct slice
program_image(const struct program *p)
{
	return p->image.bytes;
}

struct slice
program_policy_name(const struct program *p)
{
	const uint8_t *head = p->image.bytes.p + HEAD_NAME_S * 4;

	return slice_of(p->image.bytes.p + image_read(head),
	    image_read(head + 4));
}

void
program_sandbox_name(struct slice policy, struct slice digits,
    char out[PROGRAM_SANDBOX_SIZE])
{
	snprintf(out, PROGRAM_SANDBOX_SIZE, "%.*s-%.*s",
	    SLICE_ARG(slice_first(policy, 35)),
	    SLICE_ARG(digits.n == 0 ? SLICE("0000") : slice_first(digits, 4)));
}

bool
program_shows_code_alone(const struct program *p)
{
	return (image_flags(&p->image) & PROGRAM_CODE_ONLY) != 0;
}

uint32_t
program_n_rules(const struct program *p)
{
	return image_count(&p->image, TABLE_RULES);
}

struct program_rule
program_rule(const struct program *p, uint32_t rule)
{
	const struct image *m = &p->image;
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_ROUTES);
	uint32_t flags = image_word(m, TABLE_RULES, rule, RULE_FLAG_BITS);
	struct program_rule r = {
		.name = image_string(m, TABLE_RULES, rule, RULE_NAME_S),
		.text = image_string(m, TABLE_ROUTES, first, ROUTE_TEXT_S),
		.file = image_string(m, TABLE_RULES, rule, RULE_FILE_S),
		.line = image_word(m, TABLE_RULES, rule, RULE_LINE),
		.deny = (flags & RULE_DENY) != 0,
		.report = (flags & RULE_REPORT) != 0,
		.n_credentials =
		    image_word(m, TABLE_RULES, rule, RULE_N_CREDENTIALS),
	};

	for (uint32_t i = 0; i < r.n_credentials; i++)
		r.credentials[i] =
		    image_word(m, TABLE_RULES, rule, RULE_CREDENTIALS + i);
	return r;
}

bool
program_rule_is_wild(const struct program *p, uint32_t rule)
{
	const struct image *m = &p->image;
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_ROUTES);
	uint32_t n = image_word(m, TABLE_RULES, rule, RULE_N_ROUTES);

	for (uint32_t i = first; i < first + n; i++) {
		uint32_t host = image_word(m, TABLE_ROUTES, i, ROUTE_HOST);
		uint32_t kind = image_word(m, TABLE_HOSTS, host, HOST_KIND);
		if (kind == HOST_STAR || kind == HOST_DOUBLE)
			return true;
	}
	return false;
}

bool
program_rule_host(const struct program *p, uint32_t rule, struct slice *host)
{
	const struct image *m = &p->image;
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_ROUTES);
	uint32_t n = image_word(m, TABLE_RULES, rule, RULE_N_ROUTES);
	uint32_t only = image_word(m, TABLE_ROUTES, first, ROUTE_HOST);
	uint32_t kind = image_word(m, TABLE_HOSTS, only, HOST_KIND);

	for (uint32_t i = first + 1; i < first + n; i++)
		if (image_word(m, TABLE_ROUTES, i, ROUTE_HOST) != only)
			return false;
	*host = image_string(m, TABLE_HOSTS, only, HOST_TEXT_S);
	return kind == HOST_EXACT || kind == HOST_LITERAL;
}

uint64_t
program_expires(const struct program *p, uint32_t rule)
{
	return image_size(&p->image, TABLE_RULES, rule, RULE_UNTIL);
}

bool
program_may_expire(const struct program *p)
{
	return p->expires;
}

uint32_t
program_n_limits(const struct program *p)
{
	return image_count(&p->image, TABLE_LIMITS);
}

struct program_limits
program_limits(const struct program *p, uint32_t rule)
{
	const struct image *m = &p->image;
	uint32_t i = image_word(m, TABLE_RULES, rule, RULE_LIMITS);

	if (i == IMAGE_NONE)
		return (struct program_limits){ .index = VERDICT_NONE };
	return (struct program_limits){
		.index = i,
		.body = image_size(m, TABLE_LIMITS, i, LIMITS_BODY),
		.upload_per_hour =
		    image_size(m, TABLE_LIMITS, i, LIMITS_UPLOAD),
		.requests_per_minute =
		    image_word(m, TABLE_LIMITS, i, LIMITS_REQUESTS),
		.connections =
		    image_word(m, TABLE_LIMITS, i, LIMITS_CONNECTIONS),
		.names = image_word(m, TABLE_LIMITS, i, LIMITS_NAMES),
		.idle_ms = image_word(m, TABLE_LIMITS, i, LIMITS_IDLE_MS),
	};
}

uint32_t
program_n_credentials(const struct program *p)
{
	return image_count(&p->image, TABLE_CREDENTIALS);
}

struct program_credential
program_credential(const struct program *p, uint32_t credential)
{
	return inside_credential(&p->image, TABLE_CREDENTIALS, credential);
}

struct program_credential
inside_credential(const struct image *m, unsigned table, uint32_t i)
{
	uint32_t flags = image_word(m, table, i, CREDENTIAL_FLAG_BITS);

	return (struct program_credential){
		.name = image_string(m, table, i, CREDENTIAL_NAME_S),
		.kind = (enum credential_kind)image_word(m, table, i,
		    CREDENTIAL_KIND),
		.slot = image_string(m, table, i, CREDENTIAL_SLOT_S),
		.prefix = image_string(m, table, i, CREDENTIAL_PREFIX_S),
		.user = image_string(m, table, i, CREDENTIAL_USER_S),
		.secret_is_user = (flags & CREDENTIAL_SECRET_IS_USER) != 0,
		.response_filter = (flags & CREDENTIAL_RESPONSE_FILTER) != 0,
		.ranges = (flags & CREDENTIAL_RANGES) != 0,
		.echo_mask = (flags & CREDENTIAL_ECHO_MASK) != 0,
	};
}

static uint8_t
fold(uint8_t c)
{
	return c == '_' ? '-' : ascii_lower(c);
}

bool
program_same_slot(const struct program_credential *a,
    const struct program_credential *b)
{
	if ((a->kind == CREDENTIAL_QUERY) != (b->kind == CREDENTIAL_QUERY) ||
	    a->slot.n != b->slot.n)
		return false;
	if (a->kind == CREDENTIAL_QUERY)
		return ascii_eq_fold(a->slot, b->slot);
	for (size_t i = 0; i < a->slot.n; i++)
		if (fold(a->slot.p[i]) != fold(b->slot.p[i]))
			return false;
	return true;
}

bool
program_address(const struct program *p, struct slice host, struct ip *ip)
{
	struct host_matches found;

	hostset_match(&p->image, host, &found);
	for (uint32_t i = 0; i < found.n; i++) {
		if (found.at[i].deny_only)
			continue;
		return hostset_address(&p->image, found.at[i].host, ip);
	}
	return false;
}

struct ip
program_refusal_address(const struct program *p)
{
	(void)p; /* the same in every program */
	return REFUSAL_ADDRESS;
}

bool
program_denies_names(const struct program *p)
{
	return (image_flags(&p->image) & PROGRAM_NXDOMAIN) != 0;
}
