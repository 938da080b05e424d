/* SPDX-License-Identifier: Apache-2.0 */
/* A container's state: whoever starts it wrote the annotations. */
#include "cmd/oci.h"
#include "fuzz.h"

static void
check_pairs(char *const *pairs, size_t n, size_t max)
{
	CHECK(n <= max);
	for (size_t i = 0; i < n; i++)
		CHECK(strchr(pairs[i], '=') > pairs[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct oci o;

	if (oci_read(slice_of(data, size), &o) != 0)
		CHECK(o.why[0] != '\0');
	else
		CHECK(control_is_name(slice_of_str(o.name)) &&
		    strtol(o.pid, NULL, 10) > 0);
	check_pairs(o.sets, o.n_sets, CONTROL_SETS_MAX);
	check_pairs(o.labels, o.n_labels, CONTROL_LABELS_MAX);
	oci_release(&o);
	return 0;
}
