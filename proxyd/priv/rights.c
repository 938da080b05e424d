/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ascii.h"
#include "priv/control.h"
#include "priv/rights.h"

#define ALL (CONTROL_MAY_VIEW | CONTROL_MAY_ATTACH | CONTROL_MAY_POLICY)
#define GROUPS_MAX 65536 /* NGROUPS_MAX of the kernel */
#define BUFFER_MAX (1 << 20)

/* A number as it is; one that no group can have is none. */
static bool
is_number(struct slice text, uint32_t *gid)
{
	uint64_t v = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_is_digit(text.p[i]) || v > UINT32_MAX)
			return false;
		v = v * 10 + (uint64_t)(text.p[i] - '0');
	}
	*gid = (uint32_t)v;
	return text.n != 0 && v < UINT32_MAX;
}

/* A group of many members needs a large buffer. */
static bool
find_group(const char *name, uint32_t *gid)
{
	struct group group, *found = NULL;
	int number = ERANGE;

	for (size_t n = 4096; number == ERANGE && n <= BUFFER_MAX; n *= 4) {
		char *room = malloc(n);
		if (room == NULL)
			return false;
		number = getgrnam_r(name, &group, room, n, &found);
		if (number == 0 && found != NULL)
			*gid = group.gr_gid;
		free(room);
	}
	return number == 0 && found != NULL;
}

int
rights_add(struct rights *r, struct slice group, uint8_t right, enum err *err)
{
	char name[64];
	uint32_t gid;

	snprintf(name, sizeof(name), "%.*s", SLICE_ARG(group));
	if (!is_number(group, &gid) &&
	    (group.n >= sizeof(name) || !find_group(name, &gid))) {
		*err = ERR_MISSING;
		return -1;
	}
	if (r->n == RIGHTS_MAX) {
		*err = ERR_FULL;
		return -1;
	}
	r->rows[r->n].gid = gid;
	r->rows[r->n++].rights = right;
	return 0;
}

static uint8_t
of_group(const struct rights *r, uint32_t gid)
{
	uint8_t rights = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].gid == gid)
			rights |= r->rows[i].rights;
	return rights;
}

/* Of the groups beside the first; none can be told: none. */
static uint8_t
of_more_groups(const struct rights *r, int fd)
{
	socklen_t size = 0;
	uint8_t rights = 0;
	gid_t *gids;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 ||
	    errno != ERANGE || size > GROUPS_MAX * sizeof(*gids))
		return 0;
	gids = malloc(size);
	if (gids != NULL &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids, &size) == 0)
		for (size_t i = 0; i < size / sizeof(*gids); i++)
			rights |= of_group(r, gids[i]);
	free(gids);
	return rights;
}

uint8_t
rights_of_peer(const struct rights *r, int fd, uint32_t *uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	*uid = UINT32_MAX;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
	    size != sizeof(peer) || peer.pid <= 0)
		return 0;
	*uid = peer.uid;
	if (peer.uid == 0 || peer.uid == geteuid())
		return ALL;
	return of_group(r, peer.gid) | of_more_groups(r, fd);
}
