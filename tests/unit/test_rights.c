/* SPDX-License-Identifier: Apache-2.0 */
/* Who may what over a socket: peers are processes of other users (for root). */
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"
#include "priv/control.h"
#include "priv/rights.h"

#define ALL (CONTROL_MAY_VIEW | CONTROL_MAY_ATTACH | CONTROL_MAY_POLICY)

static void
add(struct rights *r, const char *group, uint8_t right)
{
	enum err err = ERR_NONE;

	assert_int_equal(rights_add(r, slice_of_str(group), right, &err), 0);
}

static void
groups_are_named_or_numbered(void **state)
{
	(void)state;
	static const char *const none[] = { "", "no-such-group-here",
		"4294967295", "99999999999999999999", "-1", "0x1", "1 ",
		"a-name-that-is-longer-than-any-group-can-have-and-the-room-"
		"for-it-too" };
	struct rights r = { 0 };
	enum err err = ERR_NONE;

	add(&r, "root", CONTROL_MAY_VIEW);
	add(&r, "4294967294", CONTROL_MAY_ATTACH);
	assert_int_equal(r.rows[0].gid, 0);
	assert_int_equal(r.rows[1].gid, 4294967294);
	for (size_t i = 0; i < COUNT_OF(none); i++) {
		print_message("# '%s'\n", none[i]);
		assert_int_equal(rights_add(&r, slice_of_str(none[i]), 1, &err),
		    -1);
		assert_int_equal(err, ERR_MISSING);
	}
	while (r.n < RIGHTS_MAX)
		add(&r, "1", 1);
	assert_int_equal(rights_add(&r, SLICE("1"), 1, &err), -1);
	assert_int_equal(err, ERR_FULL);
}

/* What a process of that user and those groups may, seen from a listener. */
static uint8_t
rights_of(const struct rights *r, uid_t uid, gid_t gid, gid_t more,
    uint32_t *seen)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1,
	    "duenna-test-rights-%ld", (long)getpid());
	socklen_t size =
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	gid_t groups[] = { 700000, more };

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char c;
		int to = socket(AF_UNIX, SOCK_STREAM, 0);
		if (setgroups(more == 0 ? 0 : 2, groups) != 0 ||
		    setresgid(gid, gid, gid) != 0 ||
		    setresuid(uid, uid, uid) != 0 ||
		    connect(to, (struct sockaddr *)&sa, size) != 0)
			_exit(1);
		_exit(read(to, &c, 1) == 0 ? 0 : 1);
	}
	int peer = accept(fd, NULL, NULL);
	assert_true(peer >= 0);
	uint8_t rights = rights_of_peer(r, peer, seen);
	close(peer);
	close(fd);
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return rights;
}

static void
groups_give_rights(void **state)
{
	(void)state;
	struct rights r = { 0 };
	uint32_t uid;

	if (geteuid() != 0)
		skip();
	add(&r, "700001", CONTROL_MAY_VIEW);
	add(&r, "700002", CONTROL_MAY_ATTACH);
	add(&r, "700002", CONTROL_MAY_VIEW);
	assert_int_equal(rights_of(&r, 700000, 700001, 0, &uid),
	    CONTROL_MAY_VIEW);
	assert_int_equal(uid, 700000);
	assert_int_equal(rights_of(&r, 700000, 700009, 700002, &uid),
	    CONTROL_MAY_ATTACH | CONTROL_MAY_VIEW);
	assert_int_equal(rights_of(&r, 700000, 700009, 700008, &uid), 0);
	assert_int_equal(rights_of(&r, 700000, 700009, 0, &uid), 0);
	assert_int_equal(rights_of(&r, 700000, 0, 0, &uid), 0);
	assert_int_equal(uid, 700000);
}

static void
root_and_we_may_all(void **state)
{
	(void)state;
	const struct rights none = { 0 };
	uint32_t uid = 1;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(rights_of_peer(&none, pair[0], &uid), ALL);
	assert_int_equal(uid, geteuid());
	close(pair[0]);
	close(pair[1]);
	if (geteuid() == 0)
		assert_int_equal(rights_of(&none, 0, 700009, 0, &uid), ALL);
}

static void
what_is_no_unix_socket_has_none(void **state)
{
	(void)state;
	const struct rights none = { 0 };
	uint32_t uid = 0;
	int pair[2];

	assert_int_equal(pipe(pair), 0);
	assert_int_equal(rights_of_peer(&none, pair[0], &uid), 0);
	assert_int_equal(uid, UINT32_MAX);
	close(pair[0]);
	close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_named_or_numbered),
		cmocka_unit_test(groups_give_rights),
		cmocka_unit_test(root_and_we_may_all),
		cmocka_unit_test(what_is_no_unix_socket_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
