/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side's bytes: a fixed buffer a direction, one callback, the same for a
 * socket (net/stream_tcp.h), for TLS (tls/stream_tls.h) and for a script
 * (tests/play).
 *
 * What its owner may rely on:
 *  - `on_news` is called from the loop only, never from inside a call that the
 *    owner makes; it says that something changed (bytes came or left, ready,
 *    eof, shut, broken), not what.  After stream_close() it is never called.
 *  - Bytes that are put leave by themselves, before the loop waits again.
 *  - A full buffer stops reading: nothing grows.
 *
 * What an implementation must do: embed `struct stream` as its first member,
 * call stream_init(), and give the functions of net/stream_ops.h.  It
 * has no buffers and no events of its own; all of that is here.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include "base/limits.h"
#include "base/reason.h"
#include "base/slice.h"
#include "net/loop.h"
#include "net/stream_buf.h"
#include "net/stream_ops.h"

struct stream;
struct event;

typedef void stream_on_news(struct stream *s, void *arg);

#define STREAM_IN_MAX LIMIT_BACKLOG_SIZE /* bytes that wait to be taken */
/* Bytes that wait to leave: what is moved, and a whole head with a secret. */
#define STREAM_OUT_MAX STREAM_BUF_MAX
#define STREAM_TEXT_SIZE 128 /* of the text of a failure, with its NUL */
#define STREAM_PEER_SIZE 48  /* of an address as text, with its NUL */

/* Public for implementations; owners use the functions. */
struct stream {
	struct loop_item dead; /* first: freed by the reaper */
	const struct stream_ops *ops;
	struct loop *loop;	 /* borrowed */
	int fd;			 /* owned; -1: a script, or detached */
	struct event *readable;	 /* owned; NULL with fd -1 */
	struct event *writable;	 /* owned; NULL with fd -1 */
	struct event *kick;	 /* owned; a run soon; NULL with `touched` */
	stream_on_news *on_news; /* NULL: nobody listens */
	void *arg;
	struct stream_buf in, out;
	uint64_t n_in, n_out; /* bytes since the start, for the record */
	uint64_t tag;	      /* the owner's own; goes along with the stream */
	bool reads, writes;   /* that event is added */
	bool ready;	      /* the handshake is over */
	bool ended;	      /* the peer announced its end */
	bool want_shut, shut; /* our end: wanted, announced */
	bool broken;	      /* nothing comes or goes any more */
	bool held;	      /* the owner wants no reading now */
	bool more;	      /* reading may give bytes without an event */
	bool raw;	      /* stream_make_raw() was called */
	bool wipe;	      /* `out` holds a secret: wipe when it has left */
	bool closed;	      /* stream_close() was called */
	bool news;	      /* something changed that was not told */
	enum stream_io wait_start, wait_read, wait_write; /* what each wants */
	enum reason reason;	     /* why broken; else REASON_ALLOW */
	char peer[STREAM_PEER_SIZE]; /* the other end, where somebody said */
	char text[STREAM_TEXT_SIZE]; /* why broken, for people; escaped */
};

/* --- for implementations ------------------------------------------------ */

/*
 * Set up; `fd` becomes the stream's own, non-blocking, or is -1.  0, or -1 with
 * ERR_MEMORY: `fd` is closed then and the caller frees its struct.
 */
MUST_USE int stream_init(struct stream *s, const struct stream_ops *ops,
    struct loop *l, int fd, enum err *err);

/* Say why it is broken, before answering STREAM_IO_BROKEN. */
void stream_fail(struct stream *s, enum reason reason, const char *text);

/* Something may be possible now that was not (a script has bytes). */
void stream_wake(struct stream *s);

/* Of an implementation with `touched`, from the loop: something changed. */
void stream_tell(struct stream *s);

/*
 * From now on the stream neither reads nor writes by itself: whoever has it in
 * hand (net/splice.h) is told by `on_news` that it may be able to, calls its
 * ops, sets `ended`, `shut` and `broken`, and says what it waits for.  The
 * bytes in `in` are that caller's too; nothing may wait in `out`.
 */
void stream_make_raw(struct stream *s);
void stream_want(struct stream *s, bool read, bool write);

/* --- for owners --------------------------------------------------------- */

/* Who is told from now on; NULL: nobody. */
void stream_on(struct stream *s, stream_on_news *on_news, void *arg);

/* Tell the owner soon, from the loop, as if something had changed. */
void stream_nudge(struct stream *s);

bool stream_is_ready(const struct stream *s);
/* The peer ended its side in due form, and every byte of it was taken. */
bool stream_is_eof(const struct stream *s);
/* Our end was announced behind every byte put. */
bool stream_is_shut(const struct stream *s);
/* Lost: reset, cut, or a failed handshake.  What came before can be taken. */
bool stream_is_broken(const struct stream *s);
enum reason stream_reason(const struct stream *s);
const char *stream_text(const struct stream *s);
/* Up, quiet, nothing waiting either way: fit to be used for another request. */
bool stream_is_idle(const struct stream *s);

/* What has come and was not taken; valid until the loop runs again, or a take. */
struct slice stream_peek(const struct stream *s);
void stream_take(struct stream *s, size_t n);

/* True if the in-buffer is full: a parser that wants more will get none. */
bool stream_is_full(const struct stream *s);

/* Bytes that wait to leave, and how many more fit before the peer is held. */
size_t stream_backlog(const struct stream *s);
size_t stream_room(const struct stream *s);

/*
 * Append bytes, all or none.  False: they do not fit in STREAM_OUT_MAX, or the
 * side is shut or broken.  stream_put_secret: their memory is wiped once they
 * have left.
 */
MUST_USE bool stream_put(struct stream *s, struct slice bytes);
MUST_USE bool stream_put_secret(struct stream *s, struct slice bytes);

/* Move up to `max` bytes, and what `to` has room for.  Returns bytes moved. */
size_t stream_move(struct stream *from, struct stream *to, size_t max);

/*
 * Write now what can be written, without waiting for the loop: before a close
 * that must not lose it.  Never calls `on_news`.
 */
void stream_flush(struct stream *s);

/* Stop or go on reading; what has come stays. */
void stream_hold(struct stream *s, bool hold);

/* Announce our end once all has left.  Reading goes on. */
void stream_shut(struct stream *s);

/*
 * Give the descriptor away (a peeked connection becomes TLS): it is the
 * caller's, -1 if there is none.  The stream is then broken; bytes that came
 * can still be peeked at until stream_close().
 */
MUST_USE int stream_detach(struct stream *s);

/* Borrowed; for showing the socket to the keeper.  -1: none. */
int stream_fd(const struct stream *s);

/* For checks: an event may call its owner; it should go on, and none will. */
bool stream_is_armed(const struct stream *s);
bool stream_is_stuck(const struct stream *s);

/*
 * End it now; NULL does nothing.  It is freed by the reaper.  What has not left
 * is lost; where nothing waits an end not yet announced is announced.
 * stream_reset: the same with a TCP reset, so that the peer sees an error.
 */
void stream_close(struct stream *s);
void stream_reset(struct stream *s);

#endif
