/* SPDX-License-Identifier: Apache-2.0 */
#include <yaml.h>

#include "base/limits.h"
#include "base/mem.h"
#include "load/doc.h"

struct level {
	struct doc_node *node; /* list or mapping */
	struct doc_node *last; /* its last child */
	bool want_value;       /* mapping: a key waits for its value */
};

struct build {
	struct arena *arena;
	struct load_report *report;
	struct slice file;
	struct doc_node *root;
	struct level levels[LIMIT_POLICY_DEPTH];
	unsigned depth;
	uint32_t n_nodes, n_documents;
};

static struct load_at
at(const struct build *b, const yaml_mark_t *mark)
{
	return (struct load_at){ b->file, (uint32_t)mark->line + 1,
		(uint32_t)mark->column + 1 };
}

/* Say it; false, so that callers can return it. */
#define refuse(b, mark, ...) \
	(load_error((b)->report, at(b, mark), __VA_ARGS__), false)

static struct doc_node *
add_node(struct build *b, const yaml_event_t *e, enum doc_kind kind)
{
	struct doc_node *node = arena_alloc(b->arena, sizeof(*node));
	struct level *top = b->depth == 0 ? NULL : &b->levels[b->depth - 1];

	node->kind = kind;
	node->line = (uint32_t)e->start_mark.line + 1;
	node->column = (uint32_t)e->start_mark.column + 1;
	if (top == NULL) {
		b->root = node;
	} else if (top->want_value) {
		top->last->value = node;
		top->want_value = false;
	} else {
		if (top->last == NULL)
			top->node->first = node;
		else
			top->last->next = node;
		top->last = node;
		top->node->n++;
		top->want_value = top->node->kind == DOC_MAPPING;
	}
	return node;
}

static bool
is_key_next(const struct build *b)
{
	if (b->depth == 0)
		return false;
	const struct level *top = &b->levels[b->depth - 1];
	return top->node->kind == DOC_MAPPING && !top->want_value;
}

/* A tag as it was written: `!!str`, not what that stands for. */
static bool
refuse_tag(struct build *b, const yaml_event_t *e, const char *tag)
{
	static const char known[] = "tag:yaml.org,2002:";
	bool is_known = strncmp(tag, known, sizeof(known) - 1) == 0;

	return refuse(b, &e->start_mark,
	    "tags (`%s%s`) are not used here; quote the text if it begins "
	    "with `!`",
	    is_known ? "!!" : "", is_known ? tag + sizeof(known) - 1 : tag);
}

/* What every node may not have. */
static bool
check_node(struct build *b, const yaml_event_t *e, const yaml_char_t *anchor,
    const yaml_char_t *tag)
{
	if (++b->n_nodes > DOC_NODES_MAX)
		return refuse(b, &e->start_mark, "too many values: %u at most",
		    DOC_NODES_MAX);
	if (anchor != NULL)
		return refuse(b, &e->start_mark,
		    "anchors (`&%s`) are not used here; write the value "
		    "again where it is wanted",
		    anchor);
	if (tag != NULL)
		return refuse_tag(b, e, (const char *)tag);
	if (is_key_next(b) && e->type != YAML_SCALAR_EVENT)
		return refuse(b, &e->start_mark, "expected a key");
	return true;
}

static bool
open_level(struct build *b, const yaml_event_t *e, enum doc_kind kind)
{
	if (b->depth == LIMIT_POLICY_DEPTH)
		return refuse(b, &e->start_mark, "nested deeper than %d",
		    LIMIT_POLICY_DEPTH);
	struct doc_node *node = add_node(b, e, kind);
	b->levels[b->depth++] = (struct level){ .node = node };
	return true;
}

static bool
take_scalar(struct build *b, const yaml_event_t *e)
{
	struct slice text =
	    slice_of(e->data.scalar.value, e->data.scalar.length);

	/* libyaml's strings have a length and a NUL: the length counts. */
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n')
			return refuse(b, &e->start_mark,
			    "line break in a value: write it on one line");
		if (text.p[i] < 0x20 || text.p[i] == 0x7f)
			return refuse(b, &e->start_mark,
			    "control character (0x%02x) in a value: take it "
			    "out",
			    text.p[i]);
	}
	struct doc_node *node = add_node(b, e, DOC_SCALAR);
	node->text = arena_copy(b->arena, text);
	node->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	return true;
}

static int
compare_keys(const void *left, const void *right)
{
	const struct doc_node *a = *(const struct doc_node *const *)left;
	const struct doc_node *b = *(const struct doc_node *const *)right;
	size_t n = a->text.n < b->text.n ? a->text.n : b->text.n;
	int order = n == 0 ? 0 : memcmp(a->text.p, b->text.p, n);

	if (order != 0)
		return order;
	if (a->text.n != b->text.n)
		return a->text.n < b->text.n ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->column < b->column ? -1 : a->column > b->column;
}

/* libyaml gives both of two equal keys; a loader would keep one of them. */
static bool
check_keys(struct build *b, const struct doc_node *mapping)
{
	const struct doc_node **keys = mem_array(mapping->n, sizeof(*keys));
	uint32_t n = 0, i;

	for (const struct doc_node *k = mapping->first; k != NULL; k = k->next)
		keys[n++] = k;
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (i = 1; i < n; i++)
		if (slice_eq(keys[i - 1]->text, keys[i]->text))
			break;
	if (i < n) {
		struct load_at place = { b->file, keys[i]->line,
			keys[i]->column };
		load_error(b->report, place,
		    "duplicate key `%.*s`, first on line %u",
		    SLICE_ARG(keys[i]->text), keys[i - 1]->line);
	}
	free(keys);
	return i >= n;
}

static bool
close_level(struct build *b)
{
	struct doc_node *node = b->levels[--b->depth].node;

	return node->kind != DOC_MAPPING || check_keys(b, node);
}

static bool
take_document(struct build *b, const yaml_event_t *e)
{
	if (++b->n_documents > 1)
		return refuse(b, &e->start_mark,
		    "a second document: one file has one");
	if (e->data.document_start.version_directive != NULL ||
	    e->data.document_start.tag_directives.start !=
		e->data.document_start.tag_directives.end)
		return refuse(b, &e->start_mark,
		    "directives (`%%YAML`, `%%TAG`) are not used here; take "
		    "the line out");
	return true;
}

static bool
take_event(struct build *b, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return check_node(b, e, e->data.scalar.anchor,
			   e->data.scalar.tag) &&
		    take_scalar(b, e);
	case YAML_SEQUENCE_START_EVENT:
		return check_node(b, e, e->data.sequence_start.anchor,
			   e->data.sequence_start.tag) &&
		    open_level(b, e, DOC_LIST);
	case YAML_MAPPING_START_EVENT:
		return check_node(b, e, e->data.mapping_start.anchor,
			   e->data.mapping_start.tag) &&
		    open_level(b, e, DOC_MAPPING);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_level(b);
	case YAML_ALIAS_EVENT:
		return refuse(b, &e->start_mark,
		    "aliases are not used here; quote a pattern that begins "
		    "with `*`");
	case YAML_DOCUMENT_START_EVENT:
		return take_document(b, e);
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return true;
}

/* Where byte `offset` of the file stands. */
static struct load_at
at_offset(const struct build *b, struct slice text, size_t offset)
{
	struct load_at place = { b->file, 1, 1 };

	for (size_t i = 0; i < offset && i < text.n; i++) {
		place.column++;
		if (text.p[i] == '\n') {
			place.line++;
			place.column = 1;
		}
	}
	return place;
}

/* What people meant who wrote what libyaml complains of. */
static const char *
syntax_advice(const char *problem, const char *context)
{
	if (strstr(context, "alias") != NULL)
		return "; quote a pattern that begins with `*`";
	if (strstr(problem, "cannot start any token") != NULL)
		return "; indent with blanks, and quote what begins with a "
		       "sign";
	if (strstr(problem, "',' or ']'") != NULL)
		return "; close the bracket, and quote in it what has a `{`";
	if (strstr(problem, "<document start>") != NULL)
		return "; one file has one document, and nothing behind it";
	return "";
}

/* The parser's own complaint. */
static void
refuse_syntax(struct build *b, const yaml_parser_t *parser, struct slice text)
{
	struct load_at place = at(b, &parser->problem_mark);
	const char *problem =
	    parser->problem == NULL ? "not readable" : parser->problem;
	const char *context = parser->context == NULL ? "" : parser->context;

	if (parser->error == YAML_READER_ERROR) {
		place = at_offset(b, text, parser->problem_offset);
		load_error(b->report, place, "not UTF-8 text: %s", problem);
		return;
	}
	load_error(b->report, place, "not YAML: %s%s%s%s", problem,
	    context[0] == '\0' ? "" : ", ", context,
	    syntax_advice(problem, context));
}

/* Bytes that libyaml would take for more than they look like. */
static bool
check_bytes(struct build *b, struct slice text)
{
	yaml_mark_t mark = { 0 };

	if (text.n > LIMIT_POLICY_FILE_SIZE)
		return refuse(b, &mark, "larger than %d bytes",
		    LIMIT_POLICY_FILE_SIZE);
	if (slice_has_prefix(text, SLICE("\xff\xfe")) ||
	    slice_has_prefix(text, SLICE("\xfe\xff")))
		return refuse(b, &mark, "UTF-16: UTF-8 is expected");
	for (size_t i = 0; i < text.n; i++, mark.column++) {
		struct slice rest = slice_from(text, i);
		if (rest.p[0] == 0)
			return refuse(b, &mark, "NUL byte: UTF-8 is expected");
		if (slice_has_prefix(rest, SLICE("\xc2\x85")) ||
		    slice_has_prefix(rest, SLICE("\xe2\x80\xa8")) ||
		    slice_has_prefix(rest, SLICE("\xe2\x80\xa9")))
			return refuse(b, &mark,
			    "line break other than LF and CR LF (U+0085, "
			    "U+2028, U+2029)");
		if (rest.p[0] == '\n') {
			mark.line++;
			mark.column = SIZE_MAX; /* 0 after the loop's step */
		}
	}
	return true;
}

static bool
read_events(struct build *b, yaml_parser_t *parser, struct slice text)
{
	for (;;) {
		yaml_event_t e;
		if (!yaml_parser_parse(parser, &e)) {
			refuse_syntax(b, parser, text);
			return false;
		}
		bool good = take_event(b, &e);
		bool end = e.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&e);
		if (!good || end)
			return good;
	}
}

struct doc_node *
doc_parse(struct slice text, struct slice file, struct arena *a,
    struct load_report *r)
{
	struct build b = { .arena = a, .report = r, .file = file };
	yaml_parser_t parser;

	if (text.n == 0)
		text = SLICE(""); /* libyaml asserts that there is a pointer */
	if (!check_bytes(&b, text))
		return NULL;
	if (!yaml_parser_initialize(&parser)) {
		load_error(r, ((struct load_at){ file, 1, 1 }),
		    "out of memory");
		return NULL;
	}
	/* Told the encoding, libyaml does not look for the mark any more. */
	if (slice_has_prefix(text, SLICE("\xef\xbb\xbf")))
		text = slice_from(text, 3);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, text.p, text.n);
	bool good = read_events(&b, &parser, text);
	yaml_parser_delete(&parser);
	if (good && b.root == NULL) {
		load_error(r, ((struct load_at){ file, 1, 1 }),
		    "empty: expected `version: 1`");
		return NULL;
	}
	return good ? b.root : NULL;
}
