# SPDX-License-Identifier: Apache-2.0
"""The laboratory of tests/bench/table: three network namespaces and an origin.

    sb  10.77.1.2  client  |  10.77.1.1  gw  10.77.2.1  |  10.77.2.2  or  origin

All of it lives inside a bed (tests/e2e/bed.py), so it has no way out of the
machine and is gone with the bed, whatever ends it.  A transparent proxy listens
in `gw` on PORT, where connections of `sb` to port 443 are redirected; the origin
listens on DIRECT too, which is only routed.
"""
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../e2e'))
import bed as B  # noqa: E402
sys.path.insert(0, B.PEERS)
import pki  # noqa: E402

ORIGIN, GATEWAY, DIRECT, PORT = '10.77.2.2', '10.77.1.1', 8443, 8400
NAME = 'api.test'
WHERE = B.base() + '/bench'
ROOT, CA = WHERE + '/origin/root.pem', WHERE + '/proxy/root.pem'
LEAF = '%s/proxy/leaf-%s.pem' % (WHERE, NAME)  # what fixed-certificate peers show
BACKEND = '/usr/lib/git-core/git-http-backend'
TICK = os.sysconf('SC_CLK_TCK')

NGINX = '''worker_processes 2; daemon off; user root; pid %(run)s/pid;
error_log %(run)s/errors error;
events { worker_connections 16000; multi_accept on; }
http {
  access_log off; default_type application/octet-stream; sendfile on;
  tcp_nopush on; keepalive_requests 100000000; keepalive_timeout 900s;
  client_body_temp_path %(run)s/t1; proxy_temp_path %(run)s/t2;
  fastcgi_temp_path %(run)s/t3; uwsgi_temp_path %(run)s/t4;
  scgi_temp_path %(run)s/t5; output_buffers 2 512k;
  ssl_protocols TLSv1.2 TLSv1.3; ssl_session_tickets on;
  ssl_certificate %(leaf)s; ssl_certificate_key %(leaf)s;
  server {
    listen 443 ssl http2 reuseport backlog=8192;
    listen %(direct)d ssl http2 reuseport backlog=8192;
    location = /small { default_type application/json; return 200 '%(small)s'; }
    location = /100m { alias %(run)s/100m; }
    location = /upload {
      # the body ends in memory, and the answer comes behind it
      client_max_body_size 0; client_body_buffer_size 17m;
      proxy_pass http://unix:%(run)s/done.sock:/;
      proxy_pass_request_body off; proxy_set_header Content-Length "";
    }
    location ~ ^/git(/.*) { # of tests/bench/git, by git's own server
      client_max_body_size 0; fastcgi_request_buffering off;
      fastcgi_buffering off; fastcgi_read_timeout 900s;
      fastcgi_param SCRIPT_FILENAME %(backend)s;
      fastcgi_param GIT_PROJECT_ROOT %(run)s/git;
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param GIT_PROTOCOL $http_git_protocol;
      fastcgi_param PATH_INFO $1;
      fastcgi_param REMOTE_USER bench;
      fastcgi_param REMOTE_ADDR $remote_addr;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_pass unix:%(run)s/fcgi.sock;
    }
  }
  server { listen unix:%(run)s/done.sock; location / { return 200 'ok'; } }
}
'''
NFT = '''table ip bench {
  chain pre {
    type nat hook prerouting priority -100; policy accept;
    iifname "b1" tcp dport 443 redirect to :%d
  }
}
'''


def inside(ns, *command):
    return ['ip', 'netns', 'exec', ns, *(str(c) for c in command)]


def write(name, text):
    path = WHERE + '/' + name
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def _links():
    B.sh('mount', '-t', 'tmpfs', '-o', 'mode=755', 'run', '/run')
    for ns in ('sb', 'gw', 'or'):
        B.sh('ip', 'netns', 'add', ns)
        B.sh('ip', '-n', ns, 'link', 'set', 'lo', 'up')
    for a, ns, address, b, to, other in (
            ('b0', 'sb', '10.77.1.2', 'b1', 'gw', GATEWAY),
            ('b2', 'gw', '10.77.2.1', 'b3', 'or', ORIGIN)):
        B.sh('ip', 'link', 'add', a, 'netns', ns, 'type', 'veth', 'peer',
             'name', b, 'netns', to)
        for dev, space, ip in ((a, ns, address), (b, to, other)):
            B.sh('ip', '-n', space, 'addr', 'add', ip + '/24', 'dev', dev)
            B.sh('ip', '-n', space, 'link', 'set', dev, 'up')
    B.sh('ip', '-n', 'sb', 'route', 'add', 'default', 'via', GATEWAY)
    B.sh('ip', '-n', 'or', 'route', 'add', 'default', 'via', '10.77.2.1')
    for ns in ('sb', 'gw', 'or'):
        for key, value in (('ip_forward', '1'), ('tcp_tw_reuse', '1'),
                           ('ip_local_port_range', '1024 65535'),
                           ('tcp_fin_timeout', '5')):
            B.sh(*inside(ns, 'sh', '-c', 'echo "%s" >/proc/sys/net/ipv4/%s' %
                         (value, key)))
    subprocess.run(inside('gw', 'nft', '-f', '-'), input=NFT % PORT,
                   text=True, check=True)


def _origin():
    run = WHERE + '/origin/run'
    os.makedirs(run)
    with open(run + '/100m', 'wb') as f:
        for _ in range(100):
            f.write(os.urandom(1 << 20))
    small = '{"id":"msg_0123456789","data":"%s"}' % ('x' * 990)
    conf = write('origin/nginx.conf', NGINX % {
        'run': run, 'direct': DIRECT, 'small': small[:1024],
        'leaf': '%s/origin/leaf-%s.pem' % (WHERE, NAME),
        'backend': BACKEND})
    return subprocess.Popen(
        inside('or', 'nginx', '-p', run, '-c', conf, '-e', run + '/errors'),
        stdin=subprocess.DEVNULL)


def make():
    """Everything but the peers; returns the origin's process."""
    os.makedirs(WHERE)
    for which in ('origin', 'proxy'):
        pki.make(WHERE + '/' + which)
        pki.leaf(WHERE + '/' + which, NAME, ['*.w.test'])
    _links()
    return _origin()


def spent(processes):
    """Seconds of processor time of each (pid -> title) so far, all threads."""
    total = {}
    for pid, title in processes.items():
        name = '%s %d' % (title, pid)
        total[name] = 0
        for path in glob.glob('/proc/%d/task/*/schedstat' % pid):
            try:
                with open(path, encoding='ascii') as f:
                    total[name] += int(f.read().split()[0]) / 1e9
            except OSError:
                pass
    return total


def pss_kib(processes, kind='Pss'):
    """Their proportional share of memory; `Pss_Anon`: without files' pages,
    whose share changes with whoever else has them mapped."""
    total = 0
    for pid in processes:
        try:
            with open('/proc/%d/smaps_rollup' % pid, encoding='ascii') as f:
                total += sum(int(r.split()[1]) for r in f
                             if r.startswith(kind + ':'))
        except OSError:
            pass
    return total


def busy():
    """Seconds that all processors of the machine were busy so far."""
    with open('/proc/stat', encoding='ascii') as f:
        n = [int(x) for x in f.readline().split()[1:9]]
    return (n[0] + n[1] + n[2] + n[5] + n[6]) / TICK
