# SPDX-License-Identifier: Apache-2.0
"""A coding agent's day: the requests of its tools under the presets and a
project's own policy.  Not one is refused.

corpus/session.jsonl has a request a line: how models, npm old and new, yarn,
pnpm, pip, uv, apt, gh, git, go, cargo, maven, curl and a browser ask."""
import json
import os
import urllib.parse

import pytest

from bed import OPEN, Bed, give
from conftest import logs_hold, token_is_only_in_its_slot

HERE = os.path.dirname(os.path.abspath(__file__)) + '/corpus/'
with open(HERE + 'session.jsonl', encoding='utf-8') as corpus:
    SESSION = [json.loads(row) for row in corpus]
CONFIG = '''version: 1
credentials:
  anthropic:
    kind: header
    header: X-Api-Key
    secret: {file: token}
    only: https://api.anthropic.com/v1/**
    place: [{env: ANTHROPIC_API_KEY, like: sk-ant-}]
  openai:
    kind: token
    secret: {file: token}
    only: https://api.openai.com/v1/**
    place: [{env: OPENAI_API_KEY, like: sk-}]
  github:
    kind: token
    secret: {file: token}
    only: [https://api.github.com/**]
    place: [{env: [GH_TOKEN, GITHUB_TOKEN], like: ghp_}]
  push:
    kind: basic
    user: x-access-token
    secret: {file: token}
    only: https://github.com/acme/widgets.git/**
    place: [{env: GIT_TOKEN, like: ghp_}]
  packages:
    kind: token
    secret: {file: token}
    only: https://registry.npmjs.org/**
    place: [{env: ACME_NPM_TOKEN, like: npm_}]
private: [%s]
upstream:
  - names: ["**"]
    resolvers: ["203.0.113.53"]
    roots: [root.pem]
''' % OPEN
POLICY = '''version: 1
policies:
  agent:
    rules:
      - include: preset/anthropic
        credentials: {anthropic: anthropic}
      - include: preset/openai
        credentials: {openai: openai}
      - name: packages
        allow: https://registry.npmjs.org/@acme%2Fprivate
        encoded_slash: true
        credential: packages
      - include: preset/npm
      - include: preset/pypi
      - include: preset/debian
      - name: api
        allow:
          - https://api.github.com/repos/acme/widgets/**
          - https://api.github.com/user
          - https://api.github.com/search/issues
          - https://api.github.com/graphql
        methods: any
        encoded_slash: true
        credential: github
      - name: git
        allow:
          - https://github.com/acme/widgets.git/info/refs
          - https://github.com/acme/widgets.git/git-upload-pack
          - https://github.com/acme/widgets.git/git-receive-pack
        methods: [GET, POST]
        credential: push
      - name: downloads
        allow:
          - https://github.com/acme/tool/releases/download/**
          - https://objects.githubusercontent.com/**
          - https://results.actions-host.example/logs/*
          - https://raw.githubusercontent.com/acme/**
          - https://nodejs.org/download/**
          - https://proxy.golang.org/**
          - https://sum.golang.org/**
          - https://index.crates.io/**
          - https://static.crates.io/**
          - https://repo.maven.apache.org/maven2/**
          - https://docs.python.org/**
'''


def policy():
    """With a rule for each host that lets the dialer reach the bed."""
    places = sorted({'%s://%s' % urllib.parse.urlsplit(row['url'])[:2]
                     for row in SESSION})
    return POLICY + ''.join('      - allow: %s/_bed\n        addresses: [%s]\n' %
                            (place, OPEN) for place in places)


@pytest.fixture(scope='module')
def session(peers):
    """(bed, result, what each request got)."""
    it = Bed(policy(), CONFIG, peers=peers)
    peers.says({row['url'].partition('://')[2]: row['answer']
                for row in SESSION if 'answer' in row})
    for name in ('replay.py', 'session.jsonl'):
        with open(HERE + name, encoding='utf-8') as f:
            it.write('project/' + name, f.read())
    give(it.home)
    got = it.run(['python3', 'replay.py', 'session.jsonl'], timeout=120)
    yield it, got, {r['id']: r for r in map(json.loads, got.out.splitlines())}
    peers.says({})
    token_is_only_in_its_slot(it)
    logs_hold(it)


@pytest.mark.parametrize('row', SESSION, ids=lambda row: row['id'])
def test_a_request_of_the_session(session, row):
    _, got, answers = session
    answer = answers.get(row['id'], got)
    assert answer['status'] == row.get('status', 200), answer
    assert row.get('says', '') in answer['body'], answer


def test_nothing_is_denied_and_each_request_arrived(session):
    it, got, _ = session
    assert got.exit == 0 and got.reasons() == [], got
    rows = got.find(event='request.end')
    assert [r['verdict'] for r in rows] == ['allow'] * len(SESSION)
    assert [r['method'] for r in it.origin_requests()] == \
        [row['method'] for row in SESSION]


def test_the_environment_in_a_prompt_is_told_and_passes(session):
    """What is in it are placeholders."""
    _, got, _ = session
    prompts = [row['id'] for row in SESSION
               if isinstance(row.get('body'), dict) and 'prompt' in row['body']]
    told = got.find(event='alarm')
    assert len(told) >= len(prompts)
    assert {r['reason'] for r in told} == {'cred.misplaced'}


def test_tokens_were_attached_where_they_belong_and_nowhere_else(session):
    it, _, _ = session
    for row, seen in zip(SESSION, it.origin_requests()):
        sent = [v for n, v in seen['fields']
                if n.lower() in ('authorization', 'x-api-key')]
        host = urllib.parse.urlsplit(row['url']).hostname
        wanted = row.get('attached') or host in ('api.anthropic.com',
                                                 'api.openai.com')
        assert len(sent) == bool(wanted), (row['id'], sent)
        assert all('PLACEHOLDER' not in v and '${' not in v for v in sent)
