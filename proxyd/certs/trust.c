/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/trust.h"
#include "certs/bundle.h"
#include "certs/managed.h"

#define JAVA_STORE "-Djavax.net.ssl.trustStore="
#define FILE_MAX 8388608 /* bytes; the roots of a large company fit */

/*
 * Left alone on purpose: npm_config_cafile, which switches Node's variable
 * off; SSL_CERT_DIR and GIT_SSL_CAPATH, which take the public roots away.
 */
static const struct trust_variable variables[] = {
	{ "SSL_CERT_FILE", TRUST_BUNDLE },
	{ "CURL_CA_BUNDLE", TRUST_BUNDLE },
	{ "REQUESTS_CA_BUNDLE", TRUST_BUNDLE },
	{ "PIP_CERT", TRUST_BUNDLE },
	{ "GIT_SSL_CAINFO", TRUST_BUNDLE },
	{ "CARGO_HTTP_CAINFO", TRUST_BUNDLE },
	{ "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", TRUST_BUNDLE },
	{ "AWS_CA_BUNDLE", TRUST_BUNDLE },
	{ "NIX_SSL_CERT_FILE", TRUST_BUNDLE },
	{ "HTTPLIB2_CA_CERTS", TRUST_BUNDLE },
	{ "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", TRUST_BUNDLE },
	{ "NODE_EXTRA_CA_CERTS", TRUST_CA },
	{ "DENO_CERT", TRUST_CA },
	{ "DENO_TLS_CA_STORE", "system,mozilla" },
	{ "UV_SYSTEM_CERTS", "1" },
	/* JKS: a PKCS#12 store without its password would trust nothing. */
	{ "JAVA_TOOL_OPTIONS", JAVA_STORE TRUST_JKS, JAVA_STORE },
};

/* Where programs of other distributions look for the system's bundle. */
static const char *const bundle_paths[] = {
	TRUST_BUNDLE,
	"/etc/ssl/cert.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
};

/* ... and for the store of a Java that the distribution packs. */
static const char *const jks_paths[] = {
	TRUST_JKS,
	"/etc/ssl/certs/java/cacerts",
};

/* Of two files that set a policy, the last by name counts. */
#define CHROMIUM_NAME "/~duenna.json"
static const char *const chromium_folders[] = {
	"/etc/chromium/policies/managed",
	"/etc/opt/chrome/policies/managed",
};

#define FIREFOX_PATH "/etc/firefox/policies/policies.json"

const struct trust_variable *
trust_variables(size_t *n)
{
	*n = COUNT_OF(variables);
	return variables;
}

static struct buf *
add_file(struct trust *t, const char *path)
{
	struct trust_file *file = &t->files[t->n_files++];

	snprintf(file->path, sizeof(file->path), "%s", path);
	buf_init(&file->bytes, FILE_MAX);
	return &file->bytes;
}

static bool
add_copies(struct trust *t, struct slice bytes, const char *const *paths,
    size_t n)
{
	bool good = true;

	for (size_t i = 0; i < n; i++)
		good = buf_put(add_file(t, paths[i]), bytes) && good;
	return good;
}

static bool
put_pems(struct buf *out, const struct slice *ders, size_t n)
{
	bool good = true;

	for (size_t i = 0; i < n; i++)
		good = bundle_put_pem(out, ders[i]) && good;
	return good;
}

/* `all`: the roots and ours. */
static bool
add_bundles(struct trust *t, const struct slice *all, size_t n)
{
	struct buf pem;

	buf_init(&pem, FILE_MAX);
	bool good = put_pems(&pem, all, n) &&
	    add_copies(t, buf_slice(&pem), bundle_paths,
		COUNT_OF(bundle_paths));
	buf_release(&pem);
	return good;
}

static bool
add_java(struct trust *t, const struct slice *all, size_t n)
{
	struct buf jks;

	buf_init(&jks, FILE_MAX);
	bool good = bundle_put_jks(&jks, all, n) &&
	    add_copies(t, buf_slice(&jks), jks_paths, COUNT_OF(jks_paths));
	buf_release(&jks);
	return good;
}

/* They read no variable. */
static bool
add_browsers(struct trust *t, const struct slice *cas, size_t n_cas)
{
	char path[TRUST_PATH_MAX];

	for (size_t i = 0; i < COUNT_OF(chromium_folders); i++) {
		snprintf(path, sizeof(path), "%s" CHROMIUM_NAME,
		    chromium_folders[i]);
		if (!managed_chromium(add_file(t, path), chromium_folders[i],
			cas, n_cas))
			return false;
	}
	return managed_firefox(add_file(t, FIREFOX_PATH), FIREFOX_PATH,
	    TRUST_CA);
}

/* Ours alone, in one file, and in OpenSSL's folder by the hashes of their
 * subjects: where two have the same, the second is number 1. */
static bool
add_own(struct trust *t, const struct slice *cas, size_t n)
{
	char hash[BUNDLE_HASH_SIZE], last[BUNDLE_HASH_SIZE] = "";
	char path[TRUST_PATH_MAX];

	if (!put_pems(add_file(t, TRUST_CA), cas, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!bundle_hash(cas[i], hash))
			return false;
		snprintf(path, sizeof(path), "/etc/ssl/certs/%s.%d", hash,
		    strcmp(hash, last) == 0);
		memcpy(last, hash, sizeof(last));
		if (!bundle_put_pem(add_file(t, path), cas[i]))
			return false;
	}
	return true;
}

/* The roots, then ours. */
static struct slice *
join(const struct slice *cas, size_t n_cas, const struct slice *roots,
    size_t n_roots)
{
	struct slice *all = calloc(n_roots + n_cas, sizeof(*all));

	if (all == NULL)
		return NULL;
	if (n_roots != 0)
		memcpy(all, roots, n_roots * sizeof(*all));
	memcpy(all + n_roots, cas, n_cas * sizeof(*all));
	return all;
}

int
trust_init(struct trust *t, const struct slice *cas, size_t n_cas,
    const struct slice *roots, size_t n_roots, enum err *err)
{
	char hash[BUNDLE_HASH_SIZE];

	*t = (struct trust){ 0 };
	*err = ERR_INTEGRITY;
	if (n_cas == 0 || n_cas > TRUST_CAS_MAX)
		return -1;
	for (size_t i = 0; i < n_cas; i++)
		if (!bundle_hash(cas[i], hash))
			return -1;
	*err = ERR_MEMORY;
	struct slice *all = join(cas, n_cas, roots, n_roots);
	bool good = all != NULL && add_own(t, cas, n_cas) &&
	    add_bundles(t, all, n_roots + n_cas) &&
	    add_java(t, all, n_roots + n_cas) && add_browsers(t, cas, n_cas);
	free(all);
	if (good)
		return 0;
	trust_release(t);
	return -1;
}

void
trust_release(struct trust *t)
{
	for (size_t i = 0; i < t->n_files; i++)
		buf_release(&t->files[i].bytes);
	*t = (struct trust){ 0 };
}
