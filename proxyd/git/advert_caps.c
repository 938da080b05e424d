/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of what goes on, not of what does not: what servers learn tomorrow is
 * not ours to let through.  Named here, so that nobody adds them by mistake:
 * push-cert (commands that we do not read), session-id (joins what the client
 * does elsewhere); bundle-uri, packfile-uris (URLs that the client would fetch
 * itself, CVE-2025-48385), promisor-remote (may hand the client a token).
 */
#include "git/advert_caps.h"
#include "git/put.h"

static const char *const of_push[] = { "report-status", "report-status-v2",
	"delete-refs", "side-band-64k", "quiet", "atomic", "ofs-delta",
	"object-format=", "agent=" };

static const char *const of_fetch[] = { "multi_ack", "multi_ack_detailed",
	"no-done", "thin-pack", "side-band", "side-band-64k", "ofs-delta",
	"shallow", "deepen-since", "deepen-not", "deepen-relative",
	"no-progress", "include-tag", "allow-tip-sha1-in-want",
	"allow-reachable-sha1-in-want", "filter",
	"object-format=", "symref=", "agent=" };

static const char *const of_v2[] = { "agent=", "ls-refs", "ls-refs=", "fetch",
	"server-option", "object-format=", "object-info" };

/* Of `fetch=` there. */
static const char *const of_v2_fetch[] = { "shallow", "wait-for-done", "filter",
	"ref-in-want", "sideband-all" };

static bool
has(const char *const *list, size_t n, struct slice word)
{
	for (size_t i = 0; i < n; i++) {
		struct slice name = slice_of_str(list[i]);
		if (name.p[name.n - 1] == '=' ? slice_has_prefix(word, name) :
						slice_eq(word, name))
			return true;
	}
	return false;
}

/* Off the front, up to a blank. */
static struct slice
take_word(struct slice *rest)
{
	size_t n = 0, blanks = 0;

	while (n < rest->n && rest->p[n] != ' ')
		n++;
	struct slice word = slice_first(*rest, n);
	while (n + blanks < rest->n && rest->p[n + blanks] == ' ')
		blanks++;
	*rest = slice_from(*rest, n + blanks);
	return word;
}

static bool
goes_on(const struct advert *a, struct slice word)
{
	if (!a->push)
		return has(of_fetch, COUNT_OF(of_fetch), word);
	if (slice_eq(word, SLICE("push-options")))
		return git_rule_n(a->p, a->rule, GIT_OPTIONS) != 0;
	return has(of_push, COUNT_OF(of_push), word);
}

/*
 * A tree that is a delta of one that is not sent could not be compared, nor
 * could a commit be read: as prove_wants_whole() says of the rule.
 */
static bool
wants_whole(const struct advert *a)
{
	return a->says.is_signed || git_rule_n(a->p, a->rule, GIT_KEEP) != 0 ||
	    git_rule_n(a->p, a->rule, GIT_AUTHORS) != 0 ||
	    git_rule_n(a->p, a->rule, GIT_COMMITTERS) != 0;
}

void
advert_put_caps(const struct advert *a, struct slice text, struct buf *out)
{
	const char *before = "";

	while (text.n != 0) {
		struct slice word = take_word(&text);
		if (word.n == 0 || !goes_on(a, word))
			continue;
		buf_put_str(out, before);
		buf_put(out, word);
		before = " ";
	}
	if (a->push && wants_whole(a)) {
		buf_put_str(out, before);
		buf_put_str(out, "no-thin");
	}
}

void
advert_put_v2(struct slice text, struct buf *out)
{
	const struct slice fetch = SLICE("fetch=");
	const char *before = "";

	if (has(of_v2, COUNT_OF(of_v2), text)) {
		size_t at = put_begin(out);
		buf_put(out, text);
		buf_put_byte(out, '\n');
		put_end(out, at);
		return;
	}
	if (!slice_has_prefix(text, fetch))
		return;
	size_t at = put_begin(out);
	struct slice rest = slice_from(text, fetch.n);
	buf_put_str(out, "fetch");
	while (rest.n != 0) {
		struct slice word = take_word(&rest);
		if (!has(of_v2_fetch, COUNT_OF(of_v2_fetch), word))
			continue;
		buf_put_str(out, before[0] == '\0' ? "=" : before);
		buf_put(out, word);
		before = " ";
	}
	buf_put_byte(out, '\n');
	put_end(out, at);
}
