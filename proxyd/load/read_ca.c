/* SPDX-License-Identifier: Apache-2.0 */
#include "load/owner_text.h"
#include "load/roots.h"

static const struct read_key ca_keys[] = {
	{ "certificate", READ_HERE },
	{ "key", READ_HERE },
	{ "next", READ_HERE },
};

/* All of a PEM file's text into `ders`; their number, 0 with an error. */
static uint32_t
take_all(struct read_owner *o, const struct doc_node *node, struct slice pem,
    struct slice ders[OWNER_CA_MAX])
{
	const char *bad;
	struct slice der;
	uint32_t n = 0;

	while (roots_take(o->r.arena, &pem, &der, &bad)) {
		if (bad == NULL && n == OWNER_CA_MAX)
			bad = "more than 8 certificates are in it";
		if (bad != NULL) {
			read_refuse(&o->r, node, "`%.*s`: %s",
			    SLICE_ARG(node->text), bad);
			return 0;
		}
		ders[n++] = der;
	}
	if (n == 0)
		read_refuse(&o->r, node, "`%.*s` has no certificate (PEM)",
		    SLICE_ARG(node->text));
	return n;
}

static uint32_t
read_certificates(struct read_owner *o, const struct doc_node *node,
    struct slice ders[OWNER_CA_MAX])
{
	struct slice path;
	struct buf pem;
	uint32_t n = 0;

	if (read_bundle(o, node, &path, &pem))
		n = take_all(o, node, buf_slice(&pem), ders);
	buf_release(&pem);
	return n;
}

/* What the certificates are worth is seen where OpenSSL is: certs/given. */
void
read_ca(struct read_owner *o, const struct doc_node *node)
{
	static const char *const keys[OWNER_CA_KINDS] = { "certificate",
		"next" };
	struct load_ca *ca = &o->out->ca;

	bool unknown = false;

	if (!read_keys(&o->r, node, ca_keys, COUNT_OF(ca_keys), &unknown) ||
	    unknown)
		return;
	if (ca->at.line != 0) {
		read_refuse(&o->r, node,
		    "a second `ca`, the first is at %.*s:%u",
		    SLICE_ARG(ca->at.file), ca->at.line);
		return;
	}
	ca->at = read_at(&o->r, node);
	const struct doc_node *key = read_find(node, "key");
	if (key == NULL || read_find(node, "certificate") == NULL) {
		read_refuse(&o->r, node,
		    "`%s` is missing: `ca:` has a `certificate` and its `key`, "
		    "PEM files",
		    key == NULL ? "key" : "certificate");
		return;
	}
	(void)read_owner_path(o, key, &ca->key); /* a complaint is counted */
	ca->named[OWNER_CA_KINDS] = read_at(&o->r, key);
	for (unsigned i = 0; i < OWNER_CA_KINDS; i++) {
		const struct doc_node *file = read_find(node, keys[i]);
		if (file == NULL)
			continue;
		ca->n_certs[i] = read_certificates(o, file, ca->certs[i]);
		ca->named[i] = read_at(&o->r, file);
	}
}
