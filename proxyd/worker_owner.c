/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's configuration, the first one or another in its place. */
#include "base/log.h"
#include "proxyd/worker.h"

/* The DER of its roots is borrowed.  NULL: no memory. */
static struct ctx_root *
roots_of(const struct owner *owner)
{
	uint32_t n = owner_n_roots(owner);
	struct ctx_root *roots = calloc((size_t)n + 1, sizeof(*roots));

	for (uint32_t i = 0; roots != NULL && i < n; i++) {
		struct owner_root root = owner_root(owner, i);
		roots[i].der = root.der;
		roots[i].item =
		    root.item == VERDICT_NONE ? CTX_ITEM_NONE : root.item;
	}
	return roots;
}

static bool
set_chain(struct worker *w, const struct owner *owner)
{
	struct slice chain[OWNER_CA_MAX];
	uint32_t n = owner_ca(owner, OWNER_CA_NOW, chain);
	enum err err;

	/* The last is the root, which clients have. */
	if (ctx_server_set_chain(w->roles.server, chain, n == 0 ? 0 : n - 1,
		&err) == 0)
		return true;
	log_error("cannot use the CA's certificates: %s", err_text(err));
	return false;
}

bool
worker_take_owner(struct worker *w, struct msg *m)
{
	enum err err = ERR_MEMORY;

	if (m->n_fds != 1 || m->fds[0] < 0)
		return false;
	struct owner *owner = owner_map(m->fds[0], &err);
	struct ctx_root *roots = owner == NULL ? NULL : roots_of(owner);
	struct ctx_client *client = roots == NULL ?
	    NULL :
	    ctx_client_new(roots, owner_n_roots(owner), &err);
	bool is_set = client != NULL && set_chain(w, owner);
	if (!is_set) {
		/* The one in force stays in force. */
		log_error("cannot use the configuration: %s", err_text(err));
		if (client != NULL && w->owner != NULL)
			(void)set_chain(w, w->owner);
		ctx_client_free(client);
		free(roots);
		owner_free(owner);
		return false;
	}
	/* Connections that are there keep what they were verified by. */
	ctx_client_free(w->roles.client);
	free(w->roots);
	owner_free(w->owner);
	w->roles.owner = w->owner = owner;
	w->roles.client = client;
	w->roots = roots;
	return true;
}
