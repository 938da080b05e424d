/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decide every record of a log again: the facts are in it, the program is
 * found by the digest that it names.
 */
#include <sys/queue.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "audit/facts_event.h"
#include "audit/line.h"
#include "base/json.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"
#include "crypto/digest.h"
#include "policy/policy.h"

#define PROGRAM_SIZE_MAX 268435456 /* bytes of an image */
#define PROGRAMS_MAX 64		   /* of one log; more are not looked for */

/* A program that a record named. */
struct image {
	SLIST_ENTRY(image) entry;
	struct buf bytes;
	struct program *program; /* NULL: it is not there, or damaged */
	uint64_t n_records;	 /* that name it */
	char digest[DIGEST_NAME_SIZE];
};

struct replay {
	const struct audit_options *o;
	const char *folder;
	SLIST_HEAD(, image) images;
	size_t n_images;
	uint64_t n_decided, n_different, n_unread, n_missing;
	bool first; /* for the commas of JSON */
	struct buf out;
};

static bool
read_file(const char *path, struct buf *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = -1;

	while (fd >= 0) {
		uint8_t *room = buf_room(bytes, 65536);
		n = room == NULL ? -1 : read(fd, room, 65536);
		if (n <= 0)
			break;
		buf_added(bytes, (size_t)n);
	}
	if (fd >= 0)
		close(fd);
	return n == 0;
}

static void
load(struct replay *r, struct image *image)
{
	char again[DIGEST_NAME_SIZE];
	enum err err = ERR_NONE;
	struct buf path;

	buf_init(&path, 8192);
	buf_putf(&path, "%s/sha256-%s", r->folder, image->digest + 7);
	if (read_file(buf_text(&path), &image->bytes)) {
		digest_name(buf_slice(&image->bytes), again);
		if (strcmp(again, image->digest) == 0)
			image->program =
			    program_open(buf_slice(&image->bytes), &err);
	}
	buf_release(&path);
}

/* NULL: it is none of ours. */
static struct image *
find_image(struct replay *r, struct slice name)
{
	uint8_t sum[DIGEST_SIZE];
	struct image *image;

	SLIST_FOREACH(image, &r->images, entry)
		if (slice_eq_str(name, image->digest))
			return image;
	if (!slice_has_prefix(name, SLICE("sha256:")) ||
	    !digest_unhex(slice_from(name, 7), sum, sizeof(sum)) ||
	    r->n_images == PROGRAMS_MAX ||
	    (image = calloc(1, sizeof(*image))) == NULL)
		return NULL;
	buf_init(&image->bytes, PROGRAM_SIZE_MAX);
	memcpy(image->digest, name.p, name.n);
	load(r, image);
	SLIST_INSERT_HEAD(&r->images, image, entry);
	r->n_images++;
	return image;
}

static void
free_images(struct replay *r)
{
	while (!SLIST_EMPTY(&r->images)) {
		struct image *image = SLIST_FIRST(&r->images);
		SLIST_REMOVE_HEAD(&r->images, entry);
		program_free(image->program);
		buf_release(&image->bytes);
		free(image);
	}
}

/* Something is wrong with one record. */
static void
say(struct replay *r, uint64_t seq, const char *text)
{
	struct json j;

	buf_clear(&r->out);
	if (r->o->json) {
		json_init(&j, &r->out);
		if (!r->first)
			buf_put_byte(&r->out, ',');
		json_object_begin(&j);
		json_key_number(&j, "seq", seq);
		json_key_str(&j, "problem", text);
		json_object_end(&j);
	} else {
		buf_putf(&r->out, "record %" PRIu64 ": %s\n", seq, text);
	}
	r->first = false;
	fputs(buf_text(&r->out), stdout);
}

static void
say_different(struct replay *r, const struct line *l, const struct verdict *v,
    const struct program *p)
{
	char text[256], rule[64] = "";

	if (v->rule < program_n_rules(p))
		snprintf(rule, sizeof(rule), " by rule %u", v->rule);
	snprintf(text, sizeof(text),
	    "its facts give %s, %s%s; it says %.*s, %.40s", verdict_name(v),
	    reason_name(v->reason), rule,
	    SLICE_ARG(slice_first(l->event.text[FIELD_VERDICT], 8)),
	    reason_name(reason_find(l->event.text[FIELD_REASON])));
	r->n_different++;
	say(r, l->seq, text);
}

/* Does the record say what was decided now? */
static bool
is_same(const struct event *e, const struct verdict *v)
{
	uint64_t rule = event_has(e, FIELD_RULE_INDEX) ?
	    e->number[FIELD_RULE_INDEX] :
	    VERDICT_NONE;

	return slice_eq_str(e->text[FIELD_VERDICT], verdict_name(v)) &&
	    slice_eq_str(e->text[FIELD_REASON], reason_name(v->reason)) &&
	    rule == v->rule;
}

static void
decide(struct replay *r, const struct line *l)
{
	enum event_field field;
	struct image *image;
	struct facts facts;

	if (!event_has(&l->event, FIELD_FACTS_KIND) ||
	    !event_has(&l->event, FIELD_PROGRAM))
		return;
	if (event_check(&l->event, &field) != NULL ||
	    !facts_from_event(&l->event, &facts)) {
		r->n_unread++;
		say(r, l->seq, "its facts cannot be read");
		return;
	}
	image = find_image(r, l->event.text[FIELD_PROGRAM]);
	if (image != NULL)
		image->n_records++;
	if (image == NULL || image->program == NULL) {
		r->n_missing++;
		return;
	}
	struct verdict v = policy_decide(image->program, &facts);
	r->n_decided++;
	if (!is_same(&l->event, &v))
		say_different(r, l, &v, image->program);
}

static bool
read_log(struct replay *r, int fd)
{
	struct reader reader;
	struct buf store;
	enum reader_got got;
	struct slice in;
	uint64_t n = 0;

	reader_init(&reader, fd);
	buf_init(&store, LINE_SIZE_MAX + 1);
	while ((got = reader_take(&reader, &in)) != READER_END &&
	    got != READER_FAILED) {
		const char *detail;
		struct line l;
		n++;
		if (got == READER_LINE && line_read(in, &store, &l, &detail)) {
			decide(r, &l);
			continue;
		}
		r->n_unread++;
		if (!r->o->json)
			printf("line %" PRIu64 ": no record\n", n);
	}
	reader_release(&reader);
	buf_release(&store);
	return got == READER_END;
}

static void
say_sum(struct replay *r)
{
	const struct image *image;

	if (r->o->json) {
		printf("],\"decided\":%" PRIu64 ",\"different\":%" PRIu64
		       ",\"unread\":%" PRIu64 ",\"missing\":%" PRIu64 "}\n",
		    r->n_decided, r->n_different, r->n_unread, r->n_missing);
		return;
	}
	SLIST_FOREACH(image, &r->images, entry)
		if (image->program == NULL)
			printf("%" PRIu64 " records not decided: no program "
			       "%s in %s\n",
			    image->n_records, image->digest, r->folder);
	printf("%" PRIu64 " records decided again, %" PRIu64 " differ\n",
	    r->n_decided, r->n_different);
}

int
audit_replay(const struct audit_options *o)
{
	struct replay r = { .o = o, .first = true };
	struct buf folder;
	bool fine = false;
	int fd;

	buf_init(&folder, 8192);
	buf_init(&r.out, 65536);
	if (o->programs == NULL && !audit_state_path(&folder, "programs"))
		return CMD_NO;
	r.folder = o->programs != NULL ? o->programs : buf_text(&folder);
	fd = audit_open(o->file);
	if (fd >= 0) {
		if (o->json)
			fputs("{\"problems\":[", stdout);
		fine = read_log(&r, fd);
		close(fd);
		say_sum(&r);
		fine = fine && r.n_different == 0 && r.n_unread == 0 &&
		    r.n_missing == 0;
	}
	free_images(&r);
	buf_release(&r.out);
	buf_release(&folder);
	return fine ? 0 : CMD_NO;
}
