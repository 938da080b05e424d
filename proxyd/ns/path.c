/* SPDX-License-Identifier: Apache-2.0 */
#include "ns/path.h"
#include "base/mem.h"

bool
path_is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (strcmp(folder, "/") == 0)
		return path[0] == '/';
	return strncmp(path, folder, n) == 0 &&
	    (path[n] == '\0' || path[n] == '/');
}

bool
path_is_clean(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	while (*path != '\0') {
		path++;
		size_t n = strcspn(path, "/");
		if (n == 0 || (n == 1 && path[0] == '.') ||
		    (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += n;
	}
	return true;
}

bool
path_join(char *out, size_t size, const char *a, const char *b)
{
	const char *slash = a[0] == '/' && a[1] == '\0' ? "" : "/";
	int n = snprintf(out, size, "%s%s%s", a, slash, b);

	return n >= 0 && (size_t)n < size;
}

bool
path_folder(char *out, size_t size, const char *path)
{
	const char *end = strrchr(path, '/');
	size_t n = end == NULL ? 0 : (size_t)(end - path);

	if (n >= size || size < 2)
		return false;
	if (n == 0) {
		out[0] = '/';
		n = 1;
	} else {
		memcpy(out, path, n);
	}
	out[n] = '\0';
	return true;
}

char *
path_joined(const char *folder, const char *name)
{
	size_t size = strlen(folder) + strlen(name) + 2;
	char *path = mem_alloc(size);

	snprintf(path, size, "%s%s%s", folder, folder[0] == '\0' ? "" : "/",
	    name);
	return path;
}
