/* SPDX-License-Identifier: Apache-2.0 */
#include "keep/store.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/wr.h"

struct stored {
	struct secret value; /* owned: of the slot; empty: none */
	uint64_t until_ms;   /* by clock_ms(); 0: for ever */
};

struct store {
	struct owner *owner;	/* owned; NULL: none yet */
	struct stored *secrets; /* owned; one a credential */
	uint32_t n_secrets;
	struct ids sandboxes; /* owned, each */
	struct ids_gone gone; /* forgotten a moment ago */
};

struct store *
store_new(enum err *err)
{
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	ids_init(&s->sandboxes);
	return s;
}

static void
drop_owner(struct store *s)
{
	for (uint32_t i = 0; i < s->n_secrets; i++)
		secret_release(&s->secrets[i].value);
	free(s->secrets);
	s->secrets = NULL;
	s->n_secrets = 0;
	owner_free(s->owner);
	s->owner = NULL;
}

static void
drop_sandbox(struct store *s, struct store_sandbox *sandbox)
{
	ids_remove(&s->sandboxes, &sandbox->by_id);
	program_free(sandbox->program);
	free(sandbox);
}

void
store_free(struct store *s)
{
	struct store_sandbox *sandbox;

	if (s == NULL)
		return;
	drop_owner(s);
	while ((sandbox = ids_any(&s->sandboxes)) != NULL)
		drop_sandbox(s, sandbox);
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

/* What may stand in a request: no control, no blank at an end, not nothing; no
 * colon in the user of Basic (RFC 7617 2). */
static bool
is_usable(struct slice secret, const struct program_credential *c)
{
	if (secret.n == 0 || secret.p[0] == ' ' ||
	    secret.p[secret.n - 1] == ' ')
		return false;
	for (size_t i = 0; i < secret.n; i++)
		if (secret.p[i] < ' ' || secret.p[i] == 0x7f ||
		    (secret.p[i] == ':' && c->secret_is_user))
			return false;
	return true;
}

/* The user and the password of Basic, encoded. */
static void
put_basic(struct wr *w, struct slice secret, const struct program_credential *c)
{
	uint8_t pair[SECRET_MAX];
	char text[BASE64_SIZE(SECRET_MAX)];
	struct wr p = wr_of(pair, sizeof(pair));

	wr_bytes(&p, c->secret_is_user ? secret : c->user);
	wr_u8(&p, ':');
	wr_bytes(&p, c->secret_is_user ? SLICE("") : secret);
	w->bad = w->bad || p.bad;
	wr_bytes(w, slice_of(text, base64_encode(wr_slice(&p), text)));
	explicit_bzero(pair, sizeof(pair));
	explicit_bzero(text, sizeof(text));
}

/* The value of its slot.  0, or -1: it does not fit, or there is no memory. */
static int
make_value(struct slice secret, const struct program_credential *c,
    struct secret *value, enum err *err)
{
	uint8_t text[SECRET_MAX];
	struct wr w = wr_of(text, sizeof(text));
	int result = -1;

	wr_bytes(&w, c->prefix);
	if (c->kind == CREDENTIAL_BASIC)
		put_basic(&w, secret, c);
	else
		wr_bytes(&w, secret);
	*err = ERR_MESSAGE;
	if (!w.bad)
		result = secret_init(value, wr_slice(&w), err);
	explicit_bzero(text, sizeof(text));
	return result;
}

int
store_set_secret(struct store *s, uint32_t credential, bool here,
    struct slice bytes, enum err *err)
{
	struct slice secret = trim(bytes);

	*err = ERR_MESSAGE;
	if (credential >= s->n_secrets)
		return -1;
	secret_release(&s->secrets[credential].value);
	struct owner_credential c = owner_credential(s->owner, credential);
	if (!here || !is_usable(secret, &c.public))
		return -1;
	s->secrets[credential].until_ms =
	    c.for_ms == 0 ? 0 : clock_ms() + c.for_ms;
	return make_value(secret, &c.public, &s->secrets[credential].value,
	    err);
}

void
store_drop_secret(struct store *s, uint32_t credential)
{
	if (credential < s->n_secrets)
		secret_release(&s->secrets[credential].value);
}

bool
store_is_current(const struct store *s, uint32_t credential)
{
	if (credential >= s->n_secrets)
		return false;
	const struct stored *k = &s->secrets[credential];
	return k->value.n != 0 &&
	    (k->until_ms == 0 || clock_ms() < k->until_ms);
}

int
store_value(const struct store *s, uint32_t credential, const char *user,
    struct secret *value, enum err *err)
{
	*err = ERR_MISSING;
	*value = (struct secret){ 0 };
	if (credential >= s->n_secrets || s->secrets[credential].value.n == 0)
		return -1;
	struct slice slot = secret_slice(&s->secrets[credential].value);
	struct program_credential c =
	    owner_credential(s->owner, credential).public;
	if (user == NULL || c.kind != CREDENTIAL_TOKEN)
		return secret_init(value, slot, err);
	struct slice token = slice_from(slot, c.prefix.n);
	c.kind = CREDENTIAL_BASIC;
	c.prefix = SLICE("Basic ");
	c.user = slice_of_str(user);
	return make_value(token, &c, value, err);
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
	return ids_find(&s->sandboxes, id);
}

void
store_forget(struct store *s, uint32_t id)
{
	struct store_sandbox *sandbox = ids_find(&s->sandboxes, id);

	if (sandbox == NULL)
		return;
	ids_gone_put(&s->gone, id, clock_ms());
	drop_sandbox(s, sandbox);
}

bool
store_is_gone(const struct store *s, uint32_t id)
{
	return ids_find(&s->sandboxes, id) == NULL &&
	    ids_gone_has(&s->gone, id, clock_ms());
}

enum reason
store_check(const struct store *s, const struct who *who, bool *forged)
{
	const struct store_sandbox *known = store_find(s, who->sandbox);

	*forged = false;
	if (s->sandboxes.n == 0 || store_is_gone(s, who->sandbox) ||
	    (known != NULL && known->program == NULL))
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
	struct store_sandbox *sandbox = ids_find(&s->sandboxes, id);

	if (sandbox != NULL)
		return sandbox;
	*err = ERR_FULL;
	if (s->sandboxes.n == STORE_SANDBOXES_MAX)
		return NULL;
	*err = ERR_MEMORY;
	sandbox = calloc(1, sizeof(*sandbox));
	if (sandbox == NULL)
		return NULL;
	sandbox->id = id;
	ids_put(&s->sandboxes, &sandbox->by_id, id, sandbox);
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
