#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The stub resolver behind duenna: logs every question, answers from a script.

usage: resolver.py --log FILE [--script FILE] [--default ADDRESS] [--port 53]

The script is JSON, read again for each question: a name has a list of steps,
one is used a question, the last one stays.  A step:
  {"a": [ADDRESS...], "aaaa": [...], "ttl": 30}   answers
  {"cname": NAME, "a": [...]}                     with a chain
  {"fail": "servfail" | "nxdomain" | "silent" | "wrong-id" | "wrong-question"
           | "truncated"}
  {"a": [...], "aaaa": [...], "late": {"aaaa": 0.3}}   seconds, for that type
A name without a row has the default address (A only): a question that should
never have been asked is answered, so that its consequences show.
"""
import argparse
import ipaddress
import json
import os
import socket
import struct
import threading
import time

IPV6_FREEBIND = 78  # not among Python's constants
TYPES = {1: 'A', 28: 'AAAA', 5: 'CNAME', 16: 'TXT', 15: 'MX', 33: 'SRV',
         65: 'HTTPS', 255: 'ANY'}


def read_question(message):
    """(id, name, type) of a query; ValueError if it is not one."""
    if len(message) < 17:
        raise ValueError('short')
    ident, _flags, count = struct.unpack('>HHH', message[:6])
    if count != 1:
        raise ValueError('questions')
    at, labels = 12, []
    while message[at]:
        size = message[at]
        labels.append(message[at + 1:at + 1 + size].decode('latin-1'))
        at += 1 + size
    kind = struct.unpack('>H', message[at + 1:at + 3])[0]
    return ident, '.'.join(labels), kind, message[12:at + 5]


def wire_name(name):
    out = b''
    for label in name.strip('.').split('.'):
        out += bytes([len(label)]) + label.encode('latin-1')
    return out + b'\0'


def record(owner, kind, ttl, data):
    return owner + struct.pack('>HHIH', kind, 1, ttl, len(data)) + data


class Resolver:
    def __init__(self, log, script, default):
        self.script, self.default = script, default
        self.log = open(log, 'a', encoding='ascii', buffering=1)
        self.lock, self.used, self.version = threading.Lock(), {}, None

    def _step(self, name, kind):
        rows = {}
        if self.script and os.path.exists(self.script):
            with open(self.script, encoding='utf-8') as f:
                rows = json.load(f)
                version = os.fstat(f.fileno()).st_mtime_ns
            if version != self.version:  # a new script begins anew
                self.used, self.version = {}, version
        steps = rows.get(name.lower())
        if steps is None:
            return {'a': [self.default]} if self.default else \
                {'fail': 'nxdomain'}
        at = self.used.get((name, kind), 0)
        self.used[name, kind] = at + 1
        return steps[min(at, len(steps) - 1)]

    def _records(self, step, question_name, kind):
        owner, out = b'\xc0\x0c', []
        ttl = step.get('ttl', 30)
        if 'cname' in step:
            target = wire_name(step['cname'])
            out.append(record(owner, 5, ttl, target))
            owner = target
        for address in step.get({1: 'a', 28: 'aaaa'}.get(kind, ''), []):
            out.append(record(owner, kind, ttl,
                              ipaddress.ip_address(address).packed))
        return out

    def answer(self, message, proto):
        """The bytes of the answer; None for silence."""
        try:
            ident, name, kind, question = read_question(message)
        except (ValueError, IndexError, struct.error):
            self._note(proto, '?', 0)
            return None
        with self.lock:
            self._note(proto, name, kind)
            step = self._step(name, kind)
        time.sleep(step.get('late', {}).get(TYPES.get(kind, '').lower(), 0))
        fail = step.get('fail')
        if fail == 'silent':
            return None
        flags = 0x8180
        if fail in ('servfail', 'nxdomain'):
            flags |= {'servfail': 2, 'nxdomain': 3}[fail]
        if fail == 'truncated' and proto == 'udp':
            flags |= 0x0200
        if fail == 'wrong-id':
            ident ^= 0x5555
        if fail == 'wrong-question':
            question = wire_name('evil.test') + question[-4:]
        out = self._records(step, name, kind)
        return struct.pack('>HHHHHH', ident, flags, 1, len(out), 0, 0) + \
            question + b''.join(out)

    def _note(self, proto, name, kind):
        self.log.write(json.dumps({'t': time.time(), 'proto': proto,
                                   'name': name,
                                   'type': TYPES.get(kind, str(kind))}) + '\n')

    def udp(self, sock):
        while True:
            message, to, _flags, peer = sock.recvmsg(4096, 256)
            threading.Thread(target=self._datagram,
                             args=(sock, message, to, peer),
                             daemon=True).start()

    def _datagram(self, sock, message, to, peer):
        out = self.answer(message, 'udp')
        if out:  # from the address that was asked
            sock.sendmsg([out], to, 0, peer)

    def tcp(self, sock):
        while True:
            conn, _ = sock.accept()
            threading.Thread(target=self._stream, args=(conn,),
                             daemon=True).start()

    def _stream(self, conn):
        with conn:
            conn.settimeout(30)
            kept = b''
            while True:
                data = conn.recv(4096)
                if not data:
                    return
                kept += data
                while len(kept) >= 2 and \
                        len(kept) >= 2 + struct.unpack('>H', kept[:2])[0]:
                    size = struct.unpack('>H', kept[:2])[0]
                    out = self.answer(kept[2:2 + size], 'tcp')
                    kept = kept[2 + size:]
                    if out:
                        conn.sendall(struct.pack('>H', len(out)) + out)


def udp_socket(port):
    # every address; which one was asked is said beside each question
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    sock.bind(('::', port))
    return sock


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument('--log', required=True)
    ask.add_argument('--script')
    ask.add_argument('--default')
    ask.add_argument('--port', type=int, default=53)
    opt = ask.parse_args()
    it = Resolver(opt.log, opt.script, opt.default)
    listening = socket.create_server(('::', opt.port), family=socket.AF_INET6,
                                     dualstack_ipv6=True)
    jobs = [(it.tcp, listening), (it.udp, udp_socket(opt.port))]
    threads = [threading.Thread(target=call, args=(sock,), daemon=True)
               for call, sock in jobs]
    for each in threads:
        each.start()
    print('ready', flush=True)
    for each in threads:
        each.join()


if __name__ == '__main__':
    main()
