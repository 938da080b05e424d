/* SPDX-License-Identifier: Apache-2.0 */
#include "load/preset.h"
#include "base/attr.h"
#include "base/nearest.h"

/* NAME_text[] of each, and a row of `presets`: made by policies/embed.py. */
#include "load/presets.inc"

const char *
preset_name(size_t i)
{
	return i < COUNT_OF(presets) ? presets[i].name : NULL;
}

bool
preset_find(struct slice name, struct slice *text)
{
	for (size_t i = 0; i < COUNT_OF(presets); i++) {
		if (!slice_eq_str(name, presets[i].name))
			continue;
		*text = slice_of(presets[i].text, presets[i].n);
		return true;
	}
	return false;
}

void
preset_put_unknown(struct slice name, struct buf *out)
{
	struct nearest near = nearest_to(name);

	for (size_t i = 0; i < COUNT_OF(presets); i++)
		nearest_look(&near, slice_of_str(presets[i].name));
	buf_putf(out, "there is no preset `%.*s`" NEAREST_FMT, SLICE_ARG(name),
	    NEAREST_ARG(near));
	buf_put_str(out, near.best.n != 0 ? " There are" : "; there are");
	for (size_t i = 0; i < COUNT_OF(presets); i++)
		buf_putf(out, "%s `%s`", i == 0 ? "" : ",", presets[i].name);
	if (name.n != 0 && memchr(name.p, '.', name.n) != NULL)
		buf_putf(out, "; a file is `./preset/%.*s`", SLICE_ARG(name));
}
