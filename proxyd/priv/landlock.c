/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <unistd.h>

#include "base/log.h"
#include "priv/landlock.h"

/* Rights by ABI: 1..2 in Debian 12's header, the others by number. */
#define FS_ABI1 ((1ULL << 13) - 1)
#define FS_REFER (1ULL << 13)	  /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define NET_BIND (1ULL << 0)	  /* ABI 4 */
#define NET_CONNECT (1ULL << 1)	  /* ABI 4 */
#define SCOPE_UNIX (1ULL << 0)	  /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)  /* ABI 6 */

#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* struct landlock_ruleset_attr as ABI 6 has it. */
struct ruleset {
	uint64_t fs, net, scoped;
};

static struct ruleset
ruleset_for(long abi, enum landlock_files files)
{
	struct ruleset r = { .fs = FS_ABI1 };

	if (abi >= 2)
		r.fs |= FS_REFER;
	if (abi >= 3)
		r.fs |= FS_TRUNCATE;
	if (abi >= 5)
		r.fs |= FS_IOCTL_DEV;
	if (abi >= 4)
		r.net = files == LANDLOCK_READ_NET ? NET_BIND :
						     NET_BIND | NET_CONNECT;
	if (abi >= 6)
		r.scoped = SCOPE_UNIX | SCOPE_SIGNAL;
	return r;
}

/* Allow reading below the root. */
static int
allow_read(int ruleset)
{
	struct landlock_path_beneath_attr below = {
		.allowed_access = FS_READ,
		.parent_fd = open("/", O_PATH | O_CLOEXEC),
	};
	long r = -1;

	if (below.parent_fd >= 0) {
		r = syscall(SYS_landlock_add_rule, ruleset,
		    LANDLOCK_RULE_PATH_BENEATH, &below, 0);
		close(below.parent_fd);
	}
	return r == 0 ? 0 : -1;
}

int
landlock_apply(enum landlock_files files)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 1) {
		log_info("this kernel has no Landlock; "
			 "the system-call list stands alone");
		return 0;
	}
	struct ruleset want = ruleset_for(abi, files);
	size_t size = abi >= 6 ? sizeof(want) :
	    abi >= 4	       ? 2 * sizeof(uint64_t) :
				 sizeof(uint64_t);
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &want, size, 0);
	int r = ruleset < 0 ? -1 : 0;
	if (r == 0 && files != LANDLOCK_NO_FILES)
		r = allow_read(ruleset);
	if (r == 0)
		r = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
	if (r != 0)
		log_error("Landlock refused: %s", strerror(errno));
	if (ruleset >= 0)
		close(ruleset);
	return r == 0 ? 0 : -1;
}
