// SPDX-License-Identifier: Apache-2.0
// llhttp, as node has it, reads the same requests.
//
// usage: node requests.js CANON ROWS [COUNT [SEED]]
//   CANON  the program made of canon.c
//   ROWS   a file of tests/cases, whose requests are mutated
//
// What is forwarded is one message for llhttp too, and the same one.  What was
// accepted as it came means the same to llhttp, or llhttp refuses it: else a
// server behind us could read another request than the one that was judged.
'use strict';
const { spawnSync } = require('child_process');
const { HTTPParser } = require('_http_common');

const [canon, rows, count = '20000', seed = '1'] = process.argv.slice(2);
const { begin, messages } = require('./mutate.js');

// The first message in `data` as llhttp reads it, or null.
function llhttp(data) {
  const parser = new HTTPParser();
  const got = { fields: [], trailers: [], body: [], url: '', messages: 0 };
  parser.initialize(HTTPParser.REQUEST, {});
  // called for trailers too
  const add = (fields, url) => {
    (got.head ? got.trailers : got.fields).push(...fields);
    if (!got.head) got.url += url || '';
  };
  parser[HTTPParser.kOnHeaders | 0] = add;
  parser[HTTPParser.kOnHeadersComplete | 0] = (major, minor, fields, method, url, status, text, upgrade) => {
    if (got.messages) return 0;
    add(fields || [], url);
    got.head = true;
    got.method = HTTPParser.methods ? HTTPParser.methods[method] : method;
    got.upgrade = upgrade;
    return 0;
  };
  parser[HTTPParser.kOnBody | 0] = (b, start, length) => {
    if (!got.messages) got.body.push(Buffer.from(length === undefined ? b : b.subarray(start, start + length)));
  };
  parser[HTTPParser.kOnMessageComplete | 0] = () => { got.messages++; };
  got.error = parser.execute(data) instanceof Error;
  got.body = Buffer.concat(got.body);
  return got.messages || got.upgrade ? got : null;
}

begin(seed, [rows], 'request');
const inputs = messages(Number(count));
const run = spawnSync(canon, [], {
  input: inputs.map((b) => `request ${b.toString('hex')}\n`).join(''), maxBuffer: 1 << 30, encoding: 'latin1',
});
if (run.status !== 0) { console.error(run.stderr, run.error); process.exit(2); }
const lines = run.stdout.split('\n');
// RFC 7230 4.1.2
const MAY_NOT_TRAIL = new Set(['transfer-encoding', 'content-length', 'host', 'cache-control', 'max-forwards', 'te', 'authorization',
  'set-cookie', 'cookie', 'content-encoding', 'content-type', 'content-range', 'trailer', 'expect', 'range', 'if-match', 'connection']);
let bad = 0, taken = 0, both = 0, trailed = 0;
function differ(input, what, ours, theirs) {
  if (++bad <= 20) console.log(`${what}: ${JSON.stringify(input.toString('latin1'))}\n  ours ${ours}\n  llhttp ${theirs}`);
}
inputs.forEach((input, i) => {
  if (lines[i] === '-') return;
  const [method, url, body, used, anew] = lines[i].split(' ');
  const ours = { method: Buffer.from(method, 'hex').toString('latin1'), url: Buffer.from(url, 'hex').toString('latin1') };
  taken++;
  const raw = llhttp(input.subarray(0, Number(used)));
  if (raw && !raw.upgrade) {
    both++;
    if (raw.url !== ours.url) differ(input, 'url', ours.url, raw.url);
    if (raw.body.toString('hex') !== body.slice(1)) differ(input, 'body', body, raw.body.toString('hex'));
    if (raw.messages !== 1) differ(input, 'messages', 1, raw.messages);
  }
  // Unknown methods are policy's to refuse; llhttp does not know them.
  const sent = llhttp(Buffer.from(anew, 'hex'));
  if (!sent) {
    if (HTTPParser.methods === undefined || HTTPParser.methods.includes(ours.method)) {
      if (/^[A-Z-]+$/.test(ours.method) && ours.method !== 'PRI' && raw) differ(input, 'forwarded', anew, 'refused');
    }
    return;
  }
  if (sent.error || sent.messages !== 1) differ(input, 'forwarded', 'one message', `${sent.messages}, ${sent.error}`);
  if (sent.body.toString('hex') !== body.slice(1)) differ(input, 'forwarded body', body, sent.body.toString('hex'));
  const behind = sent.trailers.filter((_, n) => n % 2 === 0).map((n) => n.toLowerCase().replaceAll('_', '-'));
  if (behind.some((n) => MAY_NOT_TRAIL.has(n))) differ(input, 'forwarded trailers', behind, '');
  if (behind.length) trailed++;
  if (behind.length && raw && raw.trailers.join() !== sent.trailers.join()) differ(input, 'trailers', raw.trailers, sent.trailers);
  const names = sent.fields.filter((_, n) => n % 2 === 0).map((n) => n.toLowerCase());
  const framing = names.filter((n) => n === 'content-length' || n === 'transfer-encoding').length;
  if (framing > 1 || names.filter((n) => n === 'host').length !== 1) differ(input, 'forwarded fields', names, '');
});
console.log(`${inputs.length} inputs, ${taken} taken, ${both} by both, ${trailed} with trailers, ${bad} differ`);
process.exit(bad || taken < inputs.length / 20 || both < taken / 4 || (rows.endsWith("sm.rows") && !trailed) ? 1 : 0);
