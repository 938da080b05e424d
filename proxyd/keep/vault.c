/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/rd.h"
#include "base/secret.h"
#include "base/wr.h"
#include "certs/given.h"
#include "crypto/sign.h"
#include "keep/vault.h"

#define MAGIC "DUENNAK1"
#define VAULT_MAX 8192 /* bytes of the memfd's content */

/* Read the whole file; false: it does not fit, or cannot be read. */
static bool
read_all(int fd, uint8_t *p, size_t max, size_t *n)
{
	*n = 0;
	for (;;) {
		ssize_t got = pread(fd, p + *n, max - *n, (off_t)*n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		if (got == 0)
			return true;
		*n += (size_t)got;
		if (*n == max)
			return false;
	}
}

static bool
write_all(int fd, struct slice bytes)
{
	size_t done = 0;

	while (done < bytes.n) {
		ssize_t n =
		    pwrite(fd, bytes.p + done, bytes.n - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	/* A half-written key would stand in the way of every later start. */
	if (done < bytes.n && ftruncate(fd, 0) != 0)
		return false;
	return done == bytes.n;
}

static struct ca *
read_ca(struct slice bytes, enum err *err)
{
	struct rd r = rd_of(bytes);
	struct slice magic = rd_bytes(&r, sizeof(MAGIC) - 1);
	struct slice cert = rd_slice16(&r);
	struct slice key = rd_slice16(&r);

	if (!rd_is_done(&r) || !slice_eq(magic, SLICE(MAGIC))) {
		*err = ERR_INTEGRITY;
		return NULL;
	}
	return ca_load(cert, key, err);
}

/* 0 or -1; `room` has VAULT_MAX bytes and is wiped by the caller. */
static int
write_ca(int fd, const struct ca *ca, uint8_t *room, enum err *err)
{
	struct wr w = wr_of(room, VAULT_MAX);
	struct secret key = { 0 };

	if (ca_key(ca, &key, err) != 0)
		return -1;
	wr_bytes(&w, SLICE(MAGIC));
	wr_slice16(&w, ca_cert(ca));
	wr_slice16(&w, secret_slice(&key));
	secret_release(&key);
	*err = ERR_SYSTEM;
	return !w.bad && write_all(fd, wr_slice(&w)) ? 0 : -1;
}

struct ca *
vault_ca(int fd, struct slice host, bool *found, enum err *err)
{
	uint8_t room[VAULT_MAX];
	struct ca *ca = NULL;
	size_t n;

	*err = ERR_SYSTEM;
	if (!read_all(fd, room, sizeof(room), &n))
		goto done;
	*found = n != 0;
	if (n != 0) {
		ca = read_ca(slice_of(room, n), err);
		goto done;
	}
	ca = ca_make(host, VAULT_CA_DAYS, err);
	if (ca != NULL && write_ca(fd, ca, room, err) != 0) {
		ca_free(ca);
		ca = NULL;
	}
done:
	explicit_bzero(room, sizeof(room));
	return ca;
}

struct ca *
vault_given_ca(int fd, const struct slice *certs, size_t n, struct slice key,
    const char **why)
{
	uint8_t room[VAULT_MAX];
	struct ca *ca = given_load(certs, n, key, why);
	enum err err = ERR_NONE;

	if (ca == NULL)
		return NULL;
	if (ftruncate(fd, 0) != 0 || write_ca(fd, ca, room, &err) != 0) {
		*why = "it cannot be kept: it is too large, or no memory is "
		       "left";
		ca_free(ca);
		ca = NULL;
	}
	explicit_bzero(room, sizeof(room));
	return ca;
}

struct slice
vault_ca_cert(const struct ca *ca)
{
	return ca_cert(ca);
}

/* 0, or -1 with errno set. */
static int
lock(int fd, short type)
{
	struct flock whole = { .l_type = type, .l_whence = SEEK_SET };
	int r;

	do
		r = fcntl(fd, F_OFD_SETLKW, &whole);
	while (r != 0 && errno == EINTR);
	return r;
}

static struct sign_key *
new_audit_key(int fd, enum err *err)
{
	struct sign_key *key = sign_key_new(err);
	struct secret bytes = { 0 };

	if (key == NULL)
		return NULL;
	if (sign_key_secret(key, &bytes, err) != 0) {
		sign_key_free(key);
		return NULL;
	}
	if (!write_all(fd, secret_slice(&bytes)) || fsync(fd) != 0) {
		*err = ERR_SYSTEM;
		sign_key_free(key);
		key = NULL;
	}
	secret_release(&bytes);
	return key;
}

static struct sign_key *
read_audit_key(int fd, enum err *err)
{
	uint8_t raw[SIGN_PRIVATE_SIZE + 1];
	struct secret bytes = { 0 };
	struct sign_key *key = NULL;
	size_t n = 0;

	*err = ERR_INTEGRITY;
	if (read_all(fd, raw, sizeof(raw), &n) && n == SIGN_PRIVATE_SIZE &&
	    secret_init(&bytes, slice_of(raw, n), err) == 0)
		key = sign_key_open(&bytes, err);
	secret_release(&bytes);
	explicit_bzero(raw, sizeof(raw));
	return key;
}

struct sign_key *
vault_audit_key(int fd, enum err *err)
{
	struct sign_key *key = NULL;
	struct stat st;

	*err = ERR_SYSTEM;
	if (lock(fd, F_WRLCK) != 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size == 0)
		key = new_audit_key(fd, err);
	else
		key = read_audit_key(fd, err);
	(void)lock(fd, F_UNLCK);
	return key;
}
