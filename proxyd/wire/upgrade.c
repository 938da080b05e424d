/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/upgrade.h"
#include "base/ascii.h"
#include "base/base64.h"

#define KEY_SIZE 16 /* bytes that a key is of (RFC 6455 4.1, 7) */

/* Elements of all fields of that name; *only is the last one. */
static size_t
elements(const struct field_list *list, struct slice name, struct slice *only)
{
	struct slice element;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct slice rest = list->at[i].value;
		if (!ascii_eq_fold(list->at[i].name, name))
			continue;
		while (field_take_element(&rest, &element)) {
			*only = element;
			n++;
		}
	}
	return n;
}

/* The one field of that name; false: none, or several. */
static bool
find_one(const struct field_list *list, struct slice name, struct slice *value)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (ascii_eq_fold(list->at[i].name, name)) {
			*value = list->at[i].value;
			n++;
		}
	return n == 1;
}

enum upgrade
upgrade_asked(const struct http_request *req)
{
	struct slice only = req->protocol;

	if (!req->has_upgrade)
		return UPGRADE_NONE;
	if (only.n == 0 && elements(&req->fields, SLICE("upgrade"), &only) != 1)
		return UPGRADE_OTHER;
	if (req->protocol.n == 0 && ascii_eq_fold(only, SLICE("h2c")))
		return UPGRADE_NONE;
	return ascii_eq_fold(only, SLICE("websocket")) ? UPGRADE_WEBSOCKET :
							 UPGRADE_OTHER;
}

struct slice
upgrade_key(const struct http_request *req)
{
	struct slice key = { 0 };

	(void)find_one(&req->fields, SLICE("sec-websocket-key"), &key);
	return key;
}

static bool
is_key(const struct http_request *req)
{
	uint8_t bytes[BASE64_SIZE(KEY_SIZE)];
	struct slice key;
	size_t n;

	return find_one(&req->fields, SLICE("sec-websocket-key"), &key) &&
	    key.n == BASE64_SIZE(KEY_SIZE) && base64_decode(key, bytes, &n) &&
	    n == KEY_SIZE;
}

/* Those would be gone when the head is written anew. */
static bool
names_fields(const struct http_request *req)
{
	const struct field_list *list = &req->fields;

	for (size_t i = 0; i < list->n; i++) {
		struct slice name = list->at[i].name;
		if (name.n > 4 &&
		    ascii_eq_fold(slice_first(name, 4), SLICE("sec-")) &&
		    field_is_named(list, name))
			return true;
	}
	return false;
}

static bool
is_version_13(const struct http_request *req)
{
	struct slice version;

	return find_one(&req->fields, SLICE("sec-websocket-version"),
		   &version) &&
	    slice_eq(version, SLICE("13"));
}

/* Over HTTP/2: the stream itself is the way. */
static const char *
check_connect(const struct http_request *req)
{
	if (req->body != HTTP_BODY_OPEN || req->expect != HTTP_EXPECT_NONE)
		return "a WebSocket is opened by a request that goes on";
	return is_version_13(req) ? NULL : "Sec-WebSocket-Version is not 13";
}

const char *
upgrade_check_request(const struct http_request *req)
{
	if (req->protocol.n != 0)
		return check_connect(req);
	if (req->is_http10 || !slice_eq(req->method, SLICE("GET")))
		return "a WebSocket is opened by a GET of HTTP/1.1";
	/* Java's client says that there are 0 bytes of it. */
	if (req->body == HTTP_BODY_OPEN || req->length != 0 ||
	    req->expect != HTTP_EXPECT_NONE)
		return "a WebSocket is opened by a request without a body";
	if (!field_is_named(&req->fields, SLICE("upgrade")))
		return "Connection does not name the upgrade";
	if (names_fields(req))
		return "Connection names a field of the WebSocket";
	if (!is_key(req))
		return "Sec-WebSocket-Key is not 16 bytes of Base64, once";
	return is_version_13(req) ? NULL : "Sec-WebSocket-Version is not 13";
}

/* Up to its parameters. */
static struct slice
extension_name(struct slice element)
{
	size_t n = 0;

	while (n < element.n && field_is_token_char(element.p[n]))
		n++;
	return slice_first(element, n);
}

static bool
was_offered(const struct http_request *req, struct slice field,
    struct slice name, bool is_extension)
{
	struct slice element;

	for (size_t i = 0; i < req->fields.n; i++) {
		struct slice rest = req->fields.at[i].value;
		if (!ascii_eq_fold(req->fields.at[i].name, field))
			continue;
		while (field_take_element(&rest, &element)) {
			if (is_extension)
				element = extension_name(element);
			if (slice_eq(element, name))
				return true;
		}
	}
	return false;
}

/* Extensions and the protocol in it are such as the client can read. */
static bool
chose_of_offer(const struct http_request *req, const struct http_response *res)
{
	const struct slice extensions = SLICE("sec-websocket-extensions");
	const struct slice protocol = SLICE("sec-websocket-protocol");
	struct slice element, only;

	for (size_t i = 0; i < res->fields.n; i++) {
		struct slice rest = res->fields.at[i].value;
		if (!ascii_eq_fold(res->fields.at[i].name, extensions))
			continue;
		while (field_take_element(&rest, &element)) {
			element = extension_name(element);
			if (element.n == 0 ||
			    !was_offered(req, extensions, element, true))
				return false;
		}
	}
	size_t n = field_count(&res->fields, protocol);
	return n == 0 ||
	    (n == 1 && elements(&res->fields, protocol, &only) == 1 &&
		was_offered(req, protocol, only, false));
}

static const char *
check_switch(const struct http_response *res, struct slice accept)
{
	struct slice only = { 0 };

	if (res->is_http10 ||
	    elements(&res->fields, SLICE("upgrade"), &only) != 1 ||
	    !ascii_eq_fold(only, SLICE("websocket")) ||
	    !field_is_named(&res->fields, SLICE("upgrade")))
		return "switches to another protocol";
	if (!find_one(&res->fields, SLICE("sec-websocket-accept"), &only) ||
	    !slice_eq(only, accept))
		return "Sec-WebSocket-Accept does not answer the key";
	return NULL;
}

const char *
upgrade_check_answer(const struct http_request *req,
    const struct http_response *res, struct slice accept)
{
	const char *why =
	    req->protocol.n == 0 ? check_switch(res, accept) : NULL;

	if (why != NULL)
		return why;
	if (!chose_of_offer(req, res))
		return "chooses an extension or protocol not offered";
	return NULL;
}
