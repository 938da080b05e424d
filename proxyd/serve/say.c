/* SPDX-License-Identifier: Apache-2.0 */
/* What is answered, as docs/openapi.yaml has it. */
#include "base/json.h"
#include "cred/placeholder.h"
#include "serve/state.h"

static const char *const states[] = {
	[BOX_COMPILING] = "attaching",
	[BOX_CAPTURING] = "attaching",
	[BOX_RECORDING] = "attaching",
	[BOX_ATTACHED] = "attached",
	[BOX_GONE] = "detached",
};

/* What to put into the sandbox's environment: placeholders, no secret. */
static void
put_places(struct json *j, const struct box *b)
{
	const struct owner *o = b->serve->m.owner;
	char name[256];

	json_key(j, "environment");
	json_object_begin(j);
	for (size_t i = 0; i < b->n_places; i++) {
		const struct placeholder *p = &b->places[i];
		struct owner_credential c = owner_credential(o, p->credential);
		/* In the order of the credential's places, as they were made. */
		size_t first = i;
		while (first > 0 &&
		    b->places[first - 1].credential == p->credential)
			first--;
		snprintf(name, sizeof(name), "%.*s",
		    SLICE_ARG(c.places[i - first].env));
		json_key_text(j, name, slice_of(p->text, p->n));
	}
	json_object_end(j);
}

static void
put_box(struct json *j, const struct box *b)
{
	const struct control_attach *a = &b->asked;
	char key[CONTROL_LABELS_SIZE + 1];

	json_object_begin(j);
	json_key_str(j, "name", b->name);
	json_key_str(j, "state", states[b->state]);
	json_key_str(j, "capture", capture_mode_name(a->mode));
	json_key_str(j, "tenant", b->tenant);
	json_key_text(j, "policy", a->policy);
	if (b->image != NULL)
		json_key_str(j, "program", b->image->digest);
	json_key_number(j, "generation", b->generation);
	json_key(j, "labels");
	json_object_begin(j);
	for (size_t i = 0; i < a->n_labels; i++) {
		snprintf(key, sizeof(key), "%.*s", SLICE_ARG(a->labels[i].key));
		json_key_text(j, key, a->labels[i].value);
	}
	json_object_end(j);
	put_places(j, b);
	json_object_end(j);
}

void
say_box(const struct box *b, struct buf *out)
{
	struct json j;

	json_init(&j, out);
	put_box(&j, b);
}

void
say_list(struct serve *s, struct buf *out)
{
	const struct box *b;
	struct json j;

	json_init(&j, out);
	json_object_begin(&j);
	json_key(&j, "sandboxes");
	json_array_begin(&j);
	TAILQ_FOREACH(b, &s->boxes, entry)
		put_box(&j, b);
	json_array_end(&j);
	json_object_end(&j);
}

void
say_status(struct serve *s, struct buf *out)
{
	const struct image *i;
	uint64_t n = 0;
	struct json j;

	LIST_FOREACH(i, &s->images, entry)
		n++;
	json_init(&j, out);
	json_object_begin(&j);
	json_key_str(&j, "version", DUENNA_VERSION);
	json_key_number(&j, "sandboxes", s->n_boxes);
	json_key_number(&j, "workers", s->n_workers);
	json_key_number(&j, "programs", n);
	json_key_number(&j, "files", s->files.n);
	json_key_bool(&j, "ready", roles_are_ready(&s->m));
	json_key_str(&j, "log", buf_text(&s->m.log_path));
	json_object_end(&j);
}
