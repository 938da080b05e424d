/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/bench/load.c and its connections share. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <netinet/in.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/ssl.h>

#include "load_answer.h"

#define PORTION 131072 /* bytes of a read or a write */
#define SECOND 1000000000ull

enum mode {
	MODE_GET,
	MODE_NEW,
	MODE_UP,
	MODE_FIRST
};

struct options {
	enum mode mode;
	struct sockaddr_in to;
	const char *name, *path, *ca; /* ca NULL: nothing is verified */
	size_t n_connections;
	double seconds, rate; /* of MODE_NEW; 0: as fast as it goes */
	double pace;	      /* requests a second; 0: as fast as it goes */
	uint64_t upload;
	char head[1024]; /* of each request */
	size_t n_head;
};

/* What is counted; zeroed when the measured time begins. */
struct sum {
	uint64_t requests, failed, not_2xx, opened, up, down;
	uint64_t failed_ns; /* when the last one did */
	char why[128];	    /* ... and why */
};

enum state {
	CLOSED,
	CONNECTING,
	SHAKING,
	SENDING,
	READING,
	HELD
};

struct conn {
	int fd;	  /* 0 when closed */
	SSL *ssl; /* NULL until connected */
	enum state state;
	bool again;	   /* it may go on without an event */
	bool served;	   /* had an answer on this connection ... */
	bool ever;	   /* ... or on one before */
	size_t sent;	   /* of the head */
	uint64_t left;	   /* of the upload */
	uint64_t began_ns; /* of the request, or for `new` of the connection */
	uint32_t waits;	   /* events that epoll has */
	struct answer answer;
};

extern struct options opt;
extern struct sum sum;
extern SSL_CTX *ctx;
extern int epoll;

uint64_t now_ns(void);
void die(const char *what);

/* A connection's client side, over a descriptor. */
SSL *new_ssl(int fd);

void open_conn(struct conn *c);
void begin_request(struct conn *c);

/* Go on as far as it goes, or until others have their turn. */
void run_conn(struct conn *c);

/* An answer came; `took_ns` since its request or its connection began. */
void answered(struct conn *c, uint64_t took_ns);

#endif
