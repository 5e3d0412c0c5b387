#!/usr/bin/env python3
"""Load on `vaultctl serve`: many clients at once, reads and compare-and-swaps mixed; then nothing may be lost.

    interop/load_server.py [--vaultctl PATH] [--clients 200] [--seconds 60] [--vaults 8] [--processes 4]

Every client keeps one connection. Four of five requests read (an object, a ref, a batch of both); the fifth writes an
object and swaps the vault's ref from the number it has read to the next one. At the end the ref of every vault must
hold exactly the number of swaps that were confirmed, and exactly their objects must be there. Any other answer than
the expected ones, and any broken connection, is an error. Exit 1 when there was one.
"""
import argparse
import base64
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REF = 'bare/refs/ref-pid-muw-000000000001'
OBJECT = 'bare/data/obj-cas-imm-0123456789ab'
KEY = 'a' * 64


class Connection:
    """HTTP/1.1 with keep-alive, no more than is needed here."""

    def __init__(self, port):
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending = b''

    def request(self, method, target, body=b'', headers=''):
        self.socket.sendall(f'{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}'
                            f'Content-Length: {len(body)}\r\n\r\n'.encode() + body)
        while b'\r\n\r\n' not in self.pending:
            self.receive()
        head, self.pending = self.pending.split(b'\r\n\r\n', 1)
        length = int(re.search(rb'content-length: *(\d+)', head, re.I).group(1))
        while len(self.pending) < length:
            self.receive()
        answer, self.pending = self.pending[:length], self.pending[length:]
        return int(head.split(b' ', 2)[1]), answer

    def receive(self):
        piece = self.socket.recv(1 << 16)
        if not piece:
            raise ConnectionError('the server closed the connection')
        self.pending += piece


def b64(data):
    return base64.b64encode(data).decode()


def batch(operations):
    return json.dumps(dict(operations=operations)).encode()


WRITER = f'x-sgraph-vault-write-key: {KEY}\r\n'


def client(port, number, vaults, end, out):
    """One client until `end`; what it did goes to `out`."""
    draw, times, reads, swaps, conflicts = random.Random(number), [], 0, dict.fromkeys(vaults, 0), 0
    try:
        connection, turn = Connection(port), 0
        while time.monotonic() < end:
            vault, turn = draw.choice(vaults), turn + 1
            started = time.monotonic()
            if turn % 5 == 0:
                status, held = connection.request('GET', f'/api/vault/read/{vault}/{REF}')
                assert status == 200, status
                new = str(int(held) + 1).encode()
                status, answer = connection.request('POST', f'/api/vault/batch/{vault}', batch([
                    dict(op='write', file_id=f'bare/data/c{number}t{turn}', data=b64(held)),
                    dict(op='write-if-match', file_id=REF, data=b64(new), match=b64(held))]), WRITER)
                assert status == 200, (status, answer)
                results = json.loads(answer)['results']
                if results[-1]['status'] == 'ok':
                    assert [result['status'] for result in results] == ['ok', 'ok'], results
                    swaps[vault] += 1
                else:
                    assert [result['status'] for result in results] == ['not_applied', 'conflict'], results
                    assert base64.b64decode(results[-1]['current']) != held, 'a conflict with what was expected'
                    conflicts += 1
            elif turn % 5 == 1:
                status, answer = connection.request('POST', f'/api/vault/batch/{vault}', batch([
                    dict(op='read', file_id=REF), dict(op='read', file_id=OBJECT)]))
                assert status == 200 and answer.count(b'"ok"') == 2, (status, answer)
            else:
                status, answer = connection.request('GET', f'/api/vault/read/{vault}/{OBJECT if turn % 2 else REF}')
                assert status == 200, status
            reads += turn % 5 != 0
            times.append(time.monotonic() - started)
        out.append((times, reads, swaps, conflicts, None))
    except Exception as error:                                      # told by the parent, with the client's number
        out.append((times, reads, swaps, conflicts, f'client {number}: {type(error).__name__} {error}'))


def process(port, numbers, vaults, seconds, queue):
    out, end = [], time.monotonic() + seconds
    threads = [threading.Thread(target=client, args=(port, number, vaults, end, out)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.put(out)


def memory(pid, name):
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        return int(re.search(rf'{name}:\s*(\d+)', file.read()).group(1)) // 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(os.path.dirname(HERE), 'build', 'vaultctl')))
    parser.add_argument('--clients', type=int, default=200)
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--vaults', type=int, default=8)
    parser.add_argument('--processes', type=int, default=4)
    parser.add_argument('--dir', default=None, help='where the vaults lie')
    options = parser.parse_args()

    root = tempfile.TemporaryDirectory(prefix='vaultctl-load-', dir=options.dir)
    server = subprocess.Popen([options.vaultctl, 'serve', '--root', os.path.join(root.name, 'vaults'), '--port', '0', '--json'],
                              stdout=subprocess.PIPE)
    port = int(json.loads(server.stdout.readline())['url'].rsplit(':', 1)[1])
    vaults, setup = [f'load{number:04d}' for number in range(options.vaults)], Connection(port)
    for vault in vaults:
        status, answer = setup.request('POST', f'/api/vault/batch/{vault}', batch([
            dict(op='write', file_id=OBJECT, data=b64(os.urandom(1000))),
            dict(op='write-if-match', file_id=REF, data=b64(b'0'))]), WRITER)
        assert status == 200, (status, answer)

    queue, errors = multiprocessing.Queue(), []
    before = memory(server.pid, 'VmRSS')
    workers = [multiprocessing.Process(target=process, args=(port, range(first, options.clients, options.processes), vaults,
                                                             options.seconds, queue))
               for first in range(options.processes)]
    started = time.monotonic()
    for worker in workers:
        worker.start()
    results = [result for _ in workers for result in queue.get()]
    elapsed = time.monotonic() - started
    for worker in workers:
        worker.join()
    errors += [error for *_, error in results if error]

    setup = Connection(port)
    for vault in vaults:
        confirmed = sum(swaps[vault] for _, _, swaps, _, _ in results)
        held = int(setup.request('GET', f'/api/vault/read/{vault}/{REF}')[1])
        files = json.loads(setup.request('GET', f'/api/vault/list/{vault}')[1])['files']
        if held != confirmed:
            errors.append(f'{vault}: {confirmed} swaps were confirmed, the ref holds {held}')
        if len(files) != confirmed + 2:
            errors.append(f'{vault}: {confirmed} swaps were confirmed, {len(files)} files are there')
    peak = memory(server.pid, 'VmHWM')
    server.send_signal(signal.SIGTERM)
    if server.wait(timeout=60) != 0:
        errors.append(f'the server ended with {server.returncode}')

    times = sorted(time for result in results for time in result[0])
    reads, conflicts = sum(result[1] for result in results), sum(result[3] for result in results)
    swaps = sum(sum(result[2].values()) for result in results)
    at = lambda share: 1000 * times[min(len(times) - 1, int(share * len(times)))]
    print(f'load: {len(results)} clients, {elapsed:.0f} s: {reads} reads, {swaps} swaps, {conflicts} conflicts, '
          f'{(reads + 2 * (swaps + conflicts)) / elapsed:.0f} requests/s; '
          f'median {at(0.5):.1f} ms, 99 % {at(0.99):.0f} ms, longest {at(1):.0f} ms; '
          f'server memory {before} MiB before, {peak} MiB at most')
    for error in errors[:20]:
        print('load: ' + error)
    print(f'load: {len(errors)} errors, {"no update was lost" if not errors else "see above"}')
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
