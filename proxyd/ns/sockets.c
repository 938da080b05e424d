/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "ns/path.h"
#include "ns/sockets.h"

#define TABLE_MAX (64 * 1024 * 1024) /* bytes; 100 a socket */
#define FIELDS 7		     /* before the path */

static void
add(struct sockets *s, struct slice path)
{
	char text[PATH_MAX], real[PATH_MAX];

	if (path.n == 0 || path.n >= sizeof(text) || path.p[0] != '/')
		return; /* abstract ones are another network namespace's */
	memcpy(text, path.p, path.n);
	text[path.n] = '\0';
	s->path = realloc(s->path, (s->n + 1) * sizeof(*s->path));
	if (s->path == NULL)
		abort();
	s->path[s->n++] =
	    mem_strdup(realpath(text, real) == NULL ? text : real);
}

/* The rest of a line after its first seven fields. */
static struct slice
path_of(struct slice line)
{
	for (int i = 0; i < FIELDS; i++) {
		while (line.n != 0 && line.p[0] == ' ')
			line = slice_from(line, 1);
		while (line.n != 0 && line.p[0] != ' ')
			line = slice_from(line, 1);
	}
	return slice_from(line, 1);
}

void
sockets_parse(struct sockets *s, struct slice text)
{
	*s = (struct sockets){ 0 };
	while (text.n != 0) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		size_t n = end == NULL ? text.n : (size_t)(end - text.p);
		add(s, path_of(slice_first(text, n)));
		text = slice_from(text, n + 1);
	}
}

int
sockets_read(struct sockets *s, struct fail *fail)
{
	struct buf text;
	ssize_t n;
	int fd = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return fail_errno(fail, "cannot read /proc/net/unix");
	buf_init(&text, TABLE_MAX);
	do {
		uint8_t *room = buf_room(&text, 65536);
		n = room == NULL ? -1 : read(fd, room, 65536);
		if (n > 0)
			buf_added(&text, (size_t)n);
	} while (n > 0 || (n == -1 && errno == EINTR));
	close(fd);
	if (n == -1) {
		buf_release(&text);
		return fail_errno(fail, "cannot read /proc/net/unix");
	}
	sockets_parse(s, buf_slice(&text));
	buf_release(&text);
	return 0;
}

const char *
sockets_find_below(const struct sockets *s, const char *folder, size_t *at)
{
	while (*at < s->n) {
		const char *path = s->path[(*at)++];
		if (path_is_below(path, folder))
			return path;
	}
	return NULL;
}

void
sockets_release(struct sockets *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->path[i]);
	free(s->path);
	*s = (struct sockets){ 0 };
}
