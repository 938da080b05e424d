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
const fs = require('fs');
const { HTTPParser } = require('_http_common');

const [canon, rows, count = '20000', seed = '1'] = process.argv.slice(2);
let state = BigInt(seed) * 2654435761n + 1n;
function random(n) {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number((state >> 33n) % BigInt(n));
}
const pick = (list) => list[random(list.length)];

function unescape(text) {
  const out = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '\\') { out.push(text.charCodeAt(i)); continue; }
    const c = text[++i];
    if (c === 'x') { out.push(parseInt(text.slice(i + 1, i + 3), 16)); i += 2; continue; }
    if (c === '*' || c === '?') {
      const arg = text.slice(i + 2, text.indexOf('}', i));
      i = text.indexOf('}', i);
      if (c === '?') out.push(parseInt(arg.slice(0, 2), 16));
      else for (let n = Math.min(Number(arg), 300); n > 1; n--) out.push(out[out.length - 1]);
      continue;
    }
    out.push({ r: 13, n: 10, t: 9, 0: 0, '\\': 92 }[c]);
  }
  return Buffer.from(out);
}

const seeds = fs.readFileSync(rows, 'latin1').split('\n')
  .map((line) => line.replace(/ \|$/, ' | ').split(' | '))
  .filter((f) => f.length === 6 && f[1] === 'request')
  .map((f) => unescape(f[4])).filter((b) => b.length < 2000);
const tokens = ['\r', '\n', '\r\n', ' ', '\t', ':', ',', ';', '\0', '\x80', '0', '5', 'a', '+', '-',
  '\r\n ', 'Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n',
  'Content-Length: ', 'chunked', 'Host: ok.test\r\n', 'Connection: close\r\n', '_', '\x0b', '\x7f',
  '1;a=b', 'GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n'].map((t) => Buffer.from(t, 'latin1'));

function mutate(data) {
  for (let n = random(4); n > 0; n--) {
    const at = random(data.length + 1), head = data.subarray(0, at), tail = data.subarray(at);
    switch (random(5)) {
    case 0: data = Buffer.concat([head, pick(tokens), tail]); break;
    case 1: data = Buffer.concat([head, Buffer.from([random(256)]), tail.subarray(1)]); break;
    case 2: data = Buffer.concat([head, tail.subarray(1 + random(4))]); break;
    case 3: data = Buffer.concat([head, tail.subarray(0, random(40)), tail]); break;
    default: {
      const other = pick(seeds);
      data = Buffer.concat([head, other.subarray(random(other.length))]);
    }
    }
  }
  return data;
}

// The first message in `data` as llhttp reads it, or null.
function llhttp(data) {
  const parser = new HTTPParser();
  const got = { fields: [], body: [], url: '', messages: 0 };
  parser.initialize(HTTPParser.REQUEST, {});
  // called for trailers too, which we drop
  const add = (fields, url) => { if (!got.head) { got.fields.push(...fields); got.url += url || ''; } };
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

const inputs = [...seeds];
while (inputs.length < Number(count)) inputs.push(mutate(pick(seeds)));
const run = spawnSync(canon, [], {
  input: inputs.map((b) => `request ${b.toString('hex')}\n`).join(''), maxBuffer: 1 << 30, encoding: 'latin1',
});
if (run.status !== 0) { console.error(run.stderr, run.error); process.exit(2); }
const lines = run.stdout.split('\n');
let bad = 0, taken = 0, both = 0;
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
  const names = sent.fields.filter((_, n) => n % 2 === 0).map((n) => n.toLowerCase());
  const framing = names.filter((n) => n === 'content-length' || n === 'transfer-encoding').length;
  if (framing > 1 || names.filter((n) => n === 'host').length !== 1) differ(input, 'forwarded fields', names, '');
});
console.log(`${inputs.length} inputs, ${taken} taken, ${both} by both, ${bad} differ`);
process.exit(bad || taken < inputs.length / 20 || both < taken / 4 ? 1 : 0);
