/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include <unistd.h>

#include "base/secret.h"

int
secret_init(struct secret *s, struct slice bytes, enum err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (bytes.n + page) / page * page;

	*s = (struct secret){ 0 };
	if (bytes.n > SECRET_MAX) {
		*err = ERR_MEMORY;
		return -1;
	}
	uint8_t *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		*err = ERR_MEMORY;
		return -1;
	}
	/* A small RLIMIT_MEMLOCK must not stop us; DONTDUMP always works. */
	(void)mlock(p, size);
	(void)madvise(p, size, MADV_DONTDUMP);
	if (bytes.n != 0)
		memcpy(p, bytes.p, bytes.n);
	*s = (struct secret){ .p = p, .n = bytes.n, .size = size };
	return 0;
}

void
secret_release(struct secret *s)
{
	if (s->p != NULL) {
		explicit_bzero(s->p, s->size);
		munmap(s->p, s->size);
	}
	*s = (struct secret){ 0 };
}
