/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4: a keyed hash for tables over names that a peer chooses, and for
 * the synthetic addresses of host patterns.
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
 * Pure.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include "base/slice.h"

#define SIPHASH_KEY_SIZE 16 /* bytes */

uint64_t siphash(const uint8_t key[SIPHASH_KEY_SIZE], struct slice in);

#endif
