/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of owner have in common. */
#ifndef OWNER_BED_H
#define OWNER_BED_H

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy_bed.h"

static const char config[] =
    "version: 1\n"
    "credentials:\n"
    "  github:\n"
    "    kind: token\n"
    "    secret: {file: github.token}\n"
    "    only: ['https://api.test/repos/**', 'https://*.wild.test:8443/**']\n"
    "    place: [{env: [GH_TOKEN, GITHUB_TOKEN], like: ghp_}, {env: T}]\n"
    "  key:\n"
    "    kind: header\n"
    "    header: X-Api-Key\n"
    "    secret: {env: KEY}\n"
    "    only: https://api.test/**\n"
    "  asked:\n"
    "    kind: token\n"
    "    secret: {command: [/usr/bin/gh, auth, token], pass: [DBUS_X]}\n"
    "    only: https://gh.test/**\n"
    "  rotated:\n"
    "    kind: token\n"
    "    secret: {file: /run/x, for: 90s}\n"
    "    only: https://gh.test/**\n"
    "  pair:\n"
    "    {kind: basic, user: bob, secret: {env: P}, only: "
    "https://api.test/**}\n"
    "  same:\n"
    "    {kind: header, header: x_API_key, secret: {env: P}, only: "
    "https://api.test/**}\n"
    "  one:\n"
    "    {kind: query, parameter: key, secret: {env: P}, only: "
    "https://api.test/**}\n"
    "  two:\n"
    "    {kind: query, parameter: Key, secret: {env: P}, only: "
    "https://api.test/**}\n"
    "  named:\n"
    "    {kind: header, header: key, secret: {env: P}, only: "
    "https://api.test/**}\n"
    "  half:\n"
    "    {kind: basic, slot: user, secret: {env: P}, only: "
    "https://api.test/**}\n"
    "private: [10.20.0.0/16]\n"
    "upstream:\n"
    "  - names: ['**.corp.test']\n"
    "    resolvers: [10.0.0.53, '[fd00::53]:5353', 'fd00::1']\n"
    "  - names: ['git.test', '10.0.0.9']\n"
    "    addresses: [10.20.0.7]\n"
    "  - names: ['*.far.test']\n"
    "    proxy: http://Proxy.corp.test:3128/\n"
    "  - names: ['*.six.test']\n"
    "    proxy: 'http://[fd00::9]:8080'\n"
    "files:\n"
    "  read: [~/notes, data, /srv/x]\n"
    "  write: [~]\n"
    "environment: [EDITOR, FOO_1]\n";

static const char nothing[] = "version: 1\npolicies: {p: {rules: []}}\n";

#endif
