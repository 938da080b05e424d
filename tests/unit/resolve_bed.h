/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of resolve have in common. */
#ifndef RESOLVE_BED_H
#define RESOLVE_BED_H

#include <arpa/inet.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "base/wr.h"
#include "dial/lines.h"
#include "dial/resolve.h"
#include "net/timer.h"

#define TYPE_A 1
#define TYPE_CNAME 5
#define TYPE_AAAA 28

/* How the server answers a question of one type. */
enum how {
	ANSWER,	     /* what `n` says */
	SILENT,	     /* not at all */
	WRONG_ID,    /* with the id of somebody else, then not again */
	WRONG_NAME,  /* to another question */
	TRUNCATED,   /* TC over UDP, all of it over TCP */
	SERVFAIL,    /* rcode 2 */
	NXDOMAIN,    /* rcode 3 */
	REFUSED,     /* rcode 5 */
	NODATA,	     /* no record */
	GARBAGE,     /* a record that is longer than the message */
	OTHER_OWNER, /* an address of another name */
};

struct script {
	enum how how;
	unsigned n;	  /* addresses */
	unsigned n_cname; /* aliases before them */
	bool loop;	  /* the aliases name each other */
};

struct server {
	int udp, tcp;
	uint16_t port;
	struct event *readable, *acceptable;
	struct script a, aaaa;
	unsigned n_questions, n_tcp;
	char last[256]; /* the name asked for, as text */
	bool mixed;	/* some question was not canonical */
};

/* All that was told, and whether the loop ends when more is to come. */
struct result {
	unsigned n_done;
	bool at_first;
	struct resolved answer;
};

extern struct loop *loop;

/* A TCP connection of the resolver: questions one behind the other. */
struct conn {
	struct server *server;
	struct event *readable;
	uint8_t in[4096];
	size_t n;
};

size_t answer(struct server *sv, struct slice question, bool tcp, uint8_t *out,
    size_t max);
void server_init(struct server *sv);
void server_release(struct server *sv);
struct servers list_of(const struct server *sv);
void on_done(const struct resolved *answer_, void *arg);
/* Resolve ok.test and wait for what comes; returns the time that it took. */
uint64_t run(struct resolver *r, const struct server *sv,
    struct result *result);
int set_up(void **state);
int tear_down(void **state);

#endif
