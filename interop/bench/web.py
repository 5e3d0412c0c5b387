"""Over HTTP on loopback: both clients on `vaultctl serve` and on the stand-in server, and what the server can do alone.

Each sample also holds the requests that the server answered and the bytes of their bodies, as its access log tells;
those of vaultctl on `vaultctl serve` also the least that the protocol needs, worked out from what lies on the server.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

from lab import ROOT, Failed
from tools import remove

SERVE, STAND_IN = 'serve', 'stand-in'
WRITE_KEY = 'a' * 64
BATCH = 50
PART, RANGE = 10 << 20, 8 << 20                 # of an upload, of a download
TREES = 2                                       # folders above the file that change_one() changes


def up(count, size):
    """How many of `size` hold `count`."""
    return -(-count // size)


class Server:
    """One server in a process of its own, with nothing on it; its log is read from where it was read last."""

    def __init__(self, lab, place, logs=True):
        self.lab, self.place = lab, place
        self.folder = lab.fresh('memory', 'server', make=True)
        self.log, self.seen = None, 0
        if logs:
            self.log = os.path.join(self.folder, 'log')
            with open(self.log, 'xb'):
                pass
        self.process = self.own() if place == SERVE else self.stand_in()
        lab.server = self.process.pid

    def own(self):
        command = [self.lab.vaultctl, 'serve', '--root', os.path.join(self.folder, 'vaults'), '--port', '0', '--json']
        process = subprocess.Popen(command + (['--access-log', self.log] if self.log else []), stdout=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, env=self.lab.environment)
        self.url = json.loads(process.stdout.readline())['url']
        return process

    def stand_in(self):
        port = os.path.join(self.folder, 'port')
        command = [sys.executable, os.path.join(ROOT, 'interop', 'vault_server.py'), '0', '--port-file', port,
                   '--presigned', '--brief-log', '--log', self.log]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=self.lab.environment)
        process.stdout.readline()
        with open(port, encoding='ascii') as file:
            self.url = f'http://127.0.0.1:{file.read()}'
        return process

    def close(self):
        self.lab.server = None
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
        remove(self.folder)

    def answered(self):
        """Requests, bytes received and bytes sent since the last call; of an answer that its client broke off what the
        client took."""
        size = -1
        while size != os.path.getsize(self.log):
            size = os.path.getsize(self.log)
            time.sleep(0.05)                                    # the last line comes after the answer that it tells of
        with open(self.log, encoding='utf-8') as file:
            file.seek(self.seen)
            lines = [json.loads(line) for line in file if line.endswith('\n')]
            self.seen = file.tell()
        return len(lines), sum(line['received'] for line in lines), sum(line['sent'] for line in lines)

    def files(self, vault):
        """Sizes of the files that a vault has on `vaultctl serve`, by path below bare/."""
        root = os.path.join(self.folder, 'vaults', vault, 'bare')
        return {os.path.relpath(os.path.join(folder, name), root): os.path.getsize(os.path.join(folder, name))
                for folder, _, names in os.walk(root) for name in names}


class Client:
    """One program with a vault of its own on one server: the clone that made it, and a second one."""
    name, slow = '', False

    def __init__(self, lab, server, number):
        self.lab, self.server, self.label = lab, server, self.name
        self.vault = f'bench{number:03}'
        self.key = 'benchpassphrase0000000001:' + self.vault
        self.work, self.copy = (lab.fresh('memory', f'http-{self.name}-{part}') for part in ('work', 'copy'))
        self.seconds = (60 if lab.options.quick else 600) if self.slow else None

    def run(self, command, cwd=None, stdin=b''):
        return self.lab.run(command, cwd=cwd, stdin=stdin, seconds=self.seconds)

    def remove(self):
        remove(self.work)
        remove(self.copy)


class Ours(Client):
    name = 'vaultctl'

    def init(self):
        self.run((self.lab.vaultctl, 'init', '--server', self.server.url, '--key-fd', '0', self.work),
                 stdin=self.key.encode())

    def commit(self):
        return (self.lab.vaultctl, 'commit', '-q', '-m', 'c'), self.work

    def push(self):
        return (self.lab.vaultctl, 'push', '-q'), self.work

    def pull(self):
        return (self.lab.vaultctl, 'pull', '-q'), self.copy

    def clone(self):
        remove(self.copy)
        return ((self.lab.vaultctl, 'clone', '-q', '--server', self.server.url, '-', self.copy), None,
                self.key.encode() + b'\n')


class Theirs(Client):
    name, slow = 'sgit', True

    def init(self):
        self.run((self.lab.sgit, 'init', '--base-url', self.server.url, '--vault-key', self.key, self.work))

    def commit(self):
        return (self.lab.sgit, 'commit', '-m', 'c'), self.work

    def push(self):
        return (self.lab.sgit, 'push'), self.work

    def pull(self):
        return (self.lab.sgit, 'pull'), self.copy

    def clone(self):
        remove(self.copy)
        return ((self.lab.sgit, 'clone', '--base-url', self.server.url, '-', self.copy), None,
                self.key.encode() + b'\n')


class Web:
    def __init__(self, lab):
        self.lab, self.options = lab, lab.options
        self.number = 0

    def run(self):
        many, big = self.options.files, self.options.big_bytes // 2
        for prefix, count, size in (('http few: ', many // 10, 4096), ('http many: ', many, 1024),
                                    ('http big: ', 1, big)):
            master = self.lab.fresh('memory', 'master', make=True)
            if size == big:
                self.lab.big(os.path.join(master, 'big.bin'), size)
            else:
                self.lab.fill(master, count, size)
            for number in range(self.options.rounds):
                for place in (SERVE, STAND_IN):
                    if place == SERVE or number < self.options.slow_rounds:
                        self.round(prefix, place, number, master, size if size == big else 0)
            remove(master)
        self.reads()

    @contextlib.contextmanager
    def server(self, place, logs=True):
        server = Server(self.lab, place, logs)
        try:
            yield server
        finally:
            server.close()

    def round(self, prefix, place, number, master, big):
        """The programs in turn on one new server, each with a vault of its own."""
        kinds = [Ours] + ([Theirs] if number < self.options.slow_rounds else [])
        with self.server(place) as server:
            for kind in kinds[number % len(kinds):] + kinds[:number % len(kinds)]:
                self.number += 1
                client = kind(self.lab, server, self.number)
                client.init()
                shutil.copytree(master, client.work, dirs_exist_ok=True,
                                copy_function=os.link if big else shutil.copyfile)
                self.work(prefix, client, number, big)
                if big and place == SERVE and kind is Ours:
                    self.curl(prefix, server, number, os.path.join(master, 'big.bin'))
                client.remove()

    def work(self, prefix, client, number, big):
        """First push and clone; with many files also the round of one file. Ends with what was stopped."""
        if client.run(*client.commit()) is None:
            self.left_out(prefix + 'push', client, f'its commit was stopped after {client.seconds} s')
            return
        if not self.measure(prefix + 'push', client, client.push(), 'first', big):
            return
        if not self.measure(prefix + 'clone', client, client.clone(), 'clone', big) or prefix != 'http many: ':
            return
        for again in range(1 if client.slow else 3):
            self.lab.change_one(client.work, 100 * number + again)
            client.run(*client.commit())
            for case, command, kind in (('push one', client.push(), 'push'), ('pull one', client.pull(), 'pull'),
                                        ('pull none', client.pull(), 'none')):
                if not self.measure(prefix + case, client, command, kind):
                    return

    def measure(self, case, client, command, kind, big=0):
        server = client.server
        if big:
            self.lab.touch_pages('memory', 2 * big)
        server.answered()
        command, cwd, stdin = (*command, b'')[:3]
        try:
            sample = self.lab.time(case, server.place, client.label, command, cwd=cwd, stdin=stdin,
                                   seconds=client.seconds)
        except Failed as failed:
            if server.place == SERVE:
                raise
            # A slow stand-in must not cost the figures of all other cases.
            told = ' '.join(failed.said.split('hint:')[0].split())[-200:]
            self.left_out(case, client, f'it failed with exit {failed.exit}: {told}')
            return False
        if sample is None:
            self.left_out(case, client, f'it was stopped after {client.seconds} s')
            return False
        sample['requests'], sample['received'], sample['sent'] = server.answered()
        if server.place == SERVE and not client.slow:
            sample['least'] = least(kind, server.files(client.vault))
        return True

    def left_out(self, case, client, why):
        self.note(f'{case.replace("http ", "over HTTP, ")}, {client.server.place}: {client.label} is left out, {why}')

    # ------------------------------------------------------------ what the server can do alone

    def curl(self, prefix, server, number, path):
        """The same bytes by curl: up by the plain route of objects, down with a hash of what came."""
        if not shutil.which('curl'):
            self.note('skipped: curl is not installed')
            return
        lab, size = self.lab, os.path.getsize(path)
        vault, target = f'curl{number:04}', lab.fresh('memory', 'curl.bin')
        url = f'{server.url}/api/vault/write/{vault}/bare/data/curl'
        lab.touch_pages('memory', 2 * size)
        key = f'x-sgraph-vault-write-key: {WRITE_KEY}'
        lab.time(prefix + 'push', SERVE, 'curl',
                 ('curl', '-sS', '--fail', '-H', key, '-o', '/dev/null', '-T', path, url))
        lab.touch_pages('memory', 2 * size)
        url = f'{server.url}/api/vault/read/{vault}/bare/data/curl'
        lab.time(prefix + 'clone', SERVE, 'curl', ('sh', '-c', f'curl -sS --fail -o {target} {url} && '
                                                   f'openssl dgst -sha256 {target}'))
        remove(target)

    def reads(self):
        """Small reads per second, without an access log."""
        if not shutil.which('wrk'):
            self.note('skipped: wrk is not installed')
            return
        path, headers = 'reads001/bare/data/small', {'x-sgraph-vault-write-key': WRITE_KEY}
        with self.server(SERVE, logs=False) as server:
            put = urllib.request.Request(f'{server.url}/api/vault/write/{path}', bytes(1024), headers, method='PUT')
            urllib.request.urlopen(put).close()
            for _ in range(self.options.rounds):
                out = subprocess.run(['wrk', '-t1', '-c16', '-d2s', f'{server.url}/api/vault/read/{path}'], check=True,
                                     capture_output=True, text=True).stdout
                if 'Non-2xx' in out or 'Socket errors' in out:
                    raise SystemExit(f'wrk: {out}')
                self.lab.limit('reads', float(re.search(r'Requests/sec:\s*([\d.]+)', out).group(1)))

    def note(self, text):
        if text not in self.lab.notes:
            self.lab.notes.append(text)
            print(text, flush=True)


def least(kind, files):
    """Requests that a command takes at most, as the specification counts them, for the files that a vault has now."""
    large = [size for size in files.values() if size > 4 << 20]
    small = len(files) - len(large)
    objects = sum(path.startswith('data/') for path in files) - len(large)
    keys = sum(path.startswith('keys/') for path in files)
    if kind == 'first':
        return 1 + up(objects + keys, BATCH) + 1 + 1 + sum(2 + up(size, PART) for size in large)
    if kind == 'clone':                                         # all but the index and the named ref, which come first
        return 2 + up(small - 2, BATCH) + sum(1 + up(size, RANGE) for size in large)
    if kind == 'push':
        return 1 + up(1 + TREES + 1, BATCH) + 1
    return 1 + 1 + TREES + 1 if kind == 'pull' else 1
