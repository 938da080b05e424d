/* SPDX-License-Identifier: Apache-2.0 */
#include "push_bed.h"

#define TYPE "Content-Type: application/x-git-receive-pack-request\r\n"
#define RESULT "Content-Type: application/x-git-receive-pack-result\r\n"

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  p:\n"
			     "    rules:\n"
			     "      - allow: git+https://git.test/a/free\n"
			     "        forge: gitlab\n"
			     "        push: {branches: [x], force: true}\n"
			     "      - allow: git+https://git.test/a/read\n"
			     "        forge: gitlab\n"
			     "        push: {branches: [x], max_file: 1KiB}\n"
			     "      - allow: git+https://git.test/a/held\n"
			     "        forge: none\n"
			     "        push: {branches: [x], max_file: 1KiB}\n";

#define REPORT                                                    \
	"HTTP/1.1 200 OK\r\n" RESULT "Content-Length: 38\r\n\r\n" \
	"000eunpack ok\n0014ok refs/heads/x\n0000"
const struct slice push_report = { (const uint8_t *)REPORT,
	sizeof(REPORT) - 1 };

bool
has(const struct buf *b, struct slice text)
{
	return b->n != 0 && memmem(b->p, b->n, text.p, text.n) != NULL;
}

void
begin(struct world *w, struct bed *b)
{
	bed_load(b, NULL, policy);
	assert_non_null(b->program);
	world_init(w, b->program);
	b->program = NULL; /* the sandbox's now */
}

void
finish(struct world *w, struct bed *b)
{
	for (size_t i = 0; i < w->n_upstreams; i++)
		assert_false(has(&w->upstream[i].got, BYTES(NEVER)));
	assert_int_equal(w->n_wrong, 0);
	for (size_t i = 0; i < w->n_clients; i++)
		w->clients[i].ends = true;
	size_t clients = w->n_clients;
	bool fails = w->fails || w->scribe_fails;
	world_release(w);
	assert_true(fails || world_n_accounted(w) == clients);
	bed_release(b);
}

void
connect_to_git(struct world *w)
{
	struct ip dst;

	assert_true(program_address(w->sandbox->generation->program,
	    SLICE("git.test"), &dst));
	world_connect(w, &dst, 443);
	world_put_hello(&w->client->sends, SLICE("git.test"),
	    ALPN_OFFER_HTTP11);
	world_turn(w);
}

void
say(struct world *w, struct peer *p, struct slice text)
{
	buf_put(&p->sends, text);
	world_turn(w);
	/* A push that rests goes on at the next turn. */
	world_pass(w, 1);
}

void
say_head(struct world *w, const char *repository, size_t length)
{
	buf_putf(&w->client->sends,
	    "POST /a/%s/git-receive-pack HTTP/1.1\r\nHost: git.test\r\n" TYPE
	    "Content-Length: %zu\r\n\r\n",
	    repository, length);
	world_turn(w);
}
