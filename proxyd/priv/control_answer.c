/* SPDX-License-Identifier: Apache-2.0 */
#include "priv/control_answer.h"

static const struct {
	const char *name, *what;
	unsigned status;
} codes[CONTROL_CODES] = {
#define X(id, status, name, what) [CONTROL_##id] = { name, what, status },
	CONTROL_CODE_LIST(X)
#undef X
};

const char *
control_code_name(enum control_code code)
{
	return codes[code < CONTROL_CODES ? code : CONTROL_FAULT].name;
}

const char *
control_code_what(enum control_code code)
{
	return codes[code < CONTROL_CODES ? code : CONTROL_FAULT].what;
}

unsigned
control_code_status(enum control_code code)
{
	return codes[code < CONTROL_CODES ? code : CONTROL_FAULT].status;
}

void
control_answer_write(struct wr *w, const struct control_answer *a)
{
	wr_u8(w, (uint8_t)a->code);
	wr_slice16(w, slice_first(a->detail, CONTROL_DETAIL_MAX));
}

bool
control_answer_read(struct slice bytes, struct control_answer *out)
{
	struct rd r = rd_of(bytes);
	uint8_t code = rd_u8(&r);

	out->code = CONTROL_FAULT;
	out->detail = rd_slice16(&r);
	if (!rd_is_done(&r) || code >= CONTROL_CODES ||
	    out->detail.n > CONTROL_DETAIL_MAX)
		return false;
	out->code = (enum control_code)code;
	return true;
}
