/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/chain.h"
#include "base/wr.h"

#define LABEL_SIZE 21 /* NUL counts */
#define MESSAGE_SIZE (LABEL_SIZE + 8 + LINE_HASH_HEX)

int
chain_init(struct chain *c, enum err *err)
{
	*c = (struct chain){ 0 };
	memset(c->end.hash, '0', LINE_HASH_HEX);
	c->digest = digest_new(err);
	return c->digest == NULL ? -1 : 0;
}

void
chain_release(struct chain *c)
{
	digest_free(c->digest);
	c->digest = NULL;
}

static void
hash_of(struct chain *c, struct slice covered, char hash[LINE_HASH_HEX + 1])
{
	uint8_t sum[DIGEST_SIZE];

	digest_put(c->digest, slice_of(c->end.hash, LINE_HASH_HEX));
	digest_put(c->digest, covered);
	digest_end(c->digest, sum);
	digest_hex(sum, sizeof(sum), hash);
}

void
chain_put(struct chain *c, uint64_t wall_us, const struct event *e,
    struct buf *out)
{
	size_t from = out->n;
	char hash[LINE_HASH_HEX + 1];

	line_put(out, c->end.seq + 1, wall_us, e);
	if (out->failed)
		return;
	hash_of(c, slice_from(buf_slice(out), from), hash);
	line_put_hash(out, hash);
	if (out->failed)
		return;
	c->end.seq++;
	memcpy(c->end.hash, hash, sizeof(hash));
}

static void
checkpoint_message(uint64_t count, struct slice hash,
    uint8_t message[MESSAGE_SIZE])
{
	static const char label[LABEL_SIZE] = "duenna checkpoint v1";
	struct wr w = wr_of(message, MESSAGE_SIZE);

	wr_bytes(&w, slice_of(label, sizeof(label)));
	wr_u64(&w, count);
	wr_bytes(&w, hash);
}

int
chain_put_checkpoint(struct chain *c, uint64_t wall_us,
    const struct sign_key *key, struct buf *out, enum err *err)
{
	uint8_t message[MESSAGE_SIZE], signature[SIGN_SIZE];
	char covered[LINE_HASH_HEX + 1], text[2 * SIGN_SIZE + 1];
	struct event e;

	memcpy(covered, c->end.hash, sizeof(covered));
	checkpoint_message(c->end.seq, slice_of(covered, LINE_HASH_HEX),
	    message);
	if (sign_make(key, slice_of(message, sizeof(message)), signature,
		err) != 0)
		return -1;
	digest_hex(signature, sizeof(signature), text);
	event_init(&e, EVENT_CHECKPOINT);
	event_number(&e, FIELD_COUNTED, c->end.seq);
	event_str(&e, FIELD_COVERED, covered);
	event_str(&e, FIELD_SIGNATURE, text);
	chain_put(c, wall_us, &e, out);
	return 0;
}

bool
chain_fits(struct chain *c, const struct line *l)
{
	char hash[LINE_HASH_HEX + 1];

	hash_of(c, l->covered, hash);
	return slice_eq(l->hash, slice_of(hash, LINE_HASH_HEX));
}

void
chain_follow(struct chain *c, const struct line *l)
{
	c->end.seq = l->seq;
	memcpy(c->end.hash, l->hash.p, LINE_HASH_HEX);
}

bool
chain_checkpoint_is_signed(const struct event *e,
    const uint8_t key[SIGN_PUBLIC_SIZE])
{
	uint8_t message[MESSAGE_SIZE], signature[SIGN_SIZE];
	struct slice covered = event_text_of(e, FIELD_COVERED);

	if (covered.n != LINE_HASH_HEX ||
	    !digest_unhex(event_text_of(e, FIELD_SIGNATURE), signature,
		sizeof(signature)))
		return false;
	checkpoint_message(event_number_of(e, FIELD_COUNTED), covered, message);
	return sign_verify(key, slice_of(message, sizeof(message)), signature);
}

bool
chain_start_key(const struct event *e, uint8_t key[SIGN_PUBLIC_SIZE],
    uint8_t machine[SIGN_PUBLIC_SIZE])
{
	uint8_t message[SIGN_KEY_MESSAGE_SIZE], signature[SIGN_SIZE];

	if (!digest_unhex(event_text_of(e, FIELD_KEY), key, SIGN_PUBLIC_SIZE) ||
	    !digest_unhex(event_text_of(e, FIELD_MACHINE_KEY), machine,
		SIGN_PUBLIC_SIZE) ||
	    !digest_unhex(event_text_of(e, FIELD_KEY_SIGNATURE), signature,
		sizeof(signature)))
		return false;
	sign_key_message(key, message);
	return sign_verify(machine, slice_of(message, sizeof(message)),
	    signature);
}
