/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/secret.h"
#include "keep/fresh.h"
#include "keep/store.h"
#include "net/timer.h"

#define GRACE_MS 2000 /* for the monitor to say that its time is over */

/* One credential's secret, on its way or not. */
struct fetch {
	LIST_ENTRY(fetch) entry;
	struct fresh *fresh; /* borrowed */
	uint32_t credential;
	bool going;
	bool is_heard;	   /* the monitor has said something of it */
	bool is_warned;	   /* that it is short */
	uint64_t retry_ms; /* not before, by clock_ms(); 0: at once */
	struct timer limit;
	int fd;		    /* owned; -1: no pipe */
	struct event *came; /* owned; NULL: no pipe */
	size_t n_read;	    /* bytes that came out of it */
	size_t n;	    /* of them in `line` */
	bool has_line;	    /* a line end came: what follows is not looked at */
	struct secret line; /* owned: room for the first line */
};

struct fresh {
	struct loop *loop; /* borrowed, as all of these */
	struct store *store;
	const struct fresh_ops *ops;
	void *arg;
	LIST_HEAD(, fetch) fetches;
};

struct fresh *
fresh_new(struct loop *loop, struct store *store, const struct fresh_ops *ops,
    void *arg, enum err *err)
{
	struct fresh *f = calloc(1, sizeof(*f));

	if (f == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	*f = (struct fresh){ loop, store, ops, arg, { NULL } };
	return f;
}

/* No pipe any more; what came of it is wiped. */
static void
close_pipe(struct fetch *k)
{
	if (k->came != NULL)
		event_free(k->came);
	k->came = NULL;
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
	secret_release(&k->line);
	k->n = k->n_read = 0;
	k->has_line = false;
}

void
fresh_reset(struct fresh *f)
{
	struct fetch *k;

	while ((k = LIST_FIRST(&f->fetches)) != NULL) {
		close_pipe(k);
		timer_release(&k->limit);
		LIST_REMOVE(k, entry);
		free(k);
	}
}

void
fresh_free(struct fresh *f)
{
	if (f == NULL)
		return;
	fresh_reset(f);
	free(f);
}

/* It is over; in the store there is a secret, or none. */
static void
settle(struct fetch *k, bool here, const char *why)
{
	struct fresh *f = k->fresh;

	close_pipe(k);
	timer_stop(&k->limit);
	k->going = false;
	k->retry_ms = here ? 0 : clock_ms() + LIMIT_SECRET_RETRY_MS;
	if (!here)
		store_drop_secret(f->store, k->credential);
	f->ops->settled(k->credential, here ? NULL : why, f->arg);
}

static void
on_limit(void *arg)
{
	struct fetch *k = arg;

	k->is_heard = true;
	settle(k, false, "no word of it in time");
}

static struct fetch *
find(struct fresh *f, uint32_t credential)
{
	struct fetch *k;

	LIST_FOREACH(k, &f->fetches, entry)
		if (k->credential == credential)
			return k;
	return NULL;
}

/* The row of a credential, made if it is new; NULL: there is no such one, or no
 * memory. */
static struct fetch *
get(struct fresh *f, uint32_t credential)
{
	const struct owner *owner = store_owner(f->store);
	struct fetch *k = find(f, credential);
	enum err err;

	if (k != NULL || owner == NULL ||
	    credential >= owner_n_credentials(owner))
		return k;
	k = calloc(1, sizeof(*k));
	if (k == NULL)
		return NULL;
	k->fresh = f;
	k->credential = credential;
	k->fd = -1;
	if (timer_init(&k->limit, f->loop, on_limit, k, &err) != 0) {
		free(k);
		return NULL;
	}
	LIST_INSERT_HEAD(&f->fetches, k, entry);
	return k;
}

static void
begin(struct fetch *k)
{
	k->going = true;
	timer_set(&k->limit, LIMIT_SECRET_COMMAND_MS + GRACE_MS);
}

bool
fresh_want(struct fresh *f, uint32_t credential)
{
	struct fetch *k = get(f, credential);

	if (k == NULL)
		return false;
	if (k->going)
		return true;
	if (!k->is_heard) {
		/* A keeper that has just begun: the monitor is about to. */
		begin(k);
		return true;
	}
	if (owner_credential(store_owner(f->store), credential).for_ms == 0 ||
	    clock_ms() < k->retry_ms || !f->ops->ask(credential, f->arg))
		return false;
	begin(k);
	return true;
}

/* What came of the pipe: the first line is kept, the rest is counted. */
static void
take_bytes(struct fetch *k, const uint8_t *p, size_t n)
{
	const uint8_t *end = memchr(p, '\n', n);
	size_t wanted = end == NULL ? n : (size_t)(end - p);

	k->n_read += n;
	if (k->has_line)
		return;
	if (wanted > k->line.n - k->n)
		wanted = k->line.n - k->n;
	memcpy(k->line.p + k->n, p, wanted);
	k->n += wanted;
	k->has_line = end != NULL;
}

/* Read what is there; false: there is more than a secret's command may print. */
static bool
read_pipe(struct fetch *k)
{
	uint8_t bytes[4096];
	bool fits = true;
	ssize_t n = 0;

	do {
		n = read(k->fd, bytes, sizeof(bytes));
		if (n > 0)
			take_bytes(k, bytes, (size_t)n);
		fits = k->n_read <= LIMIT_SECRET_OUTPUT_SIZE;
	} while (fits && (n > 0 || (n < 0 && errno == EINTR)));
	explicit_bzero(bytes, sizeof(bytes));
	/* The end of the output is not the end of the command. */
	if (n == 0)
		event_del(k->came);
	return fits;
}

static void
on_came(int fd UNUSED, short what UNUSED, void *arg)
{
	struct fetch *k = arg;

	if (!read_pipe(k))
		settle(k, false, "its command printed more than 64 KiB");
}

void
fresh_take_pipe(struct fresh *f, uint32_t credential, int fd)
{
	static const uint8_t nothing[SECRET_MAX];
	struct fetch *k = get(f, credential);
	enum err err;

	if (k == NULL) {
		close(fd);
		return;
	}
	close_pipe(k);
	begin(k);
	k->is_heard = true;
	k->fd = fd;
	k->came = loop_event(f->loop, fd, EV_READ | EV_PERSIST, on_came, k);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || k->came == NULL ||
	    event_add(k->came, NULL) != 0 ||
	    secret_init(&k->line, slice_of(nothing, sizeof(nothing)), &err) !=
		0)
		settle(k, false, "the keeper has no room for it");
}

/* It could be guessed piece by piece, by what is masked.  Said once. */
static void
warn_if_short(struct fetch *k)
{
	struct program_credential c =
	    owner_credential(store_owner(k->fresh->store), k->credential)
		.public;

	if (k->n >= LIMIT_SECRET_SEARCH_MIN || !c.response_filter ||
	    k->is_warned)
		return;
	k->is_warned = true;
	log_warn("credential `%.*s`: a secret under %d bytes is not masked in "
		 "answers",
	    SLICE_ARG(c.name), LIMIT_SECRET_SEARCH_MIN);
}

/* The first line into the store, or why not. */
static const char *
keep_line(struct fetch *k)
{
	enum err err;

	if (!read_pipe(k))
		return "its command printed more than 64 KiB";
	if (k->n == 0)
		return "its command printed nothing, or an empty first line";
	if (k->n == k->line.n)
		return "the first line that its command printed is longer "
		       "than 16 KiB";
	if (store_set_secret(k->fresh->store, k->credential, true,
		slice_of(k->line.p, k->n), &err) != 0)
		return "what its command printed cannot stand in a request (a "
		       "control character, or a blank at an end)";
	warn_if_short(k);
	return NULL;
}

void
fresh_take_end(struct fresh *f, uint32_t credential, bool good)
{
	struct fetch *k = find(f, credential);
	const char *why = NULL;

	/* Of one that was too late, or printed too much. */
	if (k == NULL || !k->going || k->fd < 0)
		return;
	if (good)
		why = keep_line(k);
	settle(k, good && why == NULL, why);
}

void
fresh_take_given(struct fresh *f, uint32_t credential, bool here)
{
	struct fetch *k = get(f, credential);

	if (k == NULL)
		return;
	k->is_heard = true;
	settle(k, here, NULL);
}
