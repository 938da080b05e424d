/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"
#include "base/ascii.h"

void
words_skip(struct slice *s)
{
	while (s->n != 0 && (s->p[0] == ' ' || s->p[0] == '\t'))
		*s = slice_from(*s, 1);
}

struct slice
words_take(struct slice *s)
{
	size_t n = 0;

	words_skip(s);
	while (n < s->n && s->p[n] != ' ' && s->p[n] != '\t')
		n++;
	struct slice word = slice_first(*s, n);
	*s = slice_from(*s, n);
	return word;
}

bool
words_is(struct slice *s, const char *word)
{
	struct slice was = *s;

	if (slice_eq_str(words_take(s), word))
		return true;
	*s = was;
	return false;
}

uint64_t
words_number(struct slice *s)
{
	struct slice word = words_take(s);
	uint64_t v = 0;

	for (size_t i = 0; i < word.n && ascii_is_digit(word.p[i]); i++)
		v = v * 10 + (uint64_t)(word.p[i] - '0');
	return v;
}

static uint8_t
unescape(struct slice *s)
{
	uint8_t c = s->n == 0 ? 0 : s->p[0];

	*s = slice_from(*s, 1);
	if (c == 'r')
		return '\r';
	if (c == 'n')
		return '\n';
	if (c == 't')
		return '\t';
	if (c != 'x' || s->n < 2)
		return c;
	c = (uint8_t)(ascii_hex(s->p[0]) * 16 + ascii_hex(s->p[1]));
	*s = slice_from(*s, 2);
	return c;
}

void
words_text(struct slice *s, struct buf *out)
{
	buf_init(out, 16 << 20);
	words_skip(s);
	if (s->n != 0 && s->p[0] != '"') {
		uint64_t n = words_number(s);
		(void)words_take(s);
		(void)words_take(s);
		struct slice c = words_take(s);
		for (uint64_t i = 0; i < n; i++)
			buf_put_byte(out, c.p[0]);
		return;
	}
	*s = slice_from(*s, 1);
	while (s->n != 0 && s->p[0] != '"') {
		uint8_t c = s->p[0];
		*s = slice_from(*s, 1);
		buf_put_byte(out, c == '\\' ? unescape(s) : c);
	}
	*s = slice_from(*s, 1);
}
