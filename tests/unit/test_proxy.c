/* SPDX-License-Identifier: Apache-2.0 */
/* Where the programs of a sandbox find its proxy. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "ns/proxy.h"

static char dir[] = "/tmp/duenna-proxy-XXXXXX";
static char where[64];

static int
listen_there(const char *text, const char *why)
{
	struct fail fail = { 0 };
	int fd = proxy_listen(slice_of_str(text), &fail);

	if (why == NULL && fd < 0)
		print_error("%s\n", fail.text);
	assert_int_equal(fd >= 0, why == NULL);
	if (why != NULL)
		assert_non_null(strstr(fail.text, why));
	return fd;
}

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(where, sizeof(where), "unix:%s/sock", dir);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	return rmdir(dir);
}

static void
proxy_refuses_what_is_no_place(void **state)
{
	static const char *const texts[] = { "", ":", "8080", ":8080",
		"127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:080",
		"127.0.0.1:65536", "127.0.0.1:8o8o", "localhost:8080",
		"::1:8080", "[127.0.0.1]:8080", "[::1]", "[]:8080",
		"127.0.0.1:8080 " };
	char name[200] = "unix:/";

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		(void)listen_there(texts[i],
		    "expected ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH");
	(void)listen_there("unix:", "expected an absolute path");
	(void)listen_there("unix:sock", "expected an absolute path");
	memset(name + 6, 'x', sizeof(name) - 7);
	(void)listen_there(name, "a socket's path has at most 107 bytes");
	(void)listen_there("unix:/nowhere/sock", "cannot listen at");
	/* RFC 5737: an address that is not this host's. */
	(void)listen_there("192.0.2.1:8080", "cannot listen at 192.0.2.1:8080");
}

/* A port that is free: it was the kernel's choice a moment ago. */
static void
proxy_listens_at_an_address(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[32];

	(void)state;
	assert_int_equal(bind(probe, (struct sockaddr *)&at, n), 0);
	assert_int_equal(getsockname(probe, (struct sockaddr *)&at, &n), 0);
	snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(at.sin_port));
	(void)listen_there(text, "cannot listen at 127.0.0.1:");
	close(probe);
	int fd = listen_there(text, NULL);
	probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(probe, (struct sockaddr *)&at, n), 0);
	close(probe);
	close(fd);
}

static void
proxy_listens_in_the_file_system_for_its_group(void **state)
{
	mode_t before = umask(077);
	int fd = listen_there(where, NULL);
	struct stat st;

	(void)state;
	umask(before);
	assert_int_equal(lstat(where + 5, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0660);
	/* One that is in use stays; one that is left over is replaced. */
	(void)listen_there(where, "cannot listen at");
	close(fd);
	fd = listen_there(where, NULL);
	close(fd);
	proxy_remove(slice_of_str(where));
	assert_int_equal(lstat(where + 5, &st), -1);
}

static void
proxy_leaves_what_is_no_socket(void **state)
{
	int fd = open(where + 5, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	(void)listen_there(where, "cannot listen at");
	proxy_remove(slice_of_str(where));
	assert_int_equal(lstat(where + 5, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(unlink(where + 5), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proxy_refuses_what_is_no_place),
		cmocka_unit_test(proxy_listens_at_an_address),
		cmocka_unit_test(
		    proxy_listens_in_the_file_system_for_its_group),
		cmocka_unit_test(proxy_leaves_what_is_no_socket),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
