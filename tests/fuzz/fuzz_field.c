/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "wire/field.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size }, rest = in, element;
	static struct field_list list;
	struct parse_fail fail;
	struct field f;
	size_t used;

	list.n = 0;
	while (field_take(rest, &f, &used, &fail) == PARSE_DONE) {
		CHECK(used >= 4 && used <= rest.n);
		CHECK(field_is_token(f.name) && lies_in(f.value, in));
		for (size_t i = 0; i < f.value.n; i++)
			CHECK(field_is_value_char(f.value.p[i]));
		uint8_t *name = malloc(f.name.n);
		CHECK(name != NULL);
		field_put_name(f.name, name);
		/* In another spelling it is the same to us. */
		CHECK(field_class(f.name) ==
		    field_class(slice_of(name, f.name.n)));
		free(name);
		if (!field_add(&list, f.name, f.value))
			break;
		rest = slice_from(rest, used);
	}
	CHECK(list.n <= FIELD_MAX);
	for (size_t i = 0; i < list.n; i++) {
		struct slice value = list.at[i].value;
		CHECK(field_find(&list, list.at[i].name) <= &list.at[i]);
		CHECK(field_count(&list, list.at[i].name) != 0);
		while (field_take_element(&value, &element))
			CHECK(element.n != 0 && lies_in(element, in));
	}
	struct field_walk walk = { 0 };
	while (field_take_announced(&list, &walk, true, &element)) {
		CHECK(lies_in(element, in) && field_is_token(element));
		CHECK(field_may_trail(element, true));
		CHECK(!(field_class(element) & FIELD_IS_FRAMING));
	}
	if (list.n != 0) {
		struct slice name = list.at[0].name;
		CHECK(field_remove(&list, name) != 0);
		CHECK(field_find(&list, name) == NULL);
	}
	return 0;
}
