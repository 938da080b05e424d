/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cmd/audit.h"
#include "cmd/cmd.h"

static bool
measure(const struct line *l, struct slice in UNUSED, off_t at UNUSED,
    void *arg)
{
	struct audit_table *t = arg;

	if (audit_table_wants(t, l))
		audit_table_measure(t, l);
	return true;
}

static bool
print(const struct line *l, struct slice in, off_t at UNUSED, void *arg)
{
	struct audit_table *t = arg;
	unsigned long long max = t->o->pick.max;

	if (audit_table_wants(t, l))
		audit_table_row(t, l, in);
	return max == 0 || t->n_rows < max;
}

static bool
show(struct audit_table *t, struct audit_walk *w)
{
	if (!t->o->json) {
		if (!audit_walk(w, measure, t))
			return false;
		audit_table_head(t);
		w->from = 0;
	}
	return audit_walk(w, print, t);
}

int
audit_show(const struct audit_options *o)
{
	struct audit_walk w = { .path = o->file, .fd = audit_open(o->file) };
	struct audit_table t;
	bool good;

	if (w.fd < 0)
		return CMD_NO;
	audit_table_init(&t, o);
	good = show(&t, &w);
	good = good && audit_end(o, &w, t.n_rows);
	if (t.n_rows == 0 && o->filters && !o->all && !o->json)
		fputs("duenna: audit: --all also looks at what belongs to "
		      "allowed requests\n",
		    stderr);
	audit_table_release(&t);
	close(w.fd);
	return good ? 0 : CMD_NO;
}
