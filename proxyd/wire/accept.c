/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/accept.h"
#include "base/ascii.h"

#define WEIGHT_FULL 1000 /* of q=1; its digits are thousandths */

/* Up to `end`, without the blanks around it; `rest` goes on behind it. */
static struct slice
take_part(struct slice *rest, uint8_t end)
{
	const uint8_t *at = rest->n == 0 ? NULL : memchr(rest->p, end, rest->n);
	size_t n = at == NULL ? rest->n : (size_t)(at - rest->p);
	struct slice part = slice_first(*rest, n);

	*rest = slice_from(*rest, at == NULL ? n : n + 1);
	while (part.n != 0 && (part.p[0] == ' ' || part.p[0] == '\t'))
		part = slice_from(part, 1);
	while (part.n != 0 &&
	    (part.p[part.n - 1] == ' ' || part.p[part.n - 1] == '\t'))
		part.n--;
	return part;
}

/* qvalue: 0 or 1, and up to three digits behind a point.  Another: 0. */
static unsigned
weight_of(struct slice text)
{
	unsigned weight, unit = WEIGHT_FULL / 10;

	if (text.n == 0 || text.n > 5 ||
	    (text.p[0] != '0' && text.p[0] != '1') ||
	    (text.n > 1 && text.p[1] != '.'))
		return 0;
	weight = text.p[0] == '1' ? WEIGHT_FULL : 0;
	for (size_t i = 2; i < text.n; i++, unit /= 10) {
		if (!ascii_is_digit(text.p[i]))
			return 0;
		weight += (unsigned)(text.p[i] - '0') * unit;
	}
	return weight > WEIGHT_FULL ? 0 : weight;
}

/* Take the range off the front of one element: its type, and its weight. */
static struct slice
take_range(struct slice element, unsigned *weight)
{
	struct slice type = take_part(&element, ';');

	*weight = WEIGHT_FULL;
	while (element.n != 0) {
		struct slice p = take_part(&element, ';');
		if (p.n >= 2 && (p.p[0] | 0x20) == 'q' && p.p[1] == '=')
			*weight = weight_of(slice_from(p, 2));
	}
	return type;
}

static bool
is_json(struct slice type)
{
	const size_t tail = sizeof("+json") - 1;
	const size_t head = sizeof("application/") - 1;

	if (ascii_eq_fold(type, SLICE("application/json")))
		return true;
	return type.n > head + tail &&
	    ascii_eq_fold(slice_first(type, head), SLICE("application/")) &&
	    ascii_eq_fold(slice_from(type, type.n - tail), SLICE("+json"));
}

static bool
is_text(struct slice type)
{
	return (type.n > 5 &&
		   ascii_eq_fold(slice_first(type, 5), SLICE("text/"))) ||
	    slice_eq(type, SLICE("*/*"));
}

bool
accept_prefers_json(const struct field_list *fields)
{
	unsigned best = 0, weight;
	struct slice element;
	bool json = false;

	for (size_t i = 0; i < fields->n; i++) {
		struct slice rest = fields->at[i].value;
		if (!ascii_eq_fold(fields->at[i].name, SLICE("accept")))
			continue;
		while (field_take_element(&rest, &element)) {
			struct slice type = take_range(element, &weight);
			bool is = is_json(type);
			if (weight <= best || (!is && !is_text(type)))
				continue;
			best = weight;
			json = is;
		}
	}
	return json;
}
