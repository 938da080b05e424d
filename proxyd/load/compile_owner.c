/* SPDX-License-Identifier: Apache-2.0 */
#include "load/build.h"
#include "load/compile.h"
#include "policy/inside.h"
#include "policy/owner_image.h"

static void
put_only(struct build *b, const struct load_credential *c)
{
	for (uint32_t i = 0; i < c->n_only; i++) {
		const struct load_pattern *p = &c->only[i];
		build_word(b, OWNED_ONLY, p->host.kind);
		build_string(b, OWNED_ONLY, p->host.behind);
		build_word(b, OWNED_ONLY, p->scheme);
		build_word(b, OWNED_ONLY, p->port);
		build_string(b, OWNED_ONLY, p->path);
		build_string(b, OWNED_ONLY, p->text);
		build_file(b, OWNED_ONLY, p->at.file);
		build_word(b, OWNED_ONLY, p->at.line);
	}
}

/* As the last words of a record. */
static void
put_place(struct build *b, unsigned table, const struct load_at *at)
{
	build_file(b, table, at->file);
	build_word(b, table, at->line);
	build_word(b, table, at->column);
}

/* Where the words begin, how many there are, and the words. */
static void
put_words(struct build *b, const struct slice *words, uint32_t n)
{
	build_word(b, OWNED_CREDENTIALS,
	    b->words[OWNED_WORDS] / ARGUMENT_WORDS);
	build_word(b, OWNED_CREDENTIALS, n);
	for (uint32_t i = 0; i < n; i++)
		build_string(b, OWNED_WORDS, words[i]);
}

static void
put_credential(struct build *b, const struct load_credential *c)
{
	build_string(b, OWNED_CREDENTIALS, c->name);
	build_string(b, OWNED_CREDENTIALS, c->slot);
	build_string(b, OWNED_CREDENTIALS, c->prefix);
	build_string(b, OWNED_CREDENTIALS, c->user);
	build_word(b, OWNED_CREDENTIALS, c->kind);
	build_word(b, OWNED_CREDENTIALS,
	    c->flags | (c->secret_is_user ? CREDENTIAL_SECRET_IS_USER : 0U));
	build_word(b, OWNED_CREDENTIALS, c->from);
	build_string(b, OWNED_CREDENTIALS, c->source);
	build_word(b, OWNED_CREDENTIALS, b->words[OWNED_PLACES] / PLACE_WORDS);
	build_word(b, OWNED_CREDENTIALS, c->n_places);
	build_word(b, OWNED_CREDENTIALS, b->words[OWNED_ONLY] / ONLY_WORDS);
	build_word(b, OWNED_CREDENTIALS, c->n_only);
	build_word(b, OWNED_CREDENTIALS, c->for_ms);
	put_words(b, c->args, c->n_args);
	put_words(b, c->pass, c->n_pass);
	put_place(b, OWNED_CREDENTIALS, &c->source_at);
	for (uint32_t i = 0; i < c->n_places; i++) {
		build_string(b, OWNED_PLACES, c->places[i].env);
		build_string(b, OWNED_PLACES, c->places[i].like);
	}
	put_only(b, c);
}

static void
put_upstream(struct build *b, const struct load_upstream *u)
{
	build_word(b, OWNED_UPSTREAMS, b->words[OWNED_NAMES] / NAME_WORDS);
	build_word(b, OWNED_UPSTREAMS, u->n_names);
	build_word(b, OWNED_UPSTREAMS,
	    b->words[OWNED_RESOLVERS] / RESOLVER_WORDS);
	build_word(b, OWNED_UPSTREAMS, u->n_resolvers);
	build_word(b, OWNED_UPSTREAMS, b->words[OWNED_FIXED] / RESOLVER_WORDS);
	build_word(b, OWNED_UPSTREAMS, u->n_addresses);
	build_word(b, OWNED_UPSTREAMS, u->only_roots ? 1 : 0);
	build_string(b, OWNED_UPSTREAMS, u->proxy);
	build_word(b, OWNED_UPSTREAMS, u->proxy_port);
	for (uint32_t i = 0; i < u->n_names; i++) {
		build_word(b, OWNED_NAMES, u->names[i].kind);
		build_string(b, OWNED_NAMES, u->names[i].behind);
	}
	for (uint32_t i = 0; i < u->n_resolvers; i++) {
		build_ip(b, OWNED_RESOLVERS, &u->resolvers[i].ip);
		build_word(b, OWNED_RESOLVERS, u->resolvers[i].port);
	}
	for (uint32_t i = 0; i < u->n_addresses; i++) {
		build_ip(b, OWNED_FIXED, &u->addresses[i]);
		build_word(b, OWNED_FIXED, 0);
	}
}

static void
put_rest(struct build *b, const struct load_owner_text *t)
{
	for (uint32_t i = 0; i < t->n_private; i++) {
		build_word(b, OWNED_PRIVATE, t->private[i].bits);
		build_ip(b, OWNED_PRIVATE, &t->private[i].first);
	}
	for (uint32_t i = 0; i < t->n_roots; i++) {
		build_string(b, OWNED_ROOTS, t->roots[i].der);
		build_word(b, OWNED_ROOTS, t->roots[i].item);
		build_string(b, OWNED_ROOTS, t->roots[i].file);
	}
	for (uint32_t i = 0; i < t->n_files; i++) {
		build_string(b, OWNED_FILES, t->files[i].path);
		build_word(b, OWNED_FILES, t->files[i].write ? 1 : 0);
	}
	for (uint32_t i = 0; i < t->n_environment; i++)
		build_string(b, OWNED_ENVIRONMENT, t->environment[i]);
}

static void
put_ca(struct build *b, const struct load_ca *ca)
{
	for (uint32_t kind = 0; kind < OWNER_CA_KINDS; kind++)
		for (uint32_t i = 0; i < ca->n_certs[kind]; i++) {
			build_word(b, OWNED_AUTHORITIES, kind);
			build_string(b, OWNED_AUTHORITIES, ca->certs[kind][i]);
			put_place(b, OWNED_AUTHORITIES, &ca->named[kind]);
		}
	if (ca->key.n != 0) {
		build_word(b, OWNED_AUTHORITIES, OWNER_CA_KINDS);
		build_string(b, OWNED_AUTHORITIES, ca->key);
		put_place(b, OWNED_AUTHORITIES, &ca->named[OWNER_CA_KINDS]);
	}
}

static void
put_serve(struct build *b, const struct load_owner_text *t)
{
	for (uint32_t i = 0; i < t->n_sandboxes; i++) {
		build_string(b, OWNED_SANDBOXES, t->sandboxes[i].body);
		build_string(b, OWNED_SANDBOXES, t->sandboxes[i].token);
		put_place(b, OWNED_SANDBOXES, &t->sandboxes[i].at);
	}
	for (uint32_t i = 0; i < t->n_groups; i++) {
		build_word(b, OWNED_GROUPS, t->groups[i].right);
		build_string(b, OWNED_GROUPS, t->groups[i].name);
		put_place(b, OWNED_GROUPS, &t->groups[i].at);
	}
}

bool
compile_owner(const struct load_owner_text *t, struct buf *image)
{
	static const uint8_t no_key[IMAGE_KEY_SIZE];
	struct build b;

	build_init(&b);
	b.flags =
	    (t->nxdomain ? OWNER_NXDOMAIN : 0U) | (t->gaps ? OWNER_GAPS : 0U);
	for (uint32_t i = 0; i < t->n_credentials; i++)
		put_credential(&b, &t->credentials[i]);
	for (uint32_t i = 0; i < t->n_upstreams; i++)
		put_upstream(&b, &t->upstreams[i]);
	put_rest(&b, t);
	put_ca(&b, &t->ca);
	put_serve(&b, t);
	bool good = build_finish(&b, &inside_owner, SLICE(""), no_key, image);
	build_release(&b);
	return good;
}
