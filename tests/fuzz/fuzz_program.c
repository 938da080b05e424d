/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an image, of a program and of an owner: refused, or everything
 * that can be asked of it is answered without a step outside.
 */
#include "base/buf.h"
#include "fuzz.h"
#include "policy/address.h"
#include "policy/image.h"
#include "policy/owner.h"
#include "policy/policy.h"

static const char *const names[] = { "a.test", "x.a.test", "y.x.a.test",
	"xn--a.a.test", "10.0.0.1", "fd00::1", "" };

static uint32_t sum; /* of what was read, so that it is read */

static void
touch(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		sum += s.p[i];
}

static void
ask(const struct program *p, struct slice name)
{
	struct facts f = { .port = 443,
		.scheme = SCHEME_HTTPS,
		.host = name,
		.has_sni = true,
		.sni = name,
		.qtype = 1,
		.method = SLICE("GET"),
		.path = SLICE("/repos/%2F/x/issues"),
		.has_query = true,
		.query = SLICE("type=2&prefix=runs%2F1"),
		.foreign = 1,
		.range = true,
		.signed_url = true };
	struct ip ip = ip_v4(10, 1, 2, 3);
	struct slice said;
	struct buf text;

	for (unsigned kind = 0; kind < 4 * SCHEME_COUNT; kind++) {
		f.kind = (enum facts_kind)(kind % 4);
		f.scheme = (enum scheme)(kind / 4);
		for (f.rule = 0; f.rule < 3; f.rule++) {
			struct verdict v = policy_decide(p, &f);
			buf_init(&text, 65536);
			policy_explain(p, &f, &v, &text);
			buf_release(&text);
		}
		(void)program_address(p, name, &f.dst);
		sum += policy_kind(p, &f.dst, f.port, &said);
		touch(said);
	}
	const struct address_of of = { name, 443, 1 };
	sum += address_judge(p, &of, &ip, &ip, 1);
}

static void
ask_program(struct slice image)
{
	enum err err;
	struct program *p = program_open(image, &err);
	struct slice host;

	if (p == NULL)
		return;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		ask(p, slice_of_str(names[i]));
	touch(program_policy_name(p));
	sum += program_shows_code_alone(p);
	sum += program_denies_names(p);
	for (uint32_t i = 0; i < program_n_rules(p) && i < 64; i++) {
		struct program_rule r = program_rule(p, i);
		touch(r.name);
		touch(r.text);
		touch(r.file);
		sum += program_limits(p, i).connections;
		if (program_rule_host(p, i, &host))
			touch(host);
		for (uint32_t c = 0; c < r.n_credentials; c++)
			touch(program_credential(p, r.credentials[c]).slot);
	}
	program_free(p);
}

static void
ask_owner(struct slice image)
{
	enum err err;
	struct owner *o = owner_open(image, &err);
	bool write;

	if (o == NULL)
		return;
	for (uint32_t i = 0; i < owner_n_credentials(o) && i < 64; i++) {
		struct owner_credential c = owner_credential(o, i);
		touch(c.source);
		for (uint32_t k = 0; k < c.n_places; k++)
			touch(c.places[k].env);
		sum += owner_only_allows(o, i, SLICE("x.a.test"), 443);
	}
	sum += owner_denies_names(o);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		sum += owner_upstream(o, slice_of_str(names[i])).index;
	for (uint32_t i = 0; i < owner_n_roots(o) && i < 64; i++)
		touch(owner_root(o, i).der);
	for (uint32_t i = 0; i < owner_n_files(o) && i < 64; i++)
		touch(owner_file(o, i, &write));
	for (uint32_t i = 0; i < owner_n_environment(o) && i < 64; i++)
		touch(owner_environment(o, i));
	owner_free(o);
}

static void
put_word(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	CHECK(copy != NULL);
	memcpy(copy, data, size);
	ask_program(slice_of(data, size));
	ask_owner(slice_of(data, size));
	/* A head that fits, so that what lies behind it is looked at. */
	if (size >= HEAD_WORDS * 4) {
		put_word(copy + HEAD_VERSION * 4, IMAGE_VERSION);
		put_word(copy + HEAD_SIZE * 4, (uint32_t)size);
		put_word(copy + HEAD_FLAG_BITS * 4,
		    data[HEAD_FLAG_BITS * 4] & PROGRAM_FLAGS);
		put_word(copy + HEAD_MAGIC * 4, IMAGE_PROGRAM);
		ask_program(slice_of(copy, size));
		put_word(copy + HEAD_FLAG_BITS * 4,
		    data[HEAD_FLAG_BITS * 4] & OWNER_FLAGS);
		put_word(copy + HEAD_MAGIC * 4, IMAGE_OWNER);
		ask_owner(slice_of(copy, size));
	}
	free(copy);
	return 0;
}
