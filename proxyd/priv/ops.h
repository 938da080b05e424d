/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What roles say to each other: a closed list.  Requests are even, their
 * answers the odd number behind.  Bodies are written with base/wr.h and read
 * with base/rd.h; `s8`, `s16`, `s32` are slices behind a length of that many
 * bits.  priv/dispatch.c has the table of who may send what to whom.
 * lint: table
 */
#ifndef PRIV_OPS_H
#define PRIV_OPS_H

enum op {
	/*
	 * monitor -> every role
	 *
	 * CHANNEL  u8 role, u32 number of a worker (others: 0); fd: a new
	 *          channel to that role, replacing an old one of that number.  Before the first, and between the death of a role and
	 *          its next CHANNEL, that role is away.
	 * PING     empty; PONG: empty.  The heartbeat.
	 * READY    role -> monitor: it has given up its privileges and serves
	 */
	OP_CHANNEL = 2,
	OP_PING = 4,
	OP_PONG = 5,
	OP_READY = 6,

	/*
	 * monitor -> steward (LOAD_OWNER), clerk
	 *
	 * LOAD_OWNER   u16 n files, each s16 name; u8 flags (1: the system's
	 *              bundle of roots, PEM, is the last descriptor); s16 the
	 *              caller's home, for `~/`; fds: the files, in order.
	 * LOAD_POLICY  s16 file name, s16 policy name or empty, u8 flags
	 *              (1: the file lies below the owner's own directory, 2:
	 *              the name is that of a preset, there is no file, 4:
	 *              `--report`, 8: rules that are added stand at the end);
	 *              s8 the sandbox's name, or empty, s8 four digits for the
	 *              name that it has then, s8 its tenant, or empty; u8 n, each s16 key, s16 value of
	 *              a parameter; u8 n, each u32 number, s16 URL, u64
	 *              seconds since 1970 when it ends, of an added rule; fds:
	 *              the file, the owner image.
	 * LOADED       u8 1 or 0, s32 text of errors and warnings; fd: image.
	 * INCLUDE      clerk -> monitor, before its LOADED: u16 number of the
	 *              file that includes (0: the policy), s16 path as it
	 *              stands there
	 *              steward -> monitor, likewise: u16 0, s16 the absolute path
	 *              of a file of certificates that the owner names
	 * INCLUDED     u8 1 or 0, u16 the file's number, s16 why not; fd: the
	 *              file.
	 */
	OP_LOAD_OWNER = 16,
	OP_LOAD_POLICY = 18,
	OP_LOADED = 19,
	OP_INCLUDE = 20,
	OP_INCLUDED = 21,

	/*
	 * monitor -> worker, dialer, keeper, scribe: what they work with
	 *
	 * OWNER    fd: owner image; another one takes its place, and is followed
	 *          by the PROGRAMs that were compiled with it
	 * PROGRAM  u32 sandbox, u32 generation, s8 digest "sha256:…", fd: image
	 * SANDBOX  -> worker: u32 sandbox, s8 name, u16 n placeholders, each
	 *          (u32 credential, s16 placeholder); fds: TCP listeners (v4,
	 *          v6), answerer UDP (v4, v6), answerer TCP (v4, v6); three, the
	 *          v4 of each, where there is no IPv6; none at all where the
	 *          sandbox comes by ENTRY alone
	 * ENTRY    -> worker, behind PROGRAM and SANDBOX: u32 sandbox, s8 the
	 *          SHA-256 of a token (32 bytes), or empty: none is asked for;
	 *          fds: one or two listening stream sockets, TCP or UNIX, that
	 *          belong to this sandbox alone (ns/proxy.h).  What they accept speaks to a
	 *          proxy: HTTP (CONNECT, absolute URLs) or SOCKS5.  Who connects
	 *          there is the sandbox: nothing of the peer is looked at but
	 *          the token, which is the password of Basic or of RFC 1929,
	 *          whatever the user.  It takes the place of an earlier ENTRY,
	 *          whose connections go on; a new worker is sent it again.  The
	 *          worker never has the token itself, which has to be random,
	 *          of 16 bytes at least: its digest could be tried out
	 * SECRET   -> keeper: u32 credential, u8 state (1: here, 0: cannot be
	 *          had), s16 bytes.  The sender wipes its copy.  State 2: a
	 *          command prints it, no bytes; fd: the pipe that it prints to
	 * SECRET_ENDED -> keeper: u32 credential, u8 1: that command ended with
	 *          status 0, 0: otherwise, or its time was over
	 * FRESH    keeper -> monitor: u32 credential: its time is over, a fresh
	 *          one is wanted; answered by SECRET
	 * STATE    -> keeper: fd: the memfd of its own state, kept by the
	 *          monitor over a restart and read by nobody else; fd: the
	 *          file of the machine's audit key, or none
	 * CA       -> keeper: u8 n, each s16 certificate (DER) of the CA that
	 *          the owner gives, the signing one first; s16 its key (PEM);
	 *          fd: the memfd of STATE.  It takes the place of the one that
	 *          the keeper has made.  The sender wipes its copy
	 * CA_TAKEN its answer: s16 why it cannot be used; empty: it signs
	 * LOG      -> scribe: u8 flags (1: this run writes it already, the
	 *          scribe is started anew; 2: what cannot be written is only
	 *          counted); fd: the audit log, read and append
	 * TRUST    keeper -> monitor: s16 DER of the CA certificate
	 * NAME     -> dialer, keeper, scribe: u32 sandbox, u32 number of its
	 *          worker, s8 name, for their records; before the first PROGRAM
	 *          of that sandbox.  They refuse any other worker that speaks of
	 *          it, with an alarm (priv/owners.h).  Again, if it changes
	 * RESOLVERS -> dialer: s16 text of the host's resolv.conf, whenever it
	 *          has changed
	 * FORGET   -> worker, dialer, keeper, in this order: u32 sandbox: it is
	 *          gone.  Its flows end (`shutdown`, recorded), what is asked
	 *          for it is refused, all that it had is freed.  One that is not
	 *          there is forgotten already
	 */
	OP_OWNER = 32,
	OP_PROGRAM = 34,
	OP_SANDBOX = 36,
	OP_SECRET = 38,
	OP_STATE = 40,
	OP_LOG = 42,
	OP_TRUST = 44,
	OP_NAME = 46,
	OP_RESOLVERS = 48,
	OP_SECRET_ENDED = 50,
	OP_FRESH = 52,
	OP_CA = 54,
	OP_CA_TAKEN = 55,
	OP_FORGET = 56,
	OP_ENTRY = 58,

	/*
	 * What is asked for a flow begins with `who` (priv/who.h): u32 sandbox,
	 * u32 generation, s8 digest of the program, s8 flow.  Whoever is asked
	 * compares it with the program that it holds.
	 */

	/*
	 * worker -> dialer
	 *
	 * DIAL     who, u32 rule, u16 port, s8 host (empty unless the rule has
	 *          a wildcard or several hosts)
	 * DIALED   u16 reason (ALLOW or why not), s8 detail, s8 address as
	 *          text, u64 cookie; fd: the connected socket, if ALLOW
	 */
	OP_DIAL = 64,
	OP_DIALED = 65,

	/*
	 * dialer -> keeper
	 *
	 * TELL     who, u64 cookie, u16 port, s8 host
	 * TOLD     u16 reason (ALLOW or why it is not kept)
	 */
	OP_TELL = 80,
	OP_TOLD = 81,

	/*
	 * worker -> keeper; the last, worker -> monitor
	 *
	 * LEAF     who, u8 1: the name is a literal address, s8 name, s16 SPKI
	 *          (DER)
	 * LEAFED   u16 reason (ALLOW or why there is none), s16 certificate
	 *          (DER)
	 * RELEASE  who, u32 rule, u32 credential; fd: the socket of the dial
	 * RELEASED u16 reason (ALLOW, CRED_UNAVAILABLE, POLICY_CHANGED), s16 bytes of the slot's
	 *          value, prefix and all
	 * SPOOL    u32 sandbox; SPOOLED: s8 why not; fd: a file (flow/hold.h)
	 */
	OP_LEAF = 96,
	OP_LEAFED = 97,
	OP_RELEASE = 98,
	OP_RELEASED = 99,
	OP_SPOOL = 100,
	OP_SPOOLED = 101,

	/*
	 * any -> scribe
	 *
	 * EVENT    an encoded event (audit/event.h); id 0: no answer wanted.
	 *          Empty: writes nothing, is answered when all before it are
	 * EVENTS   several of them, each s16; one answer: 1 if all are in it
	 * WRITTEN  u8 1: it is in the log, 0: it could not be written
	 * STATUS   scribe -> all: u8 1: the log takes records, 0: it does not
	 * TALLY    scribe -> monitor, before the WRITTEN of a STOP, and behind
	 *          each PONG: u64 denials, u64 requests let through unenforced,
	 *          u64 alarms, u64 records that could not be written, s8 last
	 *          hash (hex) of the log, empty as long as it goes on, u64
	 *          denials of each reason, in the order of base/reason.h
	 */
	OP_EVENT = 112,
	OP_WRITTEN = 113,
	OP_STATUS = 114,
	OP_TALLY = 116,
	OP_EVENTS = 118,

	/*
	 * scribe -> keeper
	 *
	 * CERTIFY    s8 public key of this log (Ed25519, 32 bytes)
	 * CERTIFIED  u8 1 or 0, s8 the machine's public key, s8 its signature
	 *            over "duenna audit key v1" NUL public key
	 */
	OP_CERTIFY = 128,
	OP_CERTIFIED = 129,

	/*
	 * The control socket (priv/control.h).  A porter reads for one user.
	 *
	 * CONTROL  monitor -> porter: u32 uid, u8 rights (set of control_right);
	 *          fd: a connection that was accepted and whose peer was looked
	 *          at
	 * REQUEST  porter -> monitor: control_request_write(), as
	 *          control_carry_put() has it: in the message, or alone in a
	 *          memfd (fd).  The monitor compares uid and rights with what it
	 *          gave that porter.  The sender wipes its copy
	 * ANSWER   its answer: control_answer_write(): u8 code, s16 detail; fd:
	 *          a memfd with the content (JSON; METRICS: OpenMetrics text),
	 *          or none.  A porter that has neither connection nor request
	 *          for a minute is ended by the monitor
	 */
	OP_CONTROL = 144,
	OP_REQUEST = 146,
	OP_ANSWER = 147,

	/*
	 * monitor -> duenna-nft, init of a sandbox: see ns/ and nft/.
	 */
	OP_MAX = 255
};

/* Flags of LOAD_OWNER (the first) and of LOAD_POLICY. */
enum ops_load {
	OPS_LOAD_ROOTS = 1,
	OPS_LOAD_TRUSTED = 1,
	OPS_LOAD_PRESET = 2,
	OPS_LOAD_REPORT = 4,
	OPS_LOAD_ADDED = 8,
};

/* Flags of LOG. */
enum ops_log {
	OPS_LOG_AGAIN = 1,
	OPS_LOG_GAPS = 2,
};

/* States of SECRET. */
enum ops_secret {
	OPS_SECRET_MISSING,
	OPS_SECRET_HERE,
	OPS_SECRET_COMES, /* out of a pipe */
};

#endif
