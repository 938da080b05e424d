/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection that a client made to a proxy: it says first where it goes, by
 * CONNECT of HTTP/1 (RFC 9110 9.3.6), by SOCKS5 (RFC 1928), or in each request by
 * an absolute URL (RFC 9112 3.2.2).
 *
 * That is a wish like the address of a captured connection, and no more: a name
 * counts as its synthetic address, or as the one that all refused names share,
 * a literal address as itself.  What comes next is peeked at and judged as on
 * any other connection; nothing is dialled for the wish alone.
 *
 * ENTRY answers "yes" when some rule could allow something at that name and
 * port, so that a client which is refused is told so where it looks for it.
 *
 * Bytes behind a CONNECT or a SOCKS request that come before our answer are
 * bytes of the tunnel: clients that hope send their ClientHello with it.  They
 * are never read as another request, also where it is refused (RFC 9110 9.3.6).
 */
#ifndef FLOW_ENTRY_H
#define FLOW_ENTRY_H

#include "flow/step.h"
#include "wire/message.h"

struct entry {
	struct http_request *req; /* owned; of CONNECT, while it is read */
	struct host host;	  /* where the tunnel leads; n 0: none yet */
	bool is_socks, greeted, asks_password; /* SOCKS5: how far it is */
	bool forwards; /* each request says where it goes */
	bool answered; /* "yes" was put; ENTRY ends when it has left */
};

/* Take in a connection to the sandbox's proxy.  `fd` becomes the flow's own. */
void entry_accept(struct sandbox *sb, int fd);

/* The same over a stream that is there. */
void entry_new(struct sandbox *sb, struct stream *client);

void entry_free(struct entry *e);

/* Each request of this flow says where it goes. */
bool entry_forwards(const struct flow *f);

/* A name that is not the one of the tunnel; false where no name was said. */
bool entry_is_other(const struct flow *f, const struct host *host);

/* The address that a host counts as: see above. */
struct ip entry_address(const struct flow *f, const struct host *host);

/*
 * Is that address one that names were given?  Nobody was given it here: as a
 * literal it is not mapped.
 */
bool entry_is_given(const struct flow *f, const struct ip *ip);

/*
 * Of a request that says itself where it goes: look for the token, and into its
 * facts what its URL says, as if the client had connected there.
 */
void entry_read_request(struct request *r);
/* The connection was for what was allowed on it first. */
void entry_begin_request(struct request *r);

/* --- for flow/entry*.c --------------------------------------------------- */

/* Is the token of the sandbox that one; is none asked for? */
bool entry_is_token(const struct sandbox *sb, struct slice token);
/* Of Basic, as a Proxy-Authorization field has it (RFC 7617 2); any user. */
bool entry_shows_token(const struct sandbox *sb, struct field_list *fields);

/* False: it is refused; the flow's verdict says why. */
bool entry_aim(struct flow *f, const struct host *host, uint16_t port);

enum step entry_http(struct flow *f);
enum step entry_socks(struct flow *f);

#endif
