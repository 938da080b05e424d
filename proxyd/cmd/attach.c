/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `duenna attach`: one call that says all of a sandbox.  Which values are good
 * is decided by whom we ask; here is only what a shell could have made wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/json.h"
#include "base/limits.h"
#include "cmd/cmd.h"
#include "cmd/ctl.h"
#include "cmd/oci.h"
#include "cmd/options.h"
#include "priv/control.h"

static const char usage[] =
    "usage: duenna attach NAME (--policy FILE[:NAME] | --policy-file FILE)\n"
    "                     CAPTURE [--set KEY=VALUE] [--tenant TENANT]\n"
    "                     [--label KEY=VALUE] [--secret NAME[=FILE]]\n"
    "                     [--control PATH] [--json]\n"
    "       duenna attach --oci-hook [...]\n"
    "\n"
    "Put a sandbox in the care of `duenna serve`.  The same again is fine.\n"
    "\n"
    "CAPTURE is one of\n"
    "  --netns PATH | --pid PID        an empty network namespace\n"
    "  --gate PATH --interface IF      a namespace with the host end of a link\n"
    "  --interface IF --address A...   an interface of this host; --mac MAC\n"
    "  --shared with --netns or --pid  the namespace of a workload\n"
    "  --listen ADDR:PORT|unix:PATH    a proxy; --token FILE: who may use it\n"
    "\n"
    "--oci-hook     the container whose state is on standard input, as OCI has\n"
    "               it for the hook createRuntime: its name, its namespace, and\n"
    "               annotations duenna.policy, duenna.tenant, duenna.name,\n"
    "               duenna.set.KEY, duenna.label.KEY; 1 if it fails in any way\n"
    "--policy       of the configuration's: FILE below policies/, without .yaml\n"
    "--policy-file  a policy of your own\n"
    "--set          what a parameter of the policy stands for; repeatable\n"
    "--tenant       sandboxes of different tenants share no worker\n"
    "--label        stands in each record; repeatable\n"
    "--secret       of a credential, for this sandbox alone: out of FILE, or\n"
    "               standard input\n"
    "--control      the socket, else " CTL_PATH "\n"
    "--json         what was answered, as it is\n"
    "\n"
    "Exit status: 0 it is attached; 1 it was refused; 2 usage; 125 otherwise.\n";

#define LIST_MAX 128 /* of one repeatable option */
#define BODY_MAX (2 * LIMIT_CONTROL_SIZE)

struct list {
	size_t n;
	const char *at[LIST_MAX];
};

struct attach {
	struct ctl ctl;
	const char *policy, *policy_file, *tenant;
	const char *netns, *gate, *pid, *interface, *mac, *listen, *token;
	bool shared, hook;
	struct list sets, labels, secrets, addresses;
	bool input_taken; /* standard input has one value */
};

enum option_id {
	OPT_POLICY = 256,
	OPT_POLICY_FILE,
	OPT_SET,
	OPT_TENANT,
	OPT_LABEL,
	OPT_SECRET,
	OPT_NETNS,
	OPT_PID,
	OPT_GATE,
	OPT_INTERFACE,
	OPT_ADDRESS,
	OPT_MAC,
	OPT_SHARED,
	OPT_OCI_HOOK,
	OPT_LISTEN,
	OPT_TOKEN,
	OPT_CONTROL,
	OPT_JSON,
	OPT_HELP,
};

static const struct option options[] = {
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "policy-file", required_argument, NULL, OPT_POLICY_FILE },
	{ "set", required_argument, NULL, OPT_SET },
	{ "tenant", required_argument, NULL, OPT_TENANT },
	{ "label", required_argument, NULL, OPT_LABEL },
	{ "secret", required_argument, NULL, OPT_SECRET },
	{ "netns", required_argument, NULL, OPT_NETNS },
	{ "pid", required_argument, NULL, OPT_PID },
	{ "gate", required_argument, NULL, OPT_GATE },
	{ "interface", required_argument, NULL, OPT_INTERFACE },
	{ "address", required_argument, NULL, OPT_ADDRESS },
	{ "mac", required_argument, NULL, OPT_MAC },
	{ "shared", no_argument, NULL, OPT_SHARED },
	{ "oci-hook", no_argument, NULL, OPT_OCI_HOOK },
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "token", required_argument, NULL, OPT_TOKEN },
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static bool
add(struct list *list, const char *what)
{
	if (list->n == LIST_MAX) {
		fprintf(stderr, "duenna: attach: more than %d of one option\n",
		    LIST_MAX);
		return false;
	}
	list->at[list->n++] = what;
	return true;
}

static bool
add_label(struct attach *a, const char *text)
{
	const char *is = strchr(text, '=');

	if (is != NULL && is != text)
		return add(&a->labels, text);
	fprintf(stderr, "duenna: attach: --label wants KEY=VALUE: not '%s'\n",
	    text);
	return false;
}

/* The option that is kept as it stands, or NULL. */
static const char **
text_of(struct attach *a, int option)
{
	const struct {
		int option;
		const char **text;
	} rows[] = {
		{ OPT_POLICY, &a->policy },
		{ OPT_POLICY_FILE, &a->policy_file },
		{ OPT_TENANT, &a->tenant },
		{ OPT_NETNS, &a->netns },
		{ OPT_PID, &a->pid },
		{ OPT_GATE, &a->gate },
		{ OPT_INTERFACE, &a->interface },
		{ OPT_MAC, &a->mac },
		{ OPT_LISTEN, &a->listen },
		{ OPT_TOKEN, &a->token },
		{ OPT_CONTROL, &a->ctl.socket },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].option == option)
			return rows[i].text;
	return NULL;
}

/* False: what was wrong has been said. */
static bool
take_option(struct attach *a, int option)
{
	const char **text = text_of(a, option);

	if (text != NULL) {
		*text = optarg;
		return true;
	}
	switch (option) {
	case OPT_SET:
		return options_set("attach", optarg) && add(&a->sets, optarg);
	case OPT_LABEL:
		return add_label(a, optarg);
	case OPT_SECRET:
		return add(&a->secrets, optarg);
	case OPT_ADDRESS:
		return add(&a->addresses, optarg);
	case OPT_SHARED:
		a->shared = true;
		return true;
	case OPT_OCI_HOOK:
		a->hook = true;
		return true;
	case OPT_JSON:
		a->ctl.json = true;
		return true;
	default:
		return false;
	}
}

/*
 * A file, or standard input (NULL), into `out`, which is wiped by the caller.
 * One newline at the end is the editor's.
 */
static bool
read_value(struct attach *a, const char *file, bool trim, struct buf *out)
{
	int fd =
	    file == NULL ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	if (file == NULL && a->input_taken) {
		fputs("duenna: attach: one value can come out of standard "
		      "input: --secret NAME=FILE for others\n",
		    stderr);
		close(fd);
		return false;
	}
	a->input_taken = a->input_taken || file == NULL;
	while (fd >= 0 && n > 0) {
		uint8_t *room = buf_room(out, 4096);
		n = room == NULL ? -1 : read(fd, room, 4096);
		if (n > 0)
			buf_added(out, (size_t)n);
	}
	int why = out->failed ? EFBIG : errno;
	if (fd >= 0)
		close(fd);
	if (fd < 0 || n < 0) {
		fprintf(stderr, "duenna: attach: %s: %s\n",
		    file == NULL ? "standard input" : file, strerror(why));
		return false;
	}
	if (trim && out->n != 0 && out->p[out->n - 1] == '\n')
		out->n--;
	return true;
}

static void
put_pairs(struct json *j, const char *key, const struct list *list)
{
	if (list->n == 0)
		return;
	json_key(j, key);
	json_object_begin(j);
	for (size_t i = 0; i < list->n; i++) {
		char name[256];
		const char *is = strchr(list->at[i], '=');
		snprintf(name, sizeof(name), "%.*s", (int)(is - list->at[i]),
		    list->at[i]);
		json_key_str(j, name, is + 1);
	}
	json_object_end(j);
}

static bool
put_secrets(struct attach *a, struct json *j)
{
	bool good = true;

	if (a->secrets.n == 0)
		return true;
	json_key(j, "secrets");
	json_object_begin(j);
	for (size_t i = 0; good && i < a->secrets.n; i++) {
		const char *is = strchr(a->secrets.at[i], '=');
		char name[256];
		struct buf value;
		/* Its whole room at once: a secret does not move. */
		buf_init(&value, 65536);
		snprintf(name, sizeof(name), "%.*s",
		    is == NULL ? 255 : (int)(is - a->secrets.at[i]),
		    a->secrets.at[i]);
		good = buf_room(&value, 65536) != NULL &&
		    read_value(a, is == NULL ? NULL : is + 1, true, &value);
		json_key_text(j, name, buf_slice(&value));
		buf_wipe(&value);
	}
	json_object_end(j);
	return good;
}

static bool
put_value(struct attach *a, struct json *j, const char *key, const char *file)
{
	struct buf value;

	if (file == NULL)
		return true;
	buf_init(&value, LIMIT_CONTROL_SIZE);
	bool good = read_value(a, file, key[0] == 't', &value);
	json_key_text(j, key, buf_slice(&value));
	buf_wipe(&value);
	return good;
}

/* As we see it from here: who is asked stands in another folder. */
static void
put_path(struct json *j, const char *key, const char *path)
{
	char here[PATH_MAX];
	char whole[2 * PATH_MAX];

	if (path == NULL)
		return;
	if (path[0] != '/' && getcwd(here, sizeof(here)) != NULL) {
		snprintf(whole, sizeof(whole), "%s/%s", here, path);
		path = whole;
	}
	json_key_str(j, key, path);
}

/* Which kind it is follows from the options that were given; NULL: none. */
static const char *
mode_of(const struct attach *a)
{
	const struct {
		bool given;
		enum capture_mode mode;
	} rows[] = {
		{ a->listen != NULL, CAPTURE_PROXY },
		{ a->gate != NULL, CAPTURE_GATE },
		{ a->shared, CAPTURE_SHARED },
		{ a->interface != NULL, CAPTURE_INTERFACE },
		{ a->netns != NULL || a->pid != NULL, CAPTURE_NETNS },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].given)
			return capture_mode_name(rows[i].mode);
	return NULL;
}

static bool
put_capture(const struct attach *a, struct json *j)
{
	json_key_str(j, "capture", mode_of(a));
	put_path(j, "netns", a->gate != NULL ? a->gate : a->netns);
	if (a->pid != NULL) {
		char *end;
		long v = strtol(a->pid, &end, 10);
		if (!ascii_is_digit((uint8_t)a->pid[0]) || *end != '\0' ||
		    v <= 0) {
			fprintf(stderr,
			    "duenna: attach: --pid wants a number, not '%s'\n",
			    a->pid);
			return false;
		}
		json_key_number(j, "pid", (uint64_t)v);
	}
	if (a->interface != NULL)
		json_key_str(j, "interface", a->interface);
	if (a->addresses.n != 0) {
		json_key(j, "addresses");
		json_array_begin(j);
		for (size_t i = 0; i < a->addresses.n; i++)
			json_str(j, a->addresses.at[i]);
		json_array_end(j);
	}
	if (a->mac != NULL)
		json_key_str(j, "mac", a->mac);
	if (a->listen != NULL)
		json_key_str(j, "listen", a->listen);
	return true;
}

/* False: what was wrong has been said. */
static bool
put_body(struct attach *a, struct buf *body)
{
	struct json j;

	json_init(&j, body);
	json_object_begin(&j);
	if (a->policy != NULL)
		json_key_str(&j, "policy", a->policy);
	if (a->tenant != NULL)
		json_key_str(&j, "tenant", a->tenant);
	put_pairs(&j, "set", &a->sets);
	put_pairs(&j, "labels", &a->labels);
	if (!put_value(a, &j, "policy_text", a->policy_file) ||
	    !put_capture(a, &j) || !put_secrets(a, &j) ||
	    !put_value(a, &j, "token", a->token))
		return false;
	json_object_end(&j);
	if (body->failed)
		fputs("duenna: attach: all of it is larger than 1 MiB\n",
		    stderr);
	return !body->failed;
}

static bool
is_whole(const struct attach *a)
{
	const char *what = NULL;

	if ((a->policy == NULL) == (a->policy_file == NULL))
		what = "one of --policy and --policy-file";
	else if (mode_of(a) == NULL)
		what = "how it is captured: --netns, --pid, --gate, "
		       "--interface, --shared or --listen";
	else if (a->gate != NULL && (a->netns != NULL || a->shared))
		what = "one of --netns, --gate and --shared";
	if (what != NULL)
		fprintf(stderr,
		    "duenna: attach: expected %s; see `duenna attach "
		    "--help`\n",
		    what);
	return what == NULL;
}

static int
attach(struct attach *a, const char *name)
{
	struct buf body;
	char path[64];

	snprintf(path, sizeof(path), "/v1/sandboxes/%s", name);
	buf_init(&body, BODY_MAX);
	/* It has secrets: one that does not grow leaves no copies behind. */
	int status = buf_room(&body, BODY_MAX) == NULL ? CMD_FAULT : 0;
	if (status == 0 && !put_body(a, &body))
		status = CMD_USAGE;
	if (status == 0)
		status = ctl_call(&a->ctl, "PUT", path, buf_slice(&body));
	buf_wipe(&body);
	if (status == 0 && a->ctl.json)
		fputs(buf_text(&a->ctl.answer), stdout);
	ctl_release(&a->ctl);
	return status;
}

/* Who starts a container does not say otherwise than the hook's line. */
static bool
take_state(struct attach *a, const struct oci *o)
{
	const char *what = NULL;
	bool good = true;

	if (mode_of(a) != NULL)
		what = "--oci-hook takes the container's network namespace, "
		       "and no other";
	else if ((o->policy != NULL &&
		     (a->policy != NULL || a->policy_file != NULL)) ||
	    (o->tenant != NULL && a->tenant != NULL))
		what = "an annotation says what the hook's line says already";
	if (what != NULL) {
		fprintf(stderr, "duenna: attach: %s\n", what);
		return false;
	}
	a->pid = o->pid;
	a->policy = o->policy != NULL ? o->policy : a->policy;
	a->tenant = o->tenant != NULL ? o->tenant : a->tenant;
	for (size_t i = 0; good && i < o->n_sets; i++)
		good = add(&a->sets, o->sets[i]);
	for (size_t i = 0; good && i < o->n_labels; i++)
		good = add(&a->labels, o->labels[i]);
	return good;
}

/* Called by a container's runtime, which gives up on anything but 0. */
static int
attach_hook(struct attach *a, int argc)
{
	struct oci o = { 0 };
	struct buf state;
	bool good = false;

	buf_init(&state, LIMIT_CONTROL_SIZE);
	if (optind != argc)
		fputs("duenna: attach: --oci-hook takes no name\n", stderr);
	else if (read_value(a, NULL, false, &state)) {
		good = oci_read(buf_slice(&state), &o) == 0;
		if (!good)
			fprintf(stderr, "duenna: attach: state: %s\n", o.why);
		good = good && take_state(a, &o) && is_whole(a) &&
		    attach(a, o.name) == 0;
	}
	oci_release(&o);
	buf_release(&state);
	return good ? 0 : CMD_NO;
}

int
attach_main(int argc, char **argv)
{
	static struct attach a = { .ctl.of = "attach" };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == OPT_HELP) {
			fputs(usage, stdout);
			return 0;
		}
		if (!take_option(&a, option))
			return CMD_USAGE;
	}
	if (a.hook)
		return attach_hook(&a, argc);
	const char *name = ctl_name(&a.ctl, argc, argv);
	return name == NULL || !is_whole(&a) ? CMD_USAGE : attach(&a, name);
}
