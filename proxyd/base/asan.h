/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of ours that is kept for the next use is forbidden ground until then:
 * a build with AddressSanitizer ends the program that touches it.  In other
 * builds this is nothing.
 */
#ifndef BASE_ASAN_H
#define BASE_ASAN_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define ASAN_IS_ON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN_IS_ON 1
#endif
#endif
#ifndef ASAN_IS_ON
#define ASAN_IS_ON 0
#endif

#if ASAN_IS_ON
#include <sanitizer/asan_interface.h>
#endif

/* Nobody touches these bytes until asan_allow(). */
static inline void
asan_forbid(const void *p, size_t n)
{
#if ASAN_IS_ON
	__asan_poison_memory_region(p, n);
#else
	(void)p;
	(void)n;
#endif
}

static inline void
asan_allow(const void *p, size_t n)
{
#if ASAN_IS_ON
	__asan_unpoison_memory_region(p, n);
#else
	(void)p;
	(void)n;
#endif
}

#endif
