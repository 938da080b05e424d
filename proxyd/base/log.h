/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's log: levels and one sink a process, standard error.  It knows
 * nobody, may lose lines, and never gets a secret or a query string.
 *
 * error: a human must act.  warn: a human should look.  info: starts and
 * stops.  debug: transitions.  Format strings are literals.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/attr.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/*
 * Say who we are and how much is wanted.
 *
 * who	 a literal, such as "worker"; put before each line
 */
void log_init(const char *who, enum log_level level);

enum log_level log_level(void);

void log_write(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                           \
	do {                                                     \
		if (log_level() >= LOG_LEVEL_DEBUG)              \
			log_write(LOG_LEVEL_DEBUG, __VA_ARGS__); \
	} while (0)

#endif
