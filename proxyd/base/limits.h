/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of limits.  docs/limits.md has the same rows; a test compares
 * them.  Sizes are bytes; names that end in _MS are milliseconds, in _S seconds,
 * in _MIB times 2^20 bytes.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

/* clang-format off */
#define LIMIT_LIST(X)                                                          \
	X(ENTRY_MS, 15000, "a proxy's client says where it goes, from accept") \
	X(FIRST_BYTE_MS, 5000, "first byte, where the client must speak")      \
	X(HELLO_SIZE, 32768, "ClientHello, all its records")                   \
	X(HELLO_MS, 15000, "ClientHello whole, from accept")                   \
	X(HEAD_SIZE, 65536, "request or response head")                        \
	X(HEAD_FIELDS, 128, "fields of a head")                                \
	X(TARGET_SIZE, 16384, "request target")                                \
	X(PATH_SIZE, 8192, "path in a request target")                         \
	X(HEAD_MS, 15000, "request head whole, from its first byte")           \
	X(RESOLVE_MS, 5000, "resolution of a name")                            \
	X(STAGGER_MS, 250, "wait before the next address is tried (RFC 8305)") \
	X(DIAL_MS, 20000, "dial as a whole, with TLS")                         \
	X(PROXY_HEAD_SIZE, 8192, "head of a company proxy's answer to CONNECT") \
	X(PROXY_MS, 15000, "that answer, within the time of the dial")         \
	X(IDLE_MS, 900000, "no byte of either side, once a head is through")   \
	X(CLIENT_IDLE_MS, 300000, "between exchanges on the client's leg")     \
	X(POOL_IDLE_MS, 4000, "idle upstream connection in the pool")          \
	X(CHOICES, 256, "origins whose choice by ALPN a sandbox remembers")   \
	X(CHOICE_MS, 300000, "for how long it does")                          \
	X(AGAIN, 12, "times a sandbox asks again while its policy changes")    \
	X(BACKLOG_SIZE, 65536, "bytes queued to a side before its peer is held") \
	X(DRAIN_SIZE, 1048576, "read and dropped after a refusal")             \
	X(DRAIN_MS, 5000, "time for reading after a refusal")                  \
	X(REFUSE_MS, 10000, "time for our own answer to leave")                \
	X(INFORMATIONAL, 16, "1xx answers in a row")                           \
	X(TRAILER_SIZE, 8192, "trailer section")                               \
	X(H2_STREAMS, 128, "requests at once on one HTTP/2 connection")        \
	X(H2_REQUESTS, 1024, "... on all of a sandbox's together")             \
	X(H2_REQUESTS_HELD, 2048, "... with those that are being refused; a connection with more ends") \
	X(H2_CLIENT_WINDOW, 131072, "window of a request's body on HTTP/2: a sandbox is near") \
	X(H2_CLIENT_WINDOWS, 524288, "... of all of a client's connection together") \
	X(H2_UPSTREAM_WINDOW, 1048576, "window of an answer's body on HTTP/2: an origin may be far") \
	X(H2_UPSTREAM_WINDOWS, 4194304, "... of all of an upstream connection together") \
	X(H2_WIDE_LINKS, 16, "upstream connections of a sandbox that have so much; others have:") \
	X(H2_NARROW_WINDOWS, 262144, "window of all of such a connection together") \
	X(H2_SILENT_MS, 15000, "an upstream connection with open streams is silent, either way: a PING; it is looked at as often") \
	X(H2_PING_MS, 10000, "for its answer, or for any byte")                \
	X(H2_PING_AGAIN_MS, 310000, "before another: servers of gRPC end who asks more often than each 5 minutes") \
	X(H2_CLOGGED, 8, "upstream connections to one origin whose window is full of unread answers, before one of them is used") \
	X(H2_HEADS_SIZE, 1048576, "heads of all requests of an HTTP/2 connection together") \
	X(H2_CONTINUATIONS, 8, "CONTINUATION frames of one head")              \
	X(H2_RESETS_PER_S, 50, "streams that a peer resets, or makes us reset, a second") \
	X(H2_RESETS_BURST, 500, "burst of the above")                          \
	X(H2_FRAMES_PER_S, 100, "HTTP/2 frames that carry nothing, a second; each of ours adds 3, and 1 a KiB") \
	X(H2_FRAMES_BURST, 1000, "burst of the above")                         \
	X(CONNECTIONS, 1024, "connections of a sandbox")                       \
	X(TRACKED, 4096, "flows of a sandbox behind a gate that its kernel tracks at once") \
	X(UPSTREAMS, 256, "upstream connections of a sandbox")                 \
	X(PIPES, 64, "pipes of a sandbox, for bytes that pass unread")         \
	X(DIALS, 32, "dials in flight of a sandbox")                           \
	X(HANDSHAKES_PER_S, 500, "handshakes of a sandbox a second")           \
	X(QUESTIONS_PER_S, 200, "DNS questions of a sandbox a second")         \
	X(DENIALS_PER_S, 200, "denials written one by one, a sandbox a second") \
	X(DENIALS_BURST, 2000, "burst of the above")                           \
	X(NAMES_PER_HOUR, 60, "distinct names dialled under wildcards")        \
	X(NAMES_OF_RULE, 1000, "the same, where a rule says `names`: at most") \
	X(NAMES_OF_RULES, 4096, "`names` of all rules of a program together")  \
	X(LEAVES, 256, "leaf certificates kept per sandbox")                   \
	X(REFUSED_LEAVES_PER_MIN, 10, "leaves minted for refused names a minute") \
	X(DNS_TTL_S, 30, "TTL of the answer for an allowed name")              \
	X(DNS_REFUSED_TTL_S, 1, "TTL of the answer for a refused name")        \
	X(POLICY_FILE_SIZE, 8388608, "one policy or configuration file")       \
	X(POLICY_SIZE, 33554432, "all files of a program")                     \
	X(POLICY_DEPTH, 16, "nesting of a policy file")                        \
	X(POLICY_RULES, 200000, "rules of a program")                          \
	X(POLICY_INCLUDES, 100, "includes of a program, each time it is included") \
	X(POLICY_INCLUDE_DEPTH, 16, "includes inside of each other")           \
	X(POLICY_PARAMETERS, 100, "parameters of a policy")                    \
	X(CERTIFICATE_FILES, 256, "files of certificates that the owner names") \
	X(HEARTBEAT_MS, 1000, "the monitor asks each role this often")         \
	X(HEARTBEAT_MISSED_MS, 5000, "a role that is silent this long is killed") \
	X(ECHO_HITS, 3, "masked answers before a route is refused")            \
	X(SECRET_SEARCH_MIN, 16, "shorter secrets are neither masked nor searched") \
	X(SECRET_COMMAND_MS, 10000, "a secret's command, from its start to its end") \
	X(SECRET_OUTPUT_SIZE, 65536, "what a secret's command prints")         \
	X(SECRET_RETRY_MS, 10000, "a secret that could not be had is not asked for again") \
	X(RELEASE_MS, 30000, "all credentials of a request, with the wait for fresh ones") \
	X(RELEASES_WAITING, 256, "requests that wait for a secret")            \
	X(GZIP_RATIO, 200, "bytes that one byte of gzip may become in a body of git's") \
	X(GZIP_RATIO_FROM, 65536, "bytes of such a body before that counts")   \
	X(ADVERT_SIZE, 268435456, "what a git server answers to `info/refs`")   \
	X(ADVERT_LINE_SIZE, 12288, "one line of that: a ref with what the server can do") \
	X(PUSH_LIST_MS, 30000, "time for the command list of a push")          \
	X(PUSH_DRAIN_MIB, 8192, "read and dropped of a push that is refused: more than hosted forges take at all") \
	X(PUSH_DRAIN_MS, 3600000, "time for that, and of silence as where it is allowed") \
	X(GIT_HOSTS, 64, "hosts of git rules whose SSH URLs are turned to https in a run") \
	X(PUSHES, 64, "pushes of a sandbox at once")                           \
	X(PROOFS, 4, "... of which a rule reads the pack")                     \
	X(PROOF_SILENT_MS, 20000, "a pack of which nothing came for so long gives its place to another") \
	X(PUSH_COMMANDS, 100, "commands of a push, unless a rule says `max_commands`") \
	X(PUSH_OPTION_SIZE, 1024, "one push option that a rule can name")      \
	X(LFS_ASK_SIZE, 24576, "question of LFS where objects are to be moved")  \
	X(LFS_OBJECTS, 100, "objects in it")                                   \
	X(PUSH_LIST_SIZE, 1048576, "command list of a push, its options included") \
	X(PUSH_LISTS_SIZE, 8388608, "... of all pushes of a sandbox under way")  \
	X(PUSH_COMMANDS_MOST, 1000, "commands of a push, whatever a rule says") \
	X(PUSH_OPTIONS, 100, "push options of a push")                         \
	X(PACK_OBJECTS, 1000000, "objects of a pack that a rule looks at")     \
	X(PACK_LOOK_SIZE, 2097152, "a commit, tag or tree that is looked at, or its delta") \
	X(PACK_COMMITS_SIZE, 8388608, "commits and tags that are kept of a pack; and of all answers about it together") \
	X(PACK_TREES_SIZE, 8388608, "trees, likewise")                         \
	X(PACK_WAITING_SIZE, 2097152, "deltas of a pack that are kept until their base comes") \
	X(PACK_LATE_SIZE, 33554432, "what is made of those at the end of a pack") \
	X(PACK_LATE_PASSES, 64, "how often those are gone through")            \
	X(PACK_NAMES, 262144, "names of blobs that are remembered of a pack")  \
	X(PACK_FREE_SIZE, 67108864, "inflated of a pack, whatever its own size") \
	X(PACK_RATIO, 200, "and beyond that so many times its own size")       \
	X(PACK_STEP_SIZE, 1048576, "inflated in one go, before others have their turn") \
	X(PROOF_ASKS, 256, "objects that a proof over a push may ask the upstream for") \
	X(PROOF_QUESTIONS, 8, "questions to the upstream about one push")      \
	X(PROOF_WALK, 500000, "commits that the proofs over one push walk, each time one does") \
	X(KEEP_DEPTH, 16, "parts of a path of `keep` that are looked at one by one") \
	X(KEEP_SIZE, 16777216, "names in trees that are looked at for `keep` of one push") \
	X(QUESTION_HEAD_SIZE, 65536, "what an upstream offers, and its HEAD, before it is asked for objects") \
	X(QUESTION_SIZE, 16777216, "the upstream's answer to the question that a proof asks") \
	X(QUESTION_MS, 30000, "one such question, from the dial to the whole answer") \
	X(HOLD_SIZE, 2147483647, "a pack that waits on disk for its verdict, and any file that a worker writes") \
	X(HOLDS, 4, "such packs of a sandbox at once")                         \
	X(CONTROL_HEAD_SIZE, 16384, "head of a call over the control socket") \
	X(CONTROL_SIZE, 1048576, "its body")                                  \
	X(CONTROL_DEPTH, 8, "nesting of that")                                \
	X(CONTROL_MS, 15000, "a call whole, from its first byte")             \
	X(CONTROL_IDLE_MS, 60000, "a connection to the control socket without a call, or that takes no answer") \
	X(CONTROL_CONNECTIONS, 64, "connections of a user to the control socket") \
	X(CONTROL_ANSWER_SIZE, 67108864, "one answer over it")                \
	X(CONFIG_SANDBOXES, 4096, "sandboxes that the configuration names")   \
	X(SERVE_FILES, 4096, "files of a gateway's configuration and policies") \
	X(SERVE_SIZE, 268435456, "... all of them together")                   \
	X(SERVE_SANDBOXES, 4096, "sandboxes that are attached at once")        \
	X(SERVE_ADDED, 16, "rules that are added to one sandbox at once")      \
	X(CLERK_MS, 20000, "compiling one policy for a gateway")               \
	X(CLERK_IDLE_MS, 1000, "a clerk of a gateway without work")            \
	X(SOCKET_BUFFER, 262144, "send and receive buffer of an accepted socket")
/* clang-format on */

enum limit {
#define X(id, number, reason) LIMIT_##id = number,
	LIMIT_LIST(X)
#undef X
};

#endif
