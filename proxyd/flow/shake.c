/* SPDX-License-Identifier: Apache-2.0 */
/* SHAKE: a leaf for the name, then our side of the handshake. */
#include "flow/step.h"

#define ALERT_INTERNAL_ERROR 80

static void
on_again(void *arg)
{
	struct flow *f = arg;

	f->asked_leaf = false;
	flow_run(f);
}

static void
on_shaken(struct stream *s, enum reason reason, void *arg)
{
	struct flow *f = arg;

	f->asked = NULL;
	if (reason == REASON_POLICY_CHANGED &&
	    again_later(&f->sandbox->again_list, &f->retry, on_again, f))
		return;
	f->shook = true;
	f->shake_reason = reason;
	if (s != NULL)
		flow_set_client(f, s);
	flow_run(f);
}

static void
ask_leaf(struct flow *f)
{
	struct sandbox *sb = f->sandbox;
	char text[IP_TEXT_SIZE];
	struct shake_ask ask = {
		.generation = f->generation,
		.name = host_slice(&f->sni),
		.refused = !f->verdict.allow,
		.client = f->client,
		.alpn = f->alpn,
		.flow = f->name,
	};

	if (f->sni.n == 0) {
		ip_text(&f->dst, text);
		ask.name = slice_of_str(text);
		ask.literal = true;
	}
	f->asked_leaf = true;
	f->asked = sb->asks->shake(sb->asks_arg, sb, &ask, on_shaken, f);
}

static enum reason
why_lost(const struct flow *f)
{
	if (!f->shook)
		return REASON_CLIENT_ABORT;
	/* It was a ClientHello, we have read it: something else of it is not
	 * served, such as TLS 1.3 without a key share. */
	if (stream_reason(f->client) == REASON_TLS_NOT_TLS)
		return REASON_TLS_VERSION;
	return stream_reason(f->client);
}

/* What was refused before keeps its reason: a client cannot choose another. */
static enum step
lost(struct flow *f, enum reason reason, const char *detail)
{
	return f->verdict.allow ? flow_stop(f, reason, detail) :
				  flow_enter(f, PHASE_CLOSE);
}

enum step
step_shake(struct flow *f)
{
	if (!f->asked_leaf)
		ask_leaf(f);
	if (f->shook && f->shake_reason != REASON_ALLOW) {
		/* What was refused before keeps its reason. */
		if (f->verdict.allow)
			flow_fault(f, f->shake_reason, "no certificate");
		f->alert = ALERT_INTERNAL_ERROR;
		return flow_enter(f, PHASE_REFUSE);
	}
	/* It may have ended since: then nothing was asked for, and nothing was
	 * refused. */
	if (f->shook && stream_is_ready(f->client))
		return flow_enter(f, PHASE_SERVE);
	if (stream_is_broken(f->client))
		return lost(f, why_lost(f), stream_text(f->client));
	if (f->expired)
		return lost(f, REASON_LIMIT_TIME, "handshake not over in time");
	return STEP_WAIT;
}
