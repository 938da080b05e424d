/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to `duenna serve`, as roles hand it on: the porter made it of what
 * came over the control socket, the steward of `sandboxes:` in the owner's
 * configuration, and the files of the state keep it over a restart.  Read as
 * hostile input by all of them; what a reader lets through is well formed, and
 * control_attach_wrong() says whether it makes sense.
 *
 * Slices are borrowed from what was read, secrets too: its owner wipes it.
 * Pure.
 */
#ifndef PRIV_CONTROL_H
#define PRIV_CONTROL_H

#include "base/attr.h"
#include "base/ip.h"
#include "base/rd.h"
#include "base/wr.h"

#define CONTROL_NAME_MAX 40	/* bytes of a sandbox's or tenant's name */
#define CONTROL_SETS_MAX 100	/* as POLICY_PARAMETERS */
#define CONTROL_LABELS_MAX 32	/* they stand in each record */
#define CONTROL_LABELS_SIZE 512 /* bytes of all of them together */
#define CONTROL_SECRETS_MAX 32
#define CONTROL_ADDRESSES_MAX 16
#define CONTROL_ALLOW_S_MAX 2592000 /* 30 days */

/* What may be asked; in REQUEST as they are numbered here. */
enum control_verb {
	CONTROL_ATTACH,
	CONTROL_DETACH, /* name */
	CONTROL_LIST,
	CONTROL_STATUS,
	CONTROL_RELOAD,
	CONTROL_ALLOW, /* name, url, seconds */
	CONTROL_METRICS,
	CONTROL_SHOW, /* name: one sandbox */
	CONTROL_VERBS
};

/* What a caller may do, by the group that the owner named. */
enum control_right {
	CONTROL_MAY_VIEW = 1,
	CONTROL_MAY_ATTACH = 2,
	CONTROL_MAY_POLICY = 4, /* say what is allowed */
};

/* How flows reach us; kept in files of the state. */
enum capture_mode {
	CAPTURE_NETNS,
	CAPTURE_GATE,
	CAPTURE_INTERFACE,
	CAPTURE_SHARED,
	CAPTURE_PROXY,
	CAPTURE_MODES
};

struct control_pair {
	struct slice key, value; /* secrets: the credential's name, its bytes */
};

struct control_address {
	struct ip ip;
	uint8_t prefix; /* bits */
};

struct control_attach {
	struct slice name;	  /* `[a-z0-9-]{1,40}` */
	struct slice tenant;	  /* the same, or empty: the one tenant */
	struct slice policy;	  /* "FILE" or "FILE:NAME", or empty with: */
	struct slice policy_text; /* inline, YAML */
	size_t n_sets, n_labels, n_secrets, n_addresses;
	struct control_pair sets[CONTROL_SETS_MAX];
	struct control_pair labels[CONTROL_LABELS_MAX];
	struct control_pair secrets[CONTROL_SECRETS_MAX];
	enum capture_mode mode;
	struct slice netns;	/* absolute path (netns, gate, shared), or: */
	uint32_t pid;		/* of a process in it; 0: by path */
	struct slice interface; /* gate: the link; interface: the port */
	struct control_address addresses[CONTROL_ADDRESSES_MAX];
	uint8_t mac[6];
	bool has_mac;
	struct slice
	    listen;	    /* proxy: "ADDR:PORT", "[ADDR]:PORT", "unix:PATH" */
	struct slice token; /* proxy; or empty.  A secret */
};

struct control_request {
	enum control_verb verb;
	uint32_t uid;	/* the caller's */
	uint8_t rights; /* set of control_right, of this connection */
	struct slice name, url;
	uint32_t seconds;
	struct control_attach attach;
};

/* What of an attach cannot be, for people. */
struct control_fault {
	const char *field; /* key of the request: "interface" */
	const char *what;  /* "expected ..." */
};

const char *control_verb_name(enum control_verb verb);

/* "netns", "gate", ...; _find: CAPTURE_MODES for another word. */
const char *capture_mode_name(enum capture_mode mode);
enum capture_mode capture_mode_find(struct slice name);

/* The name of a sandbox or tenant: `[a-z0-9-]{1,40}`. */
bool control_is_name(struct slice name);

/* The set of control_right that a request needs, all of them. */
uint8_t control_needs(const struct control_request *req);

/*
 * The first thing that is wrong, or NULL in `what`: names, sizes, and that
 * there is what the mode needs and nothing that it has no use for.
 */
struct control_fault control_attach_wrong(const struct control_attach *a);

/*
 * One form for messages, owner images and files.  _write: what does not fit
 * leaves w->bad.  _read: false if nobody of ours wrote it, or it is wrong.
 */
void control_attach_write(struct wr *w, const struct control_attach *a);
MUST_USE bool control_attach_read(struct rd *r, struct control_attach *out);

/* The whole of REQUEST: verb, caller, and what belongs to the verb. */
void control_request_write(struct wr *w, const struct control_request *req);
MUST_USE bool control_request_read(struct slice bytes,
    struct control_request *out);

#endif
