/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include <unistd.h>

#include "base/asan.h"
#include "base/secret.h"

/*
 * Pages that were wiped and are kept for the next secret: mapping, locking and
 * unmapping one would be four system calls for each request with a credential.
 * To AddressSanitizer they are as freed, as is what stands behind a secret.
 */
#define SPARE_MAX 16

static uint8_t *spare[SPARE_MAX];
static size_t n_spare;

static size_t
page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* NULL: no memory. */
static uint8_t *
take_pages(size_t size)
{
	uint8_t *p;

	if (size == page_size() && n_spare != 0) {
		asan_allow(spare[--n_spare], size);
		return spare[n_spare];
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	/* A small RLIMIT_MEMLOCK must not stop us; DONTDUMP always works. */
	(void)mlock(p, size);
	(void)madvise(p, size, MADV_DONTDUMP);
	return p;
}

static void
give_back(uint8_t *p, size_t size)
{
	if (size != page_size() || n_spare == SPARE_MAX) {
		munmap(p, size);
		return;
	}
	asan_forbid(p, size);
	spare[n_spare++] = p;
}

int
secret_init(struct secret *s, struct slice bytes, enum err *err)
{
	size_t page = page_size();
	size_t size = (bytes.n + page) / page * page;
	uint8_t *p;

	*s = (struct secret){ 0 };
	if (bytes.n > SECRET_MAX || (p = take_pages(size)) == NULL) {
		*err = ERR_MEMORY;
		return -1;
	}
	if (bytes.n != 0)
		memcpy(p, bytes.p, bytes.n);
	asan_forbid(p + bytes.n, size - bytes.n);
	*s = (struct secret){ .p = p, .n = bytes.n, .size = size };
	return 0;
}

void
secret_release(struct secret *s)
{
	if (s->p != NULL) {
		asan_allow(s->p, s->size);
		explicit_bzero(s->p, s->size);
		give_back(s->p, s->size);
	}
	*s = (struct secret){ 0 };
}
