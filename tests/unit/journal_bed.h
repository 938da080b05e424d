/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of journal have in common. */
#ifndef JOURNAL_BED_H
#define JOURNAL_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "audit/journal.h"
#include "audit/reader.h"
#include "base/clock.h"

static const uint8_t machine[SIGN_PUBLIC_SIZE], signature[SIGN_SIZE];
extern char path[sizeof("/tmp/duenna-journal-XXXXXX")];

void new_file(void);
struct journal *open_log(bool again);
struct journal *open_and_start(bool again);
size_t count_lines(const char *part);
bool put_flow(struct journal *j, enum event_kind kind, const char *flow,
    const void *owner);
bool put_stop(struct journal *j);
/* Read back, the chain followed: how many records.  Fails on any fault. */
uint64_t read_back(void);

#endif
