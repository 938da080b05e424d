/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Role: holds the CA's key, the secrets and the machine's audit key.  It reads
 * nothing of what flows and listens to nobody but the other roles; what it
 * gives away, and to whom, stands in keep/issue.h.
 */
#include <sys/queue.h>

#include <unistd.h>

#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "crypto/digest.h"
#include "keep/fresh.h"
#include "keep/issue.h"
#include "keep/store.h"
#include "keep/vault.h"
#include "policy/shelf.h"
#include "priv/dispatch.h"
#include "priv/owners.h"
#include "priv/role.h"
#include "proxyd/roles.h"

#define WORKERS_MAX 64 /* channels to workers */
#define HOST_MAX 64    /* bytes of this machine's name */
#define TRUST_SIZE 4096

/* A channel to another role. */
struct link {
	LIST_ENTRY(link) entry;
	struct keeper *keeper; /* borrowed */
	enum role role;
	uint32_t number;	 /* of a worker */
	struct channel *channel; /* owned */
};

struct keeper {
	struct loop *loop; /* owned, as all below */
	struct recorder *recorder;
	struct store *store;
	struct shelf *programs;
	struct fresh *fresh;
	struct issue *issue;
	struct owners *owners;
	struct channel *monitor;
	LIST_HEAD(, link) links;
	size_t n_workers;
	char host[HOST_MAX + 1];
};

static void
link_end(struct link *k)
{
	struct keeper *keeper = k->keeper;

	issue_forget(keeper->issue, k->channel);
	if (k->role == ROLE_SCRIBE)
		recorder_set_channel(keeper->recorder, NULL);
	if (k->role == ROLE_WORKER)
		keeper->n_workers--;
	LIST_REMOVE(k, entry);
	channel_free(k->channel);
	free(k);
}

/* A worker that speaks of another worker's sandbox is not ours any more. */
static void
refuse_foreign(struct keeper *keeper, const struct link *k)
{
	struct event e;

	log_warn("worker %u asked for a sandbox that another has", k->number);
	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_ROLE, role_name(k->role));
	event_str(&e, FIELD_DETAIL, "asked for the sandbox of another worker");
	issue_alarm(keeper->issue, &e);
}

/* A role asked for what its row does not allow. */
static void
refuse_op(struct keeper *keeper, const struct link *k, uint16_t op)
{
	struct event e;

	log_warn("%s sent %s, which it may not", role_name(k->role),
	    dispatch_op_name(op));
	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_ROLE, role_name(k->role));
	event_str(&e, FIELD_DETAIL, "sent the keeper what it may not");
	issue_alarm(keeper->issue, &e);
}

static void
on_link_msg(struct channel *c, struct msg *m, void *arg)
{
	struct link *k = arg;
	struct keeper *keeper = k->keeper;

	if (k->role == ROLE_SCRIBE)
		recorder_take_msg(keeper->recorder, m);
	if (m == NULL)
		link_end(k);
	else if (!dispatch_may(k->role, ROLE_KEEPER, m->op))
		refuse_op(keeper, k, m->op);
	else if (k->role == ROLE_WORKER &&
	    !owners_may(keeper->owners, k->number, m->body))
		refuse_foreign(keeper, k);
	else if (m->op == OP_LEAF)
		issue_leaf(keeper->issue, c, m);
	else if (m->op == OP_RELEASE)
		issue_release(keeper->issue, c, m);
	else if (m->op == OP_TELL)
		issue_tell(keeper->issue, c, m);
	else if (m->op == OP_CERTIFY)
		issue_certify(keeper->issue, c, m);
}

/* A role has one channel only, but for workers. */
static void
end_old_links(struct keeper *keeper, enum role role)
{
	struct link *k = LIST_FIRST(&keeper->links);

	for (struct link *after; k != NULL; k = after) {
		after = LIST_NEXT(k, entry);
		if (k->role == role && role != ROLE_WORKER)
			link_end(k);
		else if (!channel_is_open(k->channel))
			link_end(k);
	}
}

static struct link *
add_link(struct keeper *keeper, enum role role, int fd)
{
	struct link *k = calloc(1, sizeof(*k));
	enum err err = ERR_NONE;

	if (k == NULL) {
		close(fd);
		return NULL;
	}
	k->keeper = keeper;
	k->role = role;
	k->channel = channel_new(keeper->loop, fd, on_link_msg, k, &err);
	if (k->channel == NULL) {
		free(k);
		return NULL;
	}
	LIST_INSERT_HEAD(&keeper->links, k, entry);
	return k;
}

static bool
take_channel(struct keeper *keeper, struct msg *m)
{
	struct rd r = rd_of(m->body);
	uint8_t role = rd_u8(&r);
	uint32_t number = rd_u32(&r);
	struct link *k;

	if (!rd_is_done(&r) || m->n_fds != 1 ||
	    (role != ROLE_WORKER && role != ROLE_DIALER && role != ROLE_SCRIBE))
		return false;
	end_old_links(keeper, (enum role)role);
	if (role == ROLE_WORKER && keeper->n_workers >= WORKERS_MAX)
		return false;
	k = add_link(keeper, (enum role)role, msg_take_fd(m, 0));
	if (k == NULL)
		return false;
	k->number = number;
	keeper->n_workers += role == ROLE_WORKER;
	if (role == ROLE_SCRIBE)
		recorder_set_channel(keeper->recorder, k->channel);
	return true;
}

static bool
take_owner(struct keeper *keeper, struct msg *m)
{
	enum err err = ERR_NONE;
	struct owner *owner;

	if (m->n_fds != 1 || m->body.n != 0)
		return false;
	owner = owner_map(m->fds[0], &err);
	if (owner == NULL) {
		log_error("cannot use the configuration: %s", err_text(err));
		return false;
	}
	issue_forget_owner(keeper->issue);
	fresh_reset(keeper->fresh);
	return store_set_owner(keeper->store, owner, &err) == 0;
}

static bool
take_program(struct keeper *keeper, struct msg *m)
{
	struct rd r = rd_of(m->body);
	uint32_t sandbox = rd_u32(&r), generation = rd_u32(&r);
	struct slice digest = rd_slice8(&r);
	enum err err = ERR_NONE;
	struct program *p;

	if (!rd_is_done(&r) || m->n_fds != 1)
		return false;
	p = shelf_map(keeper->programs, digest, m->fds[0], &err);
	if (p == NULL) {
		log_error("cannot use the program: %s", err_text(err));
		return false;
	}
	return store_set_program(keeper->store, sandbox, generation, digest, p,
		   &err) == 0;
}

static bool
take_name(struct keeper *keeper, struct msg *m)
{
	enum err err = ERR_NONE;
	struct slice name;
	uint32_t sandbox;

	return owners_take(keeper->owners, m->body, &sandbox, &name, &err) ==
	    0 &&
	    store_set_name(keeper->store, sandbox, name, &err) == 0;
}

static bool
take_forget(struct keeper *keeper, struct msg *m)
{
	struct rd r = rd_of(m->body);
	uint32_t sandbox = rd_u32(&r);

	if (!rd_is_done(&r))
		return false;
	issue_forget_sandbox(keeper->issue, sandbox);
	owners_forget(keeper->owners, sandbox);
	shelf_sweep(keeper->programs);
	return true;
}

/* A secret that cannot be had: its owner should know.  `why` is a literal. */
static void
warn_missing(const struct keeper *keeper, uint32_t credential, const char *why)
{
	const struct owner *owner = store_owner(keeper->store);

	if (owner == NULL || credential >= owner_n_credentials(owner))
		return;
	struct owner_credential c = owner_credential(owner, credential);
	log_warn("credential `%.*s`: %.*s: %s; requests that need it are "
		 "refused (cred.unavailable)",
	    SLICE_ARG(c.public.name), SLICE_ARG(c.source), why);
}

static bool
ask_fresh(uint32_t credential, void *arg)
{
	struct keeper *keeper = arg;
	uint8_t body[4];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;

	wr_u32(&w, credential);
	const struct msg m = { .op = OP_FRESH, .body = wr_slice(&w) };
	return channel_send(keeper->monitor, &m, &err) == 0;
}

static void
on_settled(uint32_t credential, const char *why, void *arg)
{
	struct keeper *keeper = arg;

	if (why != NULL)
		warn_missing(keeper, credential, why);
	issue_settled(keeper->issue, credential);
}

static const struct fresh_ops fresh_ops = { ask_fresh, on_settled };

static bool
take_secret(struct keeper *keeper, struct msg *m)
{
	struct rd r = rd_of(m->body);
	uint32_t credential = rd_u32(&r);
	uint8_t state = rd_u8(&r);
	struct slice bytes = rd_slice16(&r);
	enum err err = ERR_NONE;

	if (!rd_is_done(&r) || state > OPS_SECRET_COMES ||
	    m->n_fds != (state == OPS_SECRET_COMES ? 1 : 0))
		return false;
	if (state == OPS_SECRET_COMES) {
		fresh_take_pipe(keeper->fresh, credential, msg_take_fd(m, 0));
		return true;
	}
	bool here = store_set_secret(keeper->store, credential,
			state == OPS_SECRET_HERE, bytes, &err) == 0;
	if (!here && state == OPS_SECRET_HERE)
		warn_missing(keeper, credential,
		    "it cannot stand in a header (empty, with a control "
		    "character, a second line or a blank at an end)");
	fresh_take_given(keeper->fresh, credential, here);
	return true;
}

static bool
take_secret_ended(struct keeper *keeper, struct msg *m)
{
	struct rd r = rd_of(m->body);
	uint32_t credential = rd_u32(&r);
	uint8_t good = rd_u8(&r);

	if (!rd_is_done(&r) || good > 1)
		return false;
	fresh_take_end(keeper->fresh, credential, good == 1);
	return true;
}

static void
send_trust(struct keeper *keeper, struct ca *ca)
{
	uint8_t body[TRUST_SIZE];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;

	wr_slice16(&w, vault_ca_cert(ca));
	const struct msg m = { .op = OP_TRUST, .body = wr_slice(&w) };
	if (channel_send(keeper->monitor, &m, &err) != 0)
		log_error("cannot send the certificate: %s", err_text(err));
}

static bool
take_state(struct keeper *keeper, struct msg *m)
{
	bool found = false;
	enum err err = ERR_NONE;
	struct ca *ca;

	if (m->n_fds < 1 || m->n_fds > 2 || m->body.n != 0)
		return false;
	ca = vault_ca(m->fds[0], slice_of_str(keeper->host), &found, &err);
	if (ca == NULL) {
		log_error("cannot have a CA: %s", err_text(err));
		return false;
	}
	if (found)
		issue_set_restarted(keeper->issue);
	send_trust(keeper, ca);
	issue_set_ca(keeper->issue, ca);
	if (m->n_fds == 2) {
		struct sign_key *key = vault_audit_key(m->fds[1], &err);
		if (key == NULL)
			log_error("cannot use the machine's audit key: %s",
			    err_text(err));
		issue_set_audit_key(keeper->issue, key);
	}
	return true;
}

/* The owner's CA, in place of the one that STATE has made. */
static bool
take_ca(struct keeper *keeper, struct msg *m)
{
	struct slice certs[VAULT_CERTS_MAX];
	struct rd r = rd_of(m->body);
	uint8_t n = rd_u8(&r), body[256];
	struct wr w = wr_of(body, sizeof(body));
	const char *why = "";
	enum err err = ERR_NONE;

	if (n > VAULT_CERTS_MAX || m->n_fds != 1)
		return false;
	for (uint8_t i = 0; i < n; i++)
		certs[i] = rd_slice16(&r);
	struct slice key = rd_slice16(&r);
	if (!rd_is_done(&r))
		return false;
	struct ca *ca = vault_given_ca(m->fds[0], certs, n, key, &why);
	if (ca != NULL)
		issue_set_ca(keeper->issue, ca);
	wr_slice16(&w, slice_of_str(ca != NULL ? "" : why));
	const struct msg answer = { .op = OP_CA_TAKEN,
		.id = m->id,
		.body = wr_slice(&w) };
	return channel_send(keeper->monitor, &answer, &err) == 0;
}

static bool
take_ping(struct keeper *keeper, struct msg *ping)
{
	const struct msg m = { .op = OP_PONG, .id = ping->id };
	enum err err = ERR_NONE;

	return channel_send(keeper->monitor, &m, &err) == 0;
}

static const struct {
	uint16_t op;
	bool (*take)(struct keeper *keeper, struct msg *m);
} takes[] = {
	{ OP_PING, take_ping },
	{ OP_CHANNEL, take_channel },
	{ OP_STATE, take_state },
	{ OP_CA, take_ca },
	{ OP_OWNER, take_owner },
	{ OP_NAME, take_name },
	{ OP_PROGRAM, take_program },
	{ OP_FORGET, take_forget },
	{ OP_SECRET, take_secret },
	{ OP_SECRET_ENDED, take_secret_ended },
};

static void
on_monitor_msg(struct channel *c UNUSED, struct msg *m, void *arg)
{
	struct keeper *keeper = arg;
	bool valid = false;

	if (m == NULL) {
		/* The run is over. */
		recorder_flush(keeper->recorder);
		loop_stop(keeper->loop);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(takes); i++)
		if (takes[i].op == m->op)
			valid = takes[i].take(keeper, m);
	if (!valid)
		log_warn("the monitor's %s cannot be used",
		    dispatch_op_name(m->op));
}

static int
set_up(struct keeper *keeper)
{
	enum err err = ERR_NONE;

	LIST_INIT(&keeper->links);
	if (gethostname(keeper->host, HOST_MAX) != 0)
		snprintf(keeper->host, sizeof(keeper->host), "localhost");
	if (digest_setup(&err) != 0 ||
	    (keeper->loop = loop_new(&err)) == NULL ||
	    (keeper->recorder = recorder_new(keeper->loop, NULL, NULL, &err)) ==
		NULL ||
	    (keeper->owners = owners_new(&err)) == NULL ||
	    (keeper->store = store_new(&err)) == NULL ||
	    (keeper->programs = shelf_new(&err)) == NULL ||
	    (keeper->fresh = fresh_new(keeper->loop, keeper->store, &fresh_ops,
		 keeper, &err)) == NULL ||
	    (keeper->issue =
		    issue_new(keeper->store, keeper->recorder, &err)) == NULL ||
	    (keeper->monitor = channel_new(keeper->loop, ROLE_MONITOR_FD,
		 on_monitor_msg, keeper, &err)) == NULL) {
		log_error("cannot start: %s", err_text(err));
		return -1;
	}
	issue_set_fresh(keeper->issue, keeper->fresh);
	return 0;
}

int
keeper_main(void)
{
	static struct keeper keeper;
	const struct msg ready = { .op = OP_READY };
	enum err err = ERR_NONE;

	if (isolate_role(ROLE_KEEPER) != 0 || set_up(&keeper) != 0 ||
	    isolate_last(ROLE_KEEPER) != 0)
		return 1;
	if (channel_send(keeper.monitor, &ready, &err) != 0)
		return 1;
	loop_run(keeper.loop);
	return 0;
}
