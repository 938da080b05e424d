/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that bring their own idea of whom to trust, and how each is asked
 * to open one URL.
 */
#ifndef CMD_DOCTOR_TOOLS_H
#define CMD_DOCTOR_TOOLS_H

#include <stddef.h>

struct doctor_tool {
	const char *name;
	const char *program; /* looked for in PATH */
	/*
	 * For sh, with URL, HOST and PORT set, in an empty folder.  Status 0:
	 * the connection was trusted, whatever the answer's status; 3: it is
	 * not here after all.  What it prints may have a line "issuer: ...".
	 */
	const char *script;
	const char *variable; /* of the trust kit, that it reads; or NULL */
};

extern const struct doctor_tool doctor_tools[];
extern const size_t doctor_n_tools;

#endif
