/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/inquire_http.h"
#include "base/ascii.h"
#include "policy/git.h"
#include "wire/gitpath.h"
#include "wire/h1_write.h"

/* Of a head, beside its path and its credentials. */
#define FIELDS_SIZE 512

bool
inquire_put_path(const struct request *r, struct buf *out)
{
	const struct facts *f = &r->facts;
	const struct gitpath_request asked = { f->method, f->path, f->has_query,
		f->query };
	struct parse_fail fail;
	struct gitpath git;

	if (gitpath_read(&asked, &git, &fail) != PARSE_DONE ||
	    git.service == GITPATH_NONE)
		return false;
	uint8_t *room = buf_room(out, LIMIT_PATH_SIZE);
	if (room == NULL)
		return false;
	struct wr w = wr_of(room, LIMIT_PATH_SIZE);
	if (!git_rule_path(r->generation->program, r->verdict.rule, f->host,
		git.repository, &w))
		return false;
	buf_added(out, w.n);
	return true;
}

struct slice
inquire_method(bool discover)
{
	return discover ? SLICE("GET") : SLICE("POST");
}

struct slice
inquire_service(bool discover)
{
	return discover ? SLICE("/info/refs") : SLICE("/git-upload-pack");
}

/* As git says it; some servers look at the agent's first four letters. */
static bool
put_fields(struct field_list *fields, bool discover)
{
	return field_add(fields, SLICE("User-Agent"), SLICE("git/duenna")) &&
	    field_add(fields, SLICE("Accept-Encoding"), SLICE("identity")) &&
	    field_add(fields, SLICE("Git-Protocol"), SLICE("version=2")) &&
	    (discover ||
		(field_add(fields, SLICE("Content-Type"),
		     SLICE("application/x-git-upload-pack-request")) &&
		    field_add(fields, SLICE("Accept"),
			SLICE("application/x-git-upload-pack-result"))));
}

bool
inquire_put_head(const struct inquire_head *h, struct stream *to)
{
	const struct attach *a = h->attach;
	struct field_list fields = { 0 };
	const struct http_new_request r = {
		.method = inquire_method(h->discover),
		.path = h->path,
		.query = SLICE("service=git-upload-pack"),
		.has_query = h->discover,
		.host = &h->request->host,
		.port = h->request->x.port,
		.fields = &fields,
		.body = h->discover ? HTTP_BODY_NONE : HTTP_BODY_LENGTH,
		.length = h->body,
		.credentials = a->fields,
		.n_credentials = a->n_fields,
		.parameters = a->parameters,
		.n_parameters = a->n_parameters,
	};
	struct buf room;
	bool ok = false;

	buf_init(&room,
	    H1_WRITE_ROOM(h->path.n + FIELDS_SIZE, h1_credentials_size(&r)));
	uint8_t *p = buf_room(&room, room.max);
	if (p != NULL && put_fields(&fields, h->discover)) {
		struct wr w = wr_of(p, room.max);
		h1_put_request(&w, &r);
		ok = !w.bad && stream_put_secret(to, wr_slice(&w));
		buf_added(&room, w.n);
	}
	buf_wipe(&room);
	return ok;
}

static bool
has_type(struct http_response *res, struct slice type)
{
	const struct field *f = field_find(&res->fields, SLICE("content-type"));

	return f != NULL && slice_eq(f->value, type) &&
	    field_count(&res->fields, SLICE("content-type")) == 1;
}

static bool
is_encoded(struct http_response *res)
{
	const struct field *f =
	    field_find(&res->fields, SLICE("content-encoding"));

	return f != NULL &&
	    (!ascii_eq_fold(f->value, SLICE("identity")) ||
		field_count(&res->fields, SLICE("content-encoding")) != 1);
}

bool
inquire_is_answer(struct http_response *res, bool discover,
    char why[STREAM_TEXT_SIZE])
{
	struct slice type = discover ?
	    SLICE("application/x-git-upload-pack-advertisement") :
	    SLICE("application/x-git-upload-pack-result");

	why[0] = '\0';
	if (res->status == 401 || res->status == 403)
		snprintf(why, STREAM_TEXT_SIZE,
		    "the origin refuses duenna's own question (%u): may the "
		    "rule's credential read the repository?",
		    res->status);
	else if (res->status != 200)
		snprintf(why, STREAM_TEXT_SIZE,
		    "the origin answers %u to duenna's own question",
		    res->status);
	else if (!has_type(res, type))
		snprintf(why, STREAM_TEXT_SIZE,
		    "the origin's answer to duenna's own question is of "
		    "another type");
	else if (is_encoded(res))
		snprintf(why, STREAM_TEXT_SIZE,
		    "the origin's answer to duenna's own question is encoded");
	return why[0] == '\0';
}
