/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include "policy/hostset.h"
#include "policy/inside.h"
#include "policy/owner.h"
#include "policy/owner_image.h"

static const uint32_t words[OWNER_TABLES] = {
	[OWNED_CREDENTIALS] = OWNED_CREDENTIAL_WORDS,
	[OWNED_PLACES] = PLACE_WORDS,
	[OWNED_ONLY] = ONLY_WORDS,
	[OWNED_PRIVATE] = PREFIX_WORDS,
	[OWNED_UPSTREAMS] = UPSTREAM_WORDS,
	[OWNED_NAMES] = NAME_WORDS,
	[OWNED_RESOLVERS] = RESOLVER_WORDS,
	[OWNED_FIXED] = RESOLVER_WORDS,
	[OWNED_ROOTS] = ROOT_WORDS,
	[OWNED_FILES] = FILE_WORDS,
	[OWNED_ENVIRONMENT] = VARIABLE_WORDS,
	[OWNED_WORDS] = ARGUMENT_WORDS,
	[OWNED_AUTHORITIES] = AUTHORITY_WORDS,
	[OWNED_SANDBOXES] = SANDBOX_WORDS,
	[OWNED_GROUPS] = GROUP_WORDS,
};

/* clang-format off */
static const struct image_check checks[] = {
	{ OWNED_CREDENTIALS, CREDENTIAL_NAME_S, CHECK_STRING, 0 },
	{ OWNED_CREDENTIALS, CREDENTIAL_SLOT_S, CHECK_STRING, 0 },
	{ OWNED_CREDENTIALS, CREDENTIAL_PREFIX_S, CHECK_STRING, 0 },
	{ OWNED_CREDENTIALS, CREDENTIAL_USER_S, CHECK_STRING, 0 },
	{ OWNED_CREDENTIALS, CREDENTIAL_KIND, CHECK_BELOW, CREDENTIAL_KINDS },
	{ OWNED_CREDENTIALS, CREDENTIAL_FLAG_BITS, CHECK_BELOW,
	    CREDENTIAL_FLAGS + 1 },
	{ OWNED_CREDENTIALS, CREDENTIAL_FROM, CHECK_BELOW, SECRET_SOURCES },
	{ OWNED_CREDENTIALS, CREDENTIAL_SOURCE_S, CHECK_STRING, 0 },
	{ OWNED_CREDENTIALS, CREDENTIAL_PLACES, CHECK_RANGE, OWNED_PLACES },
	{ OWNED_CREDENTIALS, CREDENTIAL_N_PLACES, CHECK_BELOW,
	    OWNER_PLACES_MAX + 1 },
	{ OWNED_CREDENTIALS, CREDENTIAL_ONLY, CHECK_RANGE, OWNED_ONLY },
	{ OWNED_CREDENTIALS, CREDENTIAL_ARGS, CHECK_RANGE, OWNED_WORDS },
	{ OWNED_CREDENTIALS, CREDENTIAL_N_ARGS, CHECK_BELOW,
	    OWNER_ARGS_MAX + 1 },
	{ OWNED_CREDENTIALS, CREDENTIAL_PASS, CHECK_RANGE, OWNED_WORDS },
	{ OWNED_CREDENTIALS, CREDENTIAL_N_PASS, CHECK_BELOW,
	    OWNER_PASS_MAX + 1 },
	{ OWNED_CREDENTIALS, CREDENTIAL_FILE_S, CHECK_STRING, 0 },
	{ OWNED_PLACES, PLACE_ENV_S, CHECK_STRING, 0 },
	{ OWNED_PLACES, PLACE_LIKE_S, CHECK_STRING, 0 },
	{ OWNED_ONLY, ONLY_HOST_KIND, CHECK_BELOW, HOST_KINDS },
	{ OWNED_ONLY, ONLY_HOST_S, CHECK_STRING, 0 },
	{ OWNED_ONLY, ONLY_SCHEME, CHECK_BELOW, SCHEME_COUNT },
	{ OWNED_ONLY, ONLY_PORT, CHECK_BELOW, 65536 },
	{ OWNED_ONLY, ONLY_PATH_S, CHECK_STRING, 0 },
	{ OWNED_ONLY, ONLY_TEXT_S, CHECK_STRING, 0 },
	{ OWNED_ONLY, ONLY_FILE_S, CHECK_STRING, 0 },
	{ OWNED_PRIVATE, PREFIX_FAMILY, CHECK_BELOW, 7 },
	{ OWNED_PRIVATE, PREFIX_BITS, CHECK_BELOW, 129 },
	{ OWNED_UPSTREAMS, UPSTREAM_NAMES, CHECK_RANGE, OWNED_NAMES },
	{ OWNED_UPSTREAMS, UPSTREAM_RESOLVERS, CHECK_RANGE, OWNED_RESOLVERS },
	{ OWNED_UPSTREAMS, UPSTREAM_N_RESOLVERS, CHECK_BELOW,
	    OWNER_RESOLVERS_MAX + 1 },
	{ OWNED_UPSTREAMS, UPSTREAM_FIXED, CHECK_RANGE, OWNED_FIXED },
	{ OWNED_UPSTREAMS, UPSTREAM_N_FIXED, CHECK_BELOW,
	    OWNER_ADDRESSES_MAX + 1 },
	{ OWNED_UPSTREAMS, UPSTREAM_ONLY_ROOTS, CHECK_BELOW, 2 },
	{ OWNED_UPSTREAMS, UPSTREAM_PROXY_S, CHECK_STRING, 0 },
	{ OWNED_UPSTREAMS, UPSTREAM_PROXY_PORT, CHECK_BELOW, 65536 },
	{ OWNED_NAMES, NAME_KIND, CHECK_BELOW, HOST_KINDS },
	{ OWNED_NAMES, NAME_TEXT_S, CHECK_STRING, 0 },
	{ OWNED_RESOLVERS, RESOLVER_FAMILY, CHECK_BELOW, 7 },
	{ OWNED_RESOLVERS, RESOLVER_PORT, CHECK_BELOW, 65536 },
	{ OWNED_FIXED, RESOLVER_FAMILY, CHECK_BELOW, 7 },
	{ OWNED_ROOTS, ROOT_DER_S, CHECK_STRING, 0 },
	{ OWNED_ROOTS, ROOT_ITEM, CHECK_INDEX_OR_NONE, OWNED_UPSTREAMS },
	{ OWNED_ROOTS, ROOT_FILE_S, CHECK_STRING, 0 },
	{ OWNED_FILES, FILE_PATH_S, CHECK_STRING, 0 },
	{ OWNED_FILES, FILE_WRITE, CHECK_BELOW, 2 },
	{ OWNED_ENVIRONMENT, VARIABLE_NAME_S, CHECK_STRING, 0 },
	{ OWNED_WORDS, ARGUMENT_TEXT_S, CHECK_STRING, 0 },
	{ OWNED_AUTHORITIES, AUTHORITY_KIND, CHECK_BELOW, OWNER_CA_KINDS + 1 },
	{ OWNED_AUTHORITIES, AUTHORITY_BYTES_S, CHECK_STRING, 0 },
	{ OWNED_AUTHORITIES, AUTHORITY_FILE_S, CHECK_STRING, 0 },
	{ OWNED_SANDBOXES, SANDBOX_BODY_S, CHECK_STRING, 0 },
	{ OWNED_SANDBOXES, SANDBOX_TOKEN_S, CHECK_STRING, 0 },
	{ OWNED_SANDBOXES, SANDBOX_FILE_S, CHECK_STRING, 0 },
	{ OWNED_GROUPS, GROUP_RIGHT, CHECK_BELOW, 5 },
	{ OWNED_GROUPS, GROUP_NAME_S, CHECK_STRING, 0 },
	{ OWNED_GROUPS, GROUP_FILE_S, CHECK_STRING, 0 },
};
/* clang-format on */

const struct image_form inside_owner = { IMAGE_OWNER, OWNER_TABLES, words,
	checks, COUNT_OF(checks), OWNER_FLAGS };

struct owner *
owner_open(struct slice image, enum err *err)
{
	struct owner *o = calloc(1, sizeof(*o));

	if (o == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	if (!image_open(image, &inside_owner, &o->image)) {
		free(o);
		*err = ERR_INTEGRITY;
		return NULL;
	}
	return o;
}

struct owner *
owner_map(int fd, enum err *err)
{
	size_t size;
	void *map = inside_map(fd, &size, err);

	if (map == NULL)
		return NULL;
	struct owner *o = owner_open(slice_of(map, size), err);
	if (o == NULL) {
		munmap(map, size);
		return NULL;
	}
	o->map = map;
	return o;
}

void
owner_free(struct owner *o)
{
	if (o == NULL)
		return;
	if (o->map != NULL)
		munmap(o->map, o->image.bytes.n);
	free(o);
}

bool
owner_denies_names(const struct owner *o)
{
	return (image_flags(&o->image) & OWNER_NXDOMAIN) != 0;
}

bool
owner_allows_gaps(const struct owner *o)
{
	return (image_flags(&o->image) & OWNER_GAPS) != 0;
}

uint32_t
owner_ca(const struct owner *o, enum owner_ca which,
    struct slice certs[OWNER_CA_MAX])
{
	const struct image *m = &o->image;
	uint32_t n = 0;

	for (uint32_t i = 0; i < image_count(m, OWNED_AUTHORITIES); i++)
		if (image_word(m, OWNED_AUTHORITIES, i, AUTHORITY_KIND) ==
			which &&
		    n < OWNER_CA_MAX)
			certs[n++] = image_string(m, OWNED_AUTHORITIES, i,
			    AUTHORITY_BYTES_S);
	return n;
}

struct slice
owner_ca_key(const struct owner *o)
{
	const struct image *m = &o->image;

	for (uint32_t i = 0; i < image_count(m, OWNED_AUTHORITIES); i++)
		if (image_word(m, OWNED_AUTHORITIES, i, AUTHORITY_KIND) ==
		    OWNER_CA_KINDS)
			return image_string(m, OWNED_AUTHORITIES, i,
			    AUTHORITY_BYTES_S);
	return (struct slice){ 0 };
}

/* Of record `i`, whose word `word` is the first of the file's name. */
static struct owner_place
place_of(const struct owner *o, unsigned table, uint32_t i, unsigned word)
{
	return (struct owner_place){
		.file = image_string(&o->image, table, i, word),
		.line = image_word(&o->image, table, i, word + 2),
		.column = image_word(&o->image, table, i, word + 3),
	};
}

struct owner_place
owner_ca_place(const struct owner *o, enum owner_ca which)
{
	const struct image *m = &o->image;

	for (uint32_t i = 0; i < image_count(m, OWNED_AUTHORITIES); i++)
		if (image_word(m, OWNED_AUTHORITIES, i, AUTHORITY_KIND) ==
		    which)
			return place_of(o, OWNED_AUTHORITIES, i,
			    AUTHORITY_FILE_S);
	return (struct owner_place){ .line = 0 };
}

uint32_t
owner_n_credentials(const struct owner *o)
{
	return image_count(&o->image, OWNED_CREDENTIALS);
}

struct owner_credential
owner_credential(const struct owner *o, uint32_t i)
{
	const struct image *m = &o->image;
	uint32_t first = image_word(m, OWNED_CREDENTIALS, i, CREDENTIAL_PLACES);
	struct owner_credential c = {
		.public = inside_credential(m, OWNED_CREDENTIALS, i),
		.from = (enum secret_source)image_word(m, OWNED_CREDENTIALS, i,
		    CREDENTIAL_FROM),
		.source =
		    image_string(m, OWNED_CREDENTIALS, i, CREDENTIAL_SOURCE_S),
		.at = place_of(o, OWNED_CREDENTIALS, i, CREDENTIAL_FILE_S),
		.for_ms =
		    image_word(m, OWNED_CREDENTIALS, i, CREDENTIAL_FOR_MS),
		.n_args =
		    image_word(m, OWNED_CREDENTIALS, i, CREDENTIAL_N_ARGS),
		.n_pass =
		    image_word(m, OWNED_CREDENTIALS, i, CREDENTIAL_N_PASS),
		.n_places =
		    image_word(m, OWNED_CREDENTIALS, i, CREDENTIAL_N_PLACES),
	};

	for (uint32_t p = 0; p < c.n_places; p++) {
		c.places[p].env =
		    image_string(m, OWNED_PLACES, first + p, PLACE_ENV_S);
		c.places[p].like =
		    image_string(m, OWNED_PLACES, first + p, PLACE_LIKE_S);
	}
	return c;
}

/* String `k` of the range whose first word is `word`. */
static struct slice
word_of(const struct owner *o, uint32_t credential, unsigned word, uint32_t k)
{
	uint32_t first =
	    image_word(&o->image, OWNED_CREDENTIALS, credential, word);

	return image_string(&o->image, OWNED_WORDS, first + k, ARGUMENT_TEXT_S);
}

struct slice
owner_credential_arg(const struct owner *o, uint32_t i, uint32_t k)
{
	return word_of(o, i, CREDENTIAL_ARGS, k);
}

struct slice
owner_credential_pass(const struct owner *o, uint32_t i, uint32_t k)
{
	return word_of(o, i, CREDENTIAL_PASS, k);
}

static bool
pattern_has(const struct image *m, unsigned table, uint32_t i, unsigned word,
    struct slice host)
{
	/* The kind, and the text behind it. */
	return hostset_one((enum host_kind)image_word(m, table, i, word),
	    image_string(m, table, i, word + 1), host);
}

bool
owner_only_allows(const struct owner *o, uint32_t credential, struct slice host,
    uint16_t port)
{
	const struct image *m = &o->image;

	if (credential >= owner_n_credentials(o))
		return false;
	uint32_t first =
	    image_word(m, OWNED_CREDENTIALS, credential, CREDENTIAL_ONLY);
	uint32_t n =
	    image_word(m, OWNED_CREDENTIALS, credential, CREDENTIAL_N_ONLY);
	for (uint32_t i = first; i < first + n; i++)
		if (scheme_below((enum scheme)image_word(m, OWNED_ONLY, i,
			ONLY_SCHEME)) == SCHEME_HTTPS &&
		    image_word(m, OWNED_ONLY, i, ONLY_PORT) == port &&
		    pattern_has(m, OWNED_ONLY, i, ONLY_HOST_KIND, host))
			return true;
	return false;
}

static bool
item_has(const struct image *m, uint32_t item, struct slice host)
{
	uint32_t first = image_word(m, OWNED_UPSTREAMS, item, UPSTREAM_NAMES);
	uint32_t n = image_word(m, OWNED_UPSTREAMS, item, UPSTREAM_N_NAMES);

	for (uint32_t i = first; i < first + n; i++)
		if (pattern_has(m, OWNED_NAMES, i, NAME_KIND, host))
			return true;
	return false;
}

static struct owner_upstream
read_item(const struct image *m, uint32_t item)
{
	uint32_t r = image_word(m, OWNED_UPSTREAMS, item, UPSTREAM_RESOLVERS);
	uint32_t a = image_word(m, OWNED_UPSTREAMS, item, UPSTREAM_FIXED);
	struct owner_upstream u = {
		.found = true,
		.index = item,
		.n_resolvers =
		    image_word(m, OWNED_UPSTREAMS, item, UPSTREAM_N_RESOLVERS),
		.n_addresses =
		    image_word(m, OWNED_UPSTREAMS, item, UPSTREAM_N_FIXED),
		.only_roots = image_word(m, OWNED_UPSTREAMS, item,
				  UPSTREAM_ONLY_ROOTS) != 0,
		.proxy =
		    image_string(m, OWNED_UPSTREAMS, item, UPSTREAM_PROXY_S),
		.proxy_port = (uint16_t)image_word(m, OWNED_UPSTREAMS, item,
		    UPSTREAM_PROXY_PORT),
	};

	for (uint32_t i = 0; i < u.n_resolvers; i++) {
		(void)image_ip(m, OWNED_RESOLVERS, r + i, RESOLVER_FAMILY,
		    &u.resolvers[i]);
		u.resolver_ports[i] = (uint16_t)image_word(m, OWNED_RESOLVERS,
		    r + i, RESOLVER_PORT);
	}
	for (uint32_t i = 0; i < u.n_addresses; i++)
		(void)image_ip(m, OWNED_FIXED, a + i, RESOLVER_FAMILY,
		    &u.addresses[i]);
	return u;
}

struct owner_upstream
owner_upstream(const struct owner *o, struct slice host)
{
	uint32_t n = image_count(&o->image, OWNED_UPSTREAMS);

	for (uint32_t i = 0; i < n; i++)
		if (item_has(&o->image, i, host))
			return read_item(&o->image, i);
	return (struct owner_upstream){ .found = false };
}

bool
owner_has_proxy(const struct owner *o)
{
	for (uint32_t i = 0; i < image_count(&o->image, OWNED_UPSTREAMS); i++)
		if (image_string(&o->image, OWNED_UPSTREAMS, i,
			UPSTREAM_PROXY_S)
			.n != 0)
			return true;
	return false;
}

uint32_t
owner_n_roots(const struct owner *o)
{
	return image_count(&o->image, OWNED_ROOTS);
}

struct owner_root
owner_root(const struct owner *o, uint32_t i)
{
	return (struct owner_root){
		.der = image_string(&o->image, OWNED_ROOTS, i, ROOT_DER_S),
		.item = image_word(&o->image, OWNED_ROOTS, i, ROOT_ITEM),
		.file = image_string(&o->image, OWNED_ROOTS, i, ROOT_FILE_S),
	};
}

uint32_t
owner_n_files(const struct owner *o)
{
	return image_count(&o->image, OWNED_FILES);
}

struct slice
owner_file(const struct owner *o, uint32_t i, bool *write)
{
	*write = image_word(&o->image, OWNED_FILES, i, FILE_WRITE) != 0;
	return image_string(&o->image, OWNED_FILES, i, FILE_PATH_S);
}

uint32_t
owner_n_environment(const struct owner *o)
{
	return image_count(&o->image, OWNED_ENVIRONMENT);
}

struct slice
owner_environment(const struct owner *o, uint32_t i)
{
	return image_string(&o->image, OWNED_ENVIRONMENT, i, VARIABLE_NAME_S);
}

uint32_t
owner_n_sandboxes(const struct owner *o)
{
	return image_count(&o->image, OWNED_SANDBOXES);
}

struct owner_sandbox
owner_sandbox(const struct owner *o, uint32_t i)
{
	const struct image *m = &o->image;

	return (struct owner_sandbox){
		.body = image_string(m, OWNED_SANDBOXES, i, SANDBOX_BODY_S),
		.token = image_string(m, OWNED_SANDBOXES, i, SANDBOX_TOKEN_S),
		.at = place_of(o, OWNED_SANDBOXES, i, SANDBOX_FILE_S),
	};
}

uint32_t
owner_n_groups(const struct owner *o)
{
	return image_count(&o->image, OWNED_GROUPS);
}

struct owner_group
owner_group(const struct owner *o, uint32_t i)
{
	const struct image *m = &o->image;

	return (struct owner_group){
		.right = image_word(m, OWNED_GROUPS, i, GROUP_RIGHT),
		.name = image_string(m, OWNED_GROUPS, i, GROUP_NAME_S),
		.at = place_of(o, OWNED_GROUPS, i, GROUP_FILE_S),
	};
}
