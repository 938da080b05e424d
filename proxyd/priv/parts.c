/* SPDX-License-Identifier: Apache-2.0 */
#include "priv/parts.h"
#include "base/ascii.h"

/* Digits alone, no leading zero, at most `max`. */
static bool
number(struct slice text, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;

	if (text.n == 0 || text.n > 9 || (text.p[0] == '0' && text.n > 1))
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_is_digit(text.p[i]))
			return false;
		v = v * 10 + (uint64_t)(text.p[i] - '0');
	}
	*out = (uint32_t)v;
	return v <= max;
}

bool
parts_address(struct slice text, struct control_address *out)
{
	const uint8_t *slash = text.n == 0 ? NULL : memchr(text.p, '/', text.n);
	size_t n = slash == NULL ? text.n : (size_t)(slash - text.p);
	uint32_t bits;

	if (!ip_parse(slice_first(text, n), &out->ip))
		return false;
	uint32_t max = out->ip.family == 4 ? 32 : 128;
	if (slash == NULL)
		bits = max;
	else if (!number(slice_from(text, n + 1), max, &bits))
		return false;
	out->prefix = (uint8_t)bits;
	return true;
}

bool
parts_mac(struct slice text, uint8_t mac[6])
{
	if (text.n != 17)
		return false;
	for (size_t i = 0; i < 6; i++) {
		int high = ascii_hex(text.p[3 * i]);
		int low = ascii_hex(text.p[3 * i + 1]);
		if (high < 0 || low < 0 || (i < 5 && text.p[3 * i + 2] != ':'))
			return false;
		mac[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

bool
parts_seconds(struct slice text, uint32_t *seconds)
{
	static const struct {
		uint8_t unit;
		uint32_t s;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	uint32_t factor = 1, v;

	for (size_t i = 0; text.n != 0 && i < COUNT_OF(units); i++) {
		if (text.p[text.n - 1] != units[i].unit)
			continue;
		factor = units[i].s;
		text.n--;
		break;
	}
	if (!number(text, CONTROL_ALLOW_S_MAX / factor, &v) || v == 0)
		return false;
	*seconds = v * factor;
	return true;
}
