/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of each role, after isolate_start(): it finds its channel to the
 * monitor at ROLE_MONITOR_FD and returns the exit status of the process.
 */
#ifndef PROXYD_ROLES_H
#define PROXYD_ROLES_H

int steward_main(void);
int clerk_main(void);
int worker_main(void);
int dialer_main(void);
int keeper_main(void);
int scribe_main(void);
int porter_main(void);

#endif
