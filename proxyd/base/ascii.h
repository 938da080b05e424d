/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Letters and digits as RFCs mean them, whatever the locale (RFC 5234 B.1).
 * Pure.
 */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H

#include "base/slice.h"

static inline bool
ascii_is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static inline bool
ascii_is_upper(uint8_t c)
{
	return c >= 'A' && c <= 'Z';
}

static inline bool
ascii_is_lower(uint8_t c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool
ascii_is_alpha(uint8_t c)
{
	return ascii_is_upper(c) || ascii_is_lower(c);
}

static inline bool
ascii_is_alnum(uint8_t c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c);
}

static inline uint8_t
ascii_lower(uint8_t c)
{
	return ascii_is_upper(c) ? (uint8_t)(c + ('a' - 'A')) : c;
}

static inline uint8_t
ascii_upper(uint8_t c)
{
	return ascii_is_lower(c) ? (uint8_t)(c - ('a' - 'A')) : c;
}

/* The value of a hex digit of either case, or -1. */
static inline int
ascii_hex(uint8_t c)
{
	if (ascii_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Equal when case of ASCII letters is ignored. */
static inline bool
ascii_eq_fold(struct slice a, struct slice b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

/* How many bytes at the front are printable, and neither `"` nor `\`. */
static inline size_t
ascii_plain(struct slice text)
{
	size_t n = 0;

	while (n < text.n && text.p[n] >= ' ' && text.p[n] < 0x7f &&
	    text.p[n] != '"' && text.p[n] != '\\')
		n++;
	return n;
}

#endif
