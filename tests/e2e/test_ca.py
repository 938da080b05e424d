# SPDX-License-Identifier: Apache-2.0
"""A CA that the operator gives: `ca:` of the owner's configuration."""
import json
import os
import subprocess

import pytest

from bed import Bed, give

CONFIG = 'ca: {certificate: mid.pem, key: mid.key, next: next.pem}\n'
CA = ['-addext', 'basicConstraints=critical,CA:TRUE',
      '-addext', 'keyUsage=critical,keyCertSign,cRLSign']


def openssl(*args):
    return subprocess.run(['openssl', *args], check=True, capture_output=True,
                          text=True).stdout


def make(folder, name, *more, key=('ec', '-pkeyopt',
                                   'ec_paramgen_curve:P-384')):
    """NAME.key, NAME.pem: a CA, by itself or by what `-CA` names."""
    base = folder + '/' + name
    openssl('req', '-x509', '-newkey', *key, '-nodes', '-keyout',
            base + '.key', '-out', base + '.pem', '-sha256', '-subj',
            '/O=Acme/CN=' + name, '-days', '9', *CA, *more)
    os.chmod(base + '.key', 0o600)


def put_behind(folder, name, other):
    with open('%s/%s.pem' % (folder, other), encoding='ascii') as f:
        text = f.read()
    with open('%s/%s.pem' % (folder, name), 'a', encoding='ascii') as f:
        f.write(text)


@pytest.fixture
def here(bed):
    """A root, an intermediate of it that signs, and the root of tomorrow."""
    it = bed('- allow: https://ok.test/**\n', Bed.config(CONFIG))
    where = it.settings
    make(where, 'top', key=('rsa:2048',))
    make(where, 'next')
    make(where, 'mid', '-CA', where + '/top.pem', '-CAkey',
         where + '/top.key')
    put_behind(where, 'mid', 'top')
    give(where)
    return it


def test_an_intermediate_of_the_operator_signs(here):
    """Clients have its root alone; what is between is sent to them."""
    got = here.run(
        'curl -sS https://ok.test/1; wget -q -O - https://ok.test/2\n'
        # by nothing but ours: the bundle of a program, and Node's
        'python3 -c "import ssl, urllib.request as u; print(u.urlopen('
        "'https://ok.test/3', context=ssl.create_default_context("
        "cafile='/etc/duenna/ca.pem')).read().decode())\"\n"
        "node -e \"require('https').get('https://ok.test/4', "
        'r => r.pipe(process.stdout))"\n'
        'openssl s_client -connect ok.test:443 -verify_return_error '
        '-showcerts </dev/null 2>/dev/null | grep -E "^ +[0-9] s:|i:"\n'
        'grep -c BEGIN /etc/duenna/ca.pem\n')
    for i in (1, 2, 3, 4):
        assert 'hello from ok.test/%d\n' % i in got.out, got
    chain = [x.strip() for x in got.out.split('\n') if 'i:' in x or 's:' in x]
    assert chain[:4] == ['0 s:', 'i:O = Acme, CN = mid',
                         '1 s:O = Acme, CN = mid',
                         'i:O = Acme, CN = top'], got
    assert len([x for x in chain if ' s:' in x]) == 2, chain  # no root
    assert '\n2\n' in got.out, got  # that of today and that of tomorrow
    assert here.run('cat ~/.config/duenna/mid.key').exit != 0


def test_a_keeper_that_was_started_anew_signs_with_it(here):
    run = here.start(['sh', '-c', 'curl -sS https://ok.test/1; : >here; '
                      'until [ -e go ]; do sleep 0.02; done; '
                      'curl -sS --retry 5 --retry-all-errors '
                      'https://git.test/2'])
    while not os.path.exists(here.project + '/here'):
        assert run.child.poll() is None, run.wait()
    os.unlink(here.settings + '/mid.key')
    os.kill(run.roles()['keeper'][0], 9)
    while not run.roles().get('keeper'):
        assert run.child.poll() is None, run.wait()
    here.write('project/go', '')
    got = run.wait()
    # of a name whose leaf nobody had: explained, under a certificate
    assert 'hello from ok.test/1' in got.out, got
    assert 'git.test' in got.out and 'tls.sni_denied' in got.out, got


def test_the_command_shows_what_is_given(here):
    status, out, err = here.duenna('ca', 'show')
    assert status == 0, err
    assert out.count('subject: ') == 2
    assert 'CN=top,O=Acme' in out and 'CN=next,O=Acme' in out
    status, out, err = here.duenna('ca', 'bundle', '--roots',
                                   here.settings + '/root.pem')
    assert (status, out.count('BEGIN')) == (0, 3), err
    assert here.duenna('check')[0] == 0


WRONG = {
    'open': (lambda w: os.chmod(w + '/mid.key', 0o640),
             'others may read it'),
    'no key': (lambda w: os.unlink(w + '/mid.key'), 'No such file'),
    'other key': (lambda w: os.rename(w + '/top.key', w + '/mid.key'),
                  'the key is not that of its first certificate'),
    'no root': (lambda w: make(w, 'mid', '-CA', w + '/top.pem', '-CAkey',
                               w + '/top.key'), 'it ends in no root'),
    'RSA-1024': (lambda w: make(w, 'mid', key=('rsa:1024',)), 'is weak'),
    'next': (lambda w: make(w, 'next', key=('rsa:1024',)),
             '`next` of `ca:`: a key in it is weak'),
}


@pytest.mark.parametrize('what', WRONG)
def test_one_that_does_not_fit_is_refused(here, what):
    """CF-24: nothing starts, and it is never made anew in silence."""
    spoil, says = WRONG[what]
    spoil(here.settings)
    give(here.settings)
    got = here.run('true')
    assert got.exit == 125 and says in got.err, got
    assert here.settings + '/config.yaml:' in got.err, got
    status, out, _ = here.duenna('check')
    if what != 'other key':  # `check` reads no key
        assert status == 1 and says in out, out
        config = here.settings + '/config.yaml'
        with open(config, encoding='ascii') as f:
            line = f.read().split('\n').index(CONFIG.strip()) + 1
        key = CONFIG.index({'open': 'mid.key', 'no key': 'mid.key',
                            'next': 'next.pem'}.get(what, 'mid.pem')) + 1
        assert out.startswith('%s:%d:%d: ' % (config, line, key)), out
        out = json.loads(here.duenna('check', '--json')[1])
        assert (config, line, key) in [
            (m['file'], m['line'], m['column']) for m in out], out


def test_root_keeps_it_where_no_other_user_goes(here):
    """The roles are another user then: the monitor opens what is named."""
    if os.environ['DUENNA_BED'] != 'root':
        pytest.skip('the bed was made by an ordinary user')
    for top, dirs, names in os.walk(here.home):
        for name in ['.', *dirs, *names]:
            os.chown(os.path.join(top, name), 0, 0)
    os.chmod(here.home + '/.config', 0o700)
    status, out, err = here.duenna('check', root=True)
    assert status == 0, out + err
    got = here.run('curl -sS https://ok.test/1', root=True)
    assert got.out == 'hello from ok.test/1\n', got
    os.unlink(here.settings + '/root.pem')
    status, out, err = here.duenna('check', root=True)
    said = [x for x in out.split('\n') if '/root.pem`: No such file' in x]
    got = here.run('true', root=True)
    assert (status, got.exit) == (1, 125) and said[0] in got.err, (said, got)


def test_a_key_that_the_command_sees_is_refused(bed):
    here = bed('- allow: https://ok.test/**\n', Bed.config(
        CONFIG.replace('mid.key', '~/project/mid.key').replace(
            ', next: next.pem', '')))
    make(here.settings, 'mid')
    os.rename(here.settings + '/mid.key', here.project + '/mid.key')
    give(here.home)
    got = here.run('true')
    assert got.exit == 125 and 'which the command sees' in got.err, got
