/* SPDX-License-Identifier: Apache-2.0 */
#include "policies.h"

void
policies_init(struct policies *ps)
{
	buf_init(&ps->config, 1 << 20);
	buf_init(&ps->owner_image, 16 << 20);
	for (size_t i = 0; i < WORLD_PROGRAMS_MAX; i++) {
		buf_init(&ps->texts[i], 1 << 20);
		buf_init(&ps->images[i], 16 << 20);
	}
}

void
policies_release(struct policies *ps)
{
	owner_free(ps->owner);
	buf_release(&ps->config);
	buf_release(&ps->owner_image);
	for (size_t i = 0; i < WORLD_PROGRAMS_MAX; i++) {
		buf_release(&ps->texts[i]);
		buf_release(&ps->images[i]);
	}
}

struct buf *
policies_next(struct policies *ps)
{
	return ps->n == WORLD_PROGRAMS_MAX ? NULL : &ps->texts[ps->n++];
}

static struct owner *
load_config(struct policies *ps, struct load_report *report)
{
	const struct load_file file = { .name = SLICE("play-config.yaml"),
		.dir = SLICE("/"),
		.bytes = buf_slice(&ps->config) };
	const struct load_owner_in in = { .files = &file,
		.n_files = 1,
		.home = SLICE("/home/play") };
	enum err err;

	if (ps->config.n == 0 || !load_owner(&in, &ps->owner_image, report))
		return NULL;
	return owner_open(buf_slice(&ps->owner_image), &err);
}

struct program *
policies_compile(struct policies *ps, struct buf *why)
{
	struct load_report report = { 0 };
	struct buf *image = &ps->images[ps->n - 1];
	struct program *program = NULL;
	enum err err;

	if (ps->owner == NULL)
		ps->owner = load_config(ps, &report);
	const struct load_policy_in in = {
		.file = { .name = SLICE("play.yaml"),
		    .dir = SLICE("/"),
		    .bytes = buf_slice(&ps->texts[ps->n - 1]) },
		.trusted = true,
		.owner = ps->owner,
		.key = { 1, 2, 3 },
	};
	if (load_policy(&in, image, &report))
		program = program_open(buf_slice(image), &err);
	if (program == NULL)
		load_report_text(&report, why);
	load_report_release(&report);
	return program;
}
