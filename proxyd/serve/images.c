/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that sandboxes share: one policy, one image, one descriptor. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "serve/state.h"

static struct image *
find(struct serve *s, const char *digest)
{
	struct image *i;

	LIST_FOREACH(i, &s->images, entry)
		if (strcmp(i->digest, digest) == 0)
			return i;
	return NULL;
}

struct image *
image_take(struct serve *s, int fd, enum err *err)
{
	struct program *p = program_map(fd, err);
	struct image *found, *i;
	char digest[7 + 64 + 1];

	if (p == NULL) {
		close(fd);
		return NULL;
	}
	state_sha256(program_image(p), digest);
	found = find(s, digest);
	i = found != NULL ? found : calloc(1, sizeof(*i));
	if (found != NULL || i == NULL) {
		program_free(p);
		close(fd);
		if (i == NULL)
			*err = ERR_MEMORY;
		else
			i->n_refs++;
		return i;
	}
	/* For `audit replay`; without it a log is no less true. */
	if (state_keep_program(&s->m, p, digest) != 0)
		log_warn("cannot keep the program %s: %s", digest,
		    strerror(errno));
	*i = (struct image){ .fd = fd, .program = p, .n_refs = 1 };
	memcpy(i->digest, digest, sizeof(digest));
	LIST_INSERT_HEAD(&s->images, i, entry);
	return i;
}

void
image_drop(struct image *i)
{
	if (i == NULL || --i->n_refs != 0)
		return;
	LIST_REMOVE(i, entry);
	program_free(i->program);
	close(i->fd);
	free(i);
}
