/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"
#include "row.h"

#include "base/ascii.h"
#include "base/base64.h"

#define NESTED_MAX 4

/* The next field of the line; what follows its separator is left in *rest. */
static char *
take_field(char **rest)
{
	char *field = *rest, *end = strstr(field, " | ");

	if (end == NULL) {
		size_t n = strlen(field);
		if (n >= 2 && strcmp(field + n - 2, " |") == 0)
			field[n - 2] = '\0';
		*rest = NULL;
		return field;
	}
	*end = '\0';
	*rest = end + 3;
	return field;
}

static void
copy(char *to, size_t size, const char *from)
{
	assert_true((size_t)snprintf(to, size, "%s", from) < size);
}

bool
case_read(char *line, struct case_row *row)
{
	char *field[6] = { NULL }, *rest = line;
	size_t n;

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return false;
	for (n = 0; n < COUNT_OF(field) && rest != NULL; n++)
		field[n] = take_field(&rest);
	if (n < 5 || rest != NULL)
		fail_msg("a row with %zu fields: %s", n, line);
	copy(row->id, sizeof(row->id), field[0]);
	copy(row->input, sizeof(row->input), field[1]);
	copy(row->policy, sizeof(row->policy), field[2]);
	char *alarm = strstr(field[3], " !");
	if (alarm != NULL)
		*alarm = '\0';
	copy(row->reason, sizeof(row->reason), field[3]);
	copy(row->alarm, sizeof(row->alarm), alarm == NULL ? "" : alarm + 2);
	row->bytes = field[4];
	row->sees = n == 6 ? field[5] : "";
	return true;
}

static uint8_t
take_hex(const char **at)
{
	int high = ascii_hex((uint8_t)(*at)[0]);
	int low = high < 0 ? -1 : ascii_hex((uint8_t)(*at)[1]);

	if (low < 0)
		fail_msg("no hex digits: %.20s", *at);
	*at += 2;
	return (uint8_t)(high * 16 + low);
}

/* One byte of a list such as {00-08,7f}; behind it *at stands at its end. */
static uint8_t
take_pick(const char **at, size_t pick, size_t *picks)
{
	uint8_t picked = 0;

	*picks = 0;
	do {
		(*at)++; /* { or , */
		unsigned from = take_hex(at), to = from;
		if (**at == '-') {
			(*at)++;
			to = take_hex(at);
		}
		for (unsigned c = from; c <= to; c++)
			if ((*picks)++ == pick)
				picked = (uint8_t)c;
	} while (**at == ',');
	assert_int_equal(**at, '}');
	(*at)++;
	return picked;
}

static size_t
take_count(const char **at)
{
	char *end;
	size_t n = strtoul(*at + 1, &end, 10);

	if (**at != '{' || *end != '}' || n == 0)
		fail_msg("no count: %.20s", *at);
	*at = end + 1;
	return n;
}

/* {NAME}: the placeholder of that credential. */
static size_t
take_placeholder(const char **at, uint8_t *out)
{
	const char *end = strchr(*at, '}');

	if (end == NULL || end - *at < 1)
		fail_msg("no placeholder: %.20s", *at);
	int n = snprintf((char *)out, 64, "%s%.*s", CASE_PLACEHOLDER,
	    (int)(end - *at), *at);
	*at = end + 1;
	return (size_t)n;
}

/* What stands from `from` on, in Base64; returns the new end. */
static size_t
encode(uint8_t *out, size_t from, size_t n)
{
	struct slice plain = exact(slice_of(out + from, n - from));

	assert_true(BASE64_SIZE(plain.n) <= CASE_SIZE - from);
	n = from + base64_encode(plain, (char *)out + from);
	drop(plain);
	return n;
}

static uint8_t
plain_escape(char c)
{
	static const char from[] = "rnt0\\";

	if (c == '\0' || strchr(from, c) == NULL)
		fail_msg("unknown escape \\%c", c);
	return (uint8_t) "\r\n\t\0\\"[strchr(from, c) - from];
}

size_t
case_unescape(const char *escaped, size_t pick, size_t *picks, uint8_t *out)
{
	const char *at = escaped;
	size_t n = 0, n_open = 0, open[NESTED_MAX];

	*picks = 1;
	while (*at != '\0') {
		assert_true(n < CASE_SIZE);
		if (*at != '\\') {
			out[n++] = (uint8_t)*at++;
			continue;
		}
		at += 2;
		switch (at[-1]) {
		case 'x':
			out[n++] = take_hex(&at);
			break;
		case '{':
			n += take_placeholder(&at, out + n);
			break;
		case '<':
			assert_true(n_open < NESTED_MAX);
			open[n_open++] = n;
			break;
		case '>':
			assert_true(n_open != 0);
			n = encode(out, open[--n_open], n);
			break;
		case '?':
			out[n++] = take_pick(&at, pick, picks);
			break;
		case '*': {
			size_t times = take_count(&at) - 1;
			assert_true(n > 0 && times < CASE_SIZE - n);
			memset(out + n, out[n - 1], times);
			n += times;
			break;
		}
		default:
			out[n++] = plain_escape(at[-1]);
		}
	}
	return n;
}

static FILE *
open_file(const char *name, const char *ending)
{
	char path[512];

	assert_true((size_t)snprintf(path, sizeof(path), CASES "/%s%s", name,
			ending) < sizeof(path));
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	return f;
}

void
case_file(const char *name, size_t at_least,
    void (*check)(const struct case_row *row))
{
	FILE *f = open_file(name, ".rows");
	char *line = NULL;
	size_t size = 0, rows = 0;

	while (getline(&line, &size, f) > 0) {
		struct case_row row;
		if (!case_read(line, &row))
			continue;
		check(&row);
		rows++;
	}
	free(line);
	fclose(f);
	print_message("# %s: %zu rows\n", name, rows);
	assert_true(rows >= at_least);
}

char *
case_text(const char *name)
{
	FILE *f = open_file(name, "");
	size_t max = 1 << 20;
	char *text = calloc(1, max);

	assert_non_null(text);
	size_t n = fread(text, 1, max, f);
	assert_true(n != 0 && n < max);
	fclose(f);
	return text;
}
