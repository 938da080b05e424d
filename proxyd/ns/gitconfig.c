/* SPDX-License-Identifier: Apache-2.0 */
#include "ns/gitconfig.h"
#include "base/ascii.h"

#define END (-1) /* after the last byte; a line ends there as well */

/* git's own idea of a space, whatever the locale. */
static bool
is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_alpha(int c)
{
	return c >= 0 && ascii_is_alpha((uint8_t)c);
}

static bool
is_key(int c)
{
	return c >= 0 && (ascii_is_alnum((uint8_t)c) || c == '-');
}

static int
lower(int c)
{
	return ascii_lower((uint8_t)c);
}

/* The next character, CR LF being one; a NUL is bad. */
static int
next(struct gitconfig *g)
{
	const uint8_t *p = g->in.p;

	if (g->at >= g->in.n)
		return END;
	int c = p[g->at++];
	if (c == '\r' && g->at < g->in.n && p[g->at] == '\n')
		c = p[g->at++];
	if (c == '\0')
		g->bad = true;
	return c;
}

static void
put(struct gitconfig *g, char *text, size_t max, size_t *n, int c)
{
	if (*n + 1 >= max)
		g->bad = true;
	else
		text[(*n)++] = (char)c;
	text[*n] = '\0';
}

/* [base "subsection"], after a space behind the base. */
static void
take_subsection(struct gitconfig *g, int c)
{
	while (!g->bad && is_space(c)) {
		if (c == '\n')
			g->bad = true;
		c = next(g);
	}
	if (c != '"')
		g->bad = true;
	put(g, g->key, sizeof(g->key), &g->n_base, '.');
	while (!g->bad && (c = next(g)) != '"') {
		if (c == '\\')
			c = next(g);
		if (c == '\n' || c == END)
			g->bad = true;
		else
			put(g, g->key, sizeof(g->key), &g->n_base, c);
	}
	if (next(g) != ']')
		g->bad = true;
}

/* [base], [base.subsection] or [base "subsection"], after the bracket. */
static void
take_section(struct gitconfig *g)
{
	g->n_base = 0;
	g->key[0] = '\0';
	while (!g->bad) {
		int c = next(g);
		if (c == ']') {
			g->bad = g->n_base == 0;
			break;
		}
		if (is_space(c)) {
			take_subsection(g, c);
			break;
		}
		if (!is_key(c) && c != '.')
			g->bad = true;
		else
			put(g, g->key, sizeof(g->key), &g->n_base, lower(c));
	}
	put(g, g->key, sizeof(g->key), &g->n_base, '.');
}

/* One escaped character of a value, or a line that goes on. */
static void
take_escape(struct gitconfig *g, struct gitconfig_entry *e, size_t *n)
{
	static const char from[] = "tbn\\\"", to[] = "\t\b\n\\\"";
	int c = next(g);
	const char *at;

	if (c == '\n')
		return;
	if (c == END) /* as a line that goes on, and there is none */
		return;
	at = memchr(from, c, sizeof(from) - 1);
	if (at == NULL)
		g->bad = true;
	else
		put(g, e->value, sizeof(e->value), n, to[at - from]);
}

/* The rest of the line, or of several. */
static void
take_value(struct gitconfig *g, struct gitconfig_entry *e)
{
	bool quote = false, comment = false;
	size_t n = 0, spaces = 0;

	for (;;) {
		e->to = g->at;
		int c = next(g);
		if (g->bad)
			return;
		if (c == '\n' || c == END) {
			g->bad = quote;
			return;
		}
		if (comment)
			continue;
		if (!quote && is_space(c)) {
			spaces += n != 0;
			continue;
		}
		comment = !quote && (c == ';' || c == '#');
		if (comment)
			continue;
		for (; spaces != 0; spaces--)
			put(g, e->value, sizeof(e->value), &n, ' ');
		if (c == '\\')
			take_escape(g, e, &n);
		else if (c == '"')
			quote = !quote;
		else
			put(g, e->value, sizeof(e->value), &n, c);
	}
}

static void
take_entry(struct gitconfig *g, struct gitconfig_entry *e, int c)
{
	size_t n = g->n_base;

	e->from = g->at - 1;
	e->value[0] = '\0';
	memcpy(e->key, g->key, n);
	while (!g->bad && is_key(c)) {
		put(g, e->key, sizeof(e->key), &n, lower(c));
		e->to = g->at;
		c = next(g);
	}
	while (c == ' ' || c == '\t')
		c = next(g);
	e->has_value = c == '=';
	if (e->has_value)
		take_value(g, e);
	else if (c != '\n' && c != END)
		g->bad = true;
}

void
gitconfig_init(struct gitconfig *g, struct slice in)
{
	static const struct slice bom = { (const uint8_t *)"\xef\xbb\xbf", 3 };

	*g = (struct gitconfig){ .in = in };
	if (slice_has_prefix(in, bom))
		g->at = bom.n;
}

bool
gitconfig_next(struct gitconfig *g, struct gitconfig_entry *entry)
{
	bool comment = false;

	while (!g->bad) {
		int c = next(g);
		if (c == END)
			return false;
		if (c == '\n')
			comment = false;
		if (comment || is_space(c))
			continue;
		if (c == '#' || c == ';') {
			comment = true;
		} else if (c == '[') {
			take_section(g);
		} else if (is_alpha(c) && !g->bad) {
			take_entry(g, entry, c);
			return !g->bad;
		} else {
			g->bad = true;
		}
	}
	return false;
}

/* In which keys git finds programs, or whom it gives the user's credentials to
 * and over which file it writes; `value` is what it must begin with, or
 * with "::" hold.  A name "*" is every one. */
static const struct {
	const char *section, *name, *value;
} dangerous[] = {
	{ "alias", "*", "!" },
	{ "browser", "cmd", NULL },
	{ "browser", "path", NULL },
	{ "core", "alternaterefscommand", NULL },
	{ "core", "askpass", NULL },
	{ "core", "editor", NULL },
	{ "core", "fsmonitor", NULL },
	{ "core", "gitproxy", NULL },
	{ "core", "hookspath", NULL },
	{ "core", "pager", NULL },
	{ "core", "sshcommand", NULL },
	{ "core", "virtualfilesystem", NULL },
	{ "core", "worktree", NULL },
	{ "credential", "helper", NULL },
	{ "diff", "command", NULL },
	{ "diff", "external", NULL },
	{ "diff", "textconv", NULL },
	{ "difftool", "cmd", NULL },
	{ "difftool", "path", NULL },
	{ "extensions", "worktreeconfig", NULL },
	{ "filter", "*", NULL },
	{ "gc", "recentobjectshook", NULL },
	{ "gpg", "*", NULL },
	{ "guitool", "cmd", NULL },
	{ "hook", "*", NULL },
	{ "http", "cookiefile", NULL },
	{ "http", "curloptresolve", NULL },
	{ "http", "proxy", NULL },
	{ "http", "savecookies", NULL },
	{ "http", "sslcainfo", NULL },
	{ "http", "sslcapath", NULL },
	{ "http", "sslverify", NULL },
	{ "imap", "tunnel", NULL },
	{ "include", "*", NULL },
	{ "includeif", "*", NULL },
	{ "init", "templatedir", NULL },
	{ "instaweb", "*", NULL },
	{ "interactive", "difffilter", NULL },
	{ "lfs", "*", NULL },
	{ "man", "cmd", NULL },
	{ "man", "path", NULL },
	{ "merge", "driver", NULL },
	{ "mergetool", "cmd", NULL },
	{ "mergetool", "path", NULL },
	{ "pager", "*", NULL },
	{ "protocol", "allow", NULL },
	{ "remote", "proxy", NULL },
	{ "remote", "pushurl", "::" },
	{ "remote", "receivepack", NULL },
	{ "remote", "uploadpack", NULL },
	{ "remote", "url", "::" },
	{ "remote", "vcs", NULL },
	{ "sendemail", "*", NULL },
	{ "sequence", "editor", NULL },
	{ "submodule", "update", "!" },
	{ "tar", "command", NULL },
	{ "trailer", "cmd", NULL },
	{ "trailer", "command", NULL },
	{ "uploadpack", "packobjectshook", NULL },
	{ "url", "insteadof", NULL },
	{ "url", "pushinsteadof", NULL },
	{ "web", "browser", NULL },
};

static bool
fits_value(const char *want, const char *value)
{
	if (want == NULL)
		return true;
	if (want[0] == ':')
		return strstr(value, want) != NULL;
	return value[0] == want[0];
}

bool
gitconfig_is_dangerous(const struct gitconfig_entry *entry)
{
	size_t n = strcspn(entry->key, ".");
	const char *name = strrchr(entry->key, '.');

	if (name == NULL)
		return false;
	name++;
	for (size_t i = 0; i < COUNT_OF(dangerous); i++)
		if (strlen(dangerous[i].section) == n &&
		    memcmp(dangerous[i].section, entry->key, n) == 0 &&
		    (dangerous[i].name[0] == '*' ||
			strcmp(dangerous[i].name, name) == 0) &&
		    fits_value(dangerous[i].value, entry->value))
			return true;
	return false;
}
