# SPDX-License-Identifier: Apache-2.0
"""A ClientHello under our control, down to its records."""
import os
import struct


def extension(kind, data):
    return struct.pack('>HH', kind, len(data)) + data


def vector(size, data):
    return len(data).to_bytes(size, 'big') + data


def client_hello(name, padding=0, version=b'\3\3', extra=b''):
    """The bytes of one hello, in as few records as fit."""
    modern = version == b'\3\3'
    out = b''
    if name is not None:
        out += extension(0, vector(2, b'\0' + vector(2, name)))
    if padding:
        out += extension(21, bytes(padding))
    out += extension(10, vector(2, b'\0\x1d\0\x17'))             # groups
    out += extension(13, vector(2, b'\4\3\10\4\4\1'))            # signatures
    out += extension(11, b'\1\0')
    if modern:
        out += extension(43, vector(1, b'\3\4\3\3'))             # versions
        out += extension(51, vector(2, b'\0\x1d' + vector(2, os.urandom(32))))
    out += extra
    suites = b'\x13\1\x13\2\xc0\x2b\xc0\x2f\xc0\x09\xc0\x13\0\x2f'
    body = version + os.urandom(32) + vector(1, b'') + vector(2, suites) + \
        b'\1\0' + vector(2, out)
    return b''.join(records_of(b'\1' + vector(3, body)))


def records_of(message, size=16384):
    """A handshake message as records of at most size bytes."""
    return [b'\x16\3\1' + vector(2, message[i:i + size])
            for i in range(0, len(message), size)]


def records(hello, size):
    """The same hello in records of another size."""
    message, at = b'', 0
    while at < len(hello):
        length = struct.unpack('>H', hello[at + 3:at + 5])[0]
        message += hello[at + 5:at + 5 + length]
        at += 5 + length
    return records_of(message, size)
