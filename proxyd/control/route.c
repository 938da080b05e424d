/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "control/route.h"

#define JSON "application/json"
/* The text format that its own standard names (OpenMetrics 1.0.0, 4.2.1). */
#define METRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

#define ONE "/v1/sandboxes/{name}"

/* clang-format off */
static const struct route rows[] = {
	{ "GET", "/v1/status", CONTROL_STATUS, false, JSON },
	{ "GET", "/v1/sandboxes", CONTROL_LIST, false, JSON },
	{ "GET", ONE, CONTROL_SHOW, false, JSON },
	{ "PUT", ONE, CONTROL_ATTACH, true, JSON },
	{ "DELETE", ONE, CONTROL_DETACH, false, JSON },
	{ "POST", ONE "/allow", CONTROL_ALLOW, true, JSON },
	{ "POST", "/v1/reload", CONTROL_RELOAD, false, JSON },
	{ "GET", "/metrics", CONTROL_METRICS, false, METRICS },
};
/* clang-format on */

const struct route *
route_at(size_t i)
{
	return i < COUNT_OF(rows) ? &rows[i] : NULL;
}

/*
 * Byte for byte: no name that can be has a character that somebody would
 * escape, so `%` never matches.
 */
static bool
is_path(const char *pattern, struct slice path, struct slice *name)
{
	static const char mark[] = "{name}";
	const char *at = strstr(pattern, mark);

	*name = (struct slice){ 0 };
	if (at == NULL)
		return slice_eq_str(path, pattern);
	size_t before = (size_t)(at - pattern);
	struct slice behind = slice_of_str(at + sizeof(mark) - 1);
	if (path.n <= before + behind.n ||
	    memcmp(path.p, pattern, before) != 0 ||
	    !slice_eq(slice_from(path, path.n - behind.n), behind))
		return false;
	*name = slice_of(path.p + before, path.n - before - behind.n);
	return control_is_name(*name);
}

const struct route *
route_find(struct slice method, struct slice path, struct slice *name,
    enum control_code *code)
{
	*code = CONTROL_PATH_UNKNOWN;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (!is_path(rows[i].path, path, name))
			continue;
		if (slice_eq_str(method, rows[i].method))
			return &rows[i];
		*code = CONTROL_METHOD_UNKNOWN;
	}
	return NULL;
}

void
route_allow(struct slice path, char allow[ROUTE_ALLOW_SIZE])
{
	struct slice name;
	size_t n = 0;

	allow[0] = '\0';
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (is_path(rows[i].path, path, &name) && n < ROUTE_ALLOW_SIZE)
			n += (size_t)snprintf(allow + n, ROUTE_ALLOW_SIZE - n,
			    "%s%s", n == 0 ? "" : ", ", rows[i].method);
}
