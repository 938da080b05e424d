/* SPDX-License-Identifier: Apache-2.0 */
#include "keep/store.h"
#include "base/clock.h"

struct stored {
	struct secret secret; /* owned; empty: none */
	uint64_t until_ms;    /* by clock_ms(); 0: for ever */
};

struct store {
	struct owner *owner;	/* owned; NULL: none yet */
	struct stored *secrets; /* owned; one a credential */
	uint32_t n_secrets;
	struct store_sandbox **sandboxes; /* owned, each */
	size_t n_sandboxes;
};

struct store *
store_new(enum err *err)
{
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		*err = ERR_MEMORY;
	return s;
}

static void
drop_owner(struct store *s)
{
	for (uint32_t i = 0; i < s->n_secrets; i++)
		secret_release(&s->secrets[i].secret);
	free(s->secrets);
	s->secrets = NULL;
	s->n_secrets = 0;
	owner_free(s->owner);
	s->owner = NULL;
}

void
store_free(struct store *s)
{
	if (s == NULL)
		return;
	drop_owner(s);
	for (size_t i = 0; i < s->n_sandboxes; i++) {
		program_free(s->sandboxes[i]->program);
		free(s->sandboxes[i]);
	}
	free(s->sandboxes);
	free(s);
}

int
store_set_owner(struct store *s, struct owner *owner, enum err *err)
{
	uint32_t n = owner_n_credentials(owner);

	drop_owner(s);
	s->secrets = calloc((size_t)n + 1, sizeof(*s->secrets));
	if (s->secrets == NULL) {
		owner_free(owner);
		*err = ERR_MEMORY;
		return -1;
	}
	s->n_secrets = n;
	s->owner = owner;
	return 0;
}

const struct owner *
store_owner(const struct store *s)
{
	return s->owner;
}

static struct slice
trim(struct slice bytes)
{
	if (bytes.n != 0 && bytes.p[bytes.n - 1] == '\n')
		bytes.n--;
	if (bytes.n != 0 && bytes.p[bytes.n - 1] == '\r')
		bytes.n--;
	return bytes;
}

/* What may stand in a header: no control, no blank at an end, not nothing. */
static bool
is_usable(struct slice secret)
{
	if (secret.n == 0 || secret.p[0] == ' ' ||
	    secret.p[secret.n - 1] == ' ')
		return false;
	for (size_t i = 0; i < secret.n; i++)
		if (secret.p[i] < ' ' || secret.p[i] == 0x7f)
			return false;
	return true;
}

int
store_set_secret(struct store *s, uint32_t credential, bool here,
    struct slice bytes, enum err *err)
{
	struct slice secret = trim(bytes);

	*err = ERR_MESSAGE;
	if (credential >= s->n_secrets)
		return -1;
	secret_release(&s->secrets[credential].secret);
	if (!here || !is_usable(secret))
		return -1;
	uint32_t for_ms = owner_credential(s->owner, credential).for_ms;
	s->secrets[credential].until_ms = for_ms == 0 ? 0 : clock_ms() + for_ms;
	return secret_init(&s->secrets[credential].secret, secret, err);
}

void
store_drop_secret(struct store *s, uint32_t credential)
{
	if (credential < s->n_secrets)
		secret_release(&s->secrets[credential].secret);
}

bool
store_is_current(const struct store *s, uint32_t credential)
{
	if (credential >= s->n_secrets)
		return false;
	const struct stored *k = &s->secrets[credential];
	return k->secret.n != 0 &&
	    (k->until_ms == 0 || clock_ms() < k->until_ms);
}

int
store_value(const struct store *s, uint32_t credential, struct secret *value,
    enum err *err)
{
	uint8_t text[SECRET_MAX];
	int result = -1;

	*err = ERR_MISSING;
	*value = (struct secret){ 0 };
	if (credential >= s->n_secrets || s->secrets[credential].secret.n == 0)
		return -1;
	struct slice secret = secret_slice(&s->secrets[credential].secret);
	struct slice prefix =
	    owner_credential(s->owner, credential).public.prefix;
	*err = ERR_MEMORY;
	if (prefix.n + secret.n <= sizeof(text)) {
		if (prefix.n != 0)
			memcpy(text, prefix.p, prefix.n);
		memcpy(text + prefix.n, secret.p, secret.n);
		result = secret_init(value, slice_of(text, prefix.n + secret.n),
		    err);
	}
	explicit_bzero(text, sizeof(text));
	return result;
}

struct slice
store_name(const struct store *s, uint32_t credential)
{
	return credential < s->n_secrets ?
	    owner_credential(s->owner, credential).public.name :
	    SLICE("?");
}

const struct store_sandbox *
store_find(const struct store *s, uint32_t id)
{
	for (size_t i = 0; i < s->n_sandboxes; i++)
		if (s->sandboxes[i]->id == id)
			return s->sandboxes[i];
	return NULL;
}

enum reason
store_check(const struct store *s, const struct who *who, bool *forged)
{
	const struct store_sandbox *known = store_find(s, who->sandbox);

	*forged = false;
	if (s->n_sandboxes == 0 || (known != NULL && known->program == NULL))
		return REASON_SHUTDOWN;
	*forged = true;
	if (known == NULL)
		return REASON_POLICY_NONE;
	enum who_match match = who_compare(who, known->generation,
	    slice_of(known->digest, known->n_digest));
	*forged = match == WHO_OTHER_DIGEST;
	return match == WHO_SAME ? REASON_ALLOW : REASON_POLICY_CHANGED;
}

/* The sandbox of that number, made if it is new. */
static struct store_sandbox *
get(struct store *s, uint32_t id, enum err *err)
{
	struct store_sandbox *sandbox, **grown;

	for (size_t i = 0; i < s->n_sandboxes; i++)
		if (s->sandboxes[i]->id == id)
			return s->sandboxes[i];
	*err = ERR_FULL;
	if (s->n_sandboxes == STORE_SANDBOXES_MAX)
		return NULL;
	*err = ERR_MEMORY;
	grown = realloc(s->sandboxes, (s->n_sandboxes + 1) * sizeof(*grown));
	if (grown == NULL)
		return NULL;
	s->sandboxes = grown;
	sandbox = calloc(1, sizeof(*sandbox));
	if (sandbox == NULL)
		return NULL;
	sandbox->id = id;
	s->sandboxes[s->n_sandboxes++] = sandbox;
	return sandbox;
}

int
store_set_name(struct store *s, uint32_t id, struct slice name, enum err *err)
{
	struct store_sandbox *sandbox;

	*err = ERR_MESSAGE;
	if (name.n == 0 || name.n > STORE_NAME_MAX)
		return -1;
	sandbox = get(s, id, err);
	if (sandbox == NULL)
		return -1;
	memcpy(sandbox->name, name.p, name.n);
	sandbox->n_name = name.n;
	return 0;
}

int
store_set_program(struct store *s, uint32_t id, uint32_t generation,
    struct slice digest, struct program *program, enum err *err)
{
	struct store_sandbox *sandbox = NULL;

	*err = ERR_MESSAGE;
	if (digest.n <= STORE_DIGEST_MAX)
		sandbox = get(s, id, err);
	if (sandbox == NULL) {
		program_free(program);
		return -1;
	}
	program_free(sandbox->program);
	sandbox->program = program;
	sandbox->generation = generation;
	if (digest.n != 0)
		memcpy(sandbox->digest, digest.p, digest.n);
	sandbox->n_digest = digest.n;
	return 0;
}
