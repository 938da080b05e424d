/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "flow/hold.h"
#include "flow/request.h"

#define PORTION LIMIT_BACKLOG_SIZE /* bytes that are given at once */

struct hold {
	struct request *request;   /* borrowed */
	struct hold_file *file;	   /* the sandbox's; NULL: none, it failed */
	uint64_t max, size, given; /* bytes: at most; put; given back */
	uint8_t *out;		   /* owned: those given last; NULL: none */
	enum reason failed;
	char detail[STREAM_TEXT_SIZE];
};

/* --- the files of a sandbox ---------------------------------------------- */

void
holds_init(struct sandbox *sb)
{
	for (size_t i = 0; i < LIMIT_HOLDS; i++)
		sb->holds[i] = (struct hold_file){ .sandbox = sb, .fd = -1 };
}

void
holds_release(struct sandbox *sb)
{
	for (size_t i = 0; i < LIMIT_HOLDS; i++) {
		struct hold_file *file = &sb->holds[i];
		sb->asks->cancel(sb->asks_arg, file->asked);
		file->asked = NULL;
		if (file->fd >= 0)
			close(file->fd);
		file->fd = -1;
	}
}

static void
fail(struct hold *h, enum reason reason, const char *detail)
{
	h->failed = reason;
	snprintf(h->detail, sizeof(h->detail), "%s", detail);
}

/* One without an owner stays: what was asked for counts with the monitor. */
static void
on_spooled(int fd, struct slice why, void *arg)
{
	struct hold_file *file = arg;
	struct hold *h = file->hold;

	file->asked = NULL;
	file->fd = fd;
	if (h == NULL)
		return;
	if (fd < 0) {
		fail(h, REASON_INTERNAL, "");
		snprintf(h->detail, sizeof(h->detail),
		    "no file for a pack that has to wait: %.*s",
		    SLICE_ARG(why));
		file->hold = NULL;
		h->file = NULL;
	}
	request_wake(h->request);
}

static void
ask(struct hold_file *file)
{
	struct sandbox *sb = file->sandbox;
	struct asked *asked =
	    sb->asks->spool(sb->asks_arg, sb, on_spooled, file);

	if (asked != NULL)
		file->asked = asked;
}

/* One that is there, else one that is on its way, else one to be asked for. */
static struct hold_file *
find(struct sandbox *sb)
{
	struct hold_file *best = NULL;

	for (size_t i = 0; i < LIMIT_HOLDS; i++) {
		struct hold_file *file = &sb->holds[i];
		if (file->hold != NULL)
			continue;
		if (file->fd >= 0)
			return file;
		if (best == NULL ||
		    (best->asked == NULL && file->asked != NULL))
			best = file;
	}
	return best;
}

/* Emptied; the disk has the room again. */
static void
give_back(struct hold_file *file)
{
	file->hold = NULL;
	if (file->fd < 0 || ftruncate(file->fd, 0) == 0)
		return;
	close(file->fd);
	file->fd = -1;
}

/* --- one of them --------------------------------------------------------- */

struct hold *
hold_new(struct request *r, uint64_t max)
{
	struct hold *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->request = r;
	h->max = max == 0 || max > LIMIT_HOLD_SIZE ? LIMIT_HOLD_SIZE : max;
	h->file = find(r->flow->sandbox);
	if (h->file == NULL) {
		fail(h, REASON_LIMIT_CONNS,
		    "too many packs of this sandbox wait at once; try again "
		    "when another push is over");
		return h;
	}
	h->file->hold = h;
	if (h->file->fd < 0 && h->file->asked == NULL)
		ask(h->file);
	return h;
}

void
hold_free(struct hold *h)
{
	if (h == NULL)
		return;
	if (h->file != NULL)
		give_back(h->file);
	free(h->out);
	free(h);
}

bool
hold_is_ready(const struct hold *h)
{
	return h->failed == REASON_ALLOW && h->file->fd >= 0;
}

enum reason
hold_failed(const struct hold *h, const char **detail)
{
	*detail = h->detail;
	return h->failed;
}

uint64_t
hold_size(const struct hold *h)
{
	return h->size;
}

/* The disk takes no more of it.  Who else writes there, as the scribe does, has
 * the room at once. */
static void
fail_at_disk(struct hold *h, int error)
{
	give_back(h->file);
	h->file = NULL;
	fail(h, REASON_INTERNAL, "");
	snprintf(h->detail, sizeof(h->detail),
	    "a pack that has to wait cannot be kept on duenna's disk: %s",
	    strerror(error));
}

bool
hold_put(struct hold *h, struct slice bytes)
{
	if (!hold_is_ready(h))
		return false;
	if (bytes.n > h->max - h->size) {
		fail(h, REASON_LIMIT_BYTES,
		    "the pack is larger than may wait for its verdict");
		return false;
	}
	while (bytes.n != 0) {
		ssize_t n =
		    pwrite(h->file->fd, bytes.p, bytes.n, (off_t)h->size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			fail_at_disk(h, n < 0 ? errno : ENOSPC);
			return false;
		}
		h->size += (uint64_t)n;
		bytes = slice_from(bytes, (size_t)n);
	}
	return true;
}

bool
hold_get(struct hold *h, size_t most, struct slice *out, bool *end)
{
	uint64_t left = h->size - h->given;
	size_t want = most < PORTION ? most : PORTION;
	ssize_t n = 0;

	if (!hold_is_ready(h))
		return false;
	if (h->out == NULL && (h->out = malloc(PORTION)) == NULL) {
		fail(h, REASON_INTERNAL, "out of memory");
		return false;
	}
	if (want > left)
		want = (size_t)left;
	if (want != 0)
		do
			n = pread(h->file->fd, h->out, want, (off_t)h->given);
		while (n < 0 && errno == EINTR);
	if (n < 0 || (n == 0 && want != 0)) {
		fail_at_disk(h, n < 0 ? errno : EIO);
		return false;
	}
	h->given += (uint64_t)n;
	*out = slice_of(h->out, (size_t)n);
	*end = h->given == h->size;
	return true;
}
