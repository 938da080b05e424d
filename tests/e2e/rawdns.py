#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Byte-exact DNS messages; runs inside the sandbox.

usage: rawdns.py CASES.json RESULTS.json

A case: {"id": of the message, "message": latin-1, "silent": no answer to it is
expected, "tcp": also over TCP}.  The result has the answers by id: {"udp":
{ID: latin-1}, "tcp": {...}, "foreign": answers that nobody asked for}.  Where
nothing is to come, a good question is put behind, and its answer is the end.
"""
import json
import socket
import struct
import sys

SERVER = ('198.18.0.1', 53)
LAST = 0xffff
GOOD = struct.pack('>HHHHHH', LAST, 0x100, 1, 0, 0, 0) + \
    b'\2ok\4test\0\0\1\0\1'


def number(answer):
    return struct.unpack('>H', answer[:2])[0]


def over_udp(cases):
    got, foreign = {}, []
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(5)
    sock.connect(SERVER)
    for case in cases:
        sock.send(case['message'].encode('latin-1'))
        until = case['id']
        if case['silent']:
            sock.send(GOOD)
            until = LAST
        while True:
            try:
                answer = sock.recv(4096)
            except TimeoutError:
                break
            at = number(answer)
            if at == case['id']:
                got[at] = answer.decode('latin-1')
            elif at != until:
                foreign.append(at)
            if at == until:
                break
    return got, foreign


def over_tcp(cases):
    """All of them in one stream, the good one last."""
    messages = [c['message'].encode('latin-1') for c in cases if c['tcp']]
    sock = socket.create_connection(SERVER, 5)
    sock.sendall(b''.join(struct.pack('>H', len(m)) + m
                          for m in [*messages, GOOD]))
    got, at, stream = {}, None, sock.makefile('rb')
    while at != LAST:
        size = stream.read(2)
        if len(size) < 2:
            break
        answer = stream.read(struct.unpack('>H', size)[0])
        at = number(answer)
        got[at] = answer.decode('latin-1')
    return got


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        cases = json.load(f)
    udp, foreign = over_udp(cases)
    with open(sys.argv[2], 'w', encoding='utf-8') as f:
        json.dump({'udp': udp, 'tcp': over_tcp(cases), 'foreign': foreign}, f)


if __name__ == '__main__':
    main()
