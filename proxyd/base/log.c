/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/log.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES 1024 /* a longer line is cut: it is for a human */

static const char *who_we_are = ""; /* the monitor, or no role at all */
static enum log_level wanted = LOG_LEVEL_WARN;

void
log_init(const char *who, enum log_level level)
{
	who_we_are = who;
	wanted = level;
}

enum log_level
log_level(void)
{
	return wanted;
}

void
log_write(enum log_level level, const char *fmt, ...)
{
	static const char *const names[] = { "error", "warning", "info",
		"debug" };
	char line[LINE_MAX_BYTES];
	int saved = errno;
	va_list ap;

	if (level > wanted)
		return;
	int n = snprintf(line, sizeof(line), "duenna: %s%s%s: ", who_we_are,
	    who_we_are[0] == '\0' ? "" : ": ", names[level]);
	va_start(ap, fmt);
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	if (m < 0)
		m = 0;
	n += m;
	if ((size_t)n > sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	/* Names of files and hosts are others' choice. */
	utf8_tame((uint8_t *)line, (size_t)n, 0);
	line[n++] = '\n';
	/* One write a line, so that roles do not mix theirs. */
	ssize_t ignored UNUSED = write(STDERR_FILENO, line, (size_t)n);
	errno = saved;
}
