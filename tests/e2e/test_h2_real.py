# SPDX-License-Identifier: Apache-2.0
"""Apache as an origin, over both versions of HTTP, and Java as a client."""
import os
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

import pki

PORT = 4443
SIZE = 3000000
URL = 'https://a.h2.test:%d' % PORT
ANY = '- allow: https://a.h2.test:%d/**\n  methods: any\n' % PORT
MODULES = ('mpm_event', 'authz_core', 'ssl', 'http2', 'dav', 'dav_fs',
           'setenvif')
CONF = '''
ServerRoot %(dir)s
ServerName a.h2.test
PidFile %(dir)s/pid
User nobody
Group nogroup
Listen %(port)d
ErrorLog %(dir)s/error
LogFormat "%%m %%U %%H %%s %%{X-Sum}^ti" seen
CustomLog %(dir)s/seen seen
DavLockDB %(dir)s/locks
DocumentRoot %(dir)s/root
%(modules)s
Protocols h2 http/1.1
SSLEngine on
SSLCertificateFile %(leaf)s
<Location />
  Dav on
</Location>
<Location /no>
  Require all denied
</Location>
'''
JAVA = '''
import java.net.URI;
import java.net.http.*;
public class Get {
    public static void main(String[] a) throws Exception {
        var client = HttpClient.newHttpClient();
        for (var path : new String[] {"/one", "/big", "/none"}) {
            var uri = URI.create(a[0] + path);
            var got = client.send(HttpRequest.newBuilder(uri).build(),
                HttpResponse.BodyHandlers.ofString());
            System.out.println(got.version() + " " + got.statusCode() + " "
                + got.body().length());
        }
        for (var path : new String[] {"/new", "/no/new"}) {
            var put = HttpRequest.newBuilder(URI.create(a[0] + path)).PUT(
                HttpRequest.BodyPublishers.ofString("x".repeat(500000)));
            var got = client.send(put.build(),
                HttpResponse.BodyHandlers.discarding());
            System.out.println(got.version() + " " + got.statusCode());
        }
    }
}
'''

PUT = r"""
import http.client
c = http.client.HTTPSConnection('a.h2.test', %d)
for name in b'x', b'y':
    c.putrequest('PUT', '/' + name.decode())
    c.putheader('Trailer', 'X-Sum')
    c.putheader('Transfer-Encoding', 'chunked')
    c.endheaders(b'3\r\nabc\r\n3\r\ndef\r\n'
                 b'0\r\nX-Sum: 6 of ' + name + b'\r\n\r\n')
    r = c.getresponse()
    r.read()
    print(r.status)
"""


class Apache:
    def __init__(self, where, leaf):
        self.dir, self.root = where, where + '/root'
        os.mkdir(self.root)
        with open(where + '/conf', 'w', encoding='ascii') as f:
            f.write(CONF % {
                'dir': where, 'port': PORT, 'leaf': leaf,
                'modules': '\n'.join(
                    'LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so'
                    % (m, m) for m in MODULES)})
        for name, size in ('one', 3), ('big', SIZE):
            with open('%s/%s' % (self.root, name), 'wb') as f:
                f.write(b'a' * size)
        os.chmod(where, 0o777)
        os.chmod(self.root, 0o777)
        self.run = subprocess.Popen(  # pylint: disable=consider-using-with
            ['/usr/sbin/apache2', '-f', where + '/conf', '-D', 'FOREGROUND'],
            stderr=subprocess.PIPE)
        while self.run.poll() is None:
            try:
                socket.create_connection(('127.0.0.1', PORT)).close()
                break
            except OSError:
                time.sleep(0.02)
        assert self.run.poll() is None, self.run.stderr.read()

    def seen(self):
        with open(self.dir + '/seen', encoding='ascii') as f:
            return [line.strip() for line in f if line[0] != '-']

    def stop(self):
        self.run.terminate()
        self.run.communicate()


@pytest.fixture
def apache(peers):
    if not os.path.exists('/usr/lib/apache2/modules/mod_http2.so'):
        pytest.skip('apache2-bin is not installed')
    with tempfile.TemporaryDirectory() as where:  # a server is nobody
        one = Apache(where, pki.leaf(pki.make(peers.pki), 'a.h2.test'))
        yield one
        one.stop()


@pytest.mark.parametrize('option, version, line', [
    ('--http2', '2', 'HTTP/2.0'), ('--http1.1', '1.1', 'HTTP/1.1')])
def test_apache_serves_both_versions(bed, apache, option, version, line):
    say = 'curl -sS %s -w "%%{http_version} %%{http_code} %%{size_download}\\n" '\
        % option
    got = bed(ANY).run('; '.join((
        say + '-o /dev/null URL/one -o /dev/null URL/big -o /dev/null URL/none',
        say + '-I -o /dev/null URL/big',
        say + '-r 5-9 URL/big',
        'head -c %d /dev/zero | ' % SIZE + say + '-o /dev/null -T - URL/new'))
        .replace('URL', URL))
    codes = ['200 3', '200 %d' % SIZE, '404', '200', '206 5', '201']
    lines = [x.replace('aaaaa', '') for x in got.out.strip().split('\n')]
    assert len(lines) == len(codes), got
    for said, code in zip(lines, codes):
        assert said.startswith(version + ' ' + code), got
    assert os.path.getsize(apache.root + '/new') == SIZE, got
    assert [s.split()[:3] for s in apache.seen()] == [
        [m, p, line] for m, p in (
            ('GET', '/one'), ('GET', '/big'), ('GET', '/none'),
            ('HEAD', '/big'), ('GET', '/big'), ('PUT', '/new'))], got


def test_apache_reads_the_trailers_of_http11(bed, apache):
    """And the request behind them, on another connection."""
    got = bed(ANY, files={'put.py': PUT % PORT}).run('python3 put.py')
    assert got.out == '201\n201\n', got
    assert apache.seen() == ['PUT /x HTTP/1.1 201 6 of x',
                             'PUT /y HTTP/1.1 201 6 of y'], got
    with open(apache.root + '/y', encoding='ascii') as f:
        assert f.read() == 'abcdef'


@pytest.mark.skipif(not shutil.which('javac', path='/usr/bin'),
                    reason='javac is not installed')
def test_java_speaks_http2_with_apache(bed, apache):
    """The last upload is refused, and reset, when its head is there: Java would
    wait for ever if that reset came to it."""
    got = bed(ANY, files={'Get.java': JAVA}).run('java Get.java ' + URL,
                                                 timeout=60)
    assert got.out.startswith('HTTP_2 200 3\nHTTP_2 200 %d\nHTTP_2 404 ' % SIZE)
    assert got.out.endswith('\nHTTP_2 201\nHTTP_2 403\n'), got
    assert os.path.getsize(apache.root + '/new') == 500000, got
    assert len(got.find(event='dial')) == 1, got
    assert {s.split()[2] for s in apache.seen()} == {'HTTP/2.0'}, got
