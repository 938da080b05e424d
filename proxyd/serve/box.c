/* SPDX-License-Identifier: Apache-2.0 */
/* The sandboxes, by number and by name. */
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/secret.h"
#include "base/siphash.h"
#include "cred/placeholder.h"
#include "crypto/digest.h"
#include "serve/entry.h"
#include "serve/keep.h"
#include "serve/restore.h"

#define REQUEST_MAX (2 << 20) /* bytes of an encoded attach */

/* Names are the owner's and his helpers' to choose: no key is needed. */
static size_t
bucket_of(struct slice name)
{
	static const uint8_t key[SIPHASH_KEY_SIZE];

	return siphash(key, name) % SERVE_BUCKETS;
}

struct box *
box_find(struct serve *s, struct slice name)
{
	struct box *b;

	LIST_FOREACH(b, &s->by_name[bucket_of(name)], by_name)
		if (slice_eq_str(name, b->name))
			return b;
	return NULL;
}

bool
box_encode(const struct control_attach *asked, bool is_digest, struct buf *out)
{
	static uint8_t room[REQUEST_MAX];
	static struct control_attach kept;
	uint8_t sha256[DIGEST_SIZE];
	char token[DIGEST_HEX_SIZE];
	struct wr w = wr_of(room, sizeof(room));

	kept = *asked;
	kept.n_secrets = 0;
	if (asked->token.n != 0 && !is_digest) {
		digest_sha256(asked->token, sha256);
		digest_hex(sha256, sizeof(sha256), token);
		kept.token = slice_of_str(token);
	}
	control_attach_write(&w, &kept);
	return !w.bad && buf_put(out, wr_slice(&w));
}

bool
box_is_same(const struct box *b, const struct control_attach *asked)
{
	struct buf other;

	buf_init(&other, REQUEST_MAX);
	bool same = box_encode(asked, false, &other) &&
	    slice_eq(buf_slice(&other), buf_slice(&b->request));
	buf_release(&other);
	return same;
}

static bool
remember(struct box *b, const struct kept *kept)
{
	if (kept == NULL)
		return true;
	b->is_kept = true;
	b->of_old_boot = kept->is_old;
	b->kept_net = kept->net;
	b->tcp_port = kept->tcp_port;
	b->dns_port = kept->dns_port;
	return buf_put(&b->kept_places, kept->places);
}

struct box *
box_new(struct serve *s, const struct control_attach *asked,
    const struct kept *kept, enum err *err)
{
	struct box *b = calloc(1, sizeof(*b));
	struct rd r;

	*err = ERR_MEMORY;
	if (b == NULL)
		return NULL;
	buf_init(&b->request, REQUEST_MAX);
	buf_init(&b->kept_places, UINT16_MAX);
	bool good =
	    box_encode(asked, kept != NULL, &b->request) && remember(b, kept);
	r = rd_of(buf_slice(&b->request));
	if (!good || !control_attach_read(&r, &b->asked)) {
		buf_release(&b->request);
		buf_release(&b->kept_places);
		free(b);
		return NULL;
	}
	b->serve = s;
	b->id = ++s->next_box;
	b->net_fd = b->entry_fd = -1;
	b->generation = 1;
	b->n_waits = 1; /* the tables */
	snprintf(b->name, sizeof(b->name), "%.*s", SLICE_ARG(asked->name));
	snprintf(b->tenant, sizeof(b->tenant), "%.*s",
	    SLICE_ARG(asked->tenant));
	TAILQ_INSERT_TAIL(&s->boxes, b, entry);
	LIST_INSERT_HEAD(&s->by_name[bucket_of(asked->name)], b, by_name);
	ids_put(&s->by_id, &b->by_id, b->id, b);
	s->n_boxes++;
	return b;
}

void
box_let_go(struct box *b)
{
	if (--b->n_waits != 0)
		return;
	buf_release(&b->request);
	buf_release(&b->kept_places);
	allow_release(b);
	free(b->places);
	free(b);
}

/* Listeners and namespace are closed: with them nothing leads to us. */
static void
close_capture(struct box *b)
{
	if (b->news != NULL)
		event_free(b->news);
	if (b->links != NULL)
		event_free(b->links);
	b->news = b->links = NULL;
	if (b->has_job)
		capture_cancel(&b->job);
	if (b->has_capture)
		capture_release(&b->capture);
	b->has_job = b->has_capture = false;
	entry_close(b);
	if (b->net_fd >= 0)
		close(b->net_fd);
	b->net_fd = -1;
}

void
box_end(struct box *b)
{
	struct serve *s = b->serve;

	if (b->state == BOX_GONE)
		return;
	job_drop(b);
	b->state = BOX_GONE;
	image_drop(b->next);
	b->next = NULL;
	close_capture(b);
	if (b->told)
		box_forget(b);
	if (b->worker != NULL)
		worker_leave(b->worker);
	b->worker = NULL;
	image_drop(b->image);
	b->image = NULL;
	TAILQ_REMOVE(&s->boxes, b, entry);
	LIST_REMOVE(b, by_name);
	ids_remove(&s->by_id, &b->by_id);
	s->n_boxes--;
	reload_lost(b);
	restore_lost(b);
	allow_lost(b);
	box_let_go(b);
}
