# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/table measures: each peer starts, loads and stops alike.

caps: `term` ends TLS, `h2` speaks HTTP/2 to clients, `pass` passes TLS through by
its SNI, `rules` takes a list of allowed names.
"""
import os
import re
import shutil
import subprocess
import time

import lab as L
from lab import B

HAPROXY = '''global
  nbthread 2
  maxconn 4000
  ssl-default-bind-options ssl-min-ver TLSv1.2
defaults
  timeout connect 10s
  timeout client 900s
  timeout server 900s
  timeout http-keep-alive 900s
  timeout tunnel 900s
'''
HAPROXY_HTTP = HAPROXY + '''frontend f
  mode http
  bind :%(port)d ssl crt %(leaf)s alpn h2,http/1.1 backlog 8192
  %(rules)s
  default_backend b
backend b
  mode http
  %(reuse)s
  server o %(origin)s:443 ssl verify required ca-file %(root)s sni req.hdr(host),field(1,:) check-sni %(name)s alpn %(alpn)s %(server)s
'''
HAPROXY_TCP = HAPROXY + '''frontend f
  mode tcp
  bind :%(port)d backlog 8192
  tcp-request inspect-delay 5s
  %(rules)s
  tcp-request content accept if { req.ssl_hello_type 1 }
  default_backend b
backend b
  mode tcp
  option splice-auto
  server o %(origin)s:443
'''
NGINX = '''worker_processes 2; daemon off; user root; pid %(run)s/pid;
error_log %(run)s/errors error;
events { worker_connections 16000; multi_accept on; }
http {
  access_log off; client_max_body_size 0; keepalive_requests 100000000;
  keepalive_timeout 900s; server_names_hash_bucket_size 128;
  client_body_temp_path %(run)s/t1; proxy_temp_path %(run)s/t2;
  fastcgi_temp_path %(run)s/t3; uwsgi_temp_path %(run)s/t4;
  scgi_temp_path %(run)s/t5;
  upstream o { server %(origin)s:443; keepalive 512;
    keepalive_requests 100000000; keepalive_timeout 900s; }
  %(rules)s
  server {
    listen %(port)d ssl http2 reuseport backlog=8192;
    ssl_certificate %(leaf)s; ssl_certificate_key %(leaf)s;
    ssl_protocols TLSv1.2 TLSv1.3;
    %(check)s
    location / {
      proxy_pass https://o; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header Host $host;
      proxy_ssl_server_name on; proxy_ssl_name $host; proxy_ssl_verify on;
      proxy_ssl_trusted_certificate %(root)s;
      proxy_ssl_protocols TLSv1.2 TLSv1.3; proxy_request_buffering off;
      proxy_max_temp_file_size 0; proxy_buffers 8 32k; proxy_buffer_size 16k;
      proxy_read_timeout 900s; proxy_send_timeout 900s;
    }
  }
}
'''
CLIENT = re.compile(r'(^|/)(load|load_h2|h2load)\b')  # of `run`, its command
ADDRESSES = '        addresses: [%s]\n' % L.ORIGIN
RULE = '      - allow: [%s]\n        methods: [GET, POST]\n'


class Load:
    """A client that waits for its word; see load.c."""

    def __init__(self, command, **more):
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **more)

    def line(self):
        """Its next line, as text; what it said instead is an error."""
        text = self.child.stdout.readline()
        if not text:
            raise RuntimeError(self.child.communicate()[1].strip()[-300:])
        return text

    def go(self):
        self.child.stdin.write('\n')
        self.child.stdin.flush()

    def end(self):
        """Let it end; kill it if it does not."""
        try:
            self.child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.communicate()


def program_of(args):
    """`-m` is a word of the client for HTTP/2 alone, as is its mode `held`."""
    return 'load_h2' if '-m' in args or 'held' in args else 'load'


class Direct:
    """No proxy: routed by the gateway."""
    name, caps, needs, ca = 'direct', 'term h2 pass', [], L.ROOT
    to = '%s:%d' % (L.ORIGIN, L.DIRECT)

    def start(self, _rules=None):
        pass

    def stop(self):
        pass

    def is_there(self):
        return True

    def load(self, *args):
        program = L.WHERE + '/' + program_of(args)
        return Load(L.inside('sb', program, *args, '-a', self.to))

    def processes(self, _load):
        """pid -> title of all that is the proxy."""
        return {}

    def first(self, rules=None):
        """Seconds from its exec until a request was answered."""
        return None


class Proxy(Direct):
    """A transparent proxy in the gateway, in the foreground."""
    to, caps = L.ORIGIN, 'term h2 rules'
    ca, child = L.CA, None
    config, command = '', []
    settings = {}

    def fill(self, rules):
        raise NotImplementedError

    def start(self, rules=None):
        run = L.WHERE + '/' + self.name
        os.makedirs(run, exist_ok=True)
        values = {'run': run, 'port': L.PORT, 'origin': L.ORIGIN,
                  'name': L.NAME, 'root': L.ROOT, 'leaf': L.LEAF,
                  'check': '', **self.settings, **self.fill(rules)}
        conf = L.write(self.name + '/conf', self.config % values)
        began = time.monotonic()
        self.child = subprocess.Popen(
            L.inside('gw', *(c % {'conf': conf, 'run': run}
                             for c in self.command)),
            stdin=subprocess.DEVNULL, stderr=self.errors())
        return began

    def errors(self):
        """Where it says what is wrong."""
        return open(L.WHERE + '/' + self.name + '/stderr', 'w+',
                    encoding='utf-8')

    def complaint(self):
        with open(L.WHERE + '/' + self.name + '/stderr',
                  encoding='utf-8') as f:
            return f.read().strip()[-200:]

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def is_there(self):
        """It has not ended by itself."""
        return self.child.poll() is None

    def processes(self, _load):
        return {pid: line[0] for pid, line in
                B.descendants(self.child.pid).items() if line}

    def first(self, rules=None):
        load = self.load('first', '-V', self.ca)
        began = self.start(rules)
        return load, began


class Haproxy(Proxy):
    """One certificate, upstream connections shared."""
    name, needs, config = 'haproxy', ['haproxy'], HAPROXY_HTTP
    command = ['haproxy', '-db', '-f', '%(conf)s']
    settings = {'reuse': 'http-reuse always', 'server': '',
                'alpn': 'http/1.1'}
    test = 'http-request deny unless { req.hdr(host),lower -f %s }'

    def fill(self, rules):
        return {'rules': self.test % rules if rules else ''}


class HaproxyNoReuse(Haproxy):
    """Two full TLS legs for each connection."""
    name, caps = 'haproxy-noreuse', 'term'
    settings = {'reuse': 'http-reuse never', 'alpn': 'http/1.1',
                'server': 'no-ssl-reuse pool-max-conn 0'}


class HaproxyH2(Haproxy):
    """HTTP/2 to the origin as well, as duenna has it."""
    name, caps = 'haproxy-h2', 'h2'
    settings = {'reuse': 'http-reuse always', 'server': '', 'alpn': 'h2'}


class HaproxyTcp(Haproxy):
    """Reads the SNI, then passes the bytes."""
    name, caps, config, ca = 'haproxy-tcp', 'pass rules', HAPROXY_TCP, L.ROOT
    test = ('tcp-request content reject if { req.ssl_hello_type 1 } '
            '!{ req.ssl_sni,lower -f %s }')


class Nginx(Proxy):
    """One certificate, upstream connections shared by address."""
    name, needs, config = 'nginx', ['nginx'], NGINX
    command = ['nginx', '-p', '%(run)s', '-c', '%(conf)s', '-e',
               '%(run)s/errors']

    def fill(self, rules):
        if not rules:
            return {'rules': ''}
        with open(rules, encoding='ascii') as f:
            rows = L.write('nginx/map', ''.join(r.strip() + ' 1;\n' for r in f))
        return {'rules': 'map_hash_max_size 400000; map_hash_bucket_size 128; '
                         'map $host $ok { default 0; include %s; }' % rows,
                'check': 'if ($ok = 0) { return 403; }'}


class Run(Direct):
    """`duenna run` in the gateway; the client is its command, by name."""
    name, caps, ca, rule = 'run', 'term h2 rules', 'system', RULE
    url, bed = 'https://%s/**', None

    def start(self, rules=None):
        names = [L.NAME]
        if rules:
            with open(rules, encoding='ascii') as f:
                names = f.read().split()
        text = self.rule % ', '.join(self.url % n for n in names)
        text += ADDRESSES
        if 'h2' in self.caps.split() and not rules:
            text += RULE % 'https://*.w.test/**' + ADDRESSES
        policy = 'version: 1\npolicies:\n  bench:\n    rules:\n' + text
        self.bed = B.Bed(policy, config=CONFIG, peers=Owner())
        shutil.copy(L.ROOT, self.bed.settings + '/root.pem')
        for program in ('load', 'load_h2'):
            shutil.copy(L.WHERE + '/' + program, self.bed.project)

    def stop(self):
        shutil.rmtree(self.bed.home)

    def load(self, *args):
        line = [B.program(), 'run', '--quiet', '--',
                './' + program_of(args), *args]
        return Load(L.inside('gw', *B.as_user(line)), cwd=self.bed.project,
                    env=self.bed.environment())

    def processes(self, load):
        """All of duenna: not the client, which is its command."""
        return {pid: line[0] for pid, line in
                B.descendants(load.child.pid).items()
                if line and not CLIENT.search(' '.join(line[:2]))}

    def first(self, rules=None):
        self.start(rules)
        began = time.monotonic()
        return self.load('first', '-V', self.ca), began


class RunToken(Run):
    """The same with a credential: announced, released, masked."""
    name, caps = 'run-token', 'term h2'
    rule = RULE + '        credential: api\n'


class RunTls(Run):
    """Passed unread, by a `tls` rule: the origin's own certificate is seen."""
    name, caps, ca = 'run-tls', 'pass', './root.pem'
    rule, url = '      - allow: [%s]\n', 'tls://%s'

    def start(self, rules=None):
        super().start(rules)
        shutil.copy(L.ROOT, self.bed.project + '/root.pem')


class Owner:
    """What tests/e2e/bed.py wants to know of its peers."""
    canary, record, log = 'benchtoken0123456789abcdef', '', ''
    pki = L.WHERE + '/origin'


CONFIG = '''version: 1
credentials:
  api:
    kind: token
    secret: {file: token}
    only: [https://%s/**]
private: [10.77.2.0/24]
upstream:
  - names: ["**"]
    addresses: [%s]
    roots: [root.pem]
''' % (L.NAME, L.ORIGIN)

ALL = [Direct, Haproxy, HaproxyNoReuse, HaproxyH2, HaproxyTcp, Nginx, Run, RunToken,
       RunTls]
