/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "base/ascii.h"
#include "base/ip.h"
#include "certs/issue.h"
#include "certs/leaf.h"

#define LABEL_MAX 63 /* bytes, RFC 1035 2.3.4 */

static bool
label_is_valid(struct slice label)
{
	if (label.n == 0 || label.n > LABEL_MAX || label.p[0] == '-' ||
	    label.p[label.n - 1] == '-')
		return false;
	for (size_t i = 0; i < label.n; i++) {
		uint8_t c = label.p[i];
		if (!ascii_is_lower(c) && !ascii_is_digit(c) && c != '-' &&
		    c != '_')
			return false;
	}
	return true;
}

bool
leaf_may_name(struct slice name)
{
	struct ip ip;
	size_t from = 0;

	if (name.n == 0 || name.n > LEAF_NAME_MAX || ip_parse(name, &ip))
		return false;
	for (size_t i = 0; i <= name.n; i++) {
		if (i < name.n && name.p[i] != '.')
			continue;
		if (!label_is_valid(slice_of(name.p + from, i - from)))
			return false;
		from = i + 1;
	}
	return true;
}

/* The key, if these bytes are one P-256 key and nothing behind it. */
static EVP_PKEY *
read_spki(const struct ca *ca, struct slice spki)
{
	const uint8_t *p = spki.p;
	char group[32] = "";
	EVP_PKEY *key;

	if (spki.n == 0 || spki.n > LEAF_SPKI_MAX)
		return NULL;
	key = d2i_PUBKEY(NULL, &p, (long)spki.n);
	if (key == NULL)
		return NULL;
	if (p != spki.p + spki.n || EVP_PKEY_get_base_id(key) != EVP_PKEY_EC ||
	    EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) != 1 ||
	    strcmp(group, SN_X9_62_prime256v1) != 0 ||
	    EVP_PKEY_eq(key, ca->key) == 1) {
		EVP_PKEY_free(key);
		return NULL;
	}
	return key;
}

static GENERAL_NAME *
general_name(struct slice name, bool literal)
{
	GENERAL_NAME *general = GENERAL_NAME_new();
	ASN1_STRING *value = literal ? (ASN1_STRING *)ASN1_OCTET_STRING_new() :
				       (ASN1_STRING *)ASN1_IA5STRING_new();
	struct slice bytes = name;
	struct ip ip;

	if (literal && ip_parse(name, &ip))
		bytes = slice_of(ip.bytes, ip.family == 4 ? 4 : 16);
	if (general == NULL || value == NULL ||
	    ASN1_STRING_set(value, bytes.p, (int)bytes.n) != 1) {
		GENERAL_NAME_free(general);
		ASN1_STRING_free(value);
		return NULL;
	}
	GENERAL_NAME_set0_value(general, literal ? GEN_IPADD : GEN_DNS, value);
	return general;
}

static bool
add_name(X509 *cert, struct slice name, bool literal)
{
	GENERAL_NAMES *names = GENERAL_NAMES_new();
	GENERAL_NAME *one = general_name(name, literal);
	bool good;

	if (names == NULL || one == NULL ||
	    sk_GENERAL_NAME_push(names, one) <= 0) {
		GENERAL_NAME_free(one);
		GENERAL_NAMES_free(names);
		return false;
	}
	/* Critical, since the subject is empty: RFC 5280 4.2.1.6. */
	good = issue_extension(cert, NID_subject_alt_name, names, true);
	GENERAL_NAMES_free(names);
	return good;
}

static bool
add_basic(X509 *cert)
{
	BASIC_CONSTRAINTS *basic = BASIC_CONSTRAINTS_new();
	bool good = basic != NULL &&
	    issue_extension(cert, NID_basic_constraints, basic, true);

	BASIC_CONSTRAINTS_free(basic);
	return good;
}

static bool
add_purpose(X509 *cert)
{
	EXTENDED_KEY_USAGE *usage = EXTENDED_KEY_USAGE_new();
	ASN1_OBJECT *server = OBJ_nid2obj(NID_server_auth);
	bool good = usage != NULL && server != NULL &&
	    sk_ASN1_OBJECT_push(usage, server) > 0 &&
	    issue_extension(cert, NID_ext_key_usage, usage, false);

	EXTENDED_KEY_USAGE_free(usage);
	return good;
}

/* The CA's identifier byte for byte: Python's strict mode and GnuTLS compare. */
static bool
add_issuer_id(X509 *cert, const struct ca *ca)
{
	AUTHORITY_KEYID *id = AUTHORITY_KEYID_new();
	bool good = id != NULL &&
	    (id->keyid = ASN1_OCTET_STRING_dup(ca->key_id)) != NULL &&
	    issue_extension(cert, NID_authority_key_identifier, id, false);

	AUTHORITY_KEYID_free(id);
	return good;
}

static bool
fill(X509 *cert, const struct ca *ca, struct slice name, bool literal)
{
	static const int usage[] = { 0 }; /* digitalSignature */

	return X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)) ==
	    1 &&
	    add_basic(cert) && issue_key_usage(cert, usage, COUNT_OF(usage)) &&
	    add_purpose(cert) && issue_key_id(cert) &&
	    add_issuer_id(cert, ca) && add_name(cert, name, literal) &&
	    X509_sign(cert, ca->key, EVP_sha256()) > 0;
}

int
leaf_mint(const struct ca *ca, struct slice name, bool literal,
    struct slice spki, struct buf *der, enum err *err)
{
	EVP_PKEY *key = NULL;
	X509 *cert = NULL;
	uint8_t *bytes = NULL;
	size_t n = 0;
	struct ip ip;
	int result = -1;

	*err = ERR_MESSAGE;
	if (literal ? !ip_parse(name, &ip) : !leaf_may_name(name))
		return -1;
	key = read_spki(ca, spki);
	if (key == NULL)
		return -1;
	*err = ERR_CRYPTO;
	cert = issue_begin(key, LEAF_DAYS);
	if (cert == NULL || !fill(cert, ca, name, literal))
		goto done;
	bytes = issue_der(cert, &n);
	if (bytes == NULL)
		goto done;
	*err = ERR_MEMORY;
	if (!buf_put(der, slice_of(bytes, n)))
		goto done;
	*err = ERR_NONE;
	result = 0;
done:
	OPENSSL_free(bytes);
	X509_free(cert);
	EVP_PKEY_free(key);
	return result;
}
