/* SPDX-License-Identifier: Apache-2.0 */
#include "dial/servers.h"

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of a line; empty at its end. */
static struct slice
take_word(struct slice *line)
{
	size_t n = 0;

	while (line->n != 0 && is_blank(line->p[0]))
		*line = slice_from(*line, 1);
	while (n < line->n && !is_blank(line->p[n]))
		n++;
	struct slice word = slice_first(*line, n);
	*line = slice_from(*line, n);
	return word;
}

static struct slice
take_line(struct slice *text)
{
	size_t n = 0;

	while (n < text->n && text->p[n] != '\n')
		n++;
	struct slice line = slice_first(*text, n);
	*text = slice_from(*text, n + 1);
	return line;
}

struct servers
servers_read(struct slice text)
{
	struct servers s = { 0 };

	while (text.n != 0 && s.n < SERVERS_MAX) {
		struct slice line = take_line(&text);
		if (!slice_eq_str(take_word(&line), "nameserver") ||
		    !ip_parse(take_word(&line), &s.ips[s.n]))
			continue;
		s.ports[s.n++] = SERVERS_PORT;
	}
	if (s.n == 0) {
		s.ips[0] = ip_v4(127, 0, 0, 1);
		s.ports[0] = SERVERS_PORT;
		s.n = 1;
	}
	return s;
}

bool
servers_eq(const struct servers *a, const struct servers *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!ip_eq(&a->ips[i], &b->ips[i]) ||
		    a->ports[i] != b->ports[i])
			return false;
	return true;
}
