/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of questions of our own have in common. */
#ifndef PLAY_INQUIRE_BED_H
#define PLAY_INQUIRE_BED_H

#include "flow/inquire.h"
#include "flow/request.h"
#include "policy_bed.h"
#include "row.h"
#include "world.h"

#define INQUIRE_VALUE "Basic Z2l0OmNhbmFyeS1vZi10aGlydHktdHdvLWJ5dGVzLTAxMjM="
#define INQUIRE_OK "HTTP/1.1 200 OK\r\n"
#define INQUIRE_ADVERT \
	"Content-Type: application/x-git-upload-pack-advertisement\r\n"
#define INQUIRE_RESULT "Content-Type: application/x-git-upload-pack-result\r\n"

struct scene {
	struct bed bed;
	struct world w;
	struct request *r;
	struct inquire *q;
	struct slice in;
	struct parse_fail fail;
};

/* A request that went up and waits for its answer; the same, and one to ask. */
struct scene *scene_begin(void);
struct scene *scene_begin_asking(void);
/* Frees what there is to ask, too: nothing is left of it. */
void scene_finish(struct scene *s);

/* Ask what is offered; the upstream written to last answers. */
void scene_discover(struct scene *s);
void scene_answer(struct scene *s, const char *text);
bool scene_has(const struct buf *b, const char *text);

/* What inquire_peek() has to say. */
void scene_want(struct scene *s, enum parse parse, const char *in);
void scene_want_bad(struct scene *s, enum reason reason, const char *detail);

#endif
