/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of tests/bench: many TLS connections to one name.
 *
 *	load MODE [-a ADDRESS[:PORT]] [-n NAME] [-p PATH] [-c CONNECTIONS]
 *	     [-d SECONDS] [-r RATE] [-q PACE] [-k CPU] [-u BYTES]
 *	     [-V CA | -V system]
 *
 *	get	GET on kept connections
 *	new	a new connection with a full handshake for every GET, never more
 *		than RATE a second
 *	up	POST of BYTES, on kept connections
 *	first	tries a GET each millisecond until it is answered with 2xx;
 *		prints when that was, by CLOCK_MONOTONIC
 *
 * Without -a the name is looked up.  Connections are opened at most RATE a
 * second.  When each has had an answer, `ready` is printed; they go on, and an
 * empty line of standard input begins the measured time.  Its figures are a
 * line of JSON; the end of standard input ends the program.  So whoever runs it
 * can look at other processes between those.  With `-d 0` connections are held
 * open after one answer.
 *
 * With -q a `get` asks PACE times a second, whatever comes back, on whichever
 * connection has nothing to do; what a request takes counts from when it was
 * due.  With -k the program stays on that processor.
 *
 * A session is never resumed.  Without -V certificates are not verified, which
 * is the client's own cost and would only crowd the machine.
 */
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>

#include "load.h"

#define CONNECTIONS_MAX 8192
#define SAMPLES_MAX (1 << 22)
#define PAUSE_NS 5000000 /* after a failure, so as not to spin */
#define FIRST_MS 30000	 /* `first` gives up */

struct options opt = { .name = "api.test",
	.path = "/small",
	.n_connections = 1,
	.seconds = 1 };
struct sum sum;
SSL_CTX *ctx;
int epoll;

static struct conn conns[CONNECTIONS_MAX];
static uint32_t samples[SAMPLES_MAX]; /* microseconds */
static size_t n_samples;
static bool measuring;
static uint64_t due_ns;	 /* the next connection of `new` */
static uint64_t pace_ns; /* the next request of a pace; 0: not yet */

uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void
die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* Without a time to measure it only holds what it has opened. */
static bool
holds(void)
{
	return opt.seconds <= 0;
}

void
answered(struct conn *c, uint64_t took_ns)
{
	uint64_t us = took_ns / 1000;

	sum.requests++;
	if (c->answer.status / 100 != 2)
		sum.not_2xx++;
	if (measuring && n_samples < SAMPLES_MAX)
		samples[n_samples++] =
		    us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
	if (!holds() && c->state == HELD && opt.pace <= 0)
		begin_request(c);
}

/* What is due by the pace, as far as there are connections for it. */
static void
begin_due(void)
{
	static size_t next; /* in turn */

	for (size_t i = 0; i < opt.n_connections && now_ns() >= pace_ns;
	     i++, next = (next + 1) % opt.n_connections) {
		struct conn *c = &conns[next];
		if (c->state != HELD)
			continue;
		begin_request(c);
		c->began_ns = pace_ns;
		c->again = true;
		pace_ns += (uint64_t)((double)SECOND / opt.pace);
	}
}

/* Wait for an event, at most a millisecond, or until a request is due. */
static int
wait_events(struct epoll_event *events, int n)
{
	struct pollfd any = { .fd = epoll, .events = POLLIN };
	struct timespec t = { .tv_nsec = 1000000 };
	uint64_t now;

	if (pace_ns == 0)
		return epoll_wait(epoll, events, n, 1);
	now = now_ns();
	if (pace_ns <= now)
		t.tv_nsec = 0;
	else if (pace_ns - now < (uint64_t)t.tv_nsec)
		t.tv_nsec = (long)(pace_ns - now);
	return ppoll(&any, 1, &t, NULL) > 0 ? epoll_wait(epoll, events, n, 0) :
					      0;
}

/* Open what is closed, as far as rate and failures let us.  */
static void
open_closed(void)
{
	static size_t next; /* in turn, so that each is opened once */
	uint64_t now = now_ns();

	if (now - sum.failed_ns < PAUSE_NS)
		return;
	for (size_t i = 0; i < opt.n_connections;
	     i++, next = (next + 1) % opt.n_connections) {
		struct conn *c = &conns[next];
		if (c->state != CLOSED || (holds() && c->ever))
			continue;
		if (opt.rate > 0) {
			if (now < due_ns)
				return;
			due_ns += (uint64_t)((double)SECOND / opt.rate);
			/* What could not be opened in time is not made up for. */
			if (due_ns + SECOND / 100 < now)
				due_ns = now;
		}
		open_conn(c);
	}
}

/* One turn of everything. */
static void
turn(void)
{
	struct epoll_event events[256];
	bool again = false;

	open_closed();
	if (pace_ns != 0)
		begin_due();
	for (size_t i = 0; i < opt.n_connections; i++) {
		if (conns[i].again)
			run_conn(&conns[i]);
		again = again || conns[i].again;
	}
	int n = again ? epoll_wait(epoll, events, 256, 0) :
			wait_events(events, 256);
	for (int i = 0; i < n; i++)
		run_conn(events[i].data.ptr);
}

static bool
all_served(void)
{
	for (size_t i = 0; i < opt.n_connections; i++)
		if (!conns[i].ever)
			return false;
	return true;
}

static int
by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static unsigned
percentile(unsigned percent)
{
	return n_samples == 0 ? 0 : samples[n_samples * percent / 100];
}

/* Until `end_ns`. */
static void
measure(void)
{
	uint64_t began = now_ns();
	uint64_t end = began + (uint64_t)(opt.seconds * (double)SECOND);

	memset(&sum, 0, sizeof(sum));
	measuring = true;
	pace_ns = opt.pace > 0 ? began : 0;
	while (now_ns() < end)
		turn();
	double took = (double)(now_ns() - began) / (double)SECOND;
	qsort(samples, n_samples, sizeof(samples[0]), by_size);
	printf("{\"requests\": %lu, \"failed\": %lu, \"not_2xx\": %lu, "
	       "\"opened\": %lu, \"up\": %lu, \"down\": %lu, "
	       "\"seconds\": %.6f, \"p50_us\": %u, \"p99_us\": %u, "
	       "\"why\": \"%s\"}\n",
	    sum.requests, sum.failed, sum.not_2xx, sum.opened, sum.up, sum.down,
	    took, percentile(50), percentile(99), sum.why);
	fflush(stdout);
}

/* Is there a line of standard input, or its end?  */
static bool
is_told(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char c;

	return poll(&in, 1, 0) > 0 &&
	    (read(STDIN_FILENO, &c, 1) != 1 || c == '\n');
}

/* One whole GET, waiting; false: not yet. */
static bool
try_first(void)
{
	const struct timeval limit = { .tv_sec = 3 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char in[64] = "";
	size_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&opt.to, sizeof(opt.to)) !=
	    0) {
		snprintf(sum.why, sizeof(sum.why), "connect: %s",
		    strerror(errno));
		close(fd);
		return false;
	}
	SSL *ssl = new_ssl(fd);
	bool ok = SSL_connect(ssl) == 1 &&
	    SSL_write_ex(ssl, opt.head, opt.n_head, &n) == 1 &&
	    SSL_read_ex(ssl, in, sizeof(in) - 1, &n) == 1;
	if (!ok) {
		unsigned long e = ERR_peek_error();
		const char *text = e == 0 ? NULL : ERR_reason_error_string(e);
		snprintf(sum.why, sizeof(sum.why), "TLS: %s",
		    text == NULL ? "ended" : text);
	} else {
		snprintf(sum.why, sizeof(sum.why), "%.12s", in);
	}
	ok = ok && strncmp(in, "HTTP/1.1 2", 10) == 0;
	ERR_clear_error();
	SSL_free(ssl);
	close(fd);
	return ok;
}

static int
first(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < FIRST_MS; i++) {
		if (try_first()) {
			printf("{\"first\": %.6f}\n",
			    (double)now_ns() / (double)SECOND);
			return 0;
		}
		nanosleep(&pause, NULL);
	}
	printf("{\"failed\": 1, \"why\": \"%s\"}\n", sum.why);
	return 1;
}

static void
look_up(const char *address)
{
	const struct addrinfo hints = { .ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM };
	char host[256];
	const char *colon = address == NULL ? NULL : strchr(address, ':');
	struct addrinfo *found;

	snprintf(host, sizeof(host), "%.*s",
	    colon == NULL ? 255 : (int)(colon - address),
	    address == NULL ? opt.name : address);
	if (getaddrinfo(host, colon == NULL ? "443" : colon + 1, &hints,
		&found) != 0)
		die(host);
	memcpy(&opt.to, found->ai_addr, sizeof(opt.to));
	freeaddrinfo(found);
}

static void
make_ctx(void)
{
	static const unsigned char alpn[] = "\x08http/1.1";

	ctx = SSL_CTX_new(TLS_client_method());
	if (ctx == NULL)
		die("TLS");
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx,
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn) - 1);
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_default_read_buffer_len(ctx, PORTION);
	if (opt.ca == NULL)
		return;
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	if (strcmp(opt.ca, "system") == 0 ?
		SSL_CTX_set_default_verify_paths(ctx) != 1 :
		SSL_CTX_load_verify_locations(ctx, opt.ca, NULL) != 1)
		die(opt.ca);
}

static void
make_head(void)
{
	int n;

	if (opt.mode == MODE_UP)
		n = snprintf(opt.head, sizeof(opt.head),
		    "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\n"
		    "Accept: */*\r\nContent-Length: %lu\r\n\r\n",
		    opt.path, opt.name, opt.upload);
	else
		n = snprintf(opt.head, sizeof(opt.head),
		    "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\n"
		    "Accept: */*\r\n%s\r\n",
		    opt.path, opt.name,
		    opt.mode == MODE_NEW ? "Connection: close\r\n" : "");
	opt.n_head =
	    (size_t)n < sizeof(opt.head) ? (size_t)n : sizeof(opt.head) - 1;
}

static void
stay_on(size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("processor");
}

static void
read_options(int argc, char **argv)
{
	static const char *const modes[] = { "get", "new", "up", "first" };
	const char *address = NULL;
	int c, mode = 0;

	while (mode < 4 && argc > 1 && strcmp(argv[1], modes[mode]) != 0)
		mode++;
	if (argc < 2 || mode == 4)
		exit(2);
	opt.mode = (enum mode)mode;
	for (optind = 2;
	     (c = getopt(argc, argv, "a:n:p:c:d:r:q:k:u:V:")) != -1;)
		switch (c) {
		case 'a':
			address = optarg;
			break;
		case 'n':
			opt.name = optarg;
			break;
		case 'p':
			opt.path = optarg;
			break;
		case 'c':
			opt.n_connections = strtoul(optarg, NULL, 10);
			break;
		case 'd':
			opt.seconds = strtod(optarg, NULL);
			break;
		case 'r':
			opt.rate = strtod(optarg, NULL);
			break;
		case 'q':
			opt.pace = strtod(optarg, NULL);
			break;
		case 'k':
			stay_on(strtoul(optarg, NULL, 10));
			break;
		case 'u':
			opt.upload = strtoull(optarg, NULL, 10);
			break;
		case 'V':
			opt.ca = optarg;
			break;
		default:
			exit(2);
		}
	if (opt.n_connections > CONNECTIONS_MAX)
		exit(2);
	look_up(address);
}

int
main(int argc, char **argv)
{
	char line[16];

	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_TIMERSLACK, 1UL);
	read_options(argc, argv);
	make_ctx();
	make_head();
	if (opt.mode == MODE_FIRST)
		return first();
	epoll = epoll_create1(EPOLL_CLOEXEC);
	for (uint64_t end = now_ns() + 30 * SECOND; !all_served();) {
		turn();
		if (now_ns() > end) {
			fprintf(stderr, "load: not ready: %s\n", sum.why);
			return 1;
		}
	}
	printf("ready\n");
	fflush(stdout);
	while (!is_told())
		turn();
	if (!holds())
		measure();
	while (read(STDIN_FILENO, line, sizeof(line)) > 0)
		;
	return 0;
}
