/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/ip.h"
#include "tls/verify.h"

#define HOST_FLAGS                              \
	(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | \
	    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

/* What the owner's configuration has for it. */
#define ROOTS "; for a root of one's own there is `upstream: roots`"

static const struct {
	long code;
	const char *text;
} texts[] = {
	{ X509_V_ERR_CERT_HAS_EXPIRED, "certificate is expired" },
	{ X509_V_ERR_CERT_NOT_YET_VALID, "certificate is not yet valid" },
	{ X509_V_ERR_HOSTNAME_MISMATCH, "certificate is for another name" },
	{ X509_V_ERR_IP_ADDRESS_MISMATCH,
	    "certificate is not for this address" },
	{ X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
	    "certificate is self-signed" ROOTS },
	{ X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
	    "certificate's issuer is not trusted" ROOTS },
	{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
	    "certificate's issuer is unknown" ROOTS },
	{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
	    "certificate's issuer is unknown" ROOTS },
	{ X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
	    "certificate's issuer is unknown" ROOTS },
	{ X509_V_ERR_CERT_SIGNATURE_FAILURE,
	    "certificate's signature is wrong" },
	{ X509_V_ERR_CERT_REVOKED, "certificate is revoked" },
	{ X509_V_ERR_CERT_CHAIN_TOO_LONG, "certificate's chain is too long" },
	{ X509_V_ERR_INVALID_CA,
	    "certificate's issuer may not issue certificates" },
	{ X509_V_ERR_INVALID_PURPOSE, "certificate is not for a server" },
	{ X509_V_ERR_EE_KEY_TOO_SMALL, "certificate's key is too weak" },
	{ X509_V_ERR_CA_KEY_TOO_SMALL,
	    "a key in the certificate's chain is too weak" },
	{ X509_V_ERR_CA_MD_TOO_WEAK,
	    "a signature in the certificate's chain is too weak" },
};

/* The name with a NUL behind it, checked; false: not one for OpenSSL. */
static bool
host_text(struct slice host, bool literal, char text[VERIFY_HOST_MAX + 1])
{
	struct ip ip;

	if (host.n == 0 || host.n > VERIFY_HOST_MAX ||
	    memchr(host.p, '\0', host.n) != NULL)
		return false;
	if (literal != ip_parse(host, &ip))
		return false;
	/* A leading dot matches every subdomain, a trailing one nothing. */
	if (!literal &&
	    (host.p[0] == '.' || host.p[host.n - 1] == '.' ||
		memchr(host.p, '*', host.n) != NULL))
		return false;
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	return true;
}

bool
verify_host(SSL *ssl, struct slice host, bool literal)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	char text[VERIFY_HOST_MAX + 1];

	if (!host_text(host, literal, text))
		return false;
	X509_VERIFY_PARAM_set_hostflags(param, HOST_FLAGS);
	if (literal) {
		/* No SNI for an address: RFC 6066 section 3. */
		return X509_VERIFY_PARAM_set1_ip_asc(param, text) == 1;
	}
	return X509_VERIFY_PARAM_set1_host(param, text, host.n) == 1 &&
	    SSL_set_tlsext_host_name(ssl, text) == 1;
}

static bool
is_for(SSL *ssl, struct slice host, bool literal)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	char *got = literal ? X509_VERIFY_PARAM_get1_ip_asc(param) : NULL;
	const char *text =
	    literal ? got : X509_VERIFY_PARAM_get0_host(param, 0);
	struct ip a, b;
	bool good = text != NULL && *text != '\0';

	if (good && literal)
		good = ip_parse(host, &a) && ip_parse(slice_of_str(text), &b) &&
		    ip_eq(&a, &b);
	else if (good)
		good = slice_eq_str(host, text);
	OPENSSL_free(got);
	return good;
}

bool
verify_is_good(SSL *ssl, struct slice host, bool literal)
{
	return SSL_is_init_finished(ssl) == 1 && host.n != 0 &&
	    (SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) != 0 &&
	    SSL_get0_peer_certificate(ssl) != NULL &&
	    SSL_get_verify_result(ssl) == X509_V_OK &&
	    is_for(ssl, host, literal);
}

const char *
verify_text(SSL *ssl)
{
	long result = SSL_get_verify_result(ssl);

	if (result == X509_V_OK)
		return NULL;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (texts[i].code == result)
			return texts[i].text;
	return "certificate does not verify";
}
