/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/doctor.h"

#define OUTPUT_MAX 65536 /* bytes; some twenty checks of a line or two */
#define NAME_WIDTH 11	 /* of the widest name, for the eye */

void
doctor_begin(struct doctor *d)
{
	buf_init(&d->out, OUTPUT_MAX);
	json_init(&d->json, &d->out);
	if (!d->as_json)
		return;
	json_object_begin(&d->json);
	json_key(&d->json, "checks");
	json_array_begin(&d->json);
}

/* The first line is what was found, what stands below how to mend it. */
static void
put_json(struct doctor *d, bool ok, const char *name, const char *text)
{
	size_t n = strcspn(text, "\n");

	json_object_begin(&d->json);
	json_key_str(&d->json, "name", name);
	json_key_bool(&d->json, "ok", ok);
	json_key_text(&d->json, "text", slice_of(text, n));
	if (text[n] != '\0')
		json_key_str(&d->json, "remedy", text + n + 1);
	json_object_end(&d->json);
}

/* Further lines stand below the first one's text. */
static void
put_text(struct doctor *d, bool ok, const char *name, const char *text)
{
	buf_putf(&d->out, "%-8s%-*s ", ok ? "ok" : "MISSING", NAME_WIDTH, name);
	for (; *text != '\0'; text++) {
		buf_put_byte(&d->out, (uint8_t)*text);
		if (*text == '\n')
			buf_putf(&d->out, "%*s", 8 + NAME_WIDTH + 1, "");
	}
	buf_put_byte(&d->out, '\n');
}

void
doctor_say(struct doctor *d, bool ok, const char *name, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->failed = d->failed || !ok;
	if (d->as_json)
		put_json(d, ok, name, text);
	else
		put_text(d, ok, name, text);
}

int
doctor_end(struct doctor *d)
{
	if (d->as_json) {
		json_array_end(&d->json);
		json_key_bool(&d->json, "ok", !d->failed);
		json_object_end(&d->json);
		buf_put_byte(&d->out, '\n');
	}
	fwrite(d->out.p, 1, d->out.n, stdout);
	buf_release(&d->out);
	return d->failed ? CMD_NO : 0;
}
