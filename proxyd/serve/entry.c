/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox that comes by a proxy: its listener takes the place of a namespace. */
#include <unistd.h>

#include "base/wr.h"
#include "crypto/digest.h"
#include "ns/proxy.h"
#include "serve/entry.h"

#define TOKEN_MIN 16 /* bytes: its digest is all that the worker has */

const char *
entry_check(const struct control_attach *asked)
{
	if (asked->mode != CAPTURE_PROXY)
		return NULL;
	return asked->token.n != 0 && asked->token.n < TOKEN_MIN ?
	    "a token of a proxy has 16 bytes at least" :
	    NULL;
}

bool
entry_open(struct box *b, struct fail *why)
{
	b->entry_fd = proxy_listen(b->asked.listen, why);
	return b->entry_fd >= 0;
}

/* box_new() has put the digits of the digest in the token's place. */
void
entry_feed(struct box *b)
{
	uint8_t body[64], sha256[DIGEST_SIZE];
	struct wr w = wr_of(body, sizeof(body));
	bool wanted = b->asked.token.n != 0;

	if (b->entry_fd < 0 ||
	    (wanted && !digest_unhex(b->asked.token, sha256, DIGEST_SIZE)))
		return;
	wr_u32(&w, b->id);
	wr_slice8(&w, slice_of(sha256, wanted ? DIGEST_SIZE : 0));
	roles_send(&b->worker->c, OP_ENTRY, wr_slice(&w), &b->entry_fd, 1);
}

void
entry_close(struct box *b)
{
	if (b->entry_fd < 0)
		return;
	close(b->entry_fd);
	b->entry_fd = -1;
	proxy_remove(b->asked.listen);
}
