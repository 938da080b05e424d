/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunked decoder is one byte at a time between data, so that no cut
 * matters and nothing is buffered; data is given out in whole runs.
 *
 *  SIZE -> (EXTENSION ->) SIZE_LF -> DATA -> DATA_CR -> DATA_LF -> SIZE ...
 *				   \-> LINE -> END_LF -> OVER
 *				       LINE -> NAME -> VALUE -> VALUE_LF -> LINE
 */
#include "wire/h1_body.h"
#include "base/ascii.h"
#include "base/limits.h"
#include "wire/field.h"

#define SIZE_DIGITS 16 /* hex digits of a chunk's size */

enum phase {
	SIZE,	   /* hex digits, at least one */
	BLANK,	   /* blanks behind them: only more, `;` or the end */
	EXTENSION, /* behind a `;` */
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	LINE, /* the first byte of a trailer line */
	NAME,
	VALUE,
	VALUE_LF,
	END_LF,
	OVER,
};

void
h1_body_init(struct h1_body *b, enum http_body kind, uint64_t length,
    enum h1_side side)
{
	*b = (struct h1_body){ .kind = kind, .side = side, .phase = SIZE };
	if (kind == HTTP_BODY_LENGTH)
		b->left = length;
	if (kind == HTTP_BODY_NONE)
		b->phase = OVER;
}

/*
 * A byte behind the size: dropped, but counted.  These functions return why
 * it may not come now, or NULL.
 */
static const char *
take_extension(struct h1_body *b, uint8_t c)
{
	if (c == '\r') {
		b->phase = SIZE_LF;
		return NULL;
	}
	if (b->phase == BLANK && c != ' ' && c != '\t' && c != ';')
		return "byte that no chunk size has";
	if (!field_is_value_char(c))
		return "control in a chunk extension";
	if (++b->extension > H1_EXTENSION_MAX)
		return "chunk extension over the limit";
	b->phase = c == ';' || b->phase == EXTENSION ? EXTENSION : BLANK;
	return NULL;
}

static const char *
take_size(struct h1_body *b, uint8_t c)
{
	int v = ascii_hex(c);

	if (v >= 0) {
		if (++b->digits > SIZE_DIGITS || b->left > INT64_MAX >> 4)
			return "chunk size out of range";
		b->left = b->left * 16 + (uint64_t)v;
		return NULL;
	}
	if (b->digits == 0)
		return "chunk size is not hex";
	if (c != '\r' && c != ';' && c != ' ' && c != '\t')
		return "byte that no chunk size has";
	b->phase = BLANK;
	return take_extension(b, c);
}

/* The size is known. */
static const char *
take_size_end(struct h1_body *b, uint8_t c)
{
	uint64_t line = b->digits + b->extension + 2;

	if (c != '\n')
		return "bare CR behind a chunk size";
	b->excess += line;
	uint64_t free = 16 + (b->left < UINT32_MAX ? 2 * b->left : b->left);
	b->excess -= free < b->excess ? free : b->excess;
	if (b->excess > H1_CHUNK_EXCESS_MAX)
		return "chunks of little data";
	b->phase = b->left == 0 ? LINE : DATA;
	b->digits = 0;
	b->extension = 0;
	return NULL;
}

static const char *
take_data_end(struct h1_body *b, uint8_t c)
{
	if (c != (b->phase == DATA_CR ? '\r' : '\n'))
		return "no CRLF behind a chunk";
	b->phase = b->phase == DATA_CR ? DATA_LF : SIZE;
	return NULL;
}

static const char *
take_framing(struct h1_body *b, uint8_t c)
{
	switch (b->phase) {
	case SIZE:
		return take_size(b, c);
	case SIZE_LF:
		return take_size_end(b, c);
	case DATA_CR:
	case DATA_LF:
		return take_data_end(b, c);
	default:
		return take_extension(b, c);
	}
}

static bool
may_trail(const struct h1_body *b)
{
	return field_may_trail(slice_of(b->name, b->n_name),
	    b->side == H1_UPSTREAM);
}

static const char *
take_name(struct h1_body *b, uint8_t c)
{
	if (c == ':') {
		if (!may_trail(b))
			return HTTP_NO_TRAILER;
		b->phase = VALUE;
		return NULL;
	}
	if (!field_is_token_char(c))
		return "byte that no trailer name has";
	if (b->n_name < sizeof(b->name))
		b->name[b->n_name++] = c;
	return NULL;
}

/* The first byte of a line of the trailer section. */
static const char *
take_line(struct h1_body *b, uint8_t c)
{
	if (c == '\r') {
		b->phase = END_LF;
		return NULL;
	}
	if (!field_is_token_char(c))
		return "byte that no trailer name has";
	if (++b->n_trailers > FIELD_MAX)
		return "too many trailers";
	b->n_name = 0;
	b->phase = NAME;
	return take_name(b, c);
}

static const char *
take_trailer(struct h1_body *b, uint8_t c)
{
	if (++b->trailer > LIMIT_TRAILER_SIZE)
		return HTTP_TRAILERS_TOO_LONG;
	switch (b->phase) {
	case LINE:
		return take_line(b, c);
	case NAME:
		return take_name(b, c);
	case VALUE:
		if (c == '\r')
			b->phase = VALUE_LF;
		else if (!field_is_value_char(c))
			return "control in a trailer";
		return NULL;
	default: /* VALUE_LF, END_LF */
		if (c != '\n')
			return "bare CR in the trailers";
		b->phase = b->phase == END_LF ? OVER : LINE;
		return NULL;
	}
}

static enum parse
bad(const struct h1_body *b, const char *detail, size_t at,
    struct parse_fail *fail)
{
	enum reason reason =
	    b->phase >= LINE ? REASON_HTTP_MALFORMED : REASON_HTTP_FRAMING;

	if (b->side == H1_UPSTREAM)
		reason = REASON_UP_RESPONSE;
	*fail = (struct parse_fail){ reason, detail, at };
	return PARSE_BAD;
}

/* As many of the bytes that are still to come as there are. */
static struct slice
take_data(struct h1_body *b, struct slice in)
{
	struct slice data = in;

	if (in.n > b->left)
		data.n = (size_t)b->left;
	b->left -= data.n;
	return data;
}

static enum parse
take_chunked(struct h1_body *b, struct slice in, struct slice *data,
    size_t *used, struct parse_fail *fail)
{
	size_t i = 0, section = in.n;

	b->section = (struct slice){ 0 };
	while (i < in.n && b->phase != DATA && b->phase != OVER) {
		if (b->phase >= LINE && i < section)
			section = i;
		const char *detail = b->phase < LINE ?
		    take_framing(b, in.p[i]) :
		    take_trailer(b, in.p[i]);
		if (detail != NULL)
			return bad(b, detail, i, fail);
		i++;
	}
	if (b->n_trailers != 0)
		b->section = slice_from(slice_first(in, i), section);
	*data = (struct slice){ in.p, 0 };
	if (b->phase == DATA) {
		*data = take_data(b, slice_from(in, i));
		if (b->left == 0)
			b->phase = DATA_CR;
	}
	*used = i + data->n;
	return b->phase == OVER ? PARSE_DONE : PARSE_MORE;
}

enum parse
h1_body_take(struct h1_body *b, struct slice in, struct slice *data,
    size_t *used, struct parse_fail *fail)
{
	if (b->kind == HTTP_BODY_OPEN)
		return take_chunked(b, in, data, used, fail);
	*data = b->kind == HTTP_BODY_UNTIL_CLOSE ? in : take_data(b, in);
	*used = data->n;
	return h1_body_may_end(b) && b->kind != HTTP_BODY_UNTIL_CLOSE ?
	    PARSE_DONE :
	    PARSE_MORE;
}

bool
h1_trailers_take(struct slice in, struct field_list *fields)
{
	fields->n = 0;
	while (in.n != 0 && !slice_eq(in, SLICE("\r\n"))) {
		struct parse_fail fail;
		struct field f;
		size_t used;
		if (field_take(in, &f, &used, &fail) != PARSE_DONE ||
		    !field_add(fields, f.name, f.value))
			return false;
		in = slice_from(in, used);
	}
	return true;
}

bool
h1_body_may_end(const struct h1_body *b)
{
	switch (b->kind) {
	case HTTP_BODY_LENGTH:
		return b->left == 0;
	case HTTP_BODY_OPEN:
		return b->phase == OVER;
	case HTTP_BODY_NONE:
	case HTTP_BODY_UNTIL_CLOSE:
		break;
	}
	return true;
}

size_t
h1_body_put_chunk(uint64_t n, uint8_t out[H1_CHUNK_HEAD_MAX])
{
	static const char hex[] = "0123456789abcdef";
	size_t digits = 1;

	while (digits < SIZE_DIGITS && n >> (4 * digits) != 0)
		digits++;
	for (size_t i = 0; i < digits; i++)
		out[i] = (uint8_t)hex[n >> (4 * (digits - 1 - i)) & 15];
	out[digits] = '\r';
	out[digits + 1] = '\n';
	return digits + 2;
}

void
h1_body_put_end(struct wr *w, const struct field_list *fields)
{
	wr_bytes(w, SLICE("0\r\n"));
	for (size_t i = 0; i < fields->n; i++) {
		wr_bytes(w, fields->at[i].name);
		wr_bytes(w, SLICE(": "));
		wr_bytes(w, fields->at[i].value);
		wr_bytes(w, SLICE("\r\n"));
	}
	wr_bytes(w, SLICE("\r\n"));
}
