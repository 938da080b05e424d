/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/utf8.h"
#include "cmd/oci.h"

#define OURS "duenna."
#define HEX_ID 64 /* digits of the names that engines make */

PRINTF_LIKE(2, 3) static int wrong(struct oci *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(o->why, sizeof(o->why), format, args);
	va_end(args);
	if (n > 0)
		utf8_tame((uint8_t *)o->why, strlen(o->why), ' ');
	return -1;
}

/* Only before the container's own program is there anything to attach. */
static int
read_status(struct oci *o)
{
	const char *status =
	    json_string_value(json_object_get(o->root, "status"));

	if (status == NULL)
		return wrong(o, "`status` is missing");
	if (strcmp(status, "creating") == 0 || strcmp(status, "created") == 0)
		return 0;
	return wrong(o,
	    "the container is %s; expected the hook createRuntime, which is "
	    "run before its program",
	    status);
}

static int
read_pid(struct oci *o)
{
	const json_t *pid = json_object_get(o->root, "pid");
	json_int_t number = json_integer_value(pid);

	if (!json_is_integer(pid) || number <= 0 || number > INT32_MAX)
		return wrong(o, "`pid` is no process");
	snprintf(o->pid, sizeof(o->pid), "%d", (int)number);
	return 0;
}

/* An engine's 64 hexadecimal digits are more than a name has, and 40 of them
 * are still nobody else's. */
static int
read_name(struct oci *o)
{
	const char *id = json_string_value(json_object_get(o->root, "id"));

	if (o->name[0] != '\0')
		return 0;
	if (id == NULL)
		return wrong(o, "`id` is missing");
	bool cut =
	    strlen(id) == HEX_ID && strspn(id, "0123456789abcdef") == HEX_ID;
	if (!cut && !control_is_name(slice_of_str(id)))
		return wrong(o,
		    "the container `%s` cannot give the sandbox its name: "
		    "expected 1 to 40 of a-z, 0-9 and `-`, or an annotation "
		    "duenna.name",
		    id);
	snprintf(o->name, sizeof(o->name), "%s", id);
	return 0;
}

/* One more "KEY=VALUE". */
static int
add_pair(struct oci *o, const char *key, const char *value, char **pairs,
    size_t *n, size_t max)
{
	size_t size = strlen(key) + 1 + strlen(value) + 1;

	if (key[0] == '\0' || strchr(key, '=') != NULL)
		return wrong(o, "an annotation duenna.* has no key: `%s`", key);
	if (*n == max)
		return wrong(o, "more than %zu annotations of one kind", max);
	char *text = malloc(size);
	if (text == NULL)
		return wrong(o, "out of memory");
	snprintf(text, size, "%s=%s", key, value);
	pairs[(*n)++] = text;
	return 0;
}

/* What follows `prefix`; NULL: it begins otherwise. */
static const char *
behind(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

static int
take_own(struct oci *o, const char *key, const char *value)
{
	const char *of_set = behind(key, "set.");
	const char *of_label = behind(key, "label.");

	if (of_set != NULL)
		return add_pair(o, of_set, value, o->sets, &o->n_sets,
		    COUNT_OF(o->sets));
	if (of_label != NULL)
		return add_pair(o, of_label, value, o->labels, &o->n_labels,
		    COUNT_OF(o->labels));
	if (strcmp(key, "policy") == 0)
		o->policy = value;
	else if (strcmp(key, "tenant") == 0)
		o->tenant = value;
	else if (strcmp(key, "name") != 0)
		return wrong(o,
		    "there is no annotation " OURS "%s; expected policy, "
		    "tenant, name, set.KEY or label.KEY",
		    key);
	else if (!control_is_name(slice_of_str(value)))
		return wrong(o,
		    "duenna.name is `%s`; expected 1 to 40 of a-z, 0-9 and `-`",
		    value);
	else
		snprintf(o->name, sizeof(o->name), "%s", value);
	return 0;
}

static int
read_annotations(struct oci *o)
{
	json_t *all = json_object_get(o->root, "annotations");
	const char *key;
	json_t *value;

	if (all != NULL && !json_is_object(all) && !json_is_null(all))
		return wrong(o, "`annotations` is no object");
	json_object_foreach(all, key, value)
	{
		const char *own = behind(key, OURS);
		if (own == NULL)
			continue;
		if (!json_is_string(value))
			return wrong(o, "the annotation %s is no text", key);
		if (take_own(o, own, json_string_value(value)) != 0)
			return -1;
	}
	return 0;
}

int
oci_read(struct slice text, struct oci *out)
{
	json_error_t error;

	*out = (struct oci){ 0 };
	out->root = json_loadb((const char *)text.p, text.n,
	    JSON_REJECT_DUPLICATES, &error);
	if (out->root == NULL)
		return wrong(out, "it is no JSON: line %d: %s", error.line,
		    error.text);
	if (!json_is_object(out->root))
		return wrong(out, "it is no object");
	if (read_status(out) != 0 || read_pid(out) != 0 ||
	    read_annotations(out) != 0)
		return -1;
	return read_name(out);
}

void
oci_release(struct oci *o)
{
	for (size_t i = 0; i < o->n_sets; i++)
		free(o->sets[i]);
	for (size_t i = 0; i < o->n_labels; i++)
		free(o->labels[i]);
	json_decref(o->root);
	*o = (struct oci){ 0 };
}
