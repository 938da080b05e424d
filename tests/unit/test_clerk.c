/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steward and clerk as the monitor meets them: processes, isolated as in the
 * product, files handed over open, an image handed back.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/rd.h"
#include "base/wr.h"
#include "policy/owner.h"
#include "priv/msg.h"
#include "priv/ops.h"
#include "priv/role.h"
#include "proxyd/roles.h"

struct clerk {
	pid_t pid;
	int fd;
	uint8_t packet[MSG_SIZE_MAX];
	struct msg answer;
	bool good;
	struct slice text;
};

static void
start(struct clerk *c, enum role role)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			     ends),
	    0);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		close(ends[0]);
		if (dup2(ends[1], ROLE_MONITOR_FD) < 0)
			_exit(99);
		if (isolate_start(role) != 0)
			_exit(98);
		_exit(role == ROLE_CLERK ? clerk_main() : steward_main());
	}
	close(ends[1]);
	c->fd = ends[0];
}

/* What the clerk asked to include, and a file for it, or -1: refused. */
static char asked[256];
static int included = -1;

static void
give_included(struct clerk *c)
{
	struct rd r = rd_of(c->answer.body);
	uint8_t body[64];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;

	assert_int_equal(rd_u16(&r), 0);
	struct slice path = rd_slice16(&r);
	assert_true(rd_is_done(&r));
	snprintf(asked, sizeof(asked), "%.*s", SLICE_ARG(path));
	wr_u8(&w, included >= 0 ? 1 : 0);
	wr_u16(&w, 1);
	wr_slice16(&w, included >= 0 ? SLICE("") : SLICE("not for you"));
	struct msg m = { .op = OP_PING, .id = 3 };
	assert_int_equal(msg_send(c->fd, &m, &err), 0);
	m = (struct msg){ .op = OP_INCLUDED,
		.id = c->answer.id,
		.body = wr_slice(&w),
		.fds = { included },
		.n_fds = included >= 0 ? 1 : 0 };
	assert_int_equal(msg_send(c->fd, &m, &err), 0);
}

static void
ask(struct clerk *c, const struct msg *m)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	enum err err = ERR_NONE;

	assert_int_equal(msg_send(c->fd, m, &err), 0);
	for (;;) {
		assert_int_equal(poll(&p, 1, 20000), 1);
		assert_int_equal(msg_recv(c->fd, c->packet, &c->answer, &err),
		    0);
		if (c->answer.op == OP_INCLUDE)
			give_included(c);
		else if (c->answer.op != OP_PONG)
			break;
	}
	struct rd r = rd_of(c->answer.body);
	assert_int_equal(c->answer.op, OP_LOADED);
	assert_int_equal(c->answer.id, m->id);
	c->good = rd_u8(&r) == 1;
	c->text = rd_slice32(&r);
	assert_true(rd_is_done(&r));
}

static void
end(struct clerk *c)
{
	int status = 0;

	msg_close_fds(&c->answer);
	close(c->fd);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
}

/* A file of ours with that content and mode, open for reading. */
static int
file(const char *text, mode_t mode)
{
	char name[] = "/tmp/test-clerk-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	unlink(name);
	assert_true(fd >= 0);
	return fd;
}

static const char config[] = "version: 1\n"
			     "credentials:\n"
			     "  token:\n"
			     "    kind: token\n"
			     "    secret: {file: ~/token}\n"
			     "    only: https://ok.test/**\n"
			     "files: {read: [~/x]}\n";

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    parameters: {repo: repository}\n"
    "    rules:\n"
    "      - allow: https://ok.test/${repo}/${sandbox}/**\n"
    "        credential: token\n";

static void
ask_owner_of(struct clerk *c, const char *text, mode_t mode, struct msg *m,
    uint8_t body[256])
{
	struct wr w = wr_of(body, 256);

	wr_u16(&w, 1);
	wr_slice16(&w, SLICE("owner.yaml"));
	wr_u8(&w, 0);
	wr_slice16(&w, SLICE("/home/user"));
	*m = (struct msg){ .op = OP_LOAD_OWNER,
		.id = 7,
		.body = wr_slice(&w),
		.fds = { file(text, mode) },
		.n_fds = 1 };
	ask(c, m);
	msg_close_fds(m);
}

static void
ask_owner(struct clerk *c, mode_t mode, struct msg *m, uint8_t body[256])
{
	ask_owner_of(c, config, mode, m, body);
}

static void
ask_policy(struct clerk *c, const char *text, int owner)
{
	uint8_t body[256];
	struct wr w = wr_of(body, sizeof(body));

	wr_slice16(&w, SLICE("policy.yaml"));
	wr_slice16(&w, SLICE(""));
	wr_u8(&w, 0);
	wr_slice8(&w, SLICE(""));
	wr_slice8(&w, SLICE("12ab"));
	wr_slice8(&w, SLICE(""));
	bool set = strstr(text, "repo") != NULL;
	wr_u8(&w, set ? 1 : 0);
	if (set) {
		wr_slice16(&w, SLICE("repo"));
		wr_slice16(&w, SLICE("acme/widgets"));
	}
	struct msg m = { .op = OP_LOAD_POLICY,
		.id = 8,
		.body = wr_slice(&w),
		.fds = { file(text, 0644), owner },
		.n_fds = owner >= 0 ? 2 : 1 };
	ask(c, &m);
	close(m.fds[0]);
}

static void
clerk_compiles_owner_then_policy(void **state)
{
	static struct clerk one, two;
	uint8_t body[256];
	enum err err = ERR_NONE;
	struct msg m;

	(void)state;
	start(&one, ROLE_STEWARD);
	ask_owner(&one, 0600, &m, body);
	assert_true(one.good);
	assert_int_equal(one.answer.n_fds, 1);
	struct owner *o = owner_map(one.answer.fds[0], &err);
	assert_non_null(o);
	assert_int_equal(owner_n_credentials(o), 1);
	struct owner_credential c = owner_credential(o, 0);
	assert_true(slice_eq_str(c.source, "/home/user/token"));
	bool write;
	assert_true(slice_eq_str(owner_file(o, 0, &write), "/home/user/x"));
	assert_false(write);

	start(&two, ROLE_CLERK);
	ask_policy(&two, policy, one.answer.fds[0]);
	assert_true(two.good);
	assert_int_equal(two.answer.n_fds, 1);
	struct program *p = program_map(two.answer.fds[0], &err);
	assert_non_null(p);
	assert_int_equal(program_n_rules(p), 1);
	assert_int_equal(program_rule(p, 0).n_credentials, 1);
	assert_true(slice_eq_str(program_rule(p, 0).text,
	    "https://ok.test/acme/widgets/p-12ab/**"));
	program_free(p);
	owner_free(o);
	end(&two);
	end(&one);
}

static void
clerk_refuses_a_configuration_that_others_read(void **state)
{
	static struct clerk c;
	uint8_t body[256];
	struct msg m;

	(void)state;
	start(&c, ROLE_STEWARD);
	ask_owner(&c, 0640, &m, body);
	assert_false(c.good);
	assert_int_equal(c.answer.n_fds, 0);
	assert_non_null(memmem(c.text.p, c.text.n, "mode 0640", 9));
	end(&c);
}

static void
clerk_says_where_a_policy_is_wrong(void **state)
{
	static struct clerk c;

	(void)state;
	start(&c, ROLE_CLERK);
	ask_policy(&c, "version: 1\npolicies: {p: {rulez: []}}\n", -1);
	assert_false(c.good);
	end(&c);
}

/* The clerk opens nothing that a policy names: it asks. */
static void
clerk_asks_for_what_a_policy_includes(void **state)
{
	static const char text[] =
	    "version: 1\npolicies: {p: {rules: [{include: sub/b.yaml}]}}\n";
	static struct clerk c, refused;
	enum err err = ERR_NONE;

	(void)state;
	included =
	    file("version: 1\n"
		 "policies: {q: {rules: [{allow: 'https://ok.test/'}]}}\n",
		0644);
	start(&c, ROLE_CLERK);
	ask_policy(&c, text, -1);
	assert_string_equal(asked, "sub/b.yaml");
	assert_true(c.good);
	struct program *p = program_map(c.answer.fds[0], &err);
	assert_non_null(p);
	assert_true(slice_eq_str(program_rule(p, 0).name, "b/rule-1"));
	assert_true(slice_eq_str(program_rule(p, 0).file, "sub/b.yaml"));
	program_free(p);
	end(&c);
	close(included);
	included = -1;
	start(&refused, ROLE_CLERK);
	ask_policy(&refused, text, -1);
	assert_false(refused.good);
	assert_non_null(memmem(refused.text.p, refused.text.n,
	    "policy.yaml:2:34: `sub/b.yaml`: not for you", 43));
	end(&refused);
}

/* Nor the steward, what the owner names: it would be another user's. */
static void
steward_asks_for_what_the_configuration_names(void **state)
{
	static const char text[] = "version: 1\nupstream: [{names: [a.test], "
				   "roots: [/x/root.pem]}]\n";
	static const char bad[] =
	    "owner.yaml:2:38: `/x/root.pem`: not for you\n";
	static struct clerk c, refused;
	enum err err = ERR_NONE;
	uint8_t body[256];
	struct msg m;

	(void)state;
	/* A SEQUENCE is enough to be taken for one here. */
	included = file("-----BEGIN CERTIFICATE-----\nMAMCAQE=\n"
			"-----END CERTIFICATE-----\n",
	    0644);
	start(&c, ROLE_STEWARD);
	ask_owner_of(&c, text, 0600, &m, body);
	assert_string_equal(asked, "/x/root.pem");
	assert_true(c.good);
	struct owner *o = owner_map(c.answer.fds[0], &err);
	assert_non_null(o);
	assert_int_equal(owner_n_roots(o), 1);
	owner_free(o);
	end(&c);
	close(included);
	included = -1;
	start(&refused, ROLE_STEWARD);
	ask_owner_of(&refused, text, 0600, &m, body);
	assert_false(refused.good);
	assert_true(slice_eq_str(refused.text, bad));
	end(&refused);
}

/* Names beyond ASCII, a public suffix, a preset: no library of ours opens a
 * file for that, which would be its end. */
static void
clerk_opens_nothing_for_what_a_policy_can_say(void **state)
{
	static struct clerk c;

	(void)state;
	start(&c, ROLE_CLERK);
	ask_policy(&c,
	    "version: 1\npolicies:\n  p:\n    rules:\n"
	    "      - allow: https://xn--bcher-kva.example/**\n"
	    "        expires: 2031-01-01T00:00:00+01:00\n"
	    "      - allow: 'https://*.github.io/**'\n"
	    "        public_suffix: true\n"
	    "      - include: preset/npm\n",
	    -1);
	assert_true(c.good);
	end(&c);
	/* As what is wrong, too. */
	start(&c, ROLE_CLERK);
	ask_policy(&c,
	    "version: 1\npolicies: {p: {rules: [{allow: "
	    "'https://b\u00fccher.example/**'}]}}\n",
	    -1);
	assert_non_null(
	    memmem(c.text.p, c.text.n, "xn--bcher-kva.example", 21));
	end(&c);
}

/* Each has one kind of request, and ends at any other. */
static void
none_answers_what_is_not_for_it(void **state)
{
	static const struct {
		enum role role;
		uint16_t op;
	} rows[] = { { ROLE_CLERK, OP_DIAL }, { ROLE_CLERK, OP_LOAD_OWNER },
		{ ROLE_STEWARD, OP_LOAD_POLICY } };
	enum err err = ERR_NONE;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static struct clerk c;
		struct msg m = { .op = rows[i].op, .id = 1 };
		int status = 0;
		start(&c, rows[i].role);
		assert_int_equal(msg_send(c.fd, &m, &err), 0);
		assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 1);
		close(c.fd);
	}
}

/* Many rules: what libraries do with much memory must be allowed too. */
static void
clerk_takes_a_long_policy(void **state)
{
	static struct clerk c;
	struct buf text;

	(void)state;
	buf_init(&text, 8 << 20);
	buf_put_str(&text, "version: 1\npolicies:\n  p:\n    rules:\n");
	for (unsigned i = 0; i < 20000; i++)
		buf_putf(&text, "      - allow: https://h%u.example.com/**\n",
		    i);
	start(&c, ROLE_CLERK);
	ask_policy(&c, buf_text(&text), -1);
	assert_true(c.good);
	end(&c);
	buf_release(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clerk_compiles_owner_then_policy),
		cmocka_unit_test(
		    clerk_refuses_a_configuration_that_others_read),
		cmocka_unit_test(clerk_says_where_a_policy_is_wrong),
		cmocka_unit_test(clerk_asks_for_what_a_policy_includes),
		cmocka_unit_test(steward_asks_for_what_the_configuration_names),
		cmocka_unit_test(clerk_opens_nothing_for_what_a_policy_can_say),
		cmocka_unit_test(none_answers_what_is_not_for_it),
		cmocka_unit_test(clerk_takes_a_long_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
