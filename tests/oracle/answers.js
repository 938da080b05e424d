// SPDX-License-Identifier: Apache-2.0
// Real clients read the answers that we pass on as we do.
//
// usage: node answers.js THROUGH CASES [COUNT [SEED]]
//   THROUGH  the program made of through.c
//   CASES    tests/cases, whose answers are mutated
//
// Thousands of odd answers go through the real flow/ and http/; what a client
// gets is read by llhttp, as node has it, and by curl, which asks for one after
// another on connections that stay open.  Status and body are what we saw; an
// answer that was cut is an error, one that was whole is none.
'use strict';
const { spawn, spawnSync } = require('child_process');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');
const { HTTPParser } = require('_http_common');
const { begin, messages } = require('./mutate.js');

const [through, cases, count = '20000', seed = '1'] = process.argv.slice(2);
const CURL_MAX = 1000; // of the different ones

// What clients got, each once.
function answers() {
  begin(seed, [path.join(cases, 'sm.rows')], 'answer');
  const run = spawnSync(through, [], {
    input: messages(Number(count)).map((b) => `answer ${b.toString('hex')}\n`).join(''),
    maxBuffer: 1 << 30, encoding: 'latin1',
  });
  if (run.status !== 0) throw new Error(`through: ${run.stderr} ${run.error}`);
  const lines = run.stdout.split('\n').filter((l) => l.includes(','));
  // Our refusals differ in nothing that matters.
  const seen = new Map(lines.map((l) => [l.startsWith('502,') ? l.replace(/,.*/, '') : l, l]));
  return [...seen.values()].map((l) => {
    const [status, body, end, bytes] = l.split(',');
    return { status: Number(status), body: body.slice(1), whole: end === 'whole', bytes: Buffer.from(bytes, 'hex') };
  });
}

let bad = 0;
function differ(who, what, ours, theirs) {
  const text = { ...ours, bytes: ours.bytes.toString('latin1') };
  if (++bad <= 20) console.log(`${who}: ${what}\n  ours   ${JSON.stringify(text)}\n  theirs ${JSON.stringify(theirs)}`);
}

// The final answer in `data`, whose connection ends behind it.
function llhttp(data) {
  const parser = new HTTPParser();
  const got = { status: 0, body: [], whole: false, finals: 0 };
  parser.initialize(HTTPParser.RESPONSE, {});
  parser[HTTPParser.kOnHeaders | 0] = () => {};
  parser[HTTPParser.kOnHeadersComplete | 0] = (major, minor, fields, method, url, status) => {
    got.status = status;
    got.finals += status >= 200;
    return 0;
  };
  parser[HTTPParser.kOnBody | 0] = (b) => got.body.push(Buffer.from(b));
  parser[HTTPParser.kOnMessageComplete | 0] = () => { got.whole = got.status >= 200; };
  got.error = parser.execute(data) instanceof Error || parser.finish() instanceof Error;
  got.body = Buffer.concat(got.body).toString('hex');
  return got;
}

function compare(who, ours, theirs) {
  if (theirs.status !== ours.status) differ(who, 'status', ours, theirs);
  if (ours.whole !== (theirs.whole && !theirs.error)) differ(who, 'end', ours, theirs);
  if (ours.whole ? theirs.body !== ours.body : !ours.body.startsWith(theirs.body)) differ(who, 'body', ours, theirs);
}

// A server that gives answer N to who asks for /N.
function serve(all, socket) {
  const server = net.createServer((s) => {
    let asked = '';
    s.on('error', () => {});
    s.on('data', (b) => {
      asked += b.toString('latin1');
      for (let end; (end = asked.indexOf('\r\n\r\n')) >= 0; asked = asked.slice(end + 4)) {
        const one = all[Number(asked.match(/^GET \/(\d+) /)[1])];
        s.write(one.bytes);
        if (!one.whole || /\r\nConnection: close\r\n/.test(one.bytes.toString('latin1'))) s.end();
      }
    });
  });
  return new Promise((resolve) => server.listen(socket, () => resolve(server)));
}

// One curl for all of them.
async function curl(all) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'duenna-answers-'));
  const server = await serve(all, path.join(dir, 's'));
  const out = (i) => path.join(dir, String(i));
  fs.writeFileSync(path.join(dir, 'config'),
    all.map((_, i) => `url = "http://ok.test/${i}"\noutput = "${out(i)}"\n`).join(''));
  const run = spawn('curl', ['-q', '-sS', '--max-time', '30', '--unix-socket', path.join(dir, 's'), '-K', path.join(dir, 'config'),
    '-w', '%{stderr}%{urlnum} %{http_code} %{exitcode} %{num_connects}\n'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  run.stderr.on('data', (b) => { said += b; });
  await new Promise((resolve) => run.on('close', resolve));
  server.close();
  let kept = 0;
  for (const line of said.split('\n').filter((l) => /^\d+ \d+ \d+ \d+$/.test(l))) {
    const [i, status, exit, connects] = line.split(' ').map(Number);
    const body = fs.existsSync(out(i)) ? fs.readFileSync(out(i)).toString('hex') : '';
    compare('curl', all[i], { status, body, whole: exit === 0, exit });
    kept += connects === 0;
    all[i].read = true;
  }
  all.filter((a) => !a.read).forEach((a) => differ('curl', 'not read', a, null));
  fs.rmSync(dir, { recursive: true });
  return kept;
}

async function main() {
  const all = answers();
  const whole = all.filter((a) => a.whole).length;
  all.forEach((a) => compare('llhttp', a, llhttp(a.bytes)));
  const kept = await curl(all.slice(0, CURL_MAX));
  console.log(`${count} inputs, ${all.length} different answers, ${whole} whole, ${kept} read by curl on a connection that it had, ${bad} differ`);
  // Else hardly anything was compared.
  const least = Math.min(100, Number(count) / 100);
  if (bad || whole < least || whole === all.length || kept < least) process.exitCode = 1;
}
main();
