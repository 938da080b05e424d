/* SPDX-License-Identifier: Apache-2.0 */
#include "priv/control.h"

#include "base/ascii.h"

#define ATTACH_FORM 1 /* of control_attach_write(): files outlive us */

/* clang-format off */
static const struct {
	const char *name;
	uint8_t needs;
} verbs[CONTROL_VERBS] = {
	[CONTROL_ATTACH] = { "attach", CONTROL_MAY_ATTACH },
	[CONTROL_DETACH] = { "detach", CONTROL_MAY_ATTACH },
	[CONTROL_LIST] = { "list", CONTROL_MAY_VIEW },
	[CONTROL_STATUS] = { "status", CONTROL_MAY_VIEW },
	[CONTROL_RELOAD] = { "reload", CONTROL_MAY_POLICY },
	[CONTROL_ALLOW] = { "allow", CONTROL_MAY_POLICY },
	[CONTROL_METRICS] = { "metrics", CONTROL_MAY_VIEW },
	[CONTROL_SHOW] = { "show", CONTROL_MAY_VIEW },
};
/* clang-format on */

static const char *const modes[CAPTURE_MODES] = {
	[CAPTURE_NETNS] = "netns",
	[CAPTURE_GATE] = "gate",
	[CAPTURE_INTERFACE] = "interface",
	[CAPTURE_SHARED] = "shared",
	[CAPTURE_PROXY] = "proxy",
};

const char *
control_verb_name(enum control_verb verb)
{
	return verb < CONTROL_VERBS ? verbs[verb].name : "unknown";
}

const char *
capture_mode_name(enum capture_mode mode)
{
	return mode < CAPTURE_MODES ? modes[mode] : "unknown";
}

enum capture_mode
capture_mode_find(struct slice name)
{
	for (int m = 0; m < CAPTURE_MODES; m++)
		if (slice_eq_str(name, modes[m]))
			return (enum capture_mode)m;
	return CAPTURE_MODES;
}

bool
control_is_name(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!ascii_is_lower(name.p[i]) && !ascii_is_digit(name.p[i]) &&
		    name.p[i] != '-')
			return false;
	return name.n != 0 && name.n <= CONTROL_NAME_MAX;
}

uint8_t
control_needs(const struct control_request *req)
{
	uint8_t needs =
	    req->verb < CONTROL_VERBS ? verbs[req->verb].needs : UINT8_MAX;

	/* Who attaches chooses among the owner's policies; who writes one
	 * says what is allowed. */
	if (req->verb == CONTROL_ATTACH && req->attach.policy_text.n != 0)
		needs |= CONTROL_MAY_POLICY;
	return needs;
}

static void
pairs_write(struct wr *w, const struct control_pair *pairs, size_t n)
{
	wr_u8(w, (uint8_t)n);
	for (size_t i = 0; i < n; i++) {
		wr_slice8(w, pairs[i].key);
		wr_slice16(w, pairs[i].value);
	}
}

static size_t
pairs_read(struct rd *r, struct control_pair *pairs, size_t max)
{
	size_t n = rd_u8(r);

	if (n > max)
		r->bad = true;
	for (size_t i = 0; i < n && !r->bad; i++) {
		pairs[i].key = rd_slice8(r);
		pairs[i].value = rd_slice16(r);
	}
	return r->bad ? 0 : n;
}

static size_t
ip_size(const struct ip *ip)
{
	return ip->family == 4 ? 4 : 16;
}

static void
addresses_write(struct wr *w, const struct control_attach *a)
{
	wr_u8(w, (uint8_t)a->n_addresses);
	for (size_t i = 0; i < a->n_addresses; i++) {
		const struct control_address *at = &a->addresses[i];
		wr_u8(w, at->ip.family);
		wr_bytes(w, slice_of(at->ip.bytes, ip_size(&at->ip)));
		wr_u8(w, at->prefix);
	}
}

static void
addresses_read(struct rd *r, struct control_attach *a)
{
	size_t n = rd_u8(r);

	if (n > CONTROL_ADDRESSES_MAX)
		r->bad = true;
	for (size_t i = 0; i < n && !r->bad; i++) {
		struct control_address *at = &a->addresses[i];
		*at = (struct control_address){ .ip.family = rd_u8(r) };
		if (at->ip.family != 4 && at->ip.family != 6)
			r->bad = true;
		struct slice bytes = rd_bytes(r, ip_size(&at->ip));
		if (bytes.n != 0)
			memcpy(at->ip.bytes, bytes.p, bytes.n);
		at->prefix = rd_u8(r);
	}
	a->n_addresses = r->bad ? 0 : n;
}

void
control_attach_write(struct wr *w, const struct control_attach *a)
{
	wr_u8(w, ATTACH_FORM);
	wr_slice8(w, a->name);
	wr_slice8(w, a->tenant);
	wr_slice16(w, a->policy);
	wr_slice32(w, a->policy_text);
	pairs_write(w, a->sets, a->n_sets);
	pairs_write(w, a->labels, a->n_labels);
	pairs_write(w, a->secrets, a->n_secrets);
	wr_u8(w, (uint8_t)a->mode);
	wr_slice16(w, a->netns);
	wr_u32(w, a->pid);
	wr_slice8(w, a->interface);
	addresses_write(w, a);
	wr_u8(w, a->has_mac);
	wr_bytes(w, slice_of(a->mac, sizeof(a->mac)));
	wr_slice16(w, a->listen);
	wr_slice16(w, a->token);
}

bool
control_attach_read(struct rd *r, struct control_attach *out)
{
	if (rd_u8(r) != ATTACH_FORM)
		r->bad = true;
	out->name = rd_slice8(r);
	out->tenant = rd_slice8(r);
	out->policy = rd_slice16(r);
	out->policy_text = rd_slice32(r);
	out->n_sets = pairs_read(r, out->sets, CONTROL_SETS_MAX);
	out->n_labels = pairs_read(r, out->labels, CONTROL_LABELS_MAX);
	out->n_secrets = pairs_read(r, out->secrets, CONTROL_SECRETS_MAX);
	uint8_t mode = rd_u8(r);
	out->mode =
	    mode < CAPTURE_MODES ? (enum capture_mode)mode : CAPTURE_MODES;
	out->netns = rd_slice16(r);
	out->pid = rd_u32(r);
	out->interface = rd_slice8(r);
	addresses_read(r, out);
	uint8_t has_mac = rd_u8(r);
	struct slice mac = rd_bytes(r, sizeof(out->mac));
	memset(out->mac, 0, sizeof(out->mac));
	if (mac.n != 0)
		memcpy(out->mac, mac.p, mac.n);
	out->has_mac = has_mac == 1;
	out->listen = rd_slice16(r);
	out->token = rd_slice16(r);
	return !r->bad && has_mac <= 1 &&
	    control_attach_wrong(out).what == NULL;
}

/* What belongs to a verb, behind the head. */
static void
body_write(struct wr *w, const struct control_request *req)
{
	switch (req->verb) {
	case CONTROL_ATTACH:
		control_attach_write(w, &req->attach);
		return;
	case CONTROL_ALLOW:
		wr_slice8(w, req->name);
		wr_slice16(w, req->url);
		wr_u32(w, req->seconds);
		return;
	case CONTROL_DETACH:
	case CONTROL_SHOW:
		wr_slice8(w, req->name);
		return;
	case CONTROL_LIST:
	case CONTROL_STATUS:
	case CONTROL_RELOAD:
	case CONTROL_METRICS:
	case CONTROL_VERBS:
		return;
	}
}

static bool
body_read(struct rd *r, struct control_request *out)
{
	switch (out->verb) {
	case CONTROL_ATTACH:
		if (!control_attach_read(r, &out->attach))
			return false;
		out->name = out->attach.name;
		return true;
	case CONTROL_ALLOW:
		out->name = rd_slice8(r);
		out->url = rd_slice16(r);
		out->seconds = rd_u32(r);
		return control_is_name(out->name) && out->url.n != 0 &&
		    out->seconds != 0 && out->seconds <= CONTROL_ALLOW_S_MAX;
	case CONTROL_DETACH:
	case CONTROL_SHOW:
		out->name = rd_slice8(r);
		return control_is_name(out->name);
	case CONTROL_LIST:
	case CONTROL_STATUS:
	case CONTROL_RELOAD:
	case CONTROL_METRICS:
		return true;
	case CONTROL_VERBS:
		break;
	}
	return false;
}

void
control_request_write(struct wr *w, const struct control_request *req)
{
	wr_u8(w, (uint8_t)req->verb);
	wr_u32(w, req->uid);
	wr_u8(w, req->rights);
	body_write(w, req);
}

bool
control_request_read(struct slice bytes, struct control_request *out)
{
	struct rd r = rd_of(bytes);
	uint8_t verb = rd_u8(&r);

	memset(out, 0, sizeof(*out));
	out->uid = rd_u32(&r);
	out->rights = rd_u8(&r);
	out->verb =
	    verb < CONTROL_VERBS ? (enum control_verb)verb : CONTROL_VERBS;
	return !r.bad && body_read(&r, out) && rd_is_done(&r);
}
