// SPDX-License-Identifier: Apache-2.0
// Odd messages from the rows of tests/cases: the same ones for the same seed.
'use strict';
const fs = require('fs');

let state, seeds;
function random(n) {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number((state >> 33n) % BigInt(n));
}
const pick = (list) => list[random(list.length)];

// The escapes of tests/cases/README.md; of a list of bytes the first.
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

// Start with `seed`; returns the messages that `kind` has in these files.
function begin(seed, files, kind) {
  state = BigInt(seed) * 2654435761n + 1n;
  seeds = files.flatMap((file) => fs.readFileSync(file, 'latin1').split('\n'))
    .map((line) => line.replace(/ \|$/, ' | ').split(' | '))
    .filter((f) => f.length === 6 && f[1] === kind)
    .map((f) => unescape(f[4])).filter((b) => b.length < 2000);
  return seeds;
}

const tokens = ['\r', '\n', '\r\n', ' ', '\t', ':', ',', ';', '\0', '\x80', '0', '5', 'a', '+', '-',
  '\r\n ', 'Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n',
  'Content-Length: ', 'chunked', 'Host: ok.test\r\n', 'Connection: close\r\n', '_', '\x0b', '\x7f',
  '1;a=b', 'GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 100 x\r\n\r\n'].map((t) => Buffer.from(t, 'latin1'));

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

// `count` messages: the seeds, and then mutations of them.
function messages(count) {
  const out = [...seeds];
  while (out.length < count) out.push(mutate(pick(seeds)));
  return out;
}

module.exports = { begin, messages, random };
