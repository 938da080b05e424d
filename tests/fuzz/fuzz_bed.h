/* SPDX-License-Identifier: Apache-2.0 */
/* A program for fuzzers that decide: compiled once, from YAML. */
#ifndef TESTS_FUZZ_FUZZ_BED_H
#define TESTS_FUZZ_FUZZ_BED_H

#include "fuzz.h"
#include "load/load.h"
#include "policy/program.h"

static inline struct program *
fuzz_bed_program(const char *yaml)
{
	static struct buf image; /* as long as the program */
	struct load_report report = { 0 };
	struct load_policy_in in = {
		.file = { SLICE("policy.yaml"), SLICE("/work"),
		    slice_of_str(yaml) },
		.any = true,
		.trusted = true,
	};
	enum err err;

	buf_init(&image, IMAGE_SIZE_MAX);
	CHECK(load_policy(&in, &image, &report));
	load_report_release(&report);
	struct program *p = program_open(buf_slice(&image), &err);
	CHECK(p != NULL);
	return p;
}

#endif
