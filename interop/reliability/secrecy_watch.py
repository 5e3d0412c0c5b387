#!/usr/bin/env python3
"""Secrecy watch: marked contents, names and keys are searched in everything that the program writes, prints or hands on.

    interop/reliability/secrecy_watch.py [--vaultctl PATH] [--rounds 100] [--seed 1]

Every round commits, writes, pushes, pulls, clones, repairs and makes mistakes with contents, file names and keys that
hold marks. After each command the marks are searched - as they are, in hex and in base64 at any offset - in what it
printed, and in every file outside the working copies; names and contents of files too. Programs that it starts (a
pager, an editor, a key command) record the environment and arguments that they and the program itself were given. One
process a round is made to dump core. All sealing is watched for nonces used twice. Exit 1 when anything was found.
"""
import argparse
import base64
import json
import os
import pty
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time

from nonces import NonceWatch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
# The clone's own files that hold keys, or the names of tracked files, on purpose: they lie beside both.
KEY_FILES = ('.sg_vault/local/vault_key', '.sg_vault/local/vaultctl/derived-keys')
NAME_FILES = ('.sg_vault/local/vaultctl/stat-cache',)
RECORDER = '''#!/bin/sh
echo "ran $(basename "$0")" >>"%s"
{ tr '\\0' '\\n' </proc/self/environ; tr '\\0' '\\n' </proc/self/cmdline
  tr '\\0' '\\n' </proc/$PPID/environ; tr '\\0' '\\n' </proc/$PPID/cmdline; } >>"%s" 2>/dev/null
'''


def spellings(mark):
    """The mark as bytes, hex, and the part of its base64 that does not depend on what stands around it."""
    found = {mark, mark.hex().encode(), mark.hex().upper().encode()}
    for offset in range(3):
        encoded = base64.b64encode(b'\0' * offset + mark)
        found.add(encoded[4 if offset else 0:len(encoded) // 4 * 4 - 4])
    return found


class Watch:
    def __init__(self, vaultctl, folder, seed):
        self.folder, self.random = folder, random.Random(seed)
        self.nonces = NonceWatch(vaultctl, folder)
        self.work = os.path.join(folder, 'work')
        os.mkdir(self.work)
        self.told = os.path.join(self.work, 'handed-on')
        self.counts = {name: 0 for name in ('commands', 'files searched', 'MB searched', 'ends that dump core', 'hits')}
        self.bytes = 0
        self.seen = {}
        self.dumps = self.leaves_cores()

    def leaves_cores(self):
        """Whether a process that may dump core here leaves the file where it is looked for."""
        subprocess.run(['sh', '-c', 'ulimit -c unlimited && kill -SYS $$'], cwd=self.work, check=False,
                       stderr=subprocess.DEVNULL)
        cores = [name for name in os.listdir(self.work) if name.startswith('core')]
        for name in cores:
            os.remove(os.path.join(self.work, name))
        if not cores:
            print('secrecy: cores SKIPPED, this machine leaves none in the working directory', flush=True)
        return bool(cores)

    def hit(self, what):
        self.counts['hits'] += 1
        print(f'secrecy: HIT: {what}', flush=True)

    def begin(self, number):
        """A new vault with new marks."""
        self.place = os.path.join(self.work, str(number))
        os.mkdir(self.place)
        token = '%012x' % self.random.getrandbits(48)
        self.text, self.name = f'canary-text-{token}'.encode(), f'canary-name-{token}'
        passphrase, vault = f'canary-pass-{token}', 'c' + token[:9]
        self.vault, self.key = vault, os.path.join(self.place, 'key')
        with open(os.open(self.key, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='ascii') as file:
            file.write(f'{passphrase}:{vault}')
        result = subprocess.run([self.nonces.binary, '--json', 'keys', 'derive', '--show-secrets', '--key-file', self.key],
                                capture_output=True, check=True)
        derived = json.loads(result.stdout)
        keys = [passphrase.encode()]
        for name in ('read_key', 'write_key'):
            keys += [derived[name].encode(), bytes.fromhex(derived[name])]
        self.keys = set().union(*map(spellings, keys))
        self.texts = spellings(self.text)
        self.names = spellings(self.name.encode())
        self.scripts()

    def scripts(self):
        record = RECORDER % (self.told, self.told)
        for name, rest in (('pager', 'cat >/dev/null\n'), ('editor', f'echo "message {self.text.decode()}" >"$1"\n'),
                           ('keycommand', f'cat "{self.key}"\n')):
            path = os.path.join(self.place, name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(record + rest)
            os.chmod(path, stat.S_IRWXU)

    def environment(self):
        return {'HOME': self.place, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8', 'TMPDIR': self.place,
                'PAGER': os.path.join(self.place, 'pager'), 'EDITOR': os.path.join(self.place, 'editor'),
                'VISUAL': os.path.join(self.place, 'editor')}

    def call(self, *words, stdin=b'', shows=(), fails=False):
        """Runs a command; `shows` tells which marks its output may hold, `fails` that it is a mistake."""
        result = subprocess.run([self.nonces.binary, *words], input=stdin, capture_output=True, cwd=self.place,
                                env=self.environment(), check=False)
        self.judge(words, result.stdout + result.stderr, result.returncode, shows, fails)

    def call_on_terminal(self, *words, shows=()):
        """The same on a terminal, where editors and pagers are started."""
        mine, theirs = pty.openpty()
        with subprocess.Popen([self.nonces.binary, *words], pass_fds=(theirs,), cwd=self.place,
                              env={**self.environment(), 'TERM': 'xterm'},
                              preexec_fn=lambda: os.login_tty(theirs)) as process:
            os.close(theirs)
            told = b''
            try:
                while piece := os.read(mine, 65536):
                    told += piece
            except OSError:
                pass        # the other end is closed
            os.close(mine)
        self.judge(words, told, process.returncode, shows, False)

    def judge(self, words, told, code, shows, fails):
        self.counts['commands'] += 1
        if (code != 0) != fails:
            self.hit(f'{" ".join(words)} ended with {code}, so nothing was watched: {told[:300]}')
        for kind, marks in (('key', self.keys), ('content', self.texts), ('name', self.names)):
            if kind not in shows and any(mark in told for mark in marks):
                self.hit(f'{kind} printed by {" ".join(words)}: {told[:300]}')

    def search(self):
        """Every file of this round that is no working copy's, by what it may hold; and what was handed on."""
        for folder, folders, files in os.walk(self.place):
            below = os.path.relpath(folder, self.place).split(os.sep)
            is_working = below[0] in ('a', 'b', 'c') and '.sg_vault' not in below
            if is_working:
                continue
            for name in files + folders:
                path = os.path.join(folder, name)
                if any(mark in name.encode() for mark in self.names | self.texts | self.keys):
                    self.hit(f'a file is named {path}')
                if name in folders or name in ('key', 'pager', 'editor', 'keycommand') and folder == self.place:
                    continue
                self.search_file(path)
        if os.path.exists(self.told):
            self.search_file(self.told)

    def search_file(self, path):
        status = os.stat(path)
        version = (status.st_mtime_ns, status.st_size)
        if self.seen.get(path) == version:
            return
        self.seen[path] = version
        with open(path, 'rb') as file:
            content = file.read()
        self.counts['files searched'] += 1
        self.bytes += len(content)
        self.counts['MB searched'] = self.bytes >> 20
        for kind, marks, allowed in (('key', self.keys, KEY_FILES), ('content', self.texts, ()),
                                     ('name', self.names, NAME_FILES)):
            if not path.endswith(allowed or '\0') and any(mark in content for mark in marks):
                self.hit(f'{kind} in {path}')

    def edit(self, clone):
        for place in range(1 + self.random.randrange(3)):
            folder = os.path.join(self.place, clone, f'{self.name}-d{self.random.randrange(3)}')
            os.makedirs(folder, exist_ok=True)
            filler = self.random.choice([b'', b' ' * 5000, self.random.randbytes(3000)])
            with open(os.path.join(folder, f'{self.name}-{place}'), 'wb') as file:
                file.write(filler + self.text + str(self.random.random()).encode())

    def one_round(self):
        server = os.path.join(self.place, 'remote')
        name = ('name',)
        steps = [
            lambda: self.call('init', '--key-file', self.key, '--server', server, 'a'),
            lambda: (self.edit('a'), self.call('-C', 'a', 'status', shows=name)),
            lambda: self.call('-C', 'a', 'commit', '-m', self.text.decode(), shows=('content', 'name')),
            lambda: self.call('-C', 'a', 'push'),
            lambda: self.call('clone', '--key-command', os.path.join(self.place, 'keycommand'), '--server', server,
                              self.vault, 'b', shows=name),
            lambda: self.call('-C', 'b', 'write', f'{self.name}/w', stdin=self.text, shows=name),
            lambda: self.call('-C', 'b', 'push'),
            lambda: (self.edit('a'), self.call_on_terminal('-C', 'a', 'commit', shows=('content', 'name'))),
            lambda: self.call('-C', 'a', 'pull', shows=name),
            lambda: self.call('-C', 'a', 'push'),
            lambda: self.call_on_terminal('-C', 'a', 'log', shows=('content', 'name')),
            lambda: self.call('-C', 'a', 'fsck'),
            lambda: self.call('-C', 'a', 'info'),
            lambda: self.call('-C', 'a', 'ls', '-r', shows=name),
            lambda: self.control(),
            lambda: self.call('-C', 'a', 'cat', f'{self.name}/nowhere', shows=name, fails=True),
            lambda: self.call('-vv', '-C', 'a', 'fetch'),
            lambda: self.call('-C', 'a', 'config', 'set', 'server.default', f'canary:{self.vault}'),
            lambda: self.call('clone', '--key-file', self.key, '--server', server + '-none', self.vault, 'c', fails=True),
            lambda: self.damage(),
            lambda: self.call('-C', 'b', 'fsck', '--repair', shows=name),
            lambda: self.dump_core(),
        ]
        for step in steps:
            step()
            self.search()

    def control(self):
        """A watch that sees no mark where there is one would be of no use."""
        listed = subprocess.run([self.nonces.binary, '-C', 'a', 'ls', '-r'], capture_output=True, cwd=self.place,
                                env=self.environment(), check=True).stdout
        with open(os.path.join(self.place, 'a', KEY_FILES[1]), 'rb') as file:
            derived = file.read()
        sees = [any(mark in listed for mark in self.names), any(mark in derived for mark in self.keys),
                any(mark in base64.b64encode(b'xy' + self.text + b'z') for mark in self.texts)]
        if not all(sees):
            self.hit(f'the watch is blind: {sees}')
        with open(self.told, encoding='utf-8', errors='replace') as file:
            ran = file.read()
        for program in ('pager', 'editor', 'keycommand'):
            if f'ran {program}\n' not in ran:
                self.hit(f'the watch is blind: no {program} ran')

    def damage(self):
        data = os.path.join(self.place, 'b', '.sg_vault', 'bare', 'data')
        for name in sorted(os.listdir(data))[:2]:
            path = os.path.join(data, name)
            os.chmod(path, 0o600)
            with open(path, 'wb'):
                pass

    def wait_for_start(self, process):
        """Waits until the program runs and has forbidden core files: before that it holds its arguments only."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with open(f'/proc/{process}/limits', encoding='ascii') as file:
                limit = next(line for line in file if line.startswith('Max core file size'))
            if limit.split()[4] == '0':
                return
            time.sleep(0.02)
        self.hit('the program never forbade core files')

    def dump_core(self):
        """Ends a program that holds the keys in a way that leaves a core file, where one is allowed."""
        line = f'ulimit -c unlimited; exec "{self.nonces.binary}" -C a write {self.name}/core'
        with subprocess.Popen(['sh', '-c', line], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, cwd=self.place, env=self.environment()) as process:
            process.stdin.write(self.text * 10)
            process.stdin.flush()
            self.wait_for_start(process.pid)
            process.send_signal(signal.SIGSYS)
            process.stdin.close()
            process.wait()
        self.counts['ends that dump core'] += self.dumps and process.returncode == -signal.SIGSYS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(ROOT, 'build', 'vaultctl')))
    parser.add_argument('--rounds', type=int, default=100)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='vaultctl-watch-') as folder:
        watch = Watch(os.path.abspath(options.vaultctl), folder, options.seed)
        for number in range(options.rounds):
            watch.begin(number)
            watch.one_round()
        messages, keys, again, broken = watch.nonces.judge()
    figures = ', '.join(f'{count:,} {name}' for name, count in watch.counts.items())
    print(f'secrecy: {options.rounds} rounds, {figures} (seed {options.seed})')
    print(f'nonces: {messages:,} messages under {keys} keys, {again:,} of them sealed before with the same nonce and '
          f'content, {broken} nonces with two contents (seed {options.seed})')
    return 1 if broken or watch.counts['hits'] else 0


if __name__ == '__main__':
    sys.exit(main())
