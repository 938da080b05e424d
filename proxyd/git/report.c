/* SPDX-License-Identifier: Apache-2.0 */
#include "git/report.h"
#include "git/put.h"
#include "wire/pktline.h"

#define BAND_REPORT 1
#define BAND_TEXT 2
#define BAND_MAX (PKTLINE_MAX - PKTLINE_HEAD - 1) /* bytes behind the band */

/* `data` on a band of side-band-64k, in as many packets as it needs. */
static void
put_band(uint8_t band, struct slice data, struct buf *out)
{
	while (data.n != 0) {
		struct slice part = slice_first(data, BAND_MAX);
		size_t at = put_begin(out);
		buf_put_byte(out, band);
		buf_put(out, part);
		put_end(out, at);
		data = slice_from(data, part.n);
	}
}

void
report_text(const struct push *p, struct slice text, struct buf *out)
{
	struct buf clean;

	if ((p->caps & PUSH_SIDE_BAND_64K) == 0)
		return;
	buf_init(&clean, out->max);
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n')
			buf_put_byte(&clean, '\n');
		else
			put_clean(&clean, slice_of(text.p + i, 1), 1, true);
	}
	if (clean.failed)
		out->failed = true;
	put_band(BAND_TEXT, buf_slice(&clean), out);
	buf_release(&clean);
}

static void
put_command(struct slice ref, struct slice reason, struct buf *out)
{
	size_t at = put_begin(out);

	buf_put_str(out, "ng ");
	/* As it was sent, else git finds no line for it; what cannot be shown
	 * is not worth that. */
	put_clean(out, ref, REPORT_REF_MAX, false);
	buf_put_byte(out, ' ');
	if (reason.n == 0)
		reason = SLICE("duenna: another ref of this push is refused");
	put_clean(out, reason, REPORT_REASON_MAX, true);
	buf_put_byte(out, '\n');
	put_end(out, at);
}

static void
put_report(const struct push *p, const struct slice *reasons, struct buf *out)
{
	put_line(out, SLICE("unpack ok\n"));
	for (size_t i = 0; i < p->n_commands; i++)
		put_command(push_command(p, i).ref, reasons[i], out);
	put_flush(out);
}

bool
report_refusal(const struct push *p, const struct slice *reasons,
    struct buf *out)
{
	struct buf report;

	if (!push_can_report(p))
		return false;
	if ((p->caps & PUSH_SIDE_BAND_64K) == 0) {
		put_report(p, reasons, out);
		return !out->failed;
	}
	buf_init(&report, out->max);
	put_report(p, reasons, &report);
	put_band(BAND_REPORT, buf_slice(&report), out);
	put_flush(out);
	bool good = !report.failed && !out->failed;
	buf_release(&report);
	return good;
}
