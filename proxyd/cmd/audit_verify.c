/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "audit/verify.h"
#include "base/json.h"
#include "base/secret.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"
#include "crypto/digest.h"
#include "crypto/sign.h"

#define KEY_FILE_MAX 4096

struct told {
	bool json;
	struct json j;
	struct buf out;
};

/* Each problem leaves at once: a hostile log may have as many as lines. */
static void
leave(struct told *t)
{
	fputs(buf_text(&t->out), stdout);
	buf_clear(&t->out);
}

static void
on_problem(uint64_t line, uint64_t seq, const char *text, void *arg)
{
	struct told *t = arg;

	if (t->json) {
		json_object_begin(&t->j);
		json_key_number(&t->j, "line", line);
		json_key_number(&t->j, "seq", seq);
		json_key_str(&t->j, "problem", text);
		json_object_end(&t->j);
	} else if (seq != 0) {
		buf_putf(&t->out, "record %" PRIu64 ": %s\n", seq, text);
	} else if (line != 0) {
		buf_putf(&t->out, "line %" PRIu64 ": %s\n", line, text);
	} else {
		buf_putf(&t->out, "%s\n", text);
	}
	leave(t);
}

/* A writer holds a lock on it. */
static bool
is_being_written(int fd)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

/* The public half of the machine's key, from its file.  False: none. */
static bool
read_own_key(uint8_t public[SIGN_PUBLIC_SIZE])
{
	struct secret secret = { 0 };
	uint8_t raw[SIGN_PRIVATE_SIZE + 1];
	enum err err = ERR_NONE;
	struct sign_key *key = NULL;
	struct buf path;
	ssize_t n = -1;

	buf_init(&path, KEY_FILE_MAX);
	if (audit_state_path(&path, "audit.key")) {
		int fd = open(buf_text(&path),
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
		if (fd >= 0) {
			n = read(fd, raw, sizeof(raw));
			close(fd);
		}
	}
	if (n == SIGN_PRIVATE_SIZE &&
	    secret_init(&secret, slice_of(raw, (size_t)n), &err) == 0)
		key = sign_key_open(&secret, &err);
	if (key != NULL)
		memcpy(public, sign_key_public(key), SIGN_PUBLIC_SIZE);
	explicit_bzero(raw, sizeof(raw));
	bool found = key != NULL;
	sign_key_free(key);
	secret_release(&secret);
	buf_release(&path);
	return found;
}

/* --key: the digits themselves, or a file whose first line they are. */
static bool
read_wanted_key(const char *text, uint8_t public[SIGN_PUBLIC_SIZE])
{
	char line[2 * SIGN_PUBLIC_SIZE + 2] = "";
	FILE *f;

	if (digest_unhex(slice_of_str(text), public, SIGN_PUBLIC_SIZE))
		return true;
	f = fopen(text, "re");
	if (f != NULL) {
		if (fgets(line, sizeof(line), f) == NULL)
			line[0] = '\0';
		fclose(f);
	}
	line[strcspn(line, "\n")] = '\0';
	return digest_unhex(slice_of_str(line), public, SIGN_PUBLIC_SIZE);
}

static int
read_all(const struct audit_options *o, int fd, struct verify *v)
{
	enum reader_got got;
	struct reader r;
	struct slice line;

	reader_init(&r, fd);
	while ((got = reader_take(&r, &line)) != READER_END &&
	    got != READER_FAILED)
		verify_put(v, got, line);
	if (got == READER_FAILED)
		fprintf(stderr, "duenna: audit: %s: %s\n", o->file,
		    strerror(errno));
	reader_release(&r);
	return got == READER_FAILED ? -1 : 0;
}

static void
put_end(struct told *t, const struct verify_sum *sum, const char *open,
    bool is_problem)
{
	uint64_t n = sum->n_problems + is_problem;

	buf_putf(&t->out, "%" PRIu64 " record%s", sum->n_records,
	    sum->n_records == 1 ? "" : "s");
	if (sum->n_runs > 1)
		buf_putf(&t->out, " of %" PRIu64 " runs", sum->n_runs);
	buf_putf(&t->out, ", %" PRIu64 " problem%s\n", n, n == 1 ? "" : "s");
	if (sum->covered == 0)
		buf_put_str(&t->out, "no record is under a checkpoint\n");
	else if (sum->covered + 1 < sum->n_records)
		buf_putf(&t->out,
		    "records 1 to %" PRIu64 " are under a signed checkpoint; "
		    "from record %" PRIu64 " on there is none\n",
		    sum->covered, sum->covered + 2);
	else
		buf_put_str(&t->out, "all are under a signed checkpoint\n");
	if (sum->n_late != 0)
		buf_putf(&t->out,
		    "records %" PRIu64 " to %" PRIu64 " were under none when "
		    "the key of the log changed%s\n",
		    sum->late_from, sum->late_to,
		    sum->n_late == 1 ? "" : ", nor others at later changes");
	if (sum->n_lost != 0)
		buf_putf(&t->out,
		    "%" PRIu64 " record%s could not be written when due (`gap`)"
		    "\n",
		    sum->n_lost, sum->n_lost == 1 ? "" : "s");
	if (open != NULL)
		buf_putf(&t->out, "%s\n", open);
	buf_putf(&t->out, "last hash %s\n", sum->hash);
}

static void
put_machine(struct told *t, const struct audit_options *o,
    const struct verify_sum *sum)
{
	uint8_t own[SIGN_PUBLIC_SIZE];
	char text[2 * SIGN_PUBLIC_SIZE + 1];

	if (!sum->has_machine)
		return;
	digest_hex(sum->machine, SIGN_PUBLIC_SIZE, text);
	if (o->key != NULL)
		buf_put_str(&t->out, "signed for by the wanted key\n");
	else if (read_own_key(own) &&
	    digest_eq(own, sum->machine, SIGN_PUBLIC_SIZE))
		buf_put_str(&t->out, "signed for by this machine's key\n");
	else
		buf_putf(&t->out,
		    "signed for by the key %s; that it is the right one only "
		    "--key can say\n",
		    text);
}

static void
put_json_end(struct told *t, const struct verify_sum *sum, bool open)
{
	char text[2 * SIGN_PUBLIC_SIZE + 1];

	digest_hex(sum->machine, SIGN_PUBLIC_SIZE, text);
	json_array_end(&t->j);
	json_key_number(&t->j, "records", sum->n_records);
	json_key_number(&t->j, "runs", sum->n_runs);
	json_key_number(&t->j, "open_runs", sum->n_open);
	json_key_number(&t->j, "covered", sum->covered);
	json_key_number(&t->j, "late", sum->n_late);
	json_key_number(&t->j, "lost", sum->n_lost);
	json_key_bool(&t->j, "ended", sum->has_ended);
	json_key_bool(&t->j, "open", open);
	json_key_str(&t->j, "hash", sum->hash);
	if (sum->has_machine)
		json_key_str(&t->j, "machine_key", text);
	json_object_end(&t->j);
	buf_put_byte(&t->out, '\n');
}

/* What is to be said of a log without an end; NULL: it has one. */
static const char *
say_open(const struct audit_options *o, const struct verify_sum *sum, int fd,
    bool *fine)
{
	*fine = true;
	if (sum->has_ended)
		return NULL;
	if (is_being_written(fd))
		return "it is being written: there is no `stop` yet";
	*fine = o->open;
	if (o->open)
		return "it does not end in `stop`: what is missing at the end "
		       "cannot be told without --hash";
	return "it does not end in `stop`: duenna was killed, the log could "
	       "not be written to the end (a full disk), or records are cut "
	       "off (--open takes it as it is)";
}

static int
check(const struct audit_options *o, int fd, const struct verify_want *want)
{
	struct told t = { .json = o->json };
	enum err err = ERR_NONE;
	struct verify *v = verify_new(want, on_problem, &t, &err);
	struct verify_sum sum;
	bool fine = false;

	buf_init(&t.out, 65536);
	json_init(&t.j, &t.out);
	if (v == NULL)
		return CMD_FAULT;
	if (o->json) {
		json_object_begin(&t.j);
		json_key(&t.j, "problems");
		json_array_begin(&t.j);
	}
	if (read_all(o, fd, v) == 0) {
		sum = verify_end(v);
		const char *open = say_open(o, &sum, fd, &fine);
		if (o->json)
			put_json_end(&t, &sum, open != NULL);
		else
			put_end(&t, &sum, open, !fine);
		fine = fine && sum.n_problems == 0;
		if (!o->json && fine)
			put_machine(&t, o, &sum);
	}
	leave(&t);
	buf_release(&t.out);
	verify_free(v);
	return fine ? 0 : CMD_NO;
}

int
audit_verify(const struct audit_options *o)
{
	uint8_t key[SIGN_PUBLIC_SIZE], hash[DIGEST_SIZE];
	struct verify_want want = { .hash = o->hash, .open = o->open };
	int fd, status;

	if (o->key != NULL && !read_wanted_key(o->key, key)) {
		fputs("duenna: audit: --key wants the 64 digits that `duenna "
		      "audit key` prints, or a file with them\n",
		    stderr);
		return CMD_USAGE;
	}
	if (o->hash != NULL &&
	    !digest_unhex(slice_of_str(o->hash), hash, sizeof(hash))) {
		fputs("duenna: audit: --hash wants 64 digits\n", stderr);
		return CMD_USAGE;
	}
	if (o->key != NULL)
		want.machine = key;
	fd = audit_open(o->file);
	if (fd < 0)
		return CMD_NO;
	status = check(o, fd, &want);
	close(fd);
	return status;
}

int
audit_key(const struct audit_options *o)
{
	uint8_t key[SIGN_PUBLIC_SIZE];
	char text[2 * SIGN_PUBLIC_SIZE + 1];

	if (!read_own_key(key)) {
		fputs("duenna: audit: this machine has no audit key yet; the "
		      "first `duenna run` makes it\n",
		    stderr);
		return CMD_NO;
	}
	digest_hex(key, sizeof(key), text);
	printf(o->json ? "{\"key\":\"%s\"}\n" : "%s\n", text);
	return 0;
}
