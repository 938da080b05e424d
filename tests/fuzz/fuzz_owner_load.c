/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the owner's configuration, and as a bundle of roots in it. */
#include "fuzz.h"
#include "load/load.h"

static struct slice given;

static const char *
open_given(void *ctx, struct slice path, struct buf *out)
{
	(void)ctx;
	CHECK(path.n != 0 && path.p[0] == '/');
	buf_put(out, given);
	return NULL;
}

static void
ask(const struct owner *o)
{
	bool write;

	for (uint32_t i = 0; i < owner_n_credentials(o); i++) {
		struct owner_credential c = owner_credential(o, i);
		CHECK(c.public.name.n != 0 && c.public.slot.n != 0);
		CHECK(c.from == SECRET_ENV || c.source.p[0] == '/');
		CHECK(!owner_only_allows(o, i, SLICE("a.test"), 80) ||
		    c.n_places <= OWNER_PLACES_MAX);
	}
	for (uint32_t i = 0; i < owner_n_credentials(o); i++) {
		struct owner_credential c = owner_credential(o, i);
		for (uint32_t k = 0; k < c.n_args; k++)
			CHECK(owner_credential_arg(o, i, k).n <= 4096);
		for (uint32_t k = 0; k < c.n_pass; k++)
			CHECK(owner_credential_pass(o, i, k).n != 0);
		CHECK((c.from == SECRET_COMMAND) == (c.n_args != 0));
		CHECK(c.public.user.n == 0 || !c.public.secret_is_user);
	}
	for (uint32_t i = 0; i < owner_n_roots(o); i++)
		CHECK(owner_root(o, i).der.n >= 4);
	for (uint32_t i = 0; i < owner_n_files(o); i++)
		CHECK(owner_file(o, i, &write).p[0] == '/');
	(void)owner_upstream(o, SLICE("a.b.test"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct load_report report = { .want_advice = true };
	struct load_file file = { SLICE("o.yaml"), SLICE("/etc"),
		{ data, size } };
	struct load_owner_in in = { .files = &file,
		.n_files = 1,
		.home = SLICE("/home/u"),
		.roots = { data, size },
		.open = open_given };
	struct buf image;
	enum err err;

	given = slice_of(data, size);
	buf_init(&image, IMAGE_SIZE_MAX);
	bool good = load_owner(&in, &image, &report);
	CHECK(good == (report.n_errors == 0));
	if (good) {
		struct owner *o = owner_open(buf_slice(&image), &err);
		CHECK(o != NULL);
		ask(o);
		owner_free(o);
	}
	load_report_release(&report);
	buf_release(&image);
	return 0;
}
