/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ns/fail.h"

/* What a system looks like that refuses, and what its owner can do. */
static const char remedy_ubuntu[] =
    "AppArmor forbids user namespaces to programs without a profile "
    "(kernel.apparmor_restrict_unprivileged_userns=1). Put this profile into "
    "/etc/apparmor.d/duenna and run 'apparmor_parser -r "
    "/etc/apparmor.d/duenna' as root:"
#include "ns/apparmor.inc"
    ;
static const char *const remedy_debian =
    "This kernel forbids user namespaces to ordinary users. As root: "
    "sysctl -w kernel.unprivileged_userns_clone=1";
static const char *const remedy_zero =
    "The limit of user namespaces is 0. As root: "
    "sysctl -w user.max_user_namespaces=10000";
static const char *const remedy_limit =
    "A limit of namespaces was met (the sysctl user.max_*_namespaces of that "
    "kind, or 32 levels of nesting).";
static const char *const remedy_container =
    "This is a container whose runtime forbids it. Start it with "
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined (Docker, Podman), in Kubernetes "
    "with securityContext: {seccompProfile: {type: Unconfined}, "
    "appArmorProfile: {type: Unconfined}, procMount: Unmasked} and hostUsers: "
    "false, or run duenna on the host.";
static const char *const remedy_overlay =
    "An overlay without root needs Linux 5.11 or later and the module "
    "'overlay'. As root: modprobe overlay";
static const char *const remedy_mount =
    "Linux 5.12 or later is needed for read-only bind mounts.";
/* Linux, mount_too_revealing(): what is covered there must stay covered. */
static const char *const remedy_proc =
    "Something is mounted below /proc here, so no new one may be. Take it "
    "away: --security-opt systempaths=unconfined (Docker, Podman), "
    "securityContext: {procMount: Unmasked} and hostUsers: false (Kubernetes), "
    "or ProtectKernelTunables=no and the like (systemd).";
static const char *const remedy_nft =
    "nf_tables is needed in this kernel. As root: modprobe -a nf_tables "
    "nft_chain_nat nft_redir nft_ct nft_log nfnetlink_log";
/* user_namespaces(7): since 5.12 root's map wants it of whoever unshared. */
static const char *const remedy_root =
    "Root without CAP_SETFCAP, CAP_SETUID and CAP_SETGID is not enough. Start "
    "duenna as an ordinary user, who needs no capability: --user 1000:1000 "
    "(Docker, Podman), securityContext: {runAsUser: 1000} (Kubernetes).";
static const char *const remedy_kernel =
    "This kernel was built without it, or a list of system calls around "
    "duenna forbids it; of memory files so does the sysctl "
    "vm.memfd_noexec=2.";

struct facts {
	bool kept; /* else they are read when they are asked for */
	bool container;
	long max_user, clone, apparmor;
};
static struct facts kept;

/* The number in a file of /proc/sys, or `missing` where there is none. */
static long
number_in(const char *path, long missing)
{
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return missing;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return missing;
	text[n] = '\0';
	return strtol(text, NULL, 10);
}

/* The profile has to name us by our path. */
static const char *
ubuntu(void)
{
	static char text[sizeof(remedy_ubuntu) + PATH_MAX];
	char self[PATH_MAX] = "/usr/bin/duenna";

	if (text[0] != '\0')
		return text;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0)
		self[n] = '\0';
	snprintf(text, sizeof(text), remedy_ubuntu, self);
	return text;
}

static bool
is_container(void)
{
	return access("/.dockerenv", F_OK) == 0 ||
	    access("/run/.containerenv", F_OK) == 0 ||
	    access("/run/host/container-manager", F_OK) == 0 ||
	    getenv("KUBERNETES_SERVICE_HOST") != NULL;
}

static struct facts
look(void)
{
	struct facts f = kept;

	if (f.kept)
		return f;
	f.container = is_container();
	f.max_user = number_in("/proc/sys/user/max_user_namespaces", 1);
	f.clone = number_in("/proc/sys/kernel/unprivileged_userns_clone", 1);
	f.apparmor =
	    number_in("/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		0);
	return f;
}

void
fail_keep_facts(void)
{
	kept = look();
	kept.kept = true;
	(void)ubuntu();
}

/* Why user namespaces are refused; NULL: nothing that we know. */
static const char *
remedy_user(const struct facts *f, int number)
{
	if (f->max_user == 0)
		return remedy_zero;
	if (number == ENOSPC || number == EUSERS)
		return remedy_limit;
	if (f->clone == 0)
		return remedy_debian;
	if (f->apparmor == 1)
		return ubuntu();
	return f->container ? remedy_container : NULL;
}

static const char *
remedy_of(enum fail_what what, int number)
{
	struct facts f = look();
	bool refused = number == EPERM || number == EACCES;
	const char *user = NULL;

	if (what == FAIL_USER)
		return remedy_user(&f, number);
	/* AppArmor lets the namespace be made and takes its capabilities. */
	if (refused && what != FAIL_PROC && what != FAIL_KERNEL &&
	    what != FAIL_ROOT)
		user = remedy_user(&f, number);
	if (user != NULL)
		return user;
	switch (what) {
	case FAIL_NET:
		return number == ENOSPC ? remedy_limit : NULL;
	case FAIL_OVERLAY:
		return remedy_overlay;
	case FAIL_MOUNT:
		return number == ENOSYS ? remedy_mount : NULL;
	case FAIL_NFT:
		return remedy_nft;
	case FAIL_PROC:
		return remedy_proc;
	case FAIL_ROOT:
		return remedy_root;
	case FAIL_KERNEL:
		return remedy_kernel;
	case FAIL_USER:
		return NULL;
	}
	return NULL;
}

void
fail_remedy(enum fail_what what, int number, char *text, size_t size)
{
	const char *s = remedy_of(what, number);

	snprintf(text, size, "%s", s == NULL ? "" : s);
}

/* The text so far and, if there is one, `more` behind it. */
static void
put(struct fail *fail, const char *separator, const char *more)
{
	size_t n = strlen(fail->text);

	if (more != NULL && more[0] != '\0')
		snprintf(fail->text + n, sizeof(fail->text) - n, "%s%s",
		    separator, more);
}

int
fail_set(struct fail *fail, enum err err, const char *fmt, ...)
{
	va_list ap;

	fail->err = err;
	va_start(ap, fmt);
	vsnprintf(fail->text, sizeof(fail->text), fmt, ap);
	va_end(ap);
	return -1;
}

int
fail_errno(struct fail *fail, const char *fmt, ...)
{
	int number = errno;
	va_list ap;

	fail->err = err_from_errno(number);
	va_start(ap, fmt);
	vsnprintf(fail->text, sizeof(fail->text), fmt, ap);
	va_end(ap);
	put(fail, ": ", strerror(number));
	errno = number;
	return -1;
}

int
fail_refused(struct fail *fail, enum fail_what what, const char *fmt, ...)
{
	int number = errno;
	va_list ap;

	fail->err = err_from_errno(number);
	va_start(ap, fmt);
	vsnprintf(fail->text, sizeof(fail->text), fmt, ap);
	va_end(ap);
	put(fail, ": ", strerror(number));
	put(fail, "\n", remedy_of(what, number));
	errno = number;
	return -1;
}
