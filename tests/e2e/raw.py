#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The byte-exact client; runs inside the sandbox.

usage: raw.py CASES.json RESULTS.json

A case: {"id", "name" or "address", "port", "tls": true, "sni": name or null,
"alpn": [...], "verify": true, "send": [latin-1 strings], "pause": seconds
between them, "half_close": false, "answers": how many to wait for, "timeout"}.
A result: {"id", "got": latin-1, "end": "answered" | "closed" | "reset" |
"timeout" | "refused" | "tls: why", "began", "ended", "times",
"placeholders": those that were sent}.  What is sent is filled in: see fill().
"""
import base64
import json
import os
import re
import socket
import ssl
import sys
import time


def fill(text, names=os.environ):
    """U+E000 NAME U+E001 is that variable; what stands between U+E002 and
    U+E003 becomes Base64."""
    text = re.sub('\ue000(\\w+)\ue001', lambda m: names[m.group(1)], text)
    while '\ue002' in text:
        text = re.sub('\ue002([^\ue002\ue003]*)\ue003', lambda m: base64.b64encode(
            m.group(1).encode('latin-1')).decode(), text)
    return text


CONTEXTS = {}  # reading the roots takes longer than a handshake


def context(case):
    key = (case.get('verify', True), tuple(case.get('alpn', ())))
    if key not in CONTEXTS:
        CONTEXTS[key] = make_context(case)
    return CONTEXTS[key]


def make_context(case):
    ctx = ssl.create_default_context()
    if not case.get('verify', True):
        ctx.check_hostname = False
        ctx.verify_mode = ssl.CERT_NONE
    if case.get('alpn'):
        ctx.set_alpn_protocols(case['alpn'])
    return ctx


def connect(case):
    address = case.get('address') or socket.getaddrinfo(
        case['name'], case.get('port', 443), socket.AF_INET,
        socket.SOCK_STREAM)[0][4][0]
    sock = socket.create_connection((address, case.get('port', 443)), 10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(case.get('timeout', 10))
    if case.get('tls', True):
        name = case.get('sni', case.get('name'))
        sock = context(case).wrap_socket(sock, server_hostname=name)
    return sock


def whole(got, wanted, heads_only):
    """Are there so many whole answers in these bytes?"""
    for _ in range(wanted):
        head, mark, got = got.partition(b'\r\n\r\n')
        if not mark:
            return False
        fields = head.lower()
        if fields.startswith(b'http/1.1 1'):
            return whole(got, wanted, heads_only)
        if heads_only or fields[9:12] in (b'204', b'304'):
            continue
        if b'\r\ntransfer-encoding: chunked' in fields:
            _, mark, got = got.partition(b'\r\n0\r\n')
            while mark and not got.startswith(b'\r\n'):  # trailers
                _, mark, got = got.partition(b'\r\n')
            if not mark:
                return False
            got = got[2:]
        elif b'\r\ncontent-length: ' in fields:
            size = int(fields.split(b'\r\ncontent-length: ')[1]
                       .split(b'\r\n')[0])
            if len(got) < size:
                return False
            got = got[size:]
        else:
            return False
    return True


def exchange(sock, case, result):
    pieces = [fill(p).encode('latin-1') for p in case.get('send', [])]
    result['placeholders'] = {
        name: os.environ[name] for p in case.get('send', [])
        for name in re.findall('\ue000(\\w+)\ue001', p)}
    got, times = b'', []
    try:
        for at, piece in enumerate(pieces):
            if at and case.get('pause'):
                time.sleep(case['pause'])
            sock.sendall(piece)
        if case.get('half_close'):
            sock.shutdown(socket.SHUT_WR)
    except (BrokenPipeError, ConnectionResetError):
        pass  # what was answered before is still to be read
    wanted = case.get('answers', 1)
    head_only = bool(pieces) and pieces[0].startswith(b'HEAD ')
    while not (wanted and whole(got, wanted, head_only)):
        data = sock.recv(65536)
        if not data:
            result['end'] = 'closed'
            break
        times.append(time.time())
        got += data
        result['got'] = got.decode('latin-1')
    result['times'] = times[:100]


def try_case(case):
    result = {'id': case['id'], 'got': '', 'end': 'answered',
              'began': time.time()}
    sock = None
    try:
        sock = connect(case)
        if case.get('tls', True):
            result['alpn'] = sock.selected_alpn_protocol()
            result['version'] = sock.version()
        exchange(sock, case, result)
    except ConnectionRefusedError:
        result['end'] = 'refused'
    except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
        result['end'] = 'reset'
    except ssl.SSLError as e:
        result['end'] = 'tls: ' + str(e.reason or e)
    except TimeoutError:
        result['end'] = 'timeout'
    except OSError as e:
        result['end'] = 'error: ' + str(e)
    finally:
        if sock:
            sock.close()
    result['ended'] = time.time()
    return result


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        cases = json.load(f)
    results = [try_case(case) for case in cases]
    with open(sys.argv[2], 'w', encoding='utf-8') as f:
        json.dump(results, f)


if __name__ == '__main__':
    main()
