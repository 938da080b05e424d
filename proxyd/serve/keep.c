/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a sandbox outlives the gateway: a file STATE/sandboxes/NAME, mode 0600,
 * there from just before its record `attach` until its detach.
 *
 *	mark; boot: s8; is_configured: u8; net: u64; tcp_port, dns_port: u16
 *	placeholders: s16 of { credential, variable, text: s8 }...
 *	the request, as priv/control has it; of a token its digest
 *
 * The placeholders are no secrets; the sandbox shows those that it was given.
 * Read as what somebody else may have written.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "cred/placeholder.h"
#include "serve/keep.h"

#define MARK "duenna sandbox 1\n"
#define PLACES_SIZE 65535

static void
path_of(const struct serve *s, const char *name, char path[4096])
{
	snprintf(path, 4096, "%s/sandboxes/%s", s->cfg->state, name);
}

/* Numbers of processes and namespaces mean something until the next boot. */
static struct slice
boot_id(void)
{
	static char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return slice_of(text, n < 0 ? 0 : (size_t)n);
}

/* Which variable it stands in: places of a credential are in its order. */
static struct slice
variable_of(const struct box *b, size_t i, struct slice *credential)
{
	uint32_t number = b->places[i].credential;
	struct owner_credential c = owner_credential(b->serve->m.owner, number);
	size_t first = i;

	while (first > 0 && b->places[first - 1].credential == number)
		first--;
	*credential = c.public.name;
	return c.places[i - first].env;
}

static void
write_places(const struct box *b, struct wr *w)
{
	static uint8_t room[PLACES_SIZE];
	struct wr places = wr_of(room, sizeof(room));
	struct slice credential;

	for (size_t i = 0; i < b->n_places; i++) {
		struct slice variable = variable_of(b, i, &credential);
		wr_slice8(&places, credential);
		wr_slice8(&places, variable);
		wr_slice8(&places, slice_of(b->places[i].text, b->places[i].n));
	}
	w->bad = w->bad || places.bad;
	wr_slice16(w, wr_slice(&places));
}

static bool
write_file(const char *path, struct slice bytes)
{
	int fd = open(path,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool good = fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n;

	if (fd >= 0)
		close(fd);
	return good;
}

bool
keep_write(const struct box *b)
{
	static uint8_t room[KEEP_MAX];
	struct wr w = wr_of(room, sizeof(room));
	char path[4096], next[4096 + 1];

	wr_bytes(&w, SLICE(MARK));
	wr_slice8(&w, boot_id());
	wr_u8(&w, b->is_configured);
	wr_u64(&w, b->net);
	wr_u16(&w, b->has_capture ? b->capture.tcp_port : 0);
	wr_u16(&w, b->has_capture ? b->capture.dns_port : 0);
	write_places(b, &w);
	wr_bytes(&w, buf_slice(&b->request));
	path_of(b->serve, b->name, path);
	/* No name of a sandbox has a dot. */
	snprintf(next, sizeof(next), "%s.", path);
	errno = EMSGSIZE;
	if (!w.bad && write_file(next, wr_slice(&w)) && rename(next, path) == 0)
		return true;
	log_error("cannot write %s: %s", path, strerror(errno));
	(void)unlink(next);
	return false;
}

void
keep_drop(const struct serve *s, const char *name)
{
	char path[4096];

	path_of(s, name, path);
	if (unlink(path) != 0 && errno != ENOENT)
		log_error("cannot remove %s: %s", path, strerror(errno));
}

/* Only ours; what is wrong with it, or NULL. */
static const char *
read_file(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const char *why = NULL;
	uint8_t piece[65536];
	struct stat st;
	ssize_t n = 0;

	if (fd < 0)
		return strerror(errno);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		why = "it is no file";
	else if (st.st_uid != geteuid() ||
	    (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		why = "others may read or write it";
	while (why == NULL && (n = read(fd, piece, sizeof(piece))) > 0)
		if (!buf_put(out, slice_of(piece, (size_t)n)))
			why = "it is too large";
	if (why == NULL && n < 0)
		why = strerror(errno);
	close(fd);
	return why;
}

bool
keep_parse(struct slice bytes, struct kept *k, struct control_attach *asked)
{
	struct rd r = rd_of(bytes);

	*k = (struct kept){ 0 };
	if (!slice_eq(rd_bytes(&r, sizeof(MARK) - 1), SLICE(MARK)))
		return false;
	k->boot = rd_slice8(&r);
	k->is_configured = rd_u8(&r) == 1;
	k->net = rd_u64(&r);
	k->tcp_port = rd_u16(&r);
	k->dns_port = rd_u16(&r);
	k->places = rd_slice16(&r);
	return !r.bad && control_attach_read(&r, asked) && rd_is_done(&r) &&
	    asked->n_secrets == 0;
}

static void
read_one(struct serve *s, const char *name, keep_found *found)
{
	static struct control_attach asked;
	struct kept k;
	char path[4096];
	struct buf bytes;
	const char *why;

	path_of(s, name, path);
	buf_init(&bytes, KEEP_MAX);
	why = read_file(path, &bytes);
	if (why == NULL &&
	    (!keep_parse(buf_slice(&bytes), &k, &asked) ||
		!slice_eq_str(asked.name, name)))
		why = "it is no sandbox that a gateway kept";
	if (why != NULL)
		log_error("%s is skipped: %s", path, why);
	else {
		k.is_old = !slice_eq(k.boot, boot_id());
		found(s, &asked, &k);
	}
	buf_release(&bytes);
}

static int
is_name(const struct dirent *entry)
{
	return control_is_name(slice_of_str(entry->d_name));
}

void
keep_read(struct serve *s, keep_found *found)
{
	struct dirent **names;
	char path[4096];
	int n;

	path_of(s, "", path);
	n = scandir(path, &names, is_name, alphasort);
	if (n < 0) {
		log_error("cannot read %s: %s", path, strerror(errno));
		return;
	}
	for (int i = 0; i < n; i++) {
		read_one(s, names[i]->d_name, found);
		free(names[i]);
	}
	free(names);
}

/* The text that stood in that variable. */
static struct slice
find_place(struct slice places, struct slice credential, struct slice variable)
{
	struct rd r = rd_of(places);

	while (r.in.n != 0 && !r.bad) {
		struct slice c = rd_slice8(&r), v = rd_slice8(&r),
			     text = rd_slice8(&r);
		if (!r.bad && slice_eq(c, credential) && slice_eq(v, variable))
			return text;
	}
	return (struct slice){ 0 };
}

void
keep_places(struct box *b)
{
	struct slice credential;

	for (size_t i = 0; i < b->n_places; i++) {
		struct slice variable = variable_of(b, i, &credential);
		struct slice text = find_place(buf_slice(&b->kept_places),
		    credential, variable);
		struct placeholder *p = &b->places[i];
		if (text.n == 0 || text.n > sizeof(p->text) ||
		    !placeholder_is_marked(text))
			continue;
		memcpy(p->text, text.p, text.n);
		p->n = text.n;
	}
}
