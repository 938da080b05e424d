/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands: each parses its own options, prints its facts, and returns
 * the exit status of the program: 0 yes, 1 no, 2 usage, 125 our own fault.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#define CMD_NO 1    /* an error found, a URL denied, a log that is not whole */
#define CMD_USAGE 2 /* wrong arguments */
#define CMD_FAULT 125 /* duenna itself failed */

#define CMD_POLICY "duenna.yaml" /* the policy, where none is named */

int run_main(int argc, char **argv);
int serve_main(int argc, char **argv);
int init_main(int argc, char **argv);
int check_main(int argc, char **argv);
int explain_main(int argc, char **argv);
int audit_main(int argc, char **argv);
int ca_main(int argc, char **argv);
int doctor_main(int argc, char **argv);

/* Asked of `duenna serve` over its control socket. */
int attach_main(int argc, char **argv);
int detach_main(int argc, char **argv);
int list_main(int argc, char **argv);
int status_main(int argc, char **argv);
int reload_main(int argc, char **argv);
int allow_main(int argc, char **argv);

#endif
