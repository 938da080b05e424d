/* SPDX-License-Identifier: Apache-2.0 */
#include "load/roots.h"
#include "base/ascii.h"
#include "base/base64.h"

#define BEGIN SLICE("-----BEGIN CERTIFICATE-----")
#define END SLICE("-----END CERTIFICATE-----")
#define DER_SIZE_MAX 65536 /* bytes of one certificate; real ones have 2,000 */

/* Where `what` begins in `s`, or s.n. */
static size_t
find(struct slice s, struct slice what)
{
	const uint8_t *p = s.n == 0 ? NULL : memmem(s.p, s.n, what.p, what.n);

	return p == NULL ? s.n : (size_t)(p - s.p);
}

/* The text without its line ends, which the strict decoder would refuse. */
static struct slice
joined(struct arena *a, struct slice text)
{
	uint8_t *p = arena_alloc(a, text.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		if (memchr("\r\n\t ", text.p[i], 4) == NULL)
			p[n++] = text.p[i];
	return slice_of(p, n);
}

/* One SEQUENCE and nothing behind it (X.690 8.1): the rest is OpenSSL's. */
static bool
is_sequence(struct slice der)
{
	size_t head = 2, n;

	if (der.n < 4 || der.p[0] != 0x30)
		return false;
	n = der.p[1];
	if (n == 0x82) {
		n = (size_t)der.p[2] << 8 | der.p[3];
		head = 4;
	} else if (n == 0x81) {
		n = der.p[2];
		head = 3;
	} else if (n >= 0x80) {
		return false;
	}
	return n + head == der.n;
}

static const char *
decode(struct arena *a, struct slice block, struct slice *der)
{
	struct slice text = joined(a, block);
	size_t n = 0;

	if (text.n > DER_SIZE_MAX)
		return "a certificate is too large";
	uint8_t *out = arena_alloc(a, text.n / 4 * 3 + 1);
	if (!base64_decode(text, out, &n))
		return "a certificate is not Base64";
	*der = slice_of(out, n);
	return is_sequence(*der) ? NULL : "a certificate is not DER";
}

bool
roots_take(struct arena *a, struct slice *pem, struct slice *der,
    const char **bad)
{
	*bad = NULL;
	*pem = slice_from(*pem, find(*pem, BEGIN));
	if (pem->n == 0)
		return false;
	*pem = slice_from(*pem, BEGIN.n);
	size_t n = find(*pem, END);
	if (n == pem->n) {
		*bad = "a certificate has no END line";
		*pem = slice_from(*pem, n);
		return true;
	}
	*bad = decode(a, slice_first(*pem, n), der);
	*pem = slice_from(*pem, n + END.n);
	return true;
}
