# SPDX-License-Identifier: Apache-2.0
"""Everyone who connects: real programs, as they come, in one sandbox.

Each row is a program, what it does, what it then prints, and exactly the
requests that are on record for it.  A program that this machine has not is
skipped.  Of what stands in the home of whoever runs the tests (pyenv, rustup,
bun, deno) the bed's user sees what it is shown: mounted, read-only, into its
own."""
import contextlib
import glob
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from bed import Bed, give
from conftest import logs_hold, token_is_only_in_its_slot

RULES = '''
- name: api
  allow: https://api.test/**
  credential: api
- name: open
  allow: https://ok.test/**
  methods: any
  encoded_slash: true
- name: plain
  allow: http://ok.test/**
- name: elsewhere
  allow: https://cdn.test/**
'''
OK = 'https://ok.test/'


def open_rows(method, *paths, rule='open'):
    return [(method, path, 'allow', rule) for path in paths]


def get(*paths, rule='open'):
    return open_rows('GET', *paths, rule=rule)


PYTHON = {  # what follows `python3 -c`; %s is the URL
    'urllib': 'import urllib.request as u; '
              'print(u.urlopen("%s").read().decode())',
    'strict': 'import ssl, urllib.request as u; '
              'c = ssl.create_default_context(); c.verify_flags |= '
              'ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN; '
              'print(u.urlopen("%s", context=c).read().decode())',
    'requests': 'import requests; s = requests.Session(); '
                's.get("%s"); print(s.get("%s").text)',
    'httpx': 'import httpx; print(httpx.get("%s").text)',
}
JAVA = '''
import java.net.URI;
import java.net.http.*;
public class Get {
    public static void main(String[] a) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(a[0])).build();
        var text = HttpResponse.BodyHandlers.ofString();
        System.out.println(HttpClient.newHttpClient().send(request, text).body());
        var old = URI.create(a[0]).toURL().openConnection();
        System.out.println(new String(old.getInputStream().readAllBytes()));
    }
}
'''
GO = '''
package main
import ("io"; "net/http"; "os")
func main() {
    r, err := http.Get(os.Args[1])
    if err != nil { panic(err) }
    io.Copy(os.Stdout, r.Body)
}
'''
APT = '''mkdir -p apt/NAME/lists/partial apt/NAME/cache/archives/partial apt/NAME/etc
echo 'deb [trusted=yes] URL stable main' >apt/NAME/etc/sources.list
touch apt/NAME/status
set -- -o Dir::State=$PWD/apt/NAME -o Dir::State::status=$PWD/apt/NAME/status \\
    -o Dir::Cache=$PWD/apt/NAME/cache -o Dir::Etc=$PWD/apt/NAME/etc \\
    -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o Debug::NoLocking=1 \\
    -o Acquire::Languages=none -o APT::Update::Post-Invoke-Success=
apt-get "$@" update && apt-cache "$@" show tiny
'''
APT_PATHS = ['InRelease', 'Release', 'Release.gpg', 'main/binary-amd64/Packages']


HOME = os.environ.get('HOME', '/root')


def newest_python():
    """The newest Python of pyenv, of those that are strict by default."""
    found = [(tuple(map(int, m[1].split('.'))), m[0]) for m in (
        re.match(r'.*/(3\.\d+\.\d+)$', path) for path in
        glob.glob(HOME + '/.pyenv/versions/*')) if m]
    return max((v for v in found if v[0] >= (3, 13)), default=(0, None))[1]


def toolchain():
    return max(glob.glob(HOME + '/.rustup/toolchains/stable-*'), default=None)


# Where it is shown in the sandbox, and what is there.
OWN = {'.pyenv': newest_python(), '.rustup': toolchain(),
       '.bun': HOME + '/.bun', '.deno': HOME + '/.deno'}
CARGO = '''mkdir -p cargo/src cargo/.cargo && cd cargo && touch src/lib.rs
cat >Cargo.toml <<END
[package]
name = "mine"
version = "0.1.0"
[dependencies]
tiny = "1"
END
cat >.cargo/config.toml <<END
[source.crates-io]
replace-with = "row"
[source.row]
registry = "sparse+URL/_row/"
END
PATH=$HOME/.rustup/bin:$PATH CARGO_HOME=$PWD/home cargo fetch -q && ls home/registry/cache/*
'''


def apt(scheme):
    name = 'apt-' + scheme
    return ('apt-get', APT.replace('NAME', name).replace(
        'URL', '%s://ok.test/%s/_row/debian' % (scheme, name)), 'a tiny thing',
            get(*['_row/debian/dists/stable/' + p for p in APT_PATHS],
                rule='plain' if scheme == 'http' else 'open'))


# name: (program, command, what it prints, the rows of its requests without
# the /NAME/ that each path begins with)
CLIENTS = {
    # it offers http/1.0 alone by ALPN, which is no overlap (TL-24)
    'curl-1.0': ('curl', '! curl -sS -0 URL/x && curl -sS -0 --no-alpn '
                 'URL/_fixed/10', 'x' * 10, get('_fixed/10')),
    'curl-keep': ('curl', 'curl -sSv URL/a URL/b', 'Re-using',
                  get('a', 'b')),
    'curl-chunked': ('curl', 'printf 12345 | curl -sS -T - URL/_sink',
                     '"bytes": 5,', open_rows('PUT', '_sink')),
    'curl-expect': ('curl', 'head -c 2000000 /dev/zero | curl -sSv -H '
                    '"Expect: 100-continue" --data-binary @- URL/_sink',
                    '"bytes": 2000000,', open_rows('POST', '_sink')),
    'curl-put': ('curl', 'curl -sS -T given URL/_sink', '"bytes": 13,',
                 open_rows('PUT', '_sink')),
    'curl-multipart': ('curl', 'curl -sS -F a=1 -F f=@given URL/_echo',
                       'filename="given"', open_rows('POST', '_echo')),
    'curl-range': ('curl', 'curl -sS -r 2-5 URL/_row/range', '2345',
                   get('_row/range')),
    'curl-gzip': ('curl', 'curl -sS --compressed URL/_row/gzip',
                  'unpacked', get('_row/gzip')),
    'curl-head': ('curl', 'curl -sSI URL/_fixed/10', 'Content-Length: 10',
                  open_rows('HEAD', '_fixed/10')),
    'curl-literal': ('curl', 'curl -sS --resolve ok.test:443:203.0.113.5 '
                     'URL/x', 'dst.unmapped_ip',
                     [('GET', 'x', 'deny', None)]),
    'curl-redirect': ('curl', 'curl -sSL URL/_redirect/cdn.test/'
                      'curl-redirect/x', 'hello from cdn.test',
                      get('_redirect/cdn.test/curl-redirect/x') +
                      get('x', rule='elsewhere')),
    'curl-astray': ('curl', 'curl -sSL URL/_redirect/evil.test/'
                    'curl-astray/x', 'tls.sni_denied',
                    get('_redirect/evil.test/curl-astray/x') +
                    [('GET', 'x', 'deny', None)]),
    'curl-token': ('curl', 'curl -sS -H "Authorization: Bearer $API_TOKEN" '
                   'https://api.test/curl-token/_whoami', '"token": "good"',
                   get('_whoami', rule='api')),
    'wget': ('wget', 'wget -q -O - URL/a && wget -nv --spider URL/b && '
             'wget -q -O - --post-data=x=1 URL/_sink', '"bytes": 3,',
             get('a') + open_rows('HEAD', 'b') + open_rows('POST', '_sink')),
    'openssl': ('openssl', "printf 'GET /openssl/a HTTP/1.1\\r\\nHost: ok.test"
                "\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -quiet "
                '-verify_return_error -verify_hostname ok.test '
                '-connect ok.test:443', 'hello from ok.test/openssl/a',
                get('a')),
    'node-https': ('node', "node -e \"require('https').get('URL/a', r => "
                   "r.on('data', d => process.stdout.write(d)))\"",
                   'hello from', get('a')),
    'node-fetch': ('node', "node -e \"(async () => { const b = new "
                   "ReadableStream({start(c) { c.enqueue(Buffer.from('123')); "
                   "c.close() }}); const r = await fetch('URL/_sink', "
                   "{method: 'POST', body: b, duplex: 'half'}); "
                   "console.log(await r.text(), (await fetch('URL/a')).status)"
                   ' })()"', '"bytes": 3,', open_rows('POST', '_sink') +
                   get('a')),
    'java': ('javac', 'java Get.java URL/a', 'hello from ok.test/java/a',
             get('a', 'a')),
    'go': ('go', 'GOCACHE=$HOME/go-cache GOFLAGS=-mod=mod go run get.go URL/a',
           'hello from ok.test/go/a', get('a')),
    'npm': ('npm', 'mkdir npm && cd npm && npm install --no-fund --no-update-notifier '
            '--audit --loglevel=http --registry=URL/_row/ tiny @acme/scoped && '
            'node -e "console.log(require(\'tiny\') + '
            'require(\'@acme/scoped\'))"', 'tinyscoped',
            get('_row/tiny', '_row/@acme%2Fscoped', '_row/tiny.tgz',
                '_row/scoped.tgz') +
            open_rows('POST', '_row/-/npm/v1/security/advisories/bulk')),
    'pip': ('pip3', 'pip3 install -q --no-cache-dir --target pip '
            '--index-url URL/_row/simple tiny && cat pip/tiny.py', 'tiny = 1',
            get('_row/simple/tiny/', '_row/tiny-1-py3-none-any.whl')),
    'python3.13': ('~/.pyenv/bin/python3', 'LD_LIBRARY_PATH=$HOME/.pyenv/lib '
                   '~/.pyenv/bin/python3 -c "import ssl, '
                   'urllib.request as u; assert ssl.create_default_context()'
                   '.verify_flags & ssl.VERIFY_X509_STRICT; '
                   'print(u.urlopen(\'URL/a\').read().decode())"',
                   'hello from ok.test/python3.13', get('a')),
    'cargo': ('~/.rustup/bin/cargo', CARGO, 'tiny-1.0.0.crate',
              get('_row/config.json', '_row/ti/ny/tiny',
                  '_row/crates/tiny/1.0.0/download')),
    'bun': ('~/.bun/bin/bun', '~/.bun/bin/bun -e "console.log(await (await '
            'fetch(\'URL/a\')).text())"', 'hello from ok.test/bun', get('a')),
    'deno': ('~/.deno/bin/deno', 'DENO_NO_UPDATE_CHECK=1 ~/.deno/bin/deno eval '
             '"console.log(await (await fetch(\'URL/a\')).text())"',
             'hello from ok.test/deno', get('a')),
    'apt-http': apt('http'),
    'apt-https': apt('https'),
    'chromium': ('chromium', 'timeout 40 chromium --headless --no-sandbox '
                 '--disable-gpu --no-first-run --virtual-time-budget=5000 '
                 '--user-data-dir=$HOME/chromium --dump-dom URL/_row/page',
                 'drawn by a script', get('_row/page', '_row/script.js')),
}
for key, code in PYTHON.items():
    CLIENTS['python-' + key] = (
        'python3', "/usr/bin/python3 -c '%s'" % code.replace('%s', 'URL/a'),
        'hello from ok.test/python-' + key,
        get('a') * code.count('%s'))


def answer(body, kind='text/plain', *fields, status='200 OK'):
    if isinstance(body, str):
        body = body.encode()
    head = ['HTTP/1.1 ' + status, 'Content-Type: ' + kind,
            'Content-Length: %d' % len(body), *fields, '', '']
    return '\r\n'.join(head) + body.decode('latin-1')


def package(name, url):
    """(metadata, tarball) of a small package for npm."""
    out, base = io.BytesIO(), name.rpartition('/')[2]
    files = {'package.json': json.dumps({'name': name, 'version': '1.0.0'}),
             'index.js': 'module.exports = "%s"' % base}
    with tarfile.open(fileobj=out, mode='w:gz') as tar:
        for each, text in files.items():
            info = tarfile.TarInfo('package/' + each)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    dist = {'tarball': url, 'shasum': hashlib.sha1(out.getvalue()).hexdigest()}
    meta = {'name': name, 'dist-tags': {'latest': '1.0.0'}, 'versions': {
        '1.0.0': {'name': name, 'version': '1.0.0', 'dist': dist}}}
    return answer(json.dumps(meta), 'application/json'), \
        answer(out.getvalue(), 'application/octet-stream')


def cargo_package():
    """(index, what is downloaded) of a small package for cargo."""
    out = io.BytesIO()
    files = {'Cargo.toml': '[package]\nname = "tiny"\nversion = "1.0.0"\n',
             'src/lib.rs': ''}
    with tarfile.open(fileobj=out, mode='w:gz') as tar:
        for each, text in files.items():
            info = tarfile.TarInfo('tiny-1.0.0/' + each)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    index = {'name': 'tiny', 'vers': '1.0.0', 'deps': [], 'features': {},
             'cksum': hashlib.sha256(out.getvalue()).hexdigest(),
             'yanked': False}
    return answer(json.dumps(index) + '\n'), \
        answer(out.getvalue(), 'application/octet-stream')


def wheel():
    out, info = io.BytesIO(), 'tiny-1.dist-info/'
    with zipfile.ZipFile(out, 'w') as z:
        z.writestr('tiny.py', 'tiny = 1\n')
        z.writestr(info + 'METADATA', 'Metadata-Version: 2.1\nName: tiny\n'
                   'Version: 1\n')
        z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nGenerator: test\n'
                   'Root-Is-Purelib: true\nTag: py3-none-any\n')
        z.writestr(info + 'RECORD', 'tiny.py,,\n')
    return answer(out.getvalue(), 'application/octet-stream')


def archive():
    """The rows of a Debian archive with one package."""
    packages = ('Package: tiny\nVersion: 1\nArchitecture: amd64\nMaintainer: '
                'A <a@ok.test>\nFilename: pool/tiny_1_amd64.deb\nSize: 1\n'
                'SHA256: %s\nDescription: a tiny thing\n\n' % ('0' * 64))
    release = ('Origin: test\nSuite: stable\nCodename: stable\nDate: Sat, 01 '
               'Jan 2022 00:00:00 UTC\nArchitectures: amd64\nComponents: main\n'
               'SHA256:\n %s %d main/binary-amd64/Packages\n' % (
                   hashlib.sha256(packages.encode()).hexdigest(),
                   len(packages)))
    return {'debian/dists/stable/Release': answer(release),
            'debian/dists/stable/main/binary-amd64/Packages': answer(packages)}


def rows():
    """What the origin answers at /_row/."""
    tiny = package('tiny', OK + 'npm/_row/tiny.tgz')
    index, download = cargo_package()
    scoped = package('@acme/scoped', OK + 'npm/_row/scoped.tgz')
    link = '<a href="/pip/_row/tiny-1-py3-none-any.whl">tiny-1</a>'
    return {
        'range': answer('2345', 'text/plain', 'Content-Range: bytes 2-5/10',
                        status='206 Partial Content'),
        'gzip': answer(gzip.compress(b'unpacked'), 'text/plain',
                       'Content-Encoding: gzip'),
        'config.json': answer('{"dl": "%scargo/_row/crates"}' % OK,
                              'application/json'),
        'ti/ny/tiny': index, 'crates/tiny/1.0.0/download': download,
        'tiny': tiny[0], 'tiny.tgz': tiny[1],
        '@acme%2Fscoped': scoped[0], 'scoped.tgz': scoped[1],
        '-/npm/v1/security/advisories/bulk': answer('{}', 'application/json'),
        'simple/tiny/': answer('<!DOCTYPE html><html><body>%s</body></html>' %
                               link, 'text/html'),
        'tiny-1-py3-none-any.whl': wheel(), **archive(),
        'page': answer('<!DOCTYPE html><link rel=icon href="data:,">'
                       '<p id=a></p><script src=script.js></script>',
                       'text/html'),
        'script.js': answer('document.getElementById("a").textContent = '
                            '["drawn by a", "script"].join(" ")',
                            'text/javascript')}


def missing(name):
    """Why this client cannot be tried here, or None."""
    program = CLIENTS[name][0]
    if program.startswith('~/'):
        part, _, rest = program[2:].partition('/')
        return None if OWN[part] and os.path.exists(
            '%s/%s' % (OWN[part], rest)) else program + ' is not there'
    if not shutil.which(program, path='/usr/bin:/bin'):
        return program + ' is not installed'
    module = name.partition('python-')[2]
    if module in ('requests', 'httpx') and subprocess.run(
            ['/usr/bin/python3', '-c', 'import ' + module], check=False,
            capture_output=True).returncode:
        return 'python3 has no ' + module
    return None


RUN_ALL = '''for c in clients/*.sh; do
    (sh $c >$c.out 2>&1 </dev/null; echo $? >$c.exit)
done'''


@contextlib.contextmanager
def shown(home):
    """What is OWN and here, mounted into this home."""
    mounted = []
    try:
        for part in sorted({CLIENTS[name][0][2:].partition('/')[0]
                            for name in CLIENTS if not missing(name) and
                            CLIENTS[name][0].startswith('~/')}):
            where = '%s/%s' % (home, part)
            os.mkdir(where)
            subprocess.run(['mount', '--bind', OWN[part], where], check=True)
            mounted.append(where)
            subprocess.run(['mount', '-o', 'remount,bind,ro', where],
                           check=True)
        yield
    finally:
        for where in mounted:
            subprocess.run(['umount', where], check=True)


@pytest.fixture(scope='module')
def everyone(peers):
    """One run of all clients that are here: (bed, its result)."""
    it = Bed(RULES, peers=peers)
    peers.rows(rows())
    it.write('project/given', 'a given file\n')
    it.write('project/Get.java', JAVA)
    it.write('project/get.go', GO)
    for name, (_, command, _, _) in CLIENTS.items():
        if not missing(name):
            it.write('project/clients/%s.sh' % name,
                     command.replace('URL', OK + name) + '\n')
    give(it.home)
    with shown(it.home):
        got = it.run(RUN_ALL, timeout=400)
    assert got.exit == 0, got
    yield it, got
    token_is_only_in_its_slot(it)
    logs_hold(it)


def recorded(got, name):
    """(method, path, verdict, rule) of its requests, in order."""
    begin = '/' + name + '/'
    return [(r['http.request.method'], r['url.path'][len(begin):],
             r['verdict'], r.get('rule')) for r in got.find(event='request.end')
            if r.get('url.path', '').startswith(begin)]


@pytest.mark.parametrize('name', CLIENTS)
def test_a_client_as_it_comes(everyone, name):
    if missing(name):
        pytest.skip(missing(name))
    it, got = everyone
    _, _, text, wanted = CLIENTS[name]
    said = []
    for kind in ('exit', 'out'):
        with open('%s/project/clients/%s.sh.%s' % (it.home, name, kind),
                  encoding='utf-8', errors='replace') as f:
            said.append(f.read())
    assert said[0] == '0\n' and text in said[1], '\n'.join(said)
    assert sorted(recorded(got, name), key=str) == sorted(wanted, key=str), said


def test_nobody_asked_for_anything_else(everyone):
    """Not one request more than the rows say, but what a browser asks its
    maker of its own accord: refused, and nobody was dialled for it."""
    _, got = everyone
    known = tuple('/%s/' % name for name in CLIENTS)
    more = [r for r in got.find(event='request.end')
            if not r.get('url.path', '').startswith(known)]
    assert [r for r in more if r['verdict'] != 'deny' or
            r['server.address'].endswith('.test')] == []
    assert {r['server.address'] for r in got.find(event='dial')} == \
        {'api.test', 'cdn.test', 'ok.test'}


def test_what_the_origin_received_is_what_the_client_said(everyone):
    it, _ = everyone
    seen = {r['target']: r for r in it.origin_requests()}
    fields = {k: {n.lower(): v for n, v in r['fields']}
              for k, r in seen.items()}
    assert fields['/curl-range/_row/range']['range'] == 'bytes=2-5'
    assert 'gzip' in fields['/curl-gzip/_row/gzip']['accept-encoding']
    assert seen['/curl-chunked/_sink']['body'] == '12345'
    assert seen['/curl-expect/_sink']['body_size'] == 2000000
    assert fields['/curl-token/_whoami']['authorization'] == \
        'Bearer ' + it.canary
    assert not [k for k, f in fields.items() if 'authorization' in f and
                k != '/curl-token/_whoami']
