// SPDX-License-Identifier: Apache-2.0
// Real servers read what comes out behind us as we do.
//
// usage: node origins.js THROUGH CASES node|nginx|haproxy|LENIENT [COUNT [SEED]]
//   THROUGH  the program made of through.c
//   CASES    tests/cases, whose requests are mutated
//   LENIENT  the program made of lenient.c, or unread.py
//
// Thousands of odd connections go through the real flow/ and http/; what
// reaches an origin is pipelined to a real one, many requests on a connection.
// It must see as many, each with the method, target and body that we saw; and
// serve the path that was judged.  A server may refuse one; it must not see
// another.
'use strict';
const { spawn, spawnSync } = require('child_process');
const fs = require('fs');
const http = require('http');
const net = require('net');
const os = require('os');
const path = require('path');
const { begin, messages } = require('./mutate.js');

const [through, cases, origin, count = '40000', seed = '1'] = process.argv.slice(2);
const BATCH = 60; // requests on one connection
const HEAD_MAX = 128 * 1024;
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'duenna-origins-'));
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
const socket = path.join(dir, 's');
const log = path.join(dir, 'log'); // what a server says of itself

// What of the inputs reached an origin, in order.
function requests() {
  begin(seed, ['sm', 'pt', 'nm', 'up'].map((f) => path.join(cases, f + '.rows')), 'request');
  const run = spawnSync(through, [], {
    input: messages(Number(count)).map((b) => `request ${b.toString('hex')}\n`).join(''),
    maxBuffer: 1 << 30, encoding: 'latin1',
  });
  if (run.status !== 0) throw new Error(`through: ${run.stderr} ${run.error}`);
  return run.stdout.split(/[ \n]/).filter((r) => r.includes(',')).map((r) => {
    const [method, target, body, bytes] = r.split(',').map((h) => Buffer.from(h.replace('.', ''), 'hex'));
    return { method: method.toString('latin1'), target: target.toString('latin1'), body: body.toString('latin1'), bytes };
  });
}

// --- the servers: start() gives { seen(), stop() } ---------------------------

// Node: `seen` has what its parser gave, or null for what it refused.
async function startNode(where) {
  let seen = [];
  const server = http.createServer({ maxHeaderSize: HEAD_MAX, keepAliveTimeout: 60000 }, (req, res) => {
    const entry = { method: req.method, target: req.url, fields: req.rawHeaders };
    const body = [];
    seen.push(entry);
    req.on('data', (b) => body.push(b));
    req.on('end', () => { entry.body = Buffer.concat(body).toString('latin1'); res.end(); });
  });
  server.on('clientError', (err, s) => { seen.push(null); s.destroy(); });
  server.maxRequestsPerSocket = 0;
  await new Promise((resolve) => server.listen(where, resolve));
  return { seen: () => seen.splice(0), stop: () => server.close() };
}

// Does anybody take connections there?  A socket has a name before that.
function listens() {
  return new Promise((resolve) => {
    const s = net.connect(socket, () => { s.destroy(); resolve(true); });
    s.on('error', () => resolve(false));
  });
}

// A program that listens at `socket` once it is up.
async function startProgram(name, args) {
  const program = ['/usr/sbin/', '/usr/bin/', ''].map((d) => d + name).find((f) => fs.existsSync(f));
  if (!program) {
    console.log(`${name} is not installed`);
    process.exit(77);
  }
  const fd = fs.openSync(log, 'w+');
  const run = spawn(program, args, { stdio: ['ignore', fd, fd] });
  const exited = new Promise((resolve) => run.on('exit', resolve));
  while (run.exitCode === null && !(await listens())) await new Promise((r) => setTimeout(r, 10));
  if (run.exitCode !== null) throw new Error(`${name}: ${fs.readFileSync(log, 'latin1')}`);
  return { stop: () => { run.kill('SIGKILL'); return exited; } };
}

// Whole lines that were added to a file since the last call.
function follow(file) {
  let at = 0;
  return () => {
    const text = fs.readFileSync(file, 'latin1').slice(at);
    const end = text.lastIndexOf('\n') + 1;
    at += end;
    return text.slice(0, end).split('\n').filter((l) => l);
  };
}

// nginx: its own log of what it read.
async function startNginx() {
  const module_ = '/usr/lib/nginx/modules/ngx_http_echo_module.so';
  if (!fs.existsSync(module_)) {
    console.log('the echo module of nginx is not installed');
    process.exit(77);
  }
  fs.writeFileSync(path.join(dir, 'conf'), `
daemon off; master_process off; pid ${dir}/pid; error_log stderr;
load_module ${module_};
events { worker_connections 64; }
http {
  log_format seen escape=json '{"status":$status,"method":"$request_method","target":"$request_uri","path":"$uri","body":"$request_body"}';
  access_log ${dir}/seen seen;
  client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/p; fastcgi_temp_path ${dir}/f;
  uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/c;
  client_body_buffer_size 1m; client_body_in_single_buffer on; client_max_body_size 0;
  large_client_header_buffers 4 ${HEAD_MAX}; underscores_in_headers on; keepalive_requests 1000000;
  server { listen unix:${socket}; location / { echo_read_request_body; echo ok; } }
}
`);
  const { stop } = await startProgram('nginx', ['-p', dir, '-c', path.join(dir, 'conf'), '-e', 'stderr']);
  const lines = follow(path.join(dir, 'seen'));
  return { stop, seen: () => lines().map((l) => JSON.parse(l)).map((e) => (e.status === 200 ? e : null)) };
}

// haproxy: what it makes of a request, seen by the node behind it; it spells
// the names of fields anew.
async function startHaproxy() {
  const behind = path.join(dir, 'behind');
  const server = await startNode(behind);
  fs.writeFileSync(path.join(dir, 'conf'), `
global
  tune.bufsize ${HEAD_MAX}
  tune.http.maxhdr 1024
defaults
  mode http
  timeout client 10s
  timeout connect 10s
  timeout server 10s
frontend f
  bind unix@${socket}
  default_backend b
backend b
  server s unix@${behind}
`);
  const { stop } = await startProgram('haproxy', ['-f', path.join(dir, 'conf')]);
  const plain = (e) => e && { method: e.method, target: e.target, get body() { return e.body; } };
  return { seen: () => server.seen().map(plain), stop: () => { server.stop(); return stop(); } };
}

// A program of ours around another parser; it may leave bodies unread.
async function startLenient(program) {
  const { stop } = await startProgram(program, [socket]);
  const lines = follow(log);
  const parse = (l) => {
    const [method, target, body] = l.split(',').map((h) => Buffer.from(h, 'hex').toString('latin1'));
    return { method, target, body, unread: l.endsWith(',-') };
  };
  return { stop, seen: () => lines().map(parse) };
}

function start() {
  switch (origin) {
  case 'node': return startNode(socket);
  case 'nginx': return startNginx();
  case 'haproxy': return startHaproxy();
  default: return startLenient(origin);
  }
}

// --- the comparison ----------------------------------------------------------

const LAST = { method: 'GET', target: '/the-last-one', body: '', bytes: Buffer.from('GET /the-last-one HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n') };

// Everything on one connection, at once; resolves to what was answered when
// the server has closed.
function send(batch) {
  return new Promise((resolve) => {
    const s = net.connect(socket);
    let answers = '';
    s.on('error', () => {});
    s.on('close', () => resolve(answers));
    s.on('data', (b) => { answers += b.toString('latin1'); });
    s.write(Buffer.concat(batch.map((r) => r.bytes)));
  });
}

// A server may write its log a little behind its answer.
async function seenOf(server, most, answers) {
  let seen = server.seen();
  if (seen.length < most && /^HTTP\/1\.[01] (400|501) /m.test(answers)) return [...seen, null];
  for (let i = 0; i < 3000 && seen.length < most && !seen.includes(null); i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    seen = [...seen, ...server.seen()];
  }
  return seen;
}

// The fields that we wrote, as node would list them.
function fieldsOf(bytes) {
  const head = bytes.subarray(0, bytes.indexOf('\r\n\r\n')).toString('latin1');
  return head.split('\r\n').slice(1).flatMap((l) => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 2)]);
}

// The path that a server serves, once it has decoded and resolved it: the very
// one that was judged.  An escaped slash is for rules that say so alone.
function pathOf(target) {
  const path_ = target.replace(/\?.*/s, '');
  return /%2f/i.test(path_) ? null : path_.replace(/%(..)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
}

let bad = 0;
function differ(what, ours, theirs) {
  if (++bad <= 20) console.log(`${what}\n  ours   ${JSON.stringify(ours)}\n  theirs ${JSON.stringify(theirs)}`);
}

// Compare as far as the server read; returns how many of the batch that were.
function compare(batch, seen) {
  for (let i = 0; i < seen.length; i++) {
    const ours = batch[i], theirs = seen[i];
    if (!ours) { differ('more requests than there are', null, theirs); return batch.length; }
    if (theirs === null) return i + 1;
    const text = ours.bytes.toString('latin1');
    if (theirs.method !== ours.method) differ('method', text, theirs);
    if (theirs.target !== ours.target) differ('target', text, theirs);
    if (theirs.path !== undefined && theirs.path !== (pathOf(ours.target) ?? theirs.path)) differ('path', text, theirs);
    if (!theirs.unread && theirs.body !== ours.body) differ('body', text, theirs);
    if (theirs.fields && theirs.fields.join('\n') !== fieldsOf(ours.bytes).join('\n')) differ('fields', text, theirs);
  }
  if (seen.length < batch.length) differ('fewer requests than there are', batch[seen.length].bytes.toString('latin1'), seen.length);
  return batch.length;
}

// What may stand on one connection: nothing behind one that closes it.
function nextBatch(all, at) {
  const batch = [];
  while (batch.length < BATCH && at + batch.length < all.length) {
    batch.push(all[at + batch.length]);
    if (/\r\nConnection: close\r\n/.test(batch[batch.length - 1].bytes.toString('latin1'))) return batch;
  }
  return [...batch, LAST];
}

async function main() {
  const all = requests();
  const server = await start();
  let at = 0, refused = 0, connections = 0;
  try {
    while (at < all.length) {
      const batch = nextBatch(all, at);
      const answers = await send(batch);
      const seen = await seenOf(server, batch.length, answers);
      refused += seen.includes(null);
      connections++;
      at += Math.min(compare(batch, seen), batch.filter((r) => r !== LAST).length);
    }
  } finally {
    await server.stop();
  }
  console.log(`${count} inputs, ${all.length} requests on ${connections} connections to ${path.basename(origin)}, ${refused} refused, ${bad} differ`);
  // Else hardly anything was compared.
  if (bad || all.length < Number(count) / 20 || refused > all.length / 20) process.exitCode = 1;
}
main();
