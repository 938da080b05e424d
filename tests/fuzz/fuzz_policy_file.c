/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the path of an include: what is opened lies below the policy's
 * folder, and is the file that its number says.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"
#include "proxyd/policy_file.h"

/* Two bytes a step, so that much is met: the names below, and what is odd. */
static const char *const words[] = { "a.yaml", "sub", "b.yaml", "link", "out",
	"..", ".", "/", "//", "secret", "\n", "a.yaml/", "./", "*", "preset" };

static char base[] = "/tmp/fuzz-policy-file-XXXXXX";
static struct policy_files files;

/* What is made below `base`, in order; a link has where it leads. */
static const struct {
	const char *name, *link;
	bool folder;
} made[] = {
	{ "secret", NULL, false },
	{ "p", NULL, true },
	{ "p/sub", NULL, true },
	{ "p/a.yaml", NULL, false },
	{ "p/sub/b.yaml", NULL, false },
	{ "p/link", "../secret", false },
	{ "p/out", "..", false },
};

static const char *
at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static void
unmake(void)
{
	for (size_t i = COUNT_OF(made); i-- > 0;)
		(void)remove(at(made[i].name));
	(void)rmdir(base);
}

static void
make(void)
{
	const char *why;

	CHECK(mkdtemp(base) != NULL && atexit(unmake) == 0);
	for (size_t i = 0; i < COUNT_OF(made); i++) {
		const char *path = at(made[i].name);
		if (made[i].link != NULL)
			CHECK(symlink(made[i].link, path) == 0);
		else if (made[i].folder)
			CHECK(mkdir(path, 0700) == 0);
		else
			CHECK(close(open(path, O_WRONLY | O_CREAT, 0600)) == 0);
	}
	int fd = policy_file_open(&files, at("p/a.yaml"), &why);
	CHECK(fd >= 0 && close(fd) == 0);
}

static void
check(int fd, uint32_t number)
{
	char link[64], real[4096], below[256];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, real, sizeof(real) - 1);
	CHECK(n > 0);
	real[n] = '\0';
	snprintf(below, sizeof(below), "%s/p/", base);
	CHECK(strncmp(real, below, strlen(below)) == 0);
	CHECK(number < files.n && strcmp(files.paths[number], real) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t path[8192];
	const char *why = NULL;
	uint32_t number;
	size_t n = 0;

	if (base[sizeof(base) - 2] == 'X')
		make();
	if (size == 0)
		return 0;
	for (size_t i = 1; i < size && n + 16 < sizeof(path); i++) {
		const char *word = words[data[i] % 15];
		if (data[i] < 0x80) {
			path[n++] = data[i];
			continue;
		}
		memcpy(path + n, word, strlen(word));
		n += strlen(word);
	}
	int fd = policy_file_include(&files, data[0] & 3, slice_of(path, n),
	    &number, &why);
	if (fd < 0) {
		CHECK(why != NULL && why[0] != '\0');
		return 0;
	}
	check(fd, number);
	close(fd);
	return 0;
}
