/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "ns/device.h"
#include "ns/mount.h"

static const char *const devices[] = { "null", "zero", "full", "random",
	"urandom", "tty" };

static const struct {
	const char *name, *target;
} links[] = {
	{ "fd", "/proc/self/fd" },
	{ "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
	{ "ptmx", "pts/ptmx" },
};

/* Bind a device of the host; a node cannot be made in a user namespace. */
static int
bind_device(int host, const char *path, int dev, const char *name)
{
	int from = mount_find(host, path);
	int at = mount_make_place(dev, name, false);
	int tree = -1, result = -1;

	if (from != -1 && at != -1)
		tree = mount_copy(from, MOUNT_DEVICE);
	if (tree != -1)
		result = mount_put(tree, at);
	mount_close(from);
	mount_close(at);
	return result;
}

static int
put_new(int dev, const char *name, const char *type, const char *const *options,
    uint64_t attributes)
{
	int at = mount_make_place(dev, name, true);
	int tree = mount_new(type, options, attributes);
	int result = -1;

	if (at != -1 && tree != -1)
		result = mount_put(tree, at);
	mount_close(at);
	return result;
}

int
device_fill(int host, int dev, const char *tty, struct fail *fail)
{
	static const char *const pts[] = { "newinstance", "", "ptmxmode",
		"0666", "mode", "0620", NULL };
	static const char *const shm[] = { "mode", "1777", NULL };
	char path[64];

	for (size_t i = 0; i < COUNT_OF(devices); i++) {
		snprintf(path, sizeof(path), "/dev/%s", devices[i]);
		if (bind_device(host, path, dev, devices[i]) == -1)
			return fail_refused(fail, FAIL_MOUNT, "cannot bind %s",
			    path);
	}
	for (size_t i = 0; i < COUNT_OF(links); i++)
		if (symlinkat(links[i].target, dev, links[i].name) == -1)
			return fail_errno(fail, "cannot make /dev/%s",
			    links[i].name);
	if (put_new(dev, "pts", "devpts", pts,
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) == -1)
		return fail_refused(fail, FAIL_MOUNT, "cannot mount devpts");
	if (put_new(dev, "shm", "tmpfs", shm, MOUNT_PLAIN) == -1)
		return fail_refused(fail, FAIL_MOUNT, "cannot mount /dev/shm");
	/* A convenience: without it a terminal has no name, and works. */
	if (tty != NULL)
		(void)!bind_device(host, tty, dev, "console");
	return 0;
}
