#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas of policies/ against the loader: the same keys in each
mapping, the same words where a word is one of a list, and every good policy
and every example of the documentation is valid.

usage: schema.py TREE
"""
import glob
import json
import os
import re
import sys

import jsonschema
import yaml

TREE = sys.argv[1]
# A table of keys in the loader, and the mapping that it is of.
MAPPINGS = {
    ('read_policy.c', 'file_keys'): ('policy', ''),
    ('read_policy.c', 'policy_keys'): ('policy', 'policy'),
    ('read_rule.c', 'rule_keys'): ('policy', 'rule'),
    ('read_push.c', 'push_keys'): ('policy', 'push'),
    ('read_rule_limits.c', 'limits_keys'): ('policy', 'limits'),
    ('include.c', 'include_keys'): ('policy', 'include'),
    ('parameter.c', 'keys'): ('policy', 'parameter'),
    ('read_owner.c', 'file_keys'): ('config', ''),
    ('read_owner.c', 'dns_keys'): ('config', 'dns'),
    ('read_owner.c', 'audit_keys'): ('config', 'audit'),
    ('read_ca.c', 'ca_keys'): ('config', 'ca'),
    ('read_serve.c', 'sandbox_keys'): ('config', 'sandbox'),
    ('read_serve.c', 'control_keys'): ('config', 'control'),
    ('read_owner.c', 'files_keys'): ('config', 'files'),
    ('read_credential.c', 'credential_keys'): ('config', 'credential'),
    ('read_credential.c', 'place_keys'): ('config', 'place'),
    ('read_secret.c', 'secret_keys'): ('config', 'secret'),
    ('read_upstream.c', 'item_keys'): ('config', 'upstream'),
}
# What a schema can see of what is wrong: these must not be valid.
WRONG = ('cf-01-', 'cf-03-', 'cf-05-', 'cf-28-', 'cf-35-rule-', 'rule-both',
         'rule-neither', 'rule-methods-', 'rule-foreign', 'rule-query-scalar')
BLIND = ('cf-01-empty-file', 'cf-03-name-with', 'cf-03-merge-key',
         'cf-03-no-space', 'cf-05-')  # of YAML itself, or of its types
faults = []


def read(*path):
    with open(os.path.join(TREE, *path), encoding='utf-8') as f:
        return f.read()


def fault(text, *args):
    faults.append(text % args)


def tables():
    """(file, table) -> keys that stand there, of all of the loader."""
    found = {}
    for path in glob.glob(TREE + '/proxyd/load/*.c'):
        for name, body in re.findall(
                r'struct read_key (\w+)\[\] = \{(.*?)\n?\s*\};',
                read(path), re.S):
            found[os.path.basename(path), name] = set(
                re.findall(r'"(\w+)", READ_HERE', body))
    return found


def same_keys(schemas):
    found = tables()
    for table in found.keys() ^ MAPPINGS.keys():
        fault('%s: in the loader or here, not in both', table)
    for table in found.keys() & MAPPINGS.keys():
        which, name = MAPPINGS[table]
        mapping = schemas[which]
        if name:
            mapping = mapping['definitions'][name]
        if mapping['additionalProperties'] is not False:
            fault('%s: %s takes any key', which, name)
        for key in found[table] ^ mapping['properties'].keys():
            fault('%s: `%s` of %s is in the loader or in the schema, not in '
                  'both', which, key, name or 'the file')


def same_words(schemas):
    policy = schemas['policy']['definitions']
    config = schemas['config']['definitions']
    methods = re.findall(r'X\(([A-Z]+)\)', read('proxyd/policy/method.h'))
    kinds = re.findall(r'\[CREDENTIAL_\w+\] = "(\w+)"',
                       read('proxyd/load/read_slot.c'))
    types = re.findall(r'\[PARAMETER_(?!NAME)\w+\] = \{ "(\w+)"',
                       read('proxyd/load/parameter.c'))
    for what, ours, theirs in (
            ('methods', methods, policy['method']['enum']),
            ('types', types, policy['type']['enum']),
            ('kinds', kinds, config['credential']['properties']['kind']['enum'])):
        if not ours or set(ours) != set(theirs):
            fault('%s: %s in the loader, %s in the schema', what, ours, theirs)


class Loader(yaml.SafeLoader):
    """As editors read YAML (1.2): a time is a string."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, match) for tag, match in resolvers
            if not tag.endswith(':timestamp')]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def check(validator, text, name, good):
    try:
        valid = validator.is_valid(yaml.load(text, Loader))
    except yaml.YAMLError:
        valid = False
    if valid != good:
        fault('%s: %s', name, 'not valid' if good else 'valid')


def examples():
    for page in ['policies/README.md', 'README.md', *glob.glob(
            'docs/*.md', root_dir=TREE)]:
        for text in re.findall(r'^```yaml\n(version: 1\n.*?)^```$',
                               read(page), re.M | re.S):
            yield page, text


def once(pairs):
    keys = [k for k, _ in pairs]
    for key in {k for k in keys if keys.count(k) > 1}:
        fault('`%s` stands twice in one object of a schema', key)
    return dict(pairs)


def main():
    schemas = {n: json.loads(read('policies/%s.schema.json' % n),
                             object_pairs_hook=once)
               for n in ('policy', 'config')}
    for schema in schemas.values():
        jsonschema.Draft7Validator.check_schema(schema)
    one = {n: jsonschema.Draft7Validator(s) for n, s in schemas.items()}
    same_keys(schemas)
    same_words(schemas)
    tried = 0
    for path in glob.glob(TREE + '/tests/golden/policy-good/*.yaml') + \
            glob.glob(TREE + '/policies/*.yaml'):
        check(one['policy'], read(path), path, True)
        tried += 1
    for path in glob.glob(TREE + '/tests/golden/policy-errors/*.yaml'):
        name = os.path.basename(path)
        if name.startswith(WRONG) and not name.startswith(BLIND):
            check(one['policy'], read(path), path, False)
            tried += 1
    for page, text in examples():
        which = 'policy' if re.search('^policies:', text, re.M) else 'config'
        check(one[which], text, page, True)
        tried += 1
    print('\n'.join(faults) or '%d files, as the loader has it' % tried)
    return 1 if faults or tried < 60 else 0


sys.exit(main())
