# SPDX-License-Identifier: Apache-2.0
"""What is in examples/ loads as it is, and decides as its comments say."""
import glob
import os
import re
import shutil
import subprocess

import pytest

from bed import TREE, program

FOLDERS = sorted(os.path.dirname(p)
                 for p in glob.glob(TREE + '/examples/*/duenna.yaml')
                 if '/demo/' not in p)  # which has a check of its own
SETS = {'coding-agent': ['repo=acme/widgets'],
        'ci-job': ['repo=acme/widgets', 'commit=0123abc']}


@pytest.fixture(params=FOLDERS, ids=os.path.basename)
def example(request, tmp_path):
    """A copy that is its reader's alone, with secrets where they belong."""
    folder = shutil.copytree(request.param, tmp_path / 'example')
    owner = folder / 'owner.yaml'
    if owner.exists():
        owner.chmod(0o600)
        for name in re.findall(r'file: ([a-z.]+)', owner.read_text()):
            (folder / name).write_text('a secret that is long enough\n')
            (folder / name).chmod(0o600)
    more = ['--config', str(owner)] if owner.exists() else []
    for one in SETS.get(os.path.basename(request.param), []):
        more += ['--set', one]
    return folder, more


def ask(example, command, *line):
    folder, more = example
    done = subprocess.run(
        [program(), command, *more, *line], cwd=folder, text=True,
        env={'HOME': str(folder), 'CI_TOKEN': 'a secret that is long enough'},
        capture_output=True, timeout=30, check=False)
    return done.returncode, done.stdout + done.stderr


def test_an_example_loads_without_a_complaint(example):
    """What a preset gives up is said, and is the preset's."""
    code, said = ask(example, 'check', 'duenna.yaml')
    assert code == 0 and not [line for line in said.splitlines()
                              if not line.startswith('preset/')], said


def test_an_example_decides_as_it_says(example):
    text = (example[0] / 'duenna.yaml').read_text()
    lines = re.findall(r'^# (yes|no) (.*)$', text, re.M)
    assert {word for word, _ in lines} == {'yes', 'no'}
    for word, line in lines:
        code, said = ask(example, 'explain', *line.split())
        assert code == ('yes', 'no').index(word), (line, said)


def test_the_page_of_the_examples_has_each():
    with open(TREE + '/examples/README.md', encoding='utf-8') as f:
        page = f.read()
    for folder in FOLDERS:
        assert '](%s/duenna.yaml)' % os.path.basename(folder) in page
