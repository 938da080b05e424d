/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>

#include "git_bed.h"
#include "row.h"

#define BODY_MAX 131072 /* bytes; the largest has 3,300 */

struct slice
git_body(const char *name)
{
	static uint8_t bytes[BODY_MAX];
	char path[512];

	assert_true(snprintf(path, sizeof(path), GIT "/%s", name) < 500);
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		fail_msg("cannot open %s", path);
	size_t n = fread(bytes, 1, sizeof(bytes), f);
	assert_true(n < sizeof(bytes) && ferror(f) == 0);
	fclose(f);
	return exact(slice_of(bytes, n));
}

static int
is_body(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

void
git_bodies(const char *folder,
    void (*each)(const char *name, struct slice body))
{
	struct dirent **names;
	char path[512];

	assert_true(snprintf(path, sizeof(path), GIT "/%s", folder) < 500);
	int n = scandir(path, &names, is_body, alphasort);
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		assert_true(snprintf(path, sizeof(path), "%s/%s", folder,
				names[i]->d_name) < 500);
		struct slice body = git_body(path);
		each(names[i]->d_name, body);
		drop(body);
		free(names[i]);
	}
	free(names);
}
