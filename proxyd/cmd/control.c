/* SPDX-License-Identifier: Apache-2.0 */
/* `duenna detach`, `list`, `status`, `reload`, `allow`: asked of `serve`. */
#include <getopt.h>
#include <stdio.h>

#include <jansson.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/ctl.h"
#include "priv/parts.h"

#define SEE                                               \
	"--control PATH  the socket, else " CTL_PATH "\n" \
	"--json          what was answered, as it is\n"   \
	"\n"                                              \
	"Exit status: 0 done; 1 refused; 2 usage; 125 otherwise.\n"

static const char detach_usage[] =
    "usage: duenna detach NAME [--control PATH] [--json]\n"
    "\n"
    "End what a sandbox has open, and let it go.\n"
    "\n" SEE;

static const char list_usage[] =
    "usage: duenna list [--control PATH] [--json]\n"
    "\n"
    "The sandboxes that are attached, one a line.\n"
    "\n" SEE;

static const char status_usage[] =
    "usage: duenna status [NAME] [--control PATH] [--json]\n"
    "\n"
    "How `duenna serve` is, or one of its sandboxes.\n"
    "\n" SEE;

static const char reload_usage[] =
    "usage: duenna reload [--control PATH] [--json]\n"
    "\n"
    "Read the configuration and all policies again.  With an error in them\n"
    "nothing changes.\n"
    "\n" SEE;

static const char allow_usage[] =
    "usage: duenna allow NAME URL [--for TIME] [--control PATH] [--json]\n"
    "\n"
    "Add a rule to a sandbox while it runs, for some time: GET and HEAD of URL,\n"
    "as `allow:` of a policy has it, never with a credential.  It is recorded.\n"
    "\n"
    "--for TIME      90s, 15m, 2h, 7d; 1h without it\n" SEE;

enum option_id {
	OPT_CONTROL = 256,
	OPT_JSON,
	OPT_FOR,
	OPT_HELP,
};

static const struct option options[] = {
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "for", required_argument, NULL, OPT_FOR }, /* of `allow` */
	{ NULL, 0, NULL, 0 },
};

/* 0 to go on, else the exit status plus one. */
static int
take_options(struct ctl *c, int argc, char **argv, const char *usage,
    const char **period)
{
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == OPT_CONTROL) {
			c->socket = optarg;
		} else if (option == OPT_JSON) {
			c->json = true;
		} else if (option == OPT_FOR && period != NULL) {
			*period = optarg;
		} else {
			bool asked = option == OPT_HELP;
			fputs(usage, asked ? stdout : stderr);
			return asked ? 1 : CMD_USAGE + 1;
		}
	}
	return 0;
}

static void
print_tame(const char *text, size_t n)
{
	uint8_t room[512];

	if (n > sizeof(room))
		n = sizeof(room);
	if (n != 0)
		memcpy(room, text, n);
	utf8_tame(room, n, 0);
	printf("%.*s", (int)n, (const char *)room);
}

/* A value as people read it; of an object, KEY=VALUE each. */
static void
print_value(const json_t *v)
{
	const char *key;
	json_t *each;
	bool more = false;

	if (json_is_string(v)) {
		print_tame(json_string_value(v), json_string_length(v));
	} else if (json_is_integer(v)) {
		printf("%lld", (long long)json_integer_value(v));
	} else if (json_is_boolean(v)) {
		fputs(json_is_true(v) ? "yes" : "no", stdout);
	} else if (json_is_object(v)) {
		json_t *object = (json_t *)(uintptr_t)v;
		json_object_foreach(object, key, each)
		{
			fputs(more ? " " : "", stdout);
			print_tame(key, strlen(key));
			putchar('=');
			if (json_is_string(each))
				print_value(each);
			more = true;
		}
	}
}

static int
print_facts(const struct ctl *c)
{
	json_t *root = ctl_read(c), *value;
	const char *key;

	if (root == NULL)
		return CMD_FAULT;
	json_object_foreach(root, key, value)
	{
		printf("%-12s", key);
		print_value(value);
		putchar('\n');
	}
	json_decref(root);
	return 0;
}

static const struct column {
	const char *key, *title;
	int width;
} columns[] = {
	{ "name", "NAME", 24 },
	{ "state", "STATE", 10 },
	{ "capture", "CAPTURE", 10 },
	{ "tenant", "TENANT", 14 },
	{ "policy", "POLICY", 0 },
};

static void
print_row(const json_t *one)
{
	for (size_t i = 0; i < COUNT_OF(columns); i++) {
		const json_t *v = json_object_get(one, columns[i].key);
		size_t n = json_string_length(v);
		if (n == 0)
			putchar('-');
		else
			print_value(v);
		int used = n == 0 ? 1 : (int)n;
		do
			putchar(i + 1 == COUNT_OF(columns) ? '\n' : ' ');
		while (++used < columns[i].width);
	}
}

static int
print_list(const struct ctl *c)
{
	json_t *root = ctl_read(c);
	const json_t *list = json_object_get(root, "sandboxes");

	if (root == NULL)
		return CMD_FAULT;
	for (size_t i = 0; json_array_size(list) != 0 && i < COUNT_OF(columns);
	     i++)
		printf("%-*s%s", columns[i].width - 1, columns[i].title,
		    i + 1 == COUNT_OF(columns) ? "\n" : " ");
	for (size_t i = 0; i < json_array_size(list); i++)
		print_row(json_array_get(list, i));
	json_decref(root);
	return 0;
}

/* Ask, and print by `print`, or as it is; NULL: nothing. */
static int
ask(struct ctl *c, const char *method, const char *path,
    int (*print)(const struct ctl *c))
{
	int status = ctl_call(c, method, path, (struct slice){ 0 });

	if (status == 0 && c->json)
		fputs(buf_text(&c->answer), stdout);
	else if (status == 0 && print != NULL)
		status = print(c);
	ctl_release(c);
	return status;
}

static int
no_more(const struct ctl *c, int argc, char **argv)
{
	if (optind >= argc)
		return 0;
	fprintf(stderr, "duenna: %s: what is '%s'?\n", c->of, argv[optind]);
	return CMD_USAGE;
}

int
detach_main(int argc, char **argv)
{
	struct ctl c = { .of = "detach" };
	char path[64];
	int end = take_options(&c, argc, argv, detach_usage, NULL);
	const char *name = end == 0 ? ctl_name(&c, argc, argv) : NULL;

	if (name == NULL)
		return end == 0 ? CMD_USAGE : end - 1;
	snprintf(path, sizeof(path), "/v1/sandboxes/%s", name);
	return ask(&c, "DELETE", path, NULL);
}

int
list_main(int argc, char **argv)
{
	struct ctl c = { .of = "list" };
	int end = take_options(&c, argc, argv, list_usage, NULL);

	if (end != 0)
		return end - 1;
	end = no_more(&c, argc, argv);
	return end != 0 ? end : ask(&c, "GET", "/v1/sandboxes", print_list);
}

int
status_main(int argc, char **argv)
{
	struct ctl c = { .of = "status" };
	char path[64] = "/v1/status";
	int end = take_options(&c, argc, argv, status_usage, NULL);

	if (end != 0)
		return end - 1;
	if (optind < argc) {
		const char *name = ctl_name(&c, argc, argv);
		if (name == NULL)
			return CMD_USAGE;
		snprintf(path, sizeof(path), "/v1/sandboxes/%s", name);
	}
	return ask(&c, "GET", path, print_facts);
}

int
reload_main(int argc, char **argv)
{
	struct ctl c = { .of = "reload" };
	int end = take_options(&c, argc, argv, reload_usage, NULL);

	if (end != 0)
		return end - 1;
	end = no_more(&c, argc, argv);
	return end != 0 ? end : ask(&c, "POST", "/v1/reload", NULL);
}

static int
allow(struct ctl *c, const char *name, const char *url, uint32_t seconds)
{
	char path[64];
	struct buf body;
	struct json j;

	snprintf(path, sizeof(path), "/v1/sandboxes/%s/allow", name);
	buf_init(&body, 65536);
	json_init(&j, &body);
	json_object_begin(&j);
	json_key_str(&j, "url", url);
	json_key_number(&j, "seconds", seconds);
	json_object_end(&j);
	int status = ctl_call(c, "POST", path, buf_slice(&body));
	if (status == 0 && c->json)
		fputs(buf_text(&c->answer), stdout);
	buf_release(&body);
	ctl_release(c);
	return status;
}

int
allow_main(int argc, char **argv)
{
	struct ctl c = { .of = "allow" };
	const char *period = "1h", *url = "";
	uint32_t seconds = 0;
	int end = take_options(&c, argc, argv, allow_usage, &period);

	if (end != 0)
		return end - 1;
	if (argc - optind == 2)
		url = argv[--argc];
	const char *name = ctl_name(&c, argc, argv);
	if (name == NULL || url[0] == '\0') {
		fputs("duenna: allow: expected NAME URL\n", stderr);
		return CMD_USAGE;
	}
	if (!parts_seconds(slice_of_str(period), &seconds)) {
		fprintf(stderr,
		    "duenna: allow: --for wants 90s, 15m, 2h, 7d, at most 30d: "
		    "not '%s'\n",
		    period);
		return CMD_USAGE;
	}
	return allow(&c, name, url, seconds);
}
