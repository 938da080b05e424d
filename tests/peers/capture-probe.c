/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a gateway that captures one sandbox, for trying ns/capture
 * without the rest of duenna.
 *
 * usage: capture-probe NFT MODE NAMESPACE [OPTION...]
 *
 *	NAMESPACE	a path, or pid:N
 *	--again TCP DNS	a restart, on these ports
 *	--link NAME	of a gate
 *	--address ADDRESS PREFIX	for its link
 *
 * Prints "ready TCP-PORT DNS-PORT", and "unprobed" if no frame could be sent, or "fail TEXT" and ends with 1.  Then its
 * listeners answer (peers/answer.h).  "cut TEXT": the namespace is not what it
 * was.  On a line from standard input the rules are taken away: "ended".  At
 * its end it just ends, as one does who is killed.
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "ns/capture.h"
#include "peers/answer.h"

static NORETURN void
die(const struct fail *fail)
{
	printf("fail %s\n", fail->text);
	exit(1);
}

/* As the monitor hears: when the descriptor is readable, and not before. */
static void
hear(struct capture_job *job, struct capture *capture)
{
	struct pollfd p = { .fd = job->fd, .events = POLLIN };
	struct fail fail = { 0 };

	if (capture_hear(job, capture, &fail) == 0)
		return;
	while (fail.err == ERR_AGAIN) {
		if (poll(&p, 1, -1) == 1 &&
		    capture_hear(job, capture, &fail) == 0)
			return;
	}
	die(&fail);
}

static void
end(const struct capture *capture, const char *nft)
{
	struct capture_job job;
	struct fail fail = { 0 };

	if (capture_end(capture, nft, &job, &fail) == -1)
		die(&fail);
	hear(&job, NULL);
	printf("ended\n");
}

/* Until standard input has something to say, or ends. */
static void
serve(const struct capture *capture)
{
	struct pollfd p[NETNS_SOCKET_COUNT + 1];
	struct fail why;

	for (int i = 0; i < NETNS_SOCKET_COUNT; i++)
		p[i] = (struct pollfd){ capture->socket[i], POLLIN, 0 };
	p[NETNS_SOCKET_COUNT] = (struct pollfd){ STDIN_FILENO, POLLIN, 0 };
	for (;;) {
		if (poll(p, NETNS_SOCKET_COUNT + 1, -1) < 1)
			continue;
		if (p[NETNS_SOCKET_COUNT].revents != 0)
			return;
		if (p[NETNS_LINKS].revents != 0 && capture_watch(capture, &why))
			printf("cut %s\n", why.text);
		answer_all(p);
	}
}

static void
open_namespace(const char *name, int *fd)
{
	bool by_pid = strncmp(name, "pid:", 4) == 0;
	uint32_t pid = by_pid ? (uint32_t)strtoul(name + 4, NULL, 10) : 0;
	struct fail fail = { 0 };

	if (capture_open(name, pid, fd, &fail) == -1)
		die(&fail);
}

/* How many arguments it took. */
static int
take_option(struct capture_config *config, char **argv)
{
	struct control_address *a = &config->addresses[config->n_addresses];

	if (strcmp(argv[0], "--link") == 0) {
		snprintf(config->link, sizeof(config->link), "%s", argv[1]);
		return 2;
	}
	if (strcmp(argv[0], "--again") == 0) {
		config->again = true;
		config->tcp_port = (uint16_t)strtoul(argv[1], NULL, 10);
		config->dns_port = (uint16_t)strtoul(argv[2], NULL, 10);
		return 3;
	}
	if (!ip_parse(slice_of_str(argv[1]), &a->ip))
		exit(2);
	a->prefix = (uint8_t)strtoul(argv[2], NULL, 10);
	config->n_addresses++;
	return 3;
}

int
main(int argc, char **argv)
{
	struct capture_config config = { 0 };
	struct capture capture;
	struct capture_job job;
	struct fail fail = { 0 };
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 4)
		return 2;
	config.nft_path = argv[1];
	config.mode = capture_mode_find(slice_of_str(argv[2]));
	open_namespace(argv[3], &config.net_fd);
	for (int i = 4; i < argc;)
		i += take_option(&config, argv + i);
	if (capture_begin(&config, &job, &fail) == -1)
		die(&fail);
	close(config.net_fd);
	hear(&job, &capture);
	printf("ready %d %d%s\n", capture.tcp_port, capture.dns_port,
	    capture.probed ? "" : " unprobed");
	serve(&capture);
	if (fgets(line, sizeof(line), stdin) != NULL)
		end(&capture, config.nft_path);
	capture_release(&capture);
	return 0;
}
