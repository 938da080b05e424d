# SPDX-License-Identifier: Apache-2.0
"""Programs that speak git's protocol and are not git: each clones, pushes what
its rule allows, and shows the reason of what it does not."""
import importlib.util
import os
import shutil
import subprocess

import pytest

URL = 'https://git.test/acme/clients.git'
RULE = '''
- name: work
  allow: git+https://git.test/acme/clients
  forge: gitlab
  fetch: true
  push: {branches: ["agent/**"]}
'''
LIBGIT2 = '''
import pygit2, sys
class Says(pygit2.RemoteCallbacks):
    def push_update_reference(self, name, why):
        print(name, 'refused:' if why else 'pushed', why or '')
    def sideband_progress(self, text):
        print('remote:', text)
r = pygit2.clone_repository(sys.argv[1], 'w')
me = pygit2.Signature('a', 'a@b.test')
def commit(text):
    with open('w/README', 'w') as f:
        f.write(text)
    r.index.add('README')
    r.index.write()
    return r.create_commit('HEAD', me, me, text, r.index.write_tree(),
                           [r.head.target])
print(open('w/README').read())
for text, ref in (('1', 'agent/libgit2'), ('2', 'agent/libgit2'), ('3', 'main')):
    commit(text)
    r.remotes['origin'].push(['+HEAD:refs/heads/' + ref], callbacks=Says())
'''
DULWICH = '''
import sys
from dulwich import porcelain
r = porcelain.clone(sys.argv[1], 'w')
print(open('w/README').read())
for text, ref in (('1', 'agent/dulwich'), ('2', 'agent/dulwich'), ('3', 'main')):
    with open('w/README', 'w') as f:
        f.write(text)
    porcelain.add(r, 'w/README')
    porcelain.commit(r, text, author='a <a@b.test>', committer='a <a@b.test>')
    try:
        porcelain.push(r, sys.argv[1], 'HEAD:refs/heads/' + ref,
                       outstream=sys.stdout.buffer, errstream=sys.stdout.buffer)
    except Exception as e:
        print(ref, 'refused:', e)
'''
JGIT = '''
import java.io.File;
import java.nio.file.Files;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.transport.*;
public class Push {
    public static void main(String[] a) throws Exception {
        Git git = Git.cloneRepository().setURI(a[0])
            .setDirectory(new File("w")).call();
        File file = new File("w/README");
        System.out.println(new String(Files.readAllBytes(file.toPath())));
        String[] refs = {"agent/jgit", "agent/jgit", "main"};
        for (int i = 0; i < refs.length; i++) {
            Files.write(file.toPath(), ("" + i).getBytes());
            git.add().addFilepattern("README").call();
            git.commit().setMessage("" + i).setAuthor("a", "a@b.test")
                .setCommitter("a", "a@b.test").call();
            for (PushResult r : git.push().setForce(true)
                    .setRefSpecs(new RefSpec("HEAD:refs/heads/" + refs[i]))
                    .call())
                for (RemoteRefUpdate u : r.getRemoteUpdates())
                    System.out.println(u.getRemoteName() + " " + u.getStatus()
                        + " " + u.getMessage() + " " + r.getMessages());
        }
    }
}
'''


def jars():
    return ['/usr/share/java/%s.jar' % name for name in (
        'org.eclipse.jgit', 'slf4j-api', 'slf4j-nop', 'javaewah', 'jsch')]


def at_origin(here, *args):
    return subprocess.run(
        ['git', '-c', 'safe.directory=*', '-C',
         here.peers.git + '/acme/clients.git', *args], check=True, text=True,
        stdout=subprocess.PIPE).stdout.strip()


@pytest.fixture
def here(bed):
    import gitcgi
    it = bed(RULE)
    path = it.peers.git + '/acme/clients.git'
    if not os.path.exists(path):
        gitcgi.make_repository(path, {'README': 'clients of acme\n'})
    return it


def pushes(here, got, name):
    """It cloned; it created a branch and moved it; of main it says why not."""
    assert got.exit == 0 and 'clients of acme' in got.out, got
    assert at_origin(here, 'rev-list', '--count', 'agent/' + name) == '3', got
    assert at_origin(here, 'rev-list', '--count', 'main') == '1', got
    assert 'not among refs/heads/agent/**' in got.out, got
    assert got.reasons().count('git.ref') >= 1 and \
        set(got.reasons()) == {'git.ref'}, got


@pytest.mark.skipif(not importlib.util.find_spec('pygit2'),
                    reason='python3-pygit2 is not installed')
def test_libgit2(here):
    here.write('project/client.py', LIBGIT2)
    got = here.run('/usr/bin/python3 client.py ' + URL)
    pushes(here, got, 'libgit2')


@pytest.mark.skipif(not importlib.util.find_spec('dulwich'),
                    reason='python3-dulwich is not installed')
def test_dulwich(here):
    here.write('project/client.py', DULWICH)
    got = here.run('/usr/bin/python3 client.py ' + URL)
    pushes(here, got, 'dulwich')


@pytest.mark.skipif(not shutil.which('javac') or
                    not all(map(os.path.exists, jars())),
                    reason='libjgit-java or a JDK is not installed')
def test_jgit(here):
    here.write('project/Push.java', JGIT)
    got = here.run('java -XX:TieredStopAtLevel=1 -cp %s Push.java %s' % (':'.join(jars()), URL))
    pushes(here, got, 'jgit')
