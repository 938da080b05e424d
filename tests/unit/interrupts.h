/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every second system call of our rooms is interrupted by a signal (EINTR), by
 * the linker's --wrap.  Code of a test that depends on this is compiled with it
 * in front, and has the real ones.
 */
#ifndef TESTS_UNIT_INTERRUPTS_H
#define TESTS_UNIT_INTERRUPTS_H

#include <sys/socket.h>
#include <sys/types.h>

#include <unistd.h>

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __real_recv(int fd, void *p, size_t n, int flags);
ssize_t __real_send(int fd, const void *p, size_t n, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
int __real_accept4(int fd, struct sockaddr *sa, socklen_t *n, int flags);
int __real_fdatasync(int fd);

#define read(...) __real_read(__VA_ARGS__)
#define write(...) __real_write(__VA_ARGS__)
#define recv(...) __real_recv(__VA_ARGS__)
#define send(...) __real_send(__VA_ARGS__)
#define recvmsg(...) __real_recvmsg(__VA_ARGS__)
#define sendmsg(...) __real_sendmsg(__VA_ARGS__)
#define accept4(...) __real_accept4(__VA_ARGS__)
#define fdatasync(...) __real_fdatasync(__VA_ARGS__)

#endif
