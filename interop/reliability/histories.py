#!/usr/bin/env python3
"""Compare-and-swap histories of concurrent clients over HTTP, checked for linearisability.

    interop/reliability/histories.py [--vaultctl PATH] [--histories 6000] [--pushes 40] [--seconds N] [--seed 1]

Some clients read and swap one ref of one vault at the same time, against the stand-in server and `vaultctl serve`,
while a proxy cuts answers, drops requests, answers 502 after the swap took effect, and delivers swaps late: then nobody
knows their outcome. Most histories are of raw batch requests; in the rest whole processes of `vaultctl push` and `pull`
swap the heads of a real vault. Every history has at most 40 operations. First the checker is checked, by written
histories and by a server that lies. Exit 1 when a history can not be explained.
"""
import argparse
import base64
import itertools
import json
import multiprocessing
import os
import random
import socket
import sys
import tempfile
import threading
import time

from fault_proxy import Closed, Fault, Stream
from http_scene import HERE, SERVERS, Place, Scene, Violation, memory, server_of, told
from linearizable import UNTOLD, Operation, check_checker, is_linearizable

MOST = 40                                                   # operations of one history
REF = 'bare/refs/ref-pid-muw-000000000001'
LOST = (('drop', 'before'), ('drop', 'after'), ('cut', 'after'), ('reset', 'after'), (502, 'after'), ('late', 'before'))


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def decoded(data):
    return base64.b64decode(data).decode() if data else None


class RawClient(threading.Thread):
    """Reads and swaps one ref, a connection at a time; notes every operation with its times."""

    def __init__(self, number, port, vault, turns, choices, out):
        super().__init__(daemon=True)
        self.number, self.port, self.vault, self.turns = number, port, vault, turns
        self.choices, self.out, self.stream, self.error = choices, out, None, None

    def request(self, operation):
        """The result of one operation, or None when nobody knows."""
        body = json.dumps(dict(operations=[operation])).encode()
        try:
            if self.stream is None:
                self.stream = Stream(socket.create_connection(('127.0.0.1', self.port), timeout=30))
            self.stream.socket.sendall(
                f'POST /api/vault/batch/{self.vault} HTTP/1.1\r\nHost: x\r\nx-sgraph-vault-write-key: {"a" * 64}\r\n'
                f'Content-Length: {len(body)}\r\n\r\n'.encode() + body)
            head, body = self.stream.message()
        except (Closed, OSError):
            self.close()
            return None
        status = int(head.split(b' ', 2)[1])
        if status == 502:
            return None
        if status != 200:
            raise Violation(f'status {status}: {body[:200]}')
        return json.loads(body)['results'][0]

    def close(self):
        if self.stream is not None:
            self.stream.socket.close()
            self.stream = None

    def run(self):
        try:
            known = None                                    # what this client believes the ref to hold
            for turn in range(self.turns):
                start = time.monotonic()
                if self.choices.random() < 0.3 or (known is None and self.choices.random() < 0.7):
                    result = self.request(dict(op='read', file_id=REF))
                    value = None if result is None else decoded(result.get('data'))
                    self.note('read', start, 'unknown' if result is None else 'value', new=value)
                    known = value if result else known
                    continue
                new = f'{self.number}.{turn}'
                operation = dict(op='write-if-match', file_id=REF, data=encoded(new))
                if known is not None:
                    operation['match'] = encoded(known)
                result = self.request(operation)
                if result is None:
                    self.note('swap', start, 'unknown', known, new)
                elif result['status'] == 'ok':
                    self.note('swap', start, 'ok', known, new)
                    known = new
                elif result['status'] == 'conflict':
                    held = decoded(result['current'])
                    self.note('swap', start, 'conflict', known, new, held)
                    known = held
                else:
                    raise Violation(f'a swap was answered with {result}')
        except Exception as error:                          # told by whoever started the client
            self.error = error
        finally:
            self.close()

    def note(self, kind, start, result, expected=None, new=None, held=None):
        self.out.append(Operation(self.number, kind, start, time.monotonic(), result, expected, new, held))


def raw_history(proxy, vault, choices):
    """One history of raw requests on a fresh ref."""
    share = choices.choice((0, 0.05, 0.15, 0.3))
    fates = random.Random(choices.random())

    def fate(_):
        if fates.random() >= share:
            return None
        kind, when = fates.choice(LOST)
        return Fault(kind, when, seconds=fates.random() * 0.02, count=fates.random() * 0.99)
    proxy.set(fate)
    clients, out = choices.randrange(2, 7), []
    turns = choices.randrange(3, MOST // clients + 1)
    threads = [RawClient(number, proxy.port, vault, turns, random.Random(choices.random()), out)
               for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
        if thread.error:
            raise thread.error
    # What was put off may still happen; the last word is read when all of it is over.
    proxy.settle()
    proxy.set(lambda _: None)
    last = RawClient(clients, proxy.port, vault, 0, choices, out)
    start = time.monotonic()
    last.note('read', start, 'value', new=decoded(last.request(dict(op='read', file_id=REF)).get('data')))
    last.close()
    return out


# ---------------------------------------------------------------- whole processes

class Pusher(threading.Thread):
    """Commits and pushes with its own clone; what it accepted and what it wants to publish are commits."""

    def __init__(self, number, scene, turns, out):
        super().__init__(daemon=True)
        self.number, self.scene, self.turns, self.out, self.error = number, scene, turns, out, None
        self.clone = f'p{number}'

    def accepted(self):
        with open(self.scene.path(self.clone, '.sg_vault', 'local', 'remote_heads.json'), encoding='utf-8') as file:
            return next(iter(json.load(file).values()))

    def run(self):
        try:
            for turn in range(self.turns):
                name = f'{self.clone}-{turn % 3}.txt'
                with open(self.scene.path(self.clone, name), 'w', encoding='ascii') as file:
                    file.write(f'{self.number} {turn}\n')
                self.scene.json('commit', '-m', f'{self.clone} {turn}', '--allow-empty', cwd=self.clone)
                self.push()
                self.pull()
        except Exception as error:                          # told by whoever started the client
            self.error = error

    def push(self):
        base, head, start = self.accepted(), self.scene.history(self.clone)[0], time.monotonic()
        code, document = self.scene.run('push', cwd=self.clone)
        result = {0: 'ok', 5: 'conflict', 7: 'unknown'}.get(code)
        if result is None:
            raise Violation(f'push ended with {code}: {told(document)}')
        self.out.append(Operation(self.number, 'swap', start, time.monotonic(), result, base, head, UNTOLD))

    def pull(self):
        """Until it comes through: what a clone accepted has to be known before its next push."""
        code = None
        while code != 0:
            start = time.monotonic()
            code, document = self.scene.run('pull', cwd=self.clone)
            if code not in (0, 7):
                raise Violation(f'pull ended with {code}: {told(document)}')
        self.out.append(Operation(self.number, 'read', start, time.monotonic(), 'value', new=self.accepted()))


def push_history(place, proxy, choices, number):
    """One history of processes on a fresh vault; also no commit may be missing from the end."""
    proxy.set(lambda _: None)
    scene, out = Scene(place, proxy, f'scene{number}', choices.random()), []
    first, share, fates = scene.history('a')[0], choices.choice((0, 0.1, 0.2)), random.Random(choices.random())
    clients = choices.randrange(2, 4)
    threads = [Pusher(client, scene, (MOST - 1) // clients // 2, out) for client in range(clients)]
    for thread in threads:
        scene.clone(thread.clone)
        # A clone has the reference's old form of baseline until it has pulled.
        scene.json('pull', cwd=thread.clone)
    proxy.set(lambda _: Fault(*fates.choice(LOST[:5]), count=0.5) if fates.random() < share else None)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    proxy.set(lambda _: None)
    for thread in threads:
        if thread.error:
            raise thread.error
    start = time.monotonic()
    code, document = scene.run('pull', cwd='a')
    if code:
        raise Violation(f'the last pull ended with {code}: {told(document)}')
    held = scene.history('a')
    out.append(Operation(clients, 'read', start, time.monotonic(), 'value', new=held[0]))
    for operation in out:
        if operation.kind == 'swap' and operation.result == 'ok' and operation.new not in held:
            raise Violation(f'{operation.new} was pushed and is not in the history')
    scene.intact('a', ())
    scene.remove()
    return first, out


# ---------------------------------------------------------------- the run

class Tally:
    def __init__(self):
        self.counts = dict(histories=0, pushes=0, operations=0, ok=0, conflict=0, unknown=0, violations=0)
        self.lines = []

    def judge(self, what, first, history):
        self.counts['histories'] += 1
        self.counts['operations'] += len(history)
        for operation in history:
            if operation.result in self.counts:
                self.counts[operation.result] += 1
        if not is_linearizable(history, first):
            ordered = '\n    '.join(str(operation) for operation in sorted(history, key=lambda one: one.start))
            self.violation(f'{what} has no explanation, first was {first}:\n    {ordered}')

    def violation(self, text):
        self.counts['violations'] += 1
        self.lines.append(text)


def lie(request):
    """A server that tells every third conflicting swap that it took effect."""
    def edit(request, body):
        document = json.loads(body)
        for result in document['results']:
            if result['status'] == 'conflict':
                result.update(status='ok')
        return json.dumps(document).encode()
    return Fault('edit', 'after', edit=edit) if request.is_write and request.number % 3 == 0 else None


def finds_a_liar(proxy, choices):
    """Whether the histories of a server that lies are told from those of one that does not."""
    for number in range(20):
        out = []
        proxy.set(lie)
        clients = [RawClient(client, proxy.port, f'liar{number:08}', 8, random.Random(choices.random()), out)
                   for client in range(4)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        if not is_linearizable(out, None):
            return True
    return False


def work(job, binary, seed, histories, pushes, end, where, queue):
    """One process: its share of the histories, on one server."""
    tally, name, choices = Tally(), SERVERS[job % len(SERVERS)], random.Random(f'{seed}/{job}')
    with tempfile.TemporaryDirectory(prefix='vaultctl-histories-', dir=where) as folder:
        place = Place(binary, os.path.join(folder, 'place'), **{'net.retries': 1})
        with server_of(place, name) as (_, proxy):
            if not finds_a_liar(proxy, choices):
                tally.violation(f'{name}: a server that lies was believed')
            # The slow ones are spread over the time, so that a run that is cut short has some of both.
            every = max(1, histories // pushes) if pushes else 0
            for number in itertools.count():
                if number >= histories or (end and time.monotonic() > end):
                    break
                try:
                    if every and number % every == 0 and tally.counts['pushes'] < pushes:
                        tally.counts['pushes'] += 1
                        first, history = push_history(place, proxy, choices, number)
                        tally.judge(f'{name}: pushes {number}', first, history)
                    else:
                        tally.judge(f'{name}: history {number}', None, raw_history(proxy, f'v{number:08}', choices))
                except Violation as error:
                    tally.violation(f'{name}: history {number}: {error}')
                if tally.counts['violations'] >= 5:
                    break
    queue.put(tally)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(HERE))
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(root, 'build', 'vaultctl')))
    parser.add_argument('--histories', type=int, default=6000)
    parser.add_argument('--pushes', type=int, default=40, help='how many of them are of whole processes')
    parser.add_argument('--seconds', type=float, default=0, help='begin no history after this time')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--dir', default=memory(), help='where the vaults lie; in memory when there is room')
    options = parser.parse_args()
    right, wrong = check_checker()
    started = time.monotonic()
    end, queue, jobs = started + options.seconds if options.seconds else 0, multiprocessing.Queue(), len(SERVERS)
    shares = -(-options.histories // jobs), -(-options.pushes // jobs)
    workers = [multiprocessing.Process(target=work, args=(
        job, os.path.abspath(options.vaultctl), options.seed, *shares, end, options.dir, queue)) for job in range(jobs)]
    for worker in workers:
        worker.start()
    tallies = [queue.get() for _ in workers]
    for worker in workers:
        worker.join()
    totals = {key: sum(tally.counts[key] for tally in tallies) for key in tallies[0].counts}
    for tally in tallies:
        for line in tally.lines:
            print(f'histories: {line}')
    print(f'histories: {totals["histories"]:,} ({totals["pushes"]} of whole processes), '
          f'{totals["operations"]:,} operations: {totals["ok"]:,} swaps, {totals["conflict"]:,} conflicts, '
          f'{totals["unknown"]:,} unknown, in {time.monotonic() - started:.0f} s; the checker judged {right} right and '
          f'{wrong} wrong ones as it should; '
          f'{totals["violations"]} violations (seed {options.seed})')
    return 1 if totals['violations'] or not totals['histories'] else 0


if __name__ == '__main__':
    sys.exit(main())
