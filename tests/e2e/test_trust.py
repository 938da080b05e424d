# SPDX-License-Identifier: Apache-2.0
"""Who trusts duenna's CA: each program that is installed, as it comes, fetches
from the same origin in one sandbox; and what a user or the host set stays."""
import base64
import contextlib
import json
import os
import re
import shutil
import subprocess

import pytest

from bed import Bed, base, program
from test_etc import mounted

RULES = '''
- allow: https://ok.test/**
- allow: https://no.test/yes
- allow: https://git.test/acme/widgets.git/info/refs
  query: {service: [git-upload-pack]}
- allow: https://git.test/acme/widgets.git/git-upload-pack
  methods: [POST]
'''
JAVA = '''
public class Get {
    public static void main(String[] args) throws Exception {
        System.out.println(new String(new java.net.URL(args[0])
            .openStream().readAllBytes()));
    }
}
'''
GO = '''package main
import ("io"; "net/http"; "os")
func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil { panic(err) }
	io.Copy(os.Stdout, answer.Body)
}
'''
STRICT = ('import ssl, urllib.request as u; c = ssl.create_default_context(); '
          'c.verify_flags |= ssl.VERIFY_X509_STRICT; '
          "print(u.urlopen('URL', context=c).read().decode())")
BARE = 'env -i HOME=$HOME PATH=$PATH '
# it makes a sandbox of its own, in ours
CHROMIUM = ('timeout 40 chromium --headless --disable-gpu '
            '--user-data-dir=/tmp/NAME --dump-dom URL')
PYTHON = '/usr/bin/python3 -c "import %s as u; print(u.%s(\'URL\').%s)"'
OPENSSL = ("printf 'GET /NAME HTTP/1.0\\r\\nHost: ok.test\\r\\n\\r\\n' | "
           'openssl s_client -quiet -verify_return_error -verify_hostname '
           'ok.test -connect ok.test:443')
# name: (program, command); a name with `bare` has none of our variables.
CLIENTS = {
    'curl': ('curl', 'curl -sS URL'),
    'wget': ('wget', 'wget -q -O - URL'),
    'git': ('git', 'git ls-remote https://git.test/acme/widgets.git'),
    'openssl': ('openssl', OPENSSL),
    'urllib': ('python3', PYTHON % ('urllib.request', 'urlopen',
                                    'read().decode()')),
    'strict': ('python3', '/usr/bin/python3 -c "%s"' % STRICT),
    'requests': ('python3', PYTHON % ('requests', 'get', 'text')),
    'pip': ('pip3', 'pip3 download --no-deps --no-input -i URL/i x'),
    'node': ('node', "node -e \"require('https').get('URL', "
             'r => r.pipe(process.stdout))"'),
    'fetch': ('node', "node -e \"fetch('URL').then(r => r.text())"
              '.then(console.log)"'),
    'npm': ('npm', 'npm view --registry URL x'),
    'go': ('go', 'cd go && go build -o new get.go && mv new get && '
           './get URL'),
    'java': ('javac', 'javac -d new Get.java && mv new classes && '
             'java -cp classes Get URL'),
    'perl': ('perl', "perl -MHTTP::Tiny -e 'print HTTP::Tiny->new("
             'verify_SSL => 1)->get("URL")->{content}\''),
    'chromium': ('chromium', CHROMIUM),
    'chromium-refused': ('chromium', CHROMIUM.replace(
        'URL', '--no-sandbox https://no.test/no')),
    'firefox': ('firefox-esr', 'timeout 40 firefox-esr --headless '
                '--screenshot /tmp/shot.png URL; ls -l /tmp/shot.png'),
    'bare-curl': ('curl', BARE + 'curl -sS URL'),
    'bare-git': ('git', BARE + 'git ls-remote '
                 'https://git.test/acme/widgets.git'),
    'bare-openssl': ('openssl', OPENSSL.replace('openssl', BARE + 'openssl')),
    'bare-urllib': ('python3', BARE + PYTHON % (
        'urllib.request', 'urlopen', 'read().decode()')),
    'bare-go': ('go', 'until test -x go/get; do sleep .1; done; ' + BARE +
                'go/get URL'),
    'bare-java': ('javac', 'until test -d classes; do sleep .1; done; ' +
                  BARE + 'java -cp classes Get URL'),
}
ABSENT = {  # how a library that is not there says so
    'requests': "No module named 'requests'",
    'perl': 'IO::Socket::SSL'}
LINES = {'git': 'refs/heads/main', 'chromium-refused': 'http.path_denied'}
ARRIVES = ('pip', 'npm', 'firefox')  # told by the origin, not by what it says


def is_here(program):
    return shutil.which(program, path='/usr/bin:/bin') is not None


@pytest.fixture(scope='module')
def said(peers):
    """name -> what it printed; and under '' the targets that arrived."""
    here = Bed(RULES, peers=peers,
               files={'Get.java': JAVA, 'go/get.go': GO})
    script = 'mkdir out\n'
    for name, (needs, command) in CLIENTS.items():
        if is_here(needs):
            command = command.replace('URL', 'https://ok.test/' + name)
            script += '(%s) >out/%s 2>&1 &\n' % (
                command.replace('NAME', name), name)
    got = here.run(script + 'wait', timeout=120)
    assert got.exit == 0, got
    found = {'': [r['target'] for r in here.origin_requests()]}
    for name in os.listdir(here.project + '/out'):
        with open(here.project + '/out/' + name, encoding='utf-8',
                  errors='replace') as f:
            found[name] = f.read()
    return found


@pytest.mark.slow
@pytest.mark.parametrize('name', CLIENTS)
def test_who_trusts(said, name):
    needs = CLIENTS[name][0]
    if not is_here(needs):
        pytest.skip(needs + ' is not installed')
    text = said[name]
    if name in ABSENT and ABSENT[name] in text:
        pytest.skip('not installed: ' + text.split('\n')[-2])
    if name in ARRIVES:
        assert [t for t in said[''] if t.startswith('/' + name)], text
    else:
        want = LINES.get(name.replace('bare-', ''),
                         'hello from ok.test/' + name)
        assert want in text, text


def test_a_value_of_the_users_stays(bed):
    here = bed('- allow: https://ok.test/**')
    own = {'SSL_CERT_FILE': '/own.pem', 'NODE_EXTRA_CA_CERTS': '',
           'JAVA_TOOL_OPTIONS': '-Dmine=1'}
    args = [a for n in own for a in ('--env', n)]
    shutil.copy(program(), here.project)
    got = here.run('env; ./duenna ca env --json', args=args, env=own)
    *lines, kit = got.out.splitlines()
    kit = json.loads(kit)
    seen = dict(line.split('=', 1) for line in lines)
    for name, value in kit.items():
        want = own.get(name, value)
        if name == 'JAVA_TOOL_OPTIONS':  # options add up
            want += ' ' + value
        assert seen[name] == want, name
    store = '-Djavax.net.ssl.trustStore=/own.jks'
    got = here.run('echo $JAVA_TOOL_OPTIONS', args=['--env',
                                                    'JAVA_TOOL_OPTIONS'],
                   env={'JAVA_TOOL_OPTIONS': store})
    assert got.out == store + '\n', got
    # each takes public roots away, or switches another one off
    assert not {'SSL_CERT_DIR', 'GIT_SSL_CAPATH', 'npm_config_cafile'} & \
        set(seen)


@contextlib.contextmanager
def etc_of(files):
    """The host's /etc with these files over it, in this bed alone."""
    folder = '%s/etc-of-%d' % (base(), len(os.listdir(base())))
    for name, text in files.items():
        path = folder + '/' + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='ascii') as f:
            f.write(text)
    with mounted(('-t', 'overlay', '-o', 'lowerdir=%s:/etc' % folder, 'etc',
                  '/etc')):
        yield


ROOT_ONLY = pytest.mark.skipif(os.environ.get('DUENNA_BED') != 'root',
                               reason='covers /etc: wants root')


@ROOT_ONLY
def test_managed_policies_of_the_host_are_merged(bed):
    here = bed('- allow: https://ok.test/**')
    managed = 'chromium/policies/managed/'
    theirs = base64.b64encode(b'theirs').decode()
    with etc_of({
            managed + 'own.json': '{"CACertificates": ["%s"], '
                                  '"HomepageLocation": "x:"}' % theirs,
            'firefox/policies/policies.json':
                '{"policies": {"DisableTelemetry": true, "Certificates": '
                '{"Install": ["own.pem"]}}}'}):
        got = here.run('cd /etc; ls %s; cat %s~duenna.json '
                       'firefox/policies/policies.json; '
                       'openssl x509 -in /etc/duenna/ca.pem -outform der | '
                       'base64 -w 0' % (managed, managed))
    files = got.out.split('\n')
    # Chromium takes a policy from the last file by name that has it
    assert files[:2] == sorted(['own.json', '~duenna.json']), got
    ours = json.loads(files[2])
    assert ours == {'CACertificates': [files[4], theirs]}
    assert json.loads(files[3]) == {'policies': {
        'DisableTelemetry': True, 'Certificates': {
            'Install': ['/etc/duenna/ca.pem', 'own.pem']}}}


@ROOT_ONLY
@pytest.mark.slow
@pytest.mark.skipif(not is_here('javac'), reason='javac is not installed')
def test_java_trusts_where_the_host_packs_no_store_for_it(bed):
    here = bed('- allow: https://ok.test/**', files={'Get.java': JAVA})
    with mounted(('-t', 'tmpfs', 'none', '/etc/ssl/certs/java')):
        assert not os.listdir('/etc/ssl/certs/java')
        got = here.run('javac Get.java; %s java Get https://ok.test/1; '
                       'java Get https://ok.test/2' % BARE,
                       args=['--env', 'JAVA_TOOL_OPTIONS'],
                       env={'JAVA_TOOL_OPTIONS': '-Dmine=1'})
    assert re.findall('hello from (.*)', got.out) == \
        ['ok.test/1', 'ok.test/2'], got
    assert '-Dmine=1 -Djavax.net.ssl.trustStore=' in got.err, got
    found = subprocess.run(
        ['keytool', '-list', '-keystore', '/etc/ssl/certs/java/cacerts',
         '-storepass', 'changeit'], capture_output=True, text=True,
        check=False)
    assert 'duenna' not in found.stdout.lower()  # nothing of the host's changed


def test_a_container_without_our_etc_is_told_its_own_files(bed):
    here = bed('- allow: https://ok.test/**')
    got = here.run('cat /etc/duenna/ca.pem')
    here.write('project/ca.pem', got.out)
    for args, status, said in (
            (['env'], 1, '/etc/duenna/ca.pem: No such file'),
            (['env', '--ca', 'ca.pem'], 2, '--ca and --bundle')):
        assert here.duenna('ca', *args)[0] == status
        assert said in here.duenna('ca', *args)[2]
    done = subprocess.run(
        ['sh', '-ec', """
            $0 ca bundle --ca ca.pem >all.pem
            $0 ca bundle --ca ca.pem --jks >all.jks
            eval "$($0 ca env --ca ca.pem --bundle all.pem --store all.jks)"
            cd /
            cat $SSL_CERT_FILE | grep -c BEGIN
            cmp $NODE_EXTRA_CA_CERTS $OLDPWD/ca.pem
            echo $JAVA_TOOL_OPTIONS""", program()],
        cwd=here.project, capture_output=True, text=True, check=False)
    roots, java = done.stdout.split('\n')[:2]
    with open('/etc/ssl/certs/ca-certificates.crt', encoding='ascii') as f:
        assert int(roots) == f.read().count('BEGIN') + 1, done
    assert java == '-Djavax.net.ssl.trustStore=%s/all.jks' % here.project
    if is_here('keytool'):
        found = subprocess.run(
            ['keytool', '-list', '-keystore', here.project + '/all.jks',
             '-storepass', 'changeit'], capture_output=True, text=True,
            check=True)
        assert found.stdout.count('trustedCertEntry') == int(roots)


def test_no_nss_database_is_touched(bed):
    here = bed('- allow: https://ok.test/**')
    got = here.run('find / -xdev -name cert9.db -newer /etc/duenna/ca.pem '
                   '2>/dev/null; ls -A $HOME')
    assert '.db' not in got.out and '.pki' not in got.out, got
