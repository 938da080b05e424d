/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_bed.h"

char path[] = "/tmp/duenna-journal-XXXXXX";

void
new_file(void)
{
	memset(path + sizeof(path) - 7, 'X', 6);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

struct journal *
open_log(bool again)
{
	const char *why = NULL;
	enum err err = ERR_NONE;
	int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	struct journal *j = journal_new(fd, again, &why, &err);

	if (j == NULL)
		print_message("# %s\n", why);
	return j;
}

struct journal *
open_and_start(bool again)
{
	struct journal *j = open_log(again);

	assert_non_null(j);
	assert_true(journal_start(j, machine, signature));
	return j;
}

size_t
count_lines(const char *part)
{
	FILE *f = fopen(path, "r");
	char line[4096];
	size_t n = 0;

	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, part) != NULL ? 1 : 0;
	fclose(f);
	return n;
}

bool
put_flow(struct journal *j, enum event_kind kind, const char *flow,
    const void *owner)
{
	struct event e;

	event_init(&e, kind);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, flow);
	if (kind == EVENT_FLOW_END)
		event_reason(&e, REASON_ALLOW);
	return journal_put(j, &e, owner);
}

bool
put_stop(struct journal *j)
{
	struct event e;

	event_init(&e, EVENT_STOP);
	return journal_put(j, &e, NULL) && journal_flush(j);
}

uint64_t
read_back(void)
{
	const char *detail;
	enum err err = ERR_NONE;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct chain chain;
	struct reader r;
	struct buf store;
	struct slice in;
	struct line l;
	enum reader_got got;

	assert_int_equal(chain_init(&chain, &err), 0);
	reader_init(&r, fd);
	buf_init(&store, LINE_SIZE_MAX + 1);
	while ((got = reader_take(&r, &in)) == READER_LINE) {
		assert_true(line_read(in, &store, &l, &detail));
		assert_int_equal(l.seq, chain.end.seq + 1);
		assert_true(chain_fits(&chain, &l));
		chain_follow(&chain, &l);
	}
	assert_int_equal(got, READER_END);
	uint64_t n = chain.end.seq;
	chain_release(&chain);
	reader_release(&r);
	buf_release(&store);
	close(fd);
	return n;
}
