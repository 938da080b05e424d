#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Says each request of the corpus, byte for byte as its client would.

usage: replay.py FILE    prints a line of JSON a request: id, status, body

${NAME} stands for a variable of the environment, as in the clients' own files:
where there is none it stays as it is.  ${USER:NAME} is user and variable in
the form that Basic wants.
"""
import base64
import gzip
import http.client
import json
import os
import re
import ssl
import sys
import urllib.parse


def expanded(text):
    def value(found):
        user, colon, name = found.group(1).rpartition(':')
        if name not in os.environ:
            return found.group(0)
        if not colon:
            return os.environ[name]
        pair = user + ':' + os.environ[name]
        return base64.b64encode(pair.encode()).decode()
    return re.sub(r'\$\{([^}]*)\}', value, text)


def body_of(row):
    body = row.get('body')
    if body is None or isinstance(body, str):
        return None if body is None else body.encode()
    if 'gzip' in body:
        return gzip.compress(body['gzip'].encode())
    if 'pack' in body:
        return b'0000PACK' + os.urandom(body['pack'])
    # an agent that tells its model all about where it is
    return json.dumps({'model': 'm', 'stream': True, 'messages': [
        {'role': 'user', 'content': body['prompt'] + '\n' + '\n'.join(
            '%s=%s' % pair for pair in os.environ.items())}]}).encode()


def say(row):
    url = urllib.parse.urlsplit(row['url'])
    kind = http.client.HTTPSConnection if url.scheme == 'https' else \
        http.client.HTTPConnection
    conn = kind(url.hostname, timeout=20)
    if row.get('version') == '1.0':
        conn._http_vsn, conn._http_vsn_str = 10, 'HTTP/1.0'
    fields, body = row['headers'], body_of(row)
    target = row['url'].partition(url.netloc)[2]
    # the target as it stands, odd characters too
    conn._validate_path = lambda *a: None
    conn._encode_request = lambda text: text.encode('latin-1')
    conn.putrequest(row['method'], target, skip_host='host' in fields,
                    skip_accept_encoding=True)
    for name, value in fields.items():
        conn.putheader(name, expanded(value))
    if row.get('chunked'):
        conn.putheader('transfer-encoding', 'chunked')
        body = (body[:1000], body[1000:])
    elif body is not None and 'content-length' not in fields:
        conn.putheader('content-length', str(len(body)))
    conn.endheaders(body, encode_chunked=bool(row.get('chunked')))
    answer = conn.getresponse()
    text = answer.read().decode('latin-1')
    conn.close()
    return {'id': row['id'], 'status': answer.status, 'body': text[:2000]}


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        for line in f:
            row = json.loads(line)
            try:
                got = say(row)
            except (OSError, http.client.HTTPException, ssl.SSLError) as e:
                got = {'id': row['id'], 'status': 0, 'body': repr(e)}
            print(json.dumps(got), flush=True)


if __name__ == '__main__':
    main()
