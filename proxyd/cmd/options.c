/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "cmd/options.h"

#define NAME_MAX_BYTES 40 /* of a sandbox's name */

bool
options_name(const char *of, const char *text)
{
	size_t n = strlen(text);
	bool good = n != 0 && n <= NAME_MAX_BYTES;

	for (size_t i = 0; good && i < n; i++) {
		uint8_t c = (uint8_t)text[i];
		good = ascii_is_lower(c) || ascii_is_digit(c) || c == '-';
	}
	if (!good)
		fprintf(stderr,
		    "duenna: %s: --name wants 1 to %d of a-z, 0-9 and '-'\n",
		    of, NAME_MAX_BYTES);
	return good;
}

bool
options_set(const char *of, const char *text)
{
	const char *is = strchr(text, '=');

	if (is != NULL && is != text)
		return true;
	fprintf(stderr,
	    "duenna: %s: --set wants KEY=VALUE, a parameter of the policy and "
	    "what it stands for: not '%s'\n",
	    of, text);
	return false;
}

char *
options_split(char *text)
{
	char *colon = strrchr(text, ':');

	if (access(text, F_OK) == 0 || colon == NULL || colon[1] == '\0' ||
	    strchr(colon, '/') != NULL)
		return NULL;
	*colon = '\0';
	return colon + 1;
}
