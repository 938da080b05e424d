/* SPDX-License-Identifier: Apache-2.0 */
#include "priv/who.h"

void
who_write(struct wr *w, const struct who *who)
{
	wr_u32(w, who->sandbox);
	wr_u32(w, who->generation);
	wr_slice8(w, who->digest);
	wr_slice8(w, who->flow);
}

/* It goes into records as it is. */
static bool
is_flow_id(struct slice flow)
{
	for (size_t i = 0; i < flow.n; i++)
		if (flow.p[i] <= ' ' || flow.p[i] >= 0x7f)
			return false;
	return flow.n != 0 && flow.n <= WHO_FLOW_MAX;
}

bool
who_read(struct rd *r, struct who *who)
{
	who->sandbox = rd_u32(r);
	who->generation = rd_u32(r);
	who->digest = rd_slice8(r);
	who->flow = rd_slice8(r);
	return !r->bad && who->digest.n != 0 &&
	    who->digest.n <= WHO_DIGEST_MAX && is_flow_id(who->flow);
}

enum who_match
who_compare(const struct who *who, uint32_t generation, struct slice digest)
{
	if (who->generation != generation)
		return WHO_OTHER_GENERATION;
	return slice_eq(who->digest, digest) ? WHO_SAME : WHO_OTHER_DIGEST;
}
