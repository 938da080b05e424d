/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/json.h"
#include "certs/json_text.h"
#include "certs/managed.h"

#define POLICY_MAX 1048576 /* bytes of one file of the host */
#define FILES_MAX 64	   /* of a folder; there is one, or a few */

/* A whole JSON text of the host's; false: there is none. */
static bool
read_policy(const char *path, struct buf *text)
{
	FILE *file = fopen(path, "re");
	uint8_t part[4096];
	struct stat st;
	size_t n;

	if (file == NULL)
		return false;
	bool good = fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode);
	while (good && (n = fread(part, 1, sizeof(part), file)) != 0)
		good = buf_put(text, slice_of(part, n));
	good = good && ferror(file) == 0;
	fclose(file);
	return good && json_text_is_whole(buf_slice(text));
}

static struct slice
trimmed(struct slice s)
{
	static const char space[] = " \t\r\n";

	while (s.n != 0 && memchr(space, s.p[0], 4) != NULL)
		s = slice_from(s, 1);
	while (s.n != 0 && memchr(space, s.p[s.n - 1], 4) != NULL)
		s = slice_first(s, s.n - 1);
	return s;
}

/* The elements of a list, or members of an object, without the brackets. */
static struct slice
inner(struct slice value)
{
	return trimmed(slice_of(value.p + 1, value.n - 2));
}

static void
add_those_of(struct buf *list, const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct slice theirs;
	struct buf text;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    (int)sizeof(path))
		return;
	buf_init(&text, POLICY_MAX);
	if (read_policy(path, &text) &&
	    json_text_member(buf_slice(&text), "CACertificates", &theirs) &&
	    theirs.p[0] == '[' && inner(theirs).n != 0) {
		buf_put_byte(list, ',');
		buf_put(list, inner(theirs));
	}
	buf_release(&text);
}

static void
add_those_below(struct buf *list, const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *d;

	for (int i = 0; dir != NULL && i < FILES_MAX; i++) {
		d = readdir(dir);
		if (d == NULL)
			break;
		if (d->d_name[0] != '.')
			add_those_of(list, folder, d->d_name);
	}
	if (dir != NULL)
		closedir(dir);
}

static bool
put_base64(struct buf *out, struct slice der)
{
	char *text = malloc(BASE64_SIZE(der.n));

	if (text == NULL)
		return false;
	buf_put_byte(out, '"');
	buf_put(out, slice_of(text, base64_encode(der, text)));
	free(text);
	return buf_put_byte(out, '"');
}

bool
managed_chromium(struct buf *out, const char *folder, const struct slice *cas,
    size_t n_cas)
{
	buf_put_str(out, "{\"CACertificates\":[");
	for (size_t i = 0; i < n_cas; i++) {
		if (i != 0)
			buf_put_byte(out, ',');
		if (!put_base64(out, cas[i]))
			return false;
	}
	add_those_below(out, folder);
	return buf_put_str(out, "]}\n") && !out->failed;
}

/* What stands around the path in a Firefox policy, outermost first. */
static const struct {
	const char *name;
	char bracket; /* that its value begins with */
} levels[] = { { "policies", '{' }, { "Certificates", '{' },
	{ "Install", '[' } };

/*
 * As deep as the host's file goes: `at` is set to the value in it that ours
 * goes into.  The number of levels, or -1: one is of another kind, and nobody
 * can take the file for policies.
 */
static int
find_place(struct slice text, struct slice *at)
{
	struct slice value;
	int depth = 0;

	*at = text;
	if (text.p[0] != '{')
		return -1;
	while (depth < (int)COUNT_OF(levels) &&
	    json_text_member(*at, levels[depth].name, &value)) {
		if (value.p[0] != levels[depth].bracket)
			return -1;
		*at = value;
		depth++;
	}
	return depth;
}

/* The certificate's path, with the levels from `depth` on around it. */
static void
put_install(struct buf *out, int depth, const char *ca_path)
{
	int n = (int)COUNT_OF(levels);
	struct json j;

	for (int i = depth; i < n; i++)
		buf_putf(out, "\"%s\":%c", levels[i].name, levels[i].bracket);
	json_init(&j, out);
	json_str(&j, ca_path);
	for (int i = n - 1; i >= depth; i--)
		buf_put_byte(out, levels[i].bracket == '[' ? ']' : '}');
}

bool
managed_firefox(struct buf *out, const char *path, const char *ca_path)
{
	struct slice text = SLICE("{}"), at;
	struct buf theirs;

	buf_init(&theirs, POLICY_MAX);
	if (read_policy(path, &theirs))
		text = trimmed(buf_slice(&theirs));
	int depth = find_place(text, &at);
	if (depth == -1) {
		text = SLICE("{}");
		depth = find_place(text, &at);
	}
	size_t before = (size_t)(at.p - text.p) + 1;
	buf_put(out, slice_first(text, before));
	put_install(out, depth, ca_path);
	if (inner(at).n != 0)
		buf_put_byte(out, ',');
	buf_put(out, slice_from(text, before));
	buf_put_byte(out, '\n');
	buf_release(&theirs);
	return !out->failed;
}
