#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Make the certificates of the test bed with the openssl program.

A directory holds one root (root.pem), one key for every leaf (leaf.key), and a
NAME.pem (certificate and key) per leaf.  A few names have a certificate with a
known fault; every other name gets a good one when it is first asked for.
"""
import os
import re
import subprocess
import sys
import threading

# name -> what is wrong with its certificate
FAULTS = {
    'expired.test': 'expired',
    'selfsigned.test': 'selfsigned',
    'wrongname.test': 'wrongname',
    'cnonly.test': 'cnonly',
    'untrusted.test': 'untrusted',
    'ip.test': 'ip',
}
IP_SAN = '203.0.113.80'  # the address in the certificate of ip.test

_lock = threading.Lock()


def openssl(*args, feed=None):
    done = subprocess.run(['openssl', *args], input=feed, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError('openssl %s: %s' % (args[0], done.stderr))
    return done.stdout


def _key(path):
    openssl('genpkey', '-algorithm', 'EC', '-pkeyopt',
            'ec_paramgen_curve:P-256', '-out', path)


def _root(where, name):
    key, cert = where + '/' + name + '.key', where + '/' + name + '.pem'
    _key(key)
    openssl('req', '-x509', '-new', '-key', key, '-sha256', '-days', '30',
            '-subj', '/CN=duenna test ' + name, '-out', cert,
            '-addext', 'basicConstraints=critical,CA:TRUE',
            '-addext', 'keyUsage=critical,keyCertSign,cRLSign')


def make(where):
    """Make the roots and the leaves' key in the directory, once."""
    os.makedirs(where, exist_ok=True)
    if not os.path.exists(where + '/leaf.key'):
        _root(where, 'root')
        _root(where, 'stranger')
        _key(where + '/leaf.key')
    return where


def _sign(where, name, san, issuer='root', days='20', subject=None):
    ext = '%s/%s.ext' % (where, name)
    with open(ext, 'w', encoding='ascii') as f:
        f.write('basicConstraints=critical,CA:FALSE\n'
                'keyUsage=critical,digitalSignature\n'
                'extendedKeyUsage=serverAuth\n')
        if san:
            f.write('subjectAltName=%s\n' % san)
    request = openssl('req', '-new', '-key', where + '/leaf.key', '-subj',
                      '/CN=' + (subject or name)[:64])
    return openssl('x509', '-req', '-CA', '%s/%s.pem' % (where, issuer),
                   '-CAkey', '%s/%s.key' % (where, issuer), '-days', days,
                   '-sha256', '-extfile', ext, '-set_serial',
                   str(int.from_bytes(os.urandom(8), 'big') >> 1), feed=request)


def _expired(where, name):
    # openssl x509 cannot date a certificate back before 3.4; openssl ca can
    base = '%s/%s.ca' % (where, name)
    with open(base + '.txt', 'w', encoding='ascii'):
        pass
    with open(base + '.cnf', 'w', encoding='ascii') as f:
        f.write('[ca]\ndefault_ca=c\n[c]\ndatabase=%s.txt\nnew_certs_dir=%s\n'
                'rand_serial=yes\ndefault_md=sha256\npolicy=p\n'
                'x509_extensions=x\nunique_subject=no\n[p]\n'
                'commonName=supplied\n[x]\nsubjectAltName=DNS:%s\n'
                'basicConstraints=critical,CA:FALSE\n' % (base, where, name))
    openssl('req', '-new', '-key', where + '/leaf.key', '-subj', '/CN=' + name,
            '-out', base + '.csr')
    return openssl('ca', '-batch', '-config', base + '.cnf', '-in',
                   base + '.csr', '-cert', where + '/root.pem', '-keyfile',
                   where + '/root.key', '-startdate', '20200101000000Z',
                   '-enddate', '20200201000000Z', '-notext')


def _certificate(where, name, also=()):
    fault = FAULTS.get(name)
    dns = ','.join('DNS:' + each for each in (name, *also))
    if fault == 'expired':
        return _expired(where, name)
    if fault == 'selfsigned':
        return openssl('req', '-x509', '-new', '-key', where + '/leaf.key',
                       '-days', '20', '-subj', '/CN=' + name, '-addext',
                       'subjectAltName=' + dns)
    if fault == 'wrongname':
        return _sign(where, name, 'DNS:other.test')
    if fault == 'cnonly':
        return _sign(where, name, None)
    if fault == 'untrusted':
        return _sign(where, name, dns, issuer='stranger')
    if fault == 'ip':
        return _sign(where, name, 'IP:' + IP_SAN)
    return _sign(where, name, dns)


def leaf(where, name, also=()):
    """The path of NAME's certificate and key, made if it is not there yet."""
    name = (name or 'default.test').lower()
    if not re.fullmatch(r'[a-z0-9_.-]{1,253}', name):
        name = 'default.test'
    path = '%s/leaf-%s.pem' % (where, name)
    with _lock:
        if not os.path.exists(path):
            pem = _certificate(where, name, also)
            with open(where + '/leaf.key', encoding='ascii') as f:
                pem += f.read()
            with open(path + '.new', 'w', encoding='ascii') as f:
                f.write(pem)
            os.rename(path + '.new', path)
    return path


if __name__ == '__main__':
    if len(sys.argv) < 2:
        sys.exit('usage: pki.py DIRECTORY [NAME...]')
    make(sys.argv[1])
    for each in sys.argv[2:]:
        print(leaf(sys.argv[1], each))
