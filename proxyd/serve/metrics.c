/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for a monitoring system, as OpenMetrics 1.0.0 has them.  Labels have
 * values of closed lists alone: nothing that a sandbox or a caller chose is in
 * them, and their count never grows.
 */
#include <sys/stat.h>

#include <inttypes.h>

#include "base/reason.h"
#include "serve/state.h"

static void
put_family(struct buf *out, const char *name, const char *type,
    const char *help)
{
	buf_putf(out, "# TYPE duenna_%s %s\n# HELP duenna_%s %s\n", name, type,
	    name, help);
}

static void
put_gauge(struct buf *out, const char *name, const char *help, uint64_t value)
{
	put_family(out, name, "gauge", help);
	buf_putf(out, "duenna_%s %" PRIu64 "\n", name, value);
}

static void
put_counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
	put_family(out, name, "counter", help);
	buf_putf(out, "duenna_%s_total %" PRIu64 "\n", name, value);
}

static void
put_labelled(struct buf *out, const char *name, const char *label,
    const char *of, uint64_t value)
{
	buf_putf(out, "duenna_%s_total{%s=\"%s\"} %" PRIu64 "\n", name, label,
	    of, value);
}

static void
put_gauges(struct serve *s, struct buf *out)
{
	uint64_t n_attached = 0, n_images = 0;
	const struct image *i;
	const struct box *b;
	struct stat st;

	TAILQ_FOREACH(b, &s->boxes, entry)
		n_attached += b->state == BOX_ATTACHED;
	LIST_FOREACH(i, &s->images, entry)
		n_images++;
	put_gauge(out, "ready", "1 if every role serves.",
	    roles_are_ready(&s->m) ? 1 : 0);
	put_gauge(out, "sandboxes", "Sandboxes that are attached.", n_attached);
	put_gauge(out, "workers", "Workers that run.", s->n_workers);
	put_gauge(out, "porters", "Users whose calls are read.", s->n_porters);
	put_gauge(out, "programs", "Compiled policies in use.", n_images);
	if (fstat(s->m.log_fd, &st) == 0)
		put_gauge(out, "log_bytes", "Size of the audit log's file.",
		    (uint64_t)st.st_size);
}

static void
put_calls(const struct serve_counts *n, struct buf *out)
{
	put_family(out, "calls", "counter",
	    "Calls over the control socket that were understood.");
	for (size_t i = 0; i < CONTROL_VERBS; i++)
		put_labelled(out, "calls", "verb",
		    control_verb_name((enum control_verb)i), n->calls[i]);
	put_family(out, "answers", "counter", "What calls were answered.");
	for (size_t i = 0; i < CONTROL_CODES; i++)
		put_labelled(out, "answers", "code",
		    control_code_name((enum control_code)i), n->answers[i]);
}

static void
put_counters(const struct serve_counts *n, struct buf *out)
{
	put_counter(out, "attaches", "Sandboxes that were attached.",
	    n->attached);
	put_counter(out, "detaches", "Sandboxes that went.", n->detached);
	put_counter(out, "cutoffs",
	    "Sandboxes that were cut off, those among them that went.",
	    n->cut_off);
	put_counter(out, "reloads", "Reloads that took effect.", n->reloads);
	put_counter(out, "reload_faults", "Reloads that changed nothing.",
	    n->reload_faults);
	put_family(out, "role_ends", "counter",
	    "Processes that ended though nobody wanted it.");
	for (size_t i = 0; i < ROLE_COUNT; i++)
		if (i != ROLE_MONITOR)
			put_labelled(out, "role_ends", "role",
			    role_name((enum role)i), n->ended[i]);
}

/* As the scribe counts them; it says so each second. */
static void
put_records(const struct monitor *m, struct buf *out)
{
	put_family(out, "refusals", "counter",
	    "Requests, connections, questions and packets refused.");
	for (size_t i = 0; i < REASON_COUNT; i++)
		if (!reason_is_allow((enum reason)i))
			put_labelled(out, "refusals", "reason",
			    reason_name((enum reason)i), m->n_refused[i]);
	put_counter(out, "reported", "Requests let through unenforced.",
	    m->n_reported);
	put_counter(out, "alarms", "Records that a person should look at.",
	    m->n_alarms);
	put_counter(out, "records_missing",
	    "Records that could not be written.", m->n_missing);
}

void
say_metrics(struct serve *s, struct buf *out)
{
	put_family(out, "build", "info", "The version that runs.");
	buf_put_str(out,
	    "duenna_build_info{version=\"" DUENNA_VERSION "\"} 1\n");
	put_gauges(s, out);
	put_counters(&s->counts, out);
	put_calls(&s->counts, out);
	put_records(&s->m, out);
	buf_put_str(out, "# EOF\n");
}
