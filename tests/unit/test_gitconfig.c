/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files as git reads them, and keys that run programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ns/gitconfig.h"
#include "ns/gitkeys.h"

/* clang-format off */
static const struct {
	const char *name, *in;
	const char *want; /* "key=value;" or "key;" for each, "BAD" at the end */
} cases[] = {
	{ "empty", "", "" },
	{ "plain", "[core]\n\tbare = false\n", "core.bare=false;" },
	{ "on the line of its section", "[alias] st = status\n", "alias.st=status;" },
	{ "two on one line", "[a]b=1\n[c]d=2", "a.b=1;c.d=2;" },
	{ "no value", "[core]\n\tfilemode\n", "core.filemode;" },
	{ "upper case", "[CORE]\n\tFsMonitor = X\n", "core.fsmonitor=X;" },
	{ "subsection", "[remote \"Origin\"]\n\turl = u\n", "remote.Origin.url=u;" },
	{ "escapes in it", "[a \"b\\\"c\\\\d\\e\"]\nx=1", "a.b\"c\\de.x=1;" },
	{ "a dot makes one, in lower case", "[Branch.Main]\nx=1", "branch.main.x=1;" },
	{ "comments", "# c\n; d\n[a] # e\nb = c # d\n", "a.b=c;" },
	{ "no comment in quotes", "[a]\nb = \"c # d\"\n", "a.b=c # d;" },
	{ "spaces inside, not at the ends", "[a]\nb =   c  d   \n", "a.b=c  d;" },
	{ "spaces in quotes", "[a]\nb = \" c \"\n", "a.b= c ;" },
	{ "a line that goes on", "[a]\nb = c\\\nd\n", "a.b=cd;" },
	{ "escapes in a value", "[a]\nb = \"\\t\\\\\\\"\\n\"\n", "a.b=\t\\\"\n;" },
	{ "CR LF", "[a]\r\nb = c\r\n", "a.b=c;" },
	{ "byte order mark", "\xef\xbb\xbf[a]\nb=c", "a.b=c;" },
	{ "continued at the end", "[a]\nb = c\\", "a.b=c;" },
	{ "quotes in the middle", "[a]\nb = c\"d e\"f\n", "a.b=cd ef;" },
	{ "the section is kept", "[a]\nb=1\nc=2\n", "a.b=1;a.c=2;" },
	{ "section not closed", "[a\nb=1", "BAD" },
	{ "section without a name", "[]\n", "BAD" },
	{ "subsection not closed", "[a \"b\n\"]\nc=1", "BAD" },
	{ "nothing behind a subsection", "[a \"b\" c]\n", "BAD" },
	{ "no quote", "[a b]\nc=1", "BAD" },
	{ "quote not closed", "[a]\nb = \"c\n", "BAD" },
	{ "odd escape", "[a]\nb = \\x\n", "BAD" },
	{ "key with a digit first", "[a]\n1b = c\n", "BAD" },
	{ "odd key", "[a]\nb_c = d\n", "BAD" },
	{ "the good ones before", "[a]\nb=1\n=2\n", "a.b=1;BAD" },
};
/* clang-format on */

static void
gitconfig_reads_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct gitconfig g;
		struct gitconfig_entry e;
		struct buf is;

		print_message("# %s\n", cases[i].name);
		buf_init(&is, 65536);
		gitconfig_init(&g, slice_of_str(cases[i].in));
		while (gitconfig_next(&g, &e)) {
			buf_putf(&is, "%s%s%s;", e.key, e.has_value ? "=" : "",
			    e.value);
			assert_true(e.from < e.to);
			assert_true(e.to <= strlen(cases[i].in));
		}
		if (g.bad)
			buf_put_str(&is, "BAD");
		assert_string_equal(buf_text(&is), cases[i].want);
		buf_release(&is);
	}
}

static void
gitconfig_refuses_a_nul_and_what_is_too_long(void **state)
{
	static char large[GITCONFIG_VALUE_MAX + 64];
	struct gitconfig g;
	struct gitconfig_entry e;

	(void)state;
	gitconfig_init(&g, SLICE("[core]\nfsmon\0itor = x\n"));
	assert_false(gitconfig_next(&g, &e));
	assert_true(g.bad);
	memset(large, 'x', sizeof(large));
	memcpy(large, "[a]\nb=", 6);
	gitconfig_init(&g, slice_of(large, sizeof(large)));
	assert_false(gitconfig_next(&g, &e));
	assert_true(g.bad);
}

/* clang-format off */
static const struct {
	const char *name, *before, *after;
	enum gitkeys want;
	const char *mended, *changed;
} keys[] = {
	{ "the same", "[a]\nb=1\n", "[a]\nb=1\n", GITKEYS_SAME, NULL },
	{ "another key", "[a]\nb=1\n", "[user]\n\tname = x\n", GITKEYS_SAME, NULL },
	{ "a new one", "", "[core]\n\tfsmonitor = x\n\tbare = true\n",
	    GITKEYS_MENDED, "[core]\n\tbare = true\n", "core.fsmonitor" },
	{ "changed", "[core]\n\tpager = less\n", "[core]\n\tpager = evil\n",
	    GITKEYS_MENDED, "[core]\n\n[core]\n\tpager = \"less\"\n", "core.pager" },
	{ "removed", "[filter \"l f\"]\nclean = \"a\\\\b\"\n", "[x]\ny=1",
	    GITKEYS_MENDED, "[x]\ny=1\n\n[filter \"l f\"]\n\tclean = \"a\\\\b\"\n", "filter.l f.clean" },
	{ "moved is the same", "[core]\npager = a\n[x]\ny=1", "[x]\n[core]\n\tpager=\"a\"\n",
	    GITKEYS_SAME, NULL },
	{ "order counts", "[include]\npath=a\npath=b\n", "[include]\npath=b\npath=a\n",
	    GITKEYS_MENDED, "[include]\n\n[include]\n\tpath = \"a\"\n[include]\n\tpath = \"b\"\n", "include.path" },
	{ "an alias that runs", "", "[alias]\na = log\nb = \"!evil\"\n",
	    GITKEYS_MENDED, "[alias]\na = log\n", "alias.b" },
	{ "over two lines", "", "[core]\nsshCommand = a\\\nb\nbare=1\n",
	    GITKEYS_MENDED, "[core]\nbare=1\n", "core.sshcommand" },
	{ "behind its section", "", "[core]hooksPath=x", GITKEYS_MENDED, "[core]", "core.hookspath" },
	{ "not readable", "[a]\nb=1\n", "[core\n", GITKEYS_UNREADABLE, NULL },
	{ "a transport that is a program", "", "[remote \"o\"]\nurl = ext::sh -c evil\n",
	    GITKEYS_MENDED, "[remote \"o\"]\n", "remote.o.url" },
	{ "a value that goes on at the end", "[core]\npager=a\n", "[x]\ny = z\\\n",
	    GITKEYS_MENDED, "[x]\ny = z\\\n\n[core]\n\tpager = \"a\"\n", "core.pager" },
	{ "a usual remote", "", "[remote \"o\"]\nurl = https://h/r\n", GITKEYS_SAME, NULL },
	{ "a section only similar", "", "[cores]\nfsmonitor = x\n", GITKEYS_SAME, NULL },
};
/* clang-format on */

static void
gitkeys_mends_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		struct buf mended, again, key;

		print_message("# %s\n", keys[i].name);
		buf_init(&mended, 65536);
		buf_init(&again, 65536);
		buf_init(&key, 65536);
		assert_int_equal(gitkeys_mend(slice_of_str(keys[i].before),
				     slice_of_str(keys[i].after), &mended,
				     &key),
		    keys[i].want);
		if (keys[i].mended != NULL) {
			assert_string_equal(buf_text(&mended), keys[i].mended);
			assert_string_equal(buf_text(&key), keys[i].changed);
			assert_int_equal(gitkeys_mend(slice_of_str(
							  keys[i].before),
					     buf_slice(&mended), &again, &key),
			    GITKEYS_SAME);
		}
		buf_release(&mended);
		buf_release(&again);
		buf_release(&key);
	}
}

static void
gitkeys_knows_the_keys_of_the_design(void **state)
{
	static const char *const rows[] = { "[core]\nhooksPath=x",
		"[core]\nfsmonitor=x", "[core]\nsshCommand=x",
		"[core]\npager=x", "[alias]\nx=!y", "[include]\npath=x",
		"[includeIf \"gitdir:x\"]\npath=x", "[filter \"a\"]\nsmudge=x",
		"[diff \"a\"]\ncommand=x", "[diff]\nexternal=x",
		"[credential]\nhelper=x", "[credential \"u\"]\nhelper=x",
		"[url \"x\"]\ninsteadOf=y", "[gpg]\nprogram=x" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# row %zu\n", i);
		assert_true(gitkeys_has_any(slice_of_str(rows[i])));
	}
	assert_false(gitkeys_has_any(SLICE("[user]\nname=x\n")));
	assert_true(gitkeys_has_any(SLICE("[")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gitconfig_reads_each_case),
		cmocka_unit_test(gitconfig_refuses_a_nul_and_what_is_too_long),
		cmocka_unit_test(gitkeys_mends_each_case),
		cmocka_unit_test(gitkeys_knows_the_keys_of_the_design),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
