/* SPDX-License-Identifier: Apache-2.0 */
#include "load/compile_git.h"

static void
put_texts(struct build *b, const struct load_texts *list)
{
	for (uint32_t i = 0; i < list->n; i++) {
		build_string(b, TABLE_TEXTS, list->list[i].glob);
		build_string(b, TABLE_TEXTS, list->list[i].written);
	}
}

uint32_t
compile_git(struct build *b, const struct load_git *git)
{
	uint32_t record = b->words[TABLE_GIT] / GIT_WORDS;

	if (git == NULL)
		return IMAGE_NONE;
	build_word(b, TABLE_GIT, git->flags);
	build_word(b, TABLE_GIT, git->forge);
	build_word(b, TABLE_GIT, git->max_commands);
	build_word(b, TABLE_GIT, (uint32_t)(git->max_pack >> 32));
	build_word(b, TABLE_GIT, (uint32_t)git->max_pack);
	build_word(b, TABLE_GIT, (uint32_t)(git->max_file >> 32));
	build_word(b, TABLE_GIT, (uint32_t)git->max_file);
	for (unsigned i = 0; i < GIT_LISTS; i++) {
		build_word(b, TABLE_GIT, b->words[TABLE_TEXTS] / TEXT_WORDS);
		build_word(b, TABLE_GIT, git->lists[i].n);
		put_texts(b, &git->lists[i]);
	}
	return record;
}
