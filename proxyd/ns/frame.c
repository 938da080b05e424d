/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/wr.h"
#include "ns/frame.h"

#define PROTO_TCP 6
#define PROTO_UDP 17
#define TTL 64

/* RFC 1071: the sum of 16-bit words, carries added again. */
static uint32_t
sum(struct slice s, uint32_t so_far)
{
	for (size_t i = 0; i < s.n; i++)
		so_far += (i & 1) == 0 ? (uint32_t)s.p[i] << 8 : s.p[i];
	while (so_far > 0xffff)
		so_far = (so_far & 0xffff) + (so_far >> 16);
	return so_far;
}

static void
put_sum(uint8_t *at, uint32_t value)
{
	uint16_t whole = (uint16_t)~value;

	at[0] = (uint8_t)(whole >> 8);
	at[1] = (uint8_t)whole;
}

static void
put_head(struct wr *w, const struct frame *f, uint8_t proto, size_t n)
{
	bool v4 = f->from.family == 4;

	wr_bytes(w, slice_of(f->to_mac, sizeof(f->to_mac)));
	wr_bytes(w, slice_of(f->from_mac, sizeof(f->from_mac)));
	wr_u16(w, v4 ? 0x0800 : 0x86dd);
	if (v4) {
		uint8_t head[20] = { 0x45, [2] = (uint8_t)((n + 20) >> 8),
			(uint8_t)(n + 20), [8] = TTL, proto };
		memcpy(head + 12, f->from.bytes, 4);
		memcpy(head + 16, f->to.bytes, 4);
		put_sum(head + 10, sum(slice_of(head, sizeof(head)), 0));
		wr_bytes(w, slice_of(head, sizeof(head)));
		return;
	}
	wr_u32(w, UINT32_C(6) << 28);
	wr_u16(w, (uint16_t)n);
	wr_u8(w, proto);
	wr_u8(w, TTL);
	wr_bytes(w, slice_of(f->from.bytes, 16));
	wr_bytes(w, slice_of(f->to.bytes, 16));
}

/* The whole frame; the sum, at `sum_at` of `body`, is put in. */
static size_t
finish(const struct frame *f, uint8_t proto, uint8_t *body, size_t n,
    size_t sum_at, uint8_t *out)
{
	struct wr w = wr_of(out, FRAME_SIZE);
	size_t n_ip = f->from.family == 4 ? 4 : 16;
	uint32_t pseudo = proto + (uint32_t)n;

	pseudo = sum(slice_of(f->from.bytes, n_ip), pseudo);
	pseudo = sum(slice_of(f->to.bytes, n_ip), pseudo);
	put_sum(body + sum_at, sum(slice_of(body, n), pseudo));
	put_head(&w, f, proto, n);
	wr_bytes(&w, slice_of(body, n));
	return wr_slice(&w).n;
}

size_t
frame_udp(const struct frame *f, uint8_t *out)
{
	uint8_t body[9];
	struct wr w = wr_of(body, sizeof(body));

	wr_u16(&w, f->from_port);
	wr_u16(&w, f->to_port);
	wr_u16(&w, sizeof(body));
	wr_u16(&w, 0);
	wr_u8(&w, '?');
	return finish(f, PROTO_UDP, body, sizeof(body), 6, out);
}

size_t
frame_tcp(const struct frame *f, enum frame_tcp flag, uint32_t seq,
    uint8_t *out)
{
	uint8_t body[20];
	struct wr w = wr_of(body, sizeof(body));

	wr_u16(&w, f->from_port);
	wr_u16(&w, f->to_port);
	wr_u32(&w, seq);
	wr_u32(&w, 0);
	wr_u8(&w, 5 << 4);
	wr_u8(&w, (uint8_t)flag);
	wr_u16(&w, 65535);
	wr_u32(&w, 0);
	return finish(f, PROTO_TCP, body, sizeof(body), 16, out);
}
