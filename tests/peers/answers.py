# SPDX-License-Identifier: Apache-2.0
"""What the origin answers, chosen by the path.

The first path segment that begins with '_' names the answer; the segments
after it are its arguments: /public/_fixed/1000.  Any other path is answered
with one line of text that names the host and the path, and never a header of
the request.
"""
import base64
import hashlib
import json
import os
import time

BLOCK = bytes(65536)


class Cut(Exception):
    """End the connection now, without a goodbye."""


def head(status, reason, *fields):
    lines = ['HTTP/1.1 %d %s' % (status, reason)]
    lines += ['%s: %s' % f for f in fields]
    return ('\r\n'.join(lines) + '\r\n\r\n').encode('latin-1')


def plain(conn, req, body, status=200, reason='OK', *fields):
    if isinstance(body, str):
        body = body.encode('utf-8')
    conn.send(head(status, reason, ('Content-Type', 'text/plain'),
                   ('Content-Length', len(body)), *fields))
    if req.method != 'HEAD':
        conn.send(body)


def chunk(data):
    return b'%x\r\n%s\r\n' % (len(data), data)


def number(args, at, default):
    return int(args[at]) if len(args) > at else default


# Each answer has read the body already, unless it stands in EARLY.

def a_echo(conn, req, args):
    plain(conn, req, req.head + req.body)


def a_echo_drip(conn, req, args):
    """The request's head, in chunks of one byte."""
    conn.send(head(200, 'OK', ('Transfer-Encoding', 'chunked')))
    for i in range(len(req.head)):
        conn.send(chunk(req.head[i:i + 1]))
    conn.send(b'0\r\n\r\n')


def a_echo_field(conn, req, args):
    """The request's credential in a field of the answer."""
    plain(conn, req, 'see the field\n', 200, 'OK',
          ('X-Echo', req.field('authorization') or 'none'))


def a_whoami(conn, req, args):
    """Whether the right token came, without saying it."""
    came = ' '.join(v for n, v in req.fields
                    if n.lower() in ('authorization', 'x-api-key'))
    what = 'none'
    if came:
        what = 'other'
        for token in conn.origin.canaries:
            basic = base64.b64encode(('x-access-token:' + token).encode())
            if came in ('Bearer ' + token, token, 'Basic ' + basic.decode()):
                what = 'good'
    plain(conn, req, json.dumps({'token': what, 'path': req.target}) + '\n')


def a_fixed(conn, req, args):
    plain(conn, req, b'x' * number(args, 0, 10))


def a_chunked(conn, req, args):
    left = number(args, 0, 10)
    conn.send(head(200, 'OK', ('Transfer-Encoding', 'chunked')))
    while left > 0:
        conn.send(chunk(b'x' * min(left, 1000)))
        left -= 1000
    conn.send(b'0\r\n\r\n')


def a_download(conn, req, args):
    left = number(args, 0, 1 << 20)
    conn.send(head(200, 'OK', ('Content-Length', left)))
    while left > 0:
        conn.send(BLOCK[:min(left, len(BLOCK))])
        left -= len(BLOCK)


def a_sink(conn, req, args):
    plain(conn, req, json.dumps({'bytes': req.body_size,
                                 'sha256': req.body_hash}) + '\n')


def a_drip(conn, req, args):
    """N bytes, one each MS milliseconds (1000)."""
    pause = number(args, 1, 1000) / 1000
    conn.send(head(200, 'OK', ('Transfer-Encoding', 'chunked')))
    for i in range(number(args, 0, 5)):
        time.sleep(pause if i else 0)
        conn.send(chunk(b'%d' % (i % 10)))
    conn.send(b'0\r\n\r\n')


def a_silent(conn, req, args):
    time.sleep(number(args, 0, 60))


def a_close(conn, req, args):
    raise Cut


def a_cut(conn, req, args):
    """Half of a body with a length, then the end."""
    size = number(args, 0, 1000)
    conn.send(head(200, 'OK', ('Content-Length', size)) + b'x' * (size // 2))
    raise Cut


def a_cut_chunked(conn, req, args):
    conn.send(head(200, 'OK', ('Transfer-Encoding', 'chunked')))
    conn.send(chunk(b'x' * 100) + b'64\r\nxx')
    raise Cut


def a_until_close(conn, req, args):
    conn.send(head(200, 'OK', ('Connection', 'close')))
    conn.send(b'x' * number(args, 0, 1000))
    conn.close_after = True


def a_until_cut(conn, req, args):
    """The same, but the end is not announced by TLS."""
    a_until_close(conn, req, args)
    raise Cut


def a_early(conn, req, args):
    """An answer before the body is read; the body is read afterwards."""
    plain(conn, req, 'early\n', number(args, 0, 200), 'Early')
    req.read_body()


def a_early_close(conn, req, args):
    plain(conn, req, 'early\n', number(args, 0, 413), 'Early',
          ('Connection', 'close'))
    conn.close_after = True


def a_status(conn, req, args):
    status = number(args, 0, 200)
    if status in (204, 304):
        conn.send(head(status, 'Status'))
    else:
        plain(conn, req, 'status %d\n' % status, status, 'Status')


def a_1xx(conn, req, args):
    for _ in range(number(args, 0, 1)):
        conn.send(head(103, 'Early Hints', ('Link', '</x>; rel=preload')))
    plain(conn, req, 'after hints\n')


def a_redirect(conn, req, args):
    """To the host in the first argument, path in the rest."""
    to = 'https://%s/%s' % (args[0], '/'.join(args[1:]))
    plain(conn, req, 'elsewhere\n', 302, 'Found', ('Location', to))


def a_cookie(conn, req, args):
    plain(conn, req, 'cookie: %s\n' % (req.field('cookie') or 'none'), 200,
          'OK', ('Set-Cookie', 'session=from-origin'))


def a_ws(conn, req, args):
    """Agrees to any upgrade; then every byte is on record."""
    key = (req.field('sec-websocket-key') or '').encode()
    mark = hashlib.sha1(key + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest()
    conn.send(head(101, 'Switching Protocols', ('Upgrade', 'websocket'),
                   ('Connection', 'Upgrade'), ('Sec-WebSocket-Accept',
                                               base64.b64encode(mark).decode())))
    while conn.recv():
        pass
    raise Cut


def a_raw(conn, req, args):
    """Exactly these bytes (base64, URL-safe, unpadded), then the end."""
    text = args[0]
    conn.send(base64.urlsafe_b64decode(text + '=' * (-len(text) % 4)))
    raise Cut


def a_raw_keep(conn, req, args):
    """Exactly these bytes; the connection stays."""
    text = args[0]
    conn.send(base64.urlsafe_b64decode(text + '=' * (-len(text) % 4)))


def a_row(conn, req, args):
    """The answer that a row of tests/cases, or a test for this path, has
    written down, then the end."""
    with open(conn.origin.rows, encoding='utf-8') as f:
        text = json.load(f).get('/'.join(args))
    if text is None:
        plain(conn, req, 'no such row\n', 404, 'Not Found')
        return
    conn.send(text.encode('latin-1'))
    conn.close_after = True


def a_stale(conn, req, args):
    """Answered if it is the first on its connection, else cut: as if the
    origin had ended the connection while the request was on its way."""
    if getattr(conn, 'is_stale', False):
        raise Cut()
    conn.is_stale = True
    plain(conn, req, 'fresh\n')


EARLY = {'_early', '_early-close', '_close'}
ANSWERS = {'_' + name[2:].replace('_', '-'): call
           for name, call in list(globals().items()) if name.startswith('a_')}


def choose(path):
    """The answer for this path and its arguments."""
    parts = path.split('?', 1)[0].split('/')
    for at, part in enumerate(parts):
        if part in ANSWERS:
            return part, ANSWERS[part], parts[at + 1:]
    return '', default, []


def said(conn, req):
    """Send what a test wrote down for this host and target, if it did."""
    path = (conn.origin.rows or '') + '.said'
    if not os.path.exists(path):
        return False
    with open(path, encoding='utf-8') as f:
        pieces = json.load(f).get(req.field('host') + req.target)
    for piece in pieces or []:
        if isinstance(piece, str):
            conn.send(piece.encode('latin-1'))
        else:
            time.sleep(piece)
    return pieces is not None


def default(conn, req, args):
    if said(conn, req):
        return
    # no query: it may have a credential, and that would be an echo
    plain(conn, req, 'hello from %s%s\n' % (req.field('host'),
                                            req.target.partition('?')[0]))
