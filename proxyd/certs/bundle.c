/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/wr.h"
#include "certs/bundle.h"

#define LINE 48 /* bytes of DER in a line of 64 characters */

bool
bundle_put_pem(struct buf *out, struct slice der)
{
	char text[BASE64_SIZE(LINE)];

	buf_put_str(out, "-----BEGIN CERTIFICATE-----\n");
	for (size_t at = 0; at < der.n; at += LINE) {
		struct slice part = slice_first(slice_from(der, at), LINE);
		buf_put(out, slice_of(text, base64_encode(part, text)));
		buf_put_byte(out, '\n');
	}
	return buf_put_str(out, "-----END CERTIFICATE-----\n");
}

#define PEM_BEGIN "-----BEGIN CERTIFICATE-----"
#define PEM_END "-----END CERTIFICATE-----"

/* Where `what` stands in `text`, or SIZE_MAX. */
static size_t
find(struct slice text, struct slice what)
{
	for (size_t i = 0; i + what.n <= text.n; i++)
		if (slice_has_prefix(slice_from(text, i), what))
			return i;
	return SIZE_MAX;
}

/* Base64 in lines of any length. */
static bool
put_decoded(struct buf *der, struct slice lines)
{
	char *text = malloc(lines.n + 1);
	uint8_t *room = buf_room(der, lines.n);
	size_t n = 0, decoded = 0;
	bool good;

	for (size_t i = 0; text != NULL && i < lines.n; i++)
		if (strchr("\r\n\t ", lines.p[i]) == NULL)
			text[n++] = (char)lines.p[i];
	good = text != NULL && room != NULL && n != 0 &&
	    base64_decode(slice_of(text, n), room, &decoded);
	if (good)
		buf_added(der, decoded);
	free(text);
	return good;
}

bool
bundle_take_pem(struct slice *text, struct buf *der)
{
	size_t begin = find(*text, SLICE(PEM_BEGIN));
	struct slice body;
	size_t end;

	if (begin == SIZE_MAX)
		return false;
	body = slice_from(*text, begin + sizeof(PEM_BEGIN) - 1);
	end = find(body, SLICE(PEM_END));
	if (end == SIZE_MAX)
		return false;
	*text = slice_from(body, end + sizeof(PEM_END) - 1);
	return put_decoded(der, slice_first(body, end));
}

static X509 *
read_cert(struct slice der)
{
	const uint8_t *p = der.p;

	return der.n == 0 ? NULL : d2i_X509(NULL, &p, (long)der.n);
}

bool
bundle_hash(struct slice der, char hash[BUNDLE_HASH_SIZE])
{
	X509 *cert = read_cert(der);

	if (cert == NULL)
		return false;
	snprintf(hash, BUNDLE_HASH_SIZE, "%08lx",
	    X509_subject_name_hash(cert) & 0xffffffff);
	X509_free(cert);
	return true;
}

/*
 * JKS, as sun.security.provider.JavaKeyStore reads it: numbers in network
 * order, texts behind a length of 16 bits, and at the end a SHA-1 over the
 * password in UTF-16, a fixed phrase and all that stands before.
 */
#define JKS_MAGIC 0xfeedfeed
#define JKS_VERSION 2
#define JKS_TRUSTED 2
#define JKS_PASSWORD "\0c\0h\0a\0n\0g\0e\0i\0t"
#define JKS_PHRASE "Mighty Aphrodite"

static void
put_jks_entry(struct buf *out, struct slice der, size_t number)
{
	uint8_t head[80];
	struct wr w = wr_of(head, sizeof(head));
	char alias[32];

	snprintf(alias, sizeof(alias), "duenna-%zu", number);
	wr_u32(&w, JKS_TRUSTED);
	wr_slice16(&w, slice_of_str(alias));
	wr_u64(&w, clock_wall_us() / 1000);
	wr_slice16(&w, SLICE("X.509"));
	wr_u32(&w, (uint32_t)der.n);
	buf_put(out, wr_slice(&w));
	buf_put(out, der);
}

static bool
put_jks_digest(struct buf *out, struct slice written)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	bool good = ctx != NULL &&
	    EVP_DigestInit_ex(ctx, EVP_sha1(), NULL) == 1 &&
	    EVP_DigestUpdate(ctx, JKS_PASSWORD, sizeof(JKS_PASSWORD) - 1) ==
		1 &&
	    EVP_DigestUpdate(ctx, JKS_PHRASE, sizeof(JKS_PHRASE) - 1) == 1 &&
	    EVP_DigestUpdate(ctx, written.p, written.n) == 1 &&
	    EVP_DigestFinal_ex(ctx, digest, &n) == 1;

	EVP_MD_CTX_free(ctx);
	return good && buf_put(out, slice_of(digest, n));
}

bool
bundle_put_jks(struct buf *out, const struct slice *ders, size_t n)
{
	size_t from = out->n;
	uint8_t head[12];
	struct wr w = wr_of(head, sizeof(head));

	wr_u32(&w, JKS_MAGIC);
	wr_u32(&w, JKS_VERSION);
	wr_u32(&w, (uint32_t)n);
	buf_put(out, wr_slice(&w));
	for (size_t i = 0; i < n; i++)
		put_jks_entry(out, ders[i], i);
	return !out->failed &&
	    put_jks_digest(out, slice_from(buf_slice(out), from));
}

static bool
put_fingerprint(struct buf *out, X509 *cert)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (X509_digest(cert, EVP_sha256(), digest, &n) != 1)
		return false;
	buf_put_str(out, "SHA-256: ");
	for (unsigned i = 0; i < n; i++)
		buf_putf(out, "%s%02x", i == 0 ? "" : ":", digest[i]);
	return buf_put_byte(out, '\n');
}

static bool
put_name_and_end(struct buf *out, X509 *cert)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	long n;
	bool good = bio != NULL && BIO_puts(bio, "subject: ") > 0 &&
	    X509_NAME_print_ex(bio, X509_get_subject_name(cert), 0,
		XN_FLAG_RFC2253) >= 0 &&
	    BIO_puts(bio, "\nvalid until: ") > 0 &&
	    ASN1_TIME_print(bio, X509_get0_notAfter(cert)) == 1 &&
	    BIO_puts(bio, "\n") > 0;

	if (good) {
		n = BIO_get_mem_data(bio, &text);
		good = n > 0 && buf_put(out, slice_of(text, (size_t)n));
	}
	BIO_free(bio);
	return good;
}

bool
bundle_describe(struct buf *out, struct slice der)
{
	X509 *cert = read_cert(der);
	bool good = cert != NULL && put_name_and_end(out, cert) &&
	    put_fingerprint(out, cert);

	X509_free(cert);
	return good;
}
