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
add_bundles(struct trust *t, struct slice ca, const struct slice *roots,
    size_t n_roots)
{
	struct buf pem;
	bool good = true;

	buf_init(&pem, FILE_MAX);
	for (size_t i = 0; i < n_roots; i++)
		good = bundle_put_pem(&pem, roots[i]) && good;
	good = bundle_put_pem(&pem, ca) && good &&
	    add_copies(t, buf_slice(&pem), bundle_paths,
		COUNT_OF(bundle_paths));
	buf_release(&pem);
	return good;
}

static bool
add_java(struct trust *t, struct slice ca, const struct slice *roots,
    size_t n_roots)
{
	struct slice *all = calloc(n_roots + 1, sizeof(*all));
	struct buf jks;
	bool good;

	if (all == NULL)
		return false;
	if (n_roots != 0)
		memcpy(all, roots, n_roots * sizeof(*all));
	all[n_roots] = ca;
	buf_init(&jks, FILE_MAX);
	good = bundle_put_jks(&jks, all, n_roots + 1) &&
	    add_copies(t, buf_slice(&jks), jks_paths, COUNT_OF(jks_paths));
	buf_release(&jks);
	free(all);
	return good;
}

/* They read no variable. */
static bool
add_browsers(struct trust *t, struct slice ca)
{
	char path[TRUST_PATH_MAX];

	for (size_t i = 0; i < COUNT_OF(chromium_folders); i++) {
		snprintf(path, sizeof(path), "%s" CHROMIUM_NAME,
		    chromium_folders[i]);
		if (!managed_chromium(add_file(t, path), chromium_folders[i],
			ca))
			return false;
	}
	return managed_firefox(add_file(t, FIREFOX_PATH), FIREFOX_PATH,
	    TRUST_CA);
}

int
trust_init(struct trust *t, struct slice ca, const struct slice *roots,
    size_t n_roots, enum err *err)
{
	char hash[BUNDLE_HASH_SIZE];
	char path[TRUST_PATH_MAX];

	*t = (struct trust){ 0 };
	if (!bundle_hash(ca, hash)) {
		*err = ERR_INTEGRITY;
		return -1;
	}
	snprintf(path, sizeof(path), "/etc/ssl/certs/%s.0", hash);
	if (!bundle_put_pem(add_file(t, TRUST_CA), ca) ||
	    !bundle_put_pem(add_file(t, path), ca) ||
	    !add_bundles(t, ca, roots, n_roots) ||
	    !add_java(t, ca, roots, n_roots) || !add_browsers(t, ca)) {
		trust_release(t);
		*err = ERR_MEMORY;
		return -1;
	}
	return 0;
}

void
trust_release(struct trust *t)
{
	for (size_t i = 0; i < t->n_files; i++)
		buf_release(&t->files[i].bytes);
	*t = (struct trust){ 0 };
}
