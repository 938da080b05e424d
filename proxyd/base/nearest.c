/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"
#include "base/ascii.h"

#define WORD_MAX 40 /* longer words have no nearest one */
#define SLIPS_MAX 2

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool
same(uint8_t a, uint8_t b)
{
	return ascii_lower(a) == ascii_lower(b);
}

static size_t
distance(struct slice a, struct slice b)
{
	size_t rows[3]
		   [WORD_MAX + 1]; /* of a's bytes: last but one, last, now */

	for (size_t j = 0; j <= b.n; j++)
		rows[1][j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t *now = rows[2], *last = rows[1];
		now[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			bool equal = same(a.p[i - 1], b.p[j - 1]);
			now[j] = least(last[j - 1] + (equal ? 0 : 1),
			    least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && same(a.p[i - 1], b.p[j - 2]) &&
			    same(a.p[i - 2], b.p[j - 1]))
				now[j] = least(now[j], rows[0][j - 2] + 1);
		}
		memcpy(rows[0], rows[1], sizeof(rows[0]));
		memcpy(rows[1], rows[2], sizeof(rows[1]));
	}
	return rows[1][b.n];
}

struct nearest
nearest_to(struct slice text)
{
	/* Of a short word nothing may be left. */
	return (struct nearest){ .text = text,
		.slips = least(SLIPS_MAX, text.n / 2) + 1 };
}

void
nearest_look(struct nearest *n, struct slice word)
{
	if (n->text.n > WORD_MAX || word.n > WORD_MAX || word.n == 0)
		return;
	size_t slips = distance(n->text, word);
	if (slips >= n->slips)
		return;
	n->slips = slips;
	n->best = word;
}
