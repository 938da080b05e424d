/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule of git+https allows: bits of its record in the image. */
#ifndef POLICY_GITFLAG_H
#define POLICY_GITFLAG_H

enum git_flag {
	GIT_FETCH = 1,
	GIT_PUSH = 2,
	GIT_ARCHIVE = 4,
	GIT_HIDE_REFS = 8,
	GIT_CREATE = 16,
	GIT_UPDATE = 32,
	GIT_DELETE = 64,
	GIT_FORCE = 128,
	GIT_SIGNED = 256,
	GIT_API_FOLLOW = 512,
	GIT_LFS_READ = 1024,
	GIT_LFS_WRITE = 2048,
	GIT_FLAGS = 4095
};

#endif
