/* SPDX-License-Identifier: Apache-2.0 */
/* Running duenna-nft in the namespaces that the caller is in. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ns/path.h"
#include "ns/setup.h"

#define EXIT_EXEC 120 /* the program could not be executed; errno in `out` */

const char *
netns_nft_path(void)
{
	static char path[PATH_MAX];
	static const char *const places[] = { "duenna-nft", "../nft/duenna-nft",
		"../libexec/duenna/duenna-nft" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = '\0';
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		char folder[PATH_MAX];
		if (path_folder(folder, sizeof(folder), self) &&
		    path_join(path, sizeof(path), folder, places[i]) &&
		    access(path, X_OK) == 0)
			return path;
	}
	return path;
}

/*
 * Keep CAP_NET_ADMIN, and nothing else, over the exec: any user but 0 loses
 * all of them there unless they are ambient.
 */
static int
keep_net_admin(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct cap[2] = { 0 };
	uint32_t bit = UINT32_C(1) << CAP_NET_ADMIN;

	cap[0].effective = cap[0].permitted = cap[0].inheritable = bit;
	if (syscall(SYS_capset, &head, cap) == -1)
		return -1;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0);
}

static NORETURN void
run(const char *path, char *const *argv, int out)
{
	char *empty[] = { NULL };

	/* Who was cancelled loads nothing afterwards. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	int null = open("/dev/null", O_RDWR);
	dup2(null, STDIN_FILENO);
	close_range(3, ~0U, 0);
	if (keep_net_admin() == 0)
		execve(path, argv, empty);
	dprintf(STDERR_FILENO, "%s", strerror(errno));
	_exit(EXIT_EXEC);
}

/* All that comes until the end, as far as it fits, without the last newline. */
static void
read_all(int fd, char *out, size_t size)
{
	char rest[256];
	size_t have = 0;
	ssize_t n;

	do {
		size_t room = size - 1 - have;
		n = read(fd, room == 0 ? rest : out + have,
		    room == 0 ? sizeof(rest) : room);
		if (n > 0 && room != 0)
			have += (size_t)n;
	} while (n > 0 || (n == -1 && errno == EINTR));
	if (have != 0 && out[have - 1] == '\n')
		have--;
	out[have] = '\0';
}

int
setup_nft(const char *path, char *const *argv, char *out, size_t size,
    struct fail *fail)
{
	int fd[2], status;

	if (pipe2(fd, O_CLOEXEC) == -1)
		return fail_errno(fail, "cannot make a pipe");
	pid_t pid = fork();
	if (pid == 0)
		run(path, argv, fd[1]);
	close(fd[1]);
	if (pid == -1) {
		close(fd[0]);
		return fail_errno(fail, "cannot start a process");
	}
	read_all(fd[0], out, size);
	close(fd[0]);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return fail_errno(fail, "cannot wait for a process");
	if (status == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_EXEC)
		return fail_set(fail, ERR_MISSING, "cannot execute %s: %s",
		    path, out);
	fail_set(fail, ERR_SYSTEM, "nftables refused our rules: %s",
	    out[0] == '\0' ? "no word from duenna-nft" : out);
	char remedy[512];
	fail_remedy(FAIL_NFT, 0, remedy, sizeof(remedy));
	size_t n = strlen(fail->text);
	snprintf(fail->text + n, sizeof(fail->text) - n, "\n%s", remedy);
	return -1;
}
