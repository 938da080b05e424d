/* SPDX-License-Identifier: Apache-2.0 */
/* The same program as if no host had an index: every route is looked at. */
#ifndef TESTS_NO_INDEX_H
#define TESTS_NO_INDEX_H

#include "policy/image.h"

static inline void
no_index_put(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* Where in the head a table's offset stands; its count is the next word. */
static inline uint8_t *
no_index_table(uint8_t *image, unsigned table)
{
	return image + ((size_t)HEAD_TABLES + 2 * (size_t)table) * 4;
}

/* Take it out of an image that was found whole, or might be. */
static inline void
no_index(uint8_t *image)
{
	uint8_t *hosts = no_index_table(image, TABLE_HOSTS);
	uint8_t *first = image + image_read(hosts);

	for (uint32_t i = 0; i < image_read(hosts + 4); i++)
		no_index_put(first + ((size_t)i * HOST_WORDS + HOST_INDEX) * 4,
		    IMAGE_NONE);
	no_index_put(no_index_table(image, TABLE_INDEXES) + 4, 0);
	no_index_put(no_index_table(image, TABLE_SHAPES) + 4, 0);
	no_index_put(no_index_table(image, TABLE_SLOTS) + 4, 0);
}

#endif
