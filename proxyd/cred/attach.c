/* SPDX-License-Identifier: Apache-2.0 */
#include "cred/attach.h"
#include "cred/foreign.h"

void
attach_init(struct attach *a)
{
	*a = (struct attach){ 0 };
}

bool
attach_is_value(struct slice value)
{
	if (value.n == 0 || value.p[0] == ' ' || value.p[value.n - 1] == ' ')
		return false;
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < ' ' || value.p[i] == 0x7f)
			return false;
	return true;
}

int
attach_add(struct attach *a, struct slice header, struct slice value,
    enum err *err)
{
	if (a->n == ATTACH_MAX) {
		*err = ERR_FULL;
		return -1;
	}
	*err = ERR_MESSAGE;
	if (!field_is_token(header) || !attach_is_value(value) ||
	    value.n > SECRET_MAX)
		return -1;
	for (size_t i = 0; i < a->n; i++)
		if (foreign_same_field(a->fields[i].name, header))
			return -1;
	if (secret_init(&a->values[a->n], value, err) != 0)
		return -1;
	a->fields[a->n] = (struct field){ .name = header,
		.value = secret_slice(&a->values[a->n]) };
	a->n++;
	return 0;
}

/* Is it the name of a slot that we fill? */
static bool
is_ours(const struct attach *a, struct slice name)
{
	for (size_t i = 0; i < a->n; i++)
		if (foreign_same_field(name, a->fields[i].name))
			return true;
	return false;
}

size_t
attach_clear_slots(const struct attach *a, struct field_list *fields)
{
	size_t kept = 0;

	for (size_t i = 0; i < fields->n; i++)
		if (!is_ours(a, fields->at[i].name))
			fields->at[kept++] = fields->at[i];
	size_t gone = fields->n - kept;
	fields->n = kept;
	return gone;
}

void
attach_wipe(struct attach *a)
{
	for (size_t i = 0; i < a->n; i++)
		secret_release(&a->values[i]);
	*a = (struct attach){ 0 };
}
