/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CA that the owner gives (`ca:`): its key is read here, as other secrets
 * are, and goes to the keeper; nothing is run before that one has taken it.
 */
#include <limits.h>

#include "base/rd.h"
#include "base/secret.h"
#include "base/wr.h"
#include "certs/given.h"
#include "proxyd/monitor_ca.h"

/* What is wrong with the one of that kind; OWNER_CA_KINDS: with its key. */
static void
fail(struct monitor *m, enum owner_ca which, const char *what, struct slice why)
{
	struct owner_place at = owner_ca_place(m->owner, which);

	monitor_fail(m, "%.*s:%u:%u: %s of `ca:`: %.*s; nothing was run",
	    SLICE_ARG(at.file), at.line, at.column, what, SLICE_ARG(why));
}

/* Answered before anything runs: what is wrong with it, or nothing. */
static void
on_taken(struct msg *msg, void *arg)
{
	struct monitor *m = arg;
	struct rd r = rd_of(msg == NULL ? (struct slice){ 0 } : msg->body);
	struct slice why = rd_slice16(&r);

	if (msg == NULL || !rd_is_done(&r)) {
		monitor_fail(m, "the keeper did not take the CA of `ca:`");
		return;
	}
	if (why.n != 0) {
		fail(m, OWNER_CA_NOW, "`certificate`", why);
		return;
	}
	m->ca_waits = false;
	monitor_step(m);
}

static int
ask(struct monitor *m, struct slice key)
{
	static uint8_t body[MSG_SIZE_MAX - 64];
	struct slice certs[OWNER_CA_MAX];
	struct wr w = wr_of(body, sizeof(body));
	struct msg msg = { .op = OP_CA, .n_fds = 1, .fds = { m->state_fd } };
	uint32_t n = owner_ca(m->owner, OWNER_CA_NOW, certs);
	enum err err = ERR_FULL;

	wr_u8(&w, (uint8_t)n);
	for (uint32_t i = 0; i < n; i++)
		wr_slice16(&w, certs[i]);
	wr_slice16(&w, key);
	msg.body = wr_slice(&w);
	bool sent = !w.bad &&
	    channel_ask(m->children[ROLE_KEEPER].channel, &msg, on_taken, m,
		&err) != 0;
	explicit_bzero(body, sizeof(body));
	if (sent)
		return 0;
	monitor_fail(m, "cannot hand the CA of `ca:` to the keeper: %s",
	    err_text(err));
	return -1;
}

/* It signs nothing here, but is shown. */
static bool
next_is_good(struct monitor *m)
{
	struct slice certs[OWNER_CA_MAX];
	uint32_t n = owner_ca(m->owner, OWNER_CA_NEXT, certs);
	const char *wrong = n == 0 ? NULL : given_check(certs, n, true);

	if (wrong != NULL)
		fail(m, OWNER_CA_NEXT, "`next`", slice_of_str(wrong));
	return wrong == NULL;
}

int
ca_send(struct monitor *m)
{
	struct slice key = owner_ca_key(m->owner);
	uint8_t bytes[SECRET_MAX];
	char path[PATH_MAX];
	const char *why = "";
	size_t n = 0;
	int result = -1;

	if (key.n == 0)
		return 0;
	if (!next_is_good(m))
		return -1;
	snprintf(path, sizeof(path), "%.*s", SLICE_ARG(key));
	m->ca_waits = true;
	if (secret_read_own(path, bytes, sizeof(bytes), &n, &why))
		result = ask(m, slice_of(bytes, n));
	else
		fail(m, OWNER_CA_KINDS, "`key`", slice_of_str(why));
	explicit_bzero(bytes, sizeof(bytes));
	return result;
}

size_t
ca_published(const struct monitor *m, struct slice cas[OWNER_CA_KINDS])
{
	struct slice certs[OWNER_CA_MAX];
	size_t n = 0;

	if (owner_ca_key(m->owner).n == 0) {
		cas[0] = buf_slice(&m->trust);
		return 1;
	}
	/* The root of each: the last. */
	for (unsigned which = 0; which < OWNER_CA_KINDS; which++) {
		uint32_t found = owner_ca(m->owner, which, certs);
		if (found == 0)
			continue;
		cas[n] = certs[found - 1];
		if (n == 0 || !slice_eq(cas[n], cas[0]))
			n++;
	}
	return n;
}
