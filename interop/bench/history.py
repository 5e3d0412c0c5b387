"""The history group: long logs, merge bases, merges and switches, beside the reference and git.

A long history is written straight into the clone, sealed with the reference's own cryptography, for making 20,000
commits one by one takes minutes and is not what is measured. Both tools read the same clone.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from roundtrip.reference import CRYPTO, keys_of
from tools import KEY, Git, Vaultctl

LOG, BASES, FILES, EACH, BACK = 5000, 20000, 10000, 100, 100


def turns(items, number):
    """The items, beginning with another one each round."""
    items = list(items)
    return items[number % len(items):] + items[:number % len(items)]


class Chain:
    """Appends commits to a clone of vaultctl without a command of their own."""

    def __init__(self, work):
        self.bare = os.path.join(work, '.sg_vault', 'bare')
        self.key = keys_of(KEY)['read_key_bytes']
        refs = [name for name in os.listdir(os.path.join(self.bare, 'refs')) if '-snw-' in name]
        self.ref = os.path.join(self.bare, 'refs', refs[0])
        self.head = json.loads(self.read(self.ref))['commit_id']
        self.start = self.head
        self.commit = json.loads(self.read(os.path.join(self.bare, 'data', self.head)))

    def read(self, path):
        with open(path, 'rb') as file:
            return CRYPTO.decrypt(self.key, file.read())

    def store(self, plaintext):
        sealed = CRYPTO.encrypt(self.key, plaintext)
        name = 'obj-cas-imm-' + hashlib.sha256(sealed).hexdigest()[:12]
        with open(os.path.join(self.bare, 'data', name), 'wb') as file:
            file.write(sealed)
        return name

    def grow(self, count, parent=None, word='step'):
        """The last of so many commits behind `parent` (the head), each a second after the one before."""
        parent = parent or self.head
        for number in range(count):
            message = CRYPTO.encrypt_metadata(self.key, f'{word} {number}')
            self.commit.update(parents=[parent], message_enc=message, signature=None, author_key_id=None,
                               timestamp_ms=self.commit['timestamp_ms'] + 1000)
            parent = self.store(json.dumps(self.commit).encode())
        return parent

    def move(self, head):
        with open(self.ref, 'wb') as file:
            file.write(CRYPTO.encrypt(self.key, json.dumps(dict(commit_id=head)).encode()))


def git_history(lab, git, count, branches):
    """The same for git: `count` commits on each of the branches, whose first parent is the head."""
    start = subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=git.work, env=lab.environment, check=True,
                           capture_output=True, text=True).stdout.strip()
    lines, when = [], 1_700_000_000
    for branch in branches:
        for number in range(count):
            when += 1
            message = f'step {number}'
            lines += [f'commit refs/heads/{branch}', f'committer b <b@example.org> {when} +0000',
                      f'data {len(message)}', message] + ([f'from {start}'] if number == 0 else [])
    lab.run(('git', 'fast-import', '--quiet', '--force'), cwd=git.work, stdin='\n'.join(lines + ['']).encode())


class History:
    def __init__(self, lab):
        self.lab, self.rounds = lab, lab.options.rounds
        self.slow_rounds = lab.options.slow_rounds

    def run(self):
        self.log()
        self.bases()
        self.branches()

    def text(self, folder, number, word):
        path = os.path.join(folder, f't{number % 10}', f'f{number:05}.txt')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='ascii') as file:
            file.write(''.join(f'{word if line == 20 else "line"} {number} {line}\n' for line in range(40)))

    # ------------------------------------------------------------ log and diff

    def log(self):
        lab = self.lab
        vault, git = Vaultctl(lab, 'memory', extra=lab.no_sync), Git(lab, 'memory')
        for tool in (vault, git):
            for number in range(1000):
                self.text(tool.work, number, 'old')
            tool.measure('', 'commit', keep=False)
        chain = Chain(vault.work)
        chain.move(chain.grow(LOG - BACK - 2))
        git_history(lab, git, LOG - BACK - 1, ['master'])
        lab.run(('git', 'reset', '-q', '--hard'), cwd=git.work)
        for tool in (vault, git):
            for number in range(BACK):
                self.text(tool.work, number, 'new')
                tool.measure('', 'one', keep=False)
        time.sleep(2.2)
        logs = {'vaultctl': (lab.vaultctl, 'log', '--no-pager'), 'git': ('git', 'log'),
                'sgit': (lab.sgit, 'history', 'log', '-n', str(LOG))}
        diffs = {'vaultctl': (lab.vaultctl, 'diff', '--no-pager', f'HEAD~{BACK}'), 'git': ('git', 'diff', f'HEAD~{BACK}')}
        lab.run(diffs['vaultctl'], cwd=vault.work)
        for number in range(2 * self.rounds):
            for case, commands in (('history: log', logs), ('history: diff', diffs)):
                for name, command in turns(commands.items(), number):
                    if name != 'sgit' or number < self.slow_rounds:
                        lab.time(case, 'memory', name, command, cwd=git.work if name == 'git' else vault.work)
        for tool in (vault, git):
            tool.remove()

    # ------------------------------------------------------------ merge bases

    def bases(self):
        lab = self.lab
        vault, git = Vaultctl(lab, 'memory', extra=lab.no_sync), Git(lab, 'memory')
        for tool in (vault, git):
            self.text(tool.work, 1, 'old')
            tool.measure('', 'commit', keep=False)
        chain = Chain(vault.work)
        left, right = chain.grow(BASES // 2 - 1, word='left'), chain.grow(BASES // 2, chain.start, 'right')
        chain.move(left)
        lab.run((lab.vaultctl, 'branch', 'other', right), cwd=vault.work)
        git_history(lab, git, BASES // 2, ['left', 'other'])
        commands = {'vaultctl': (lab.vaultctl, 'diff', '--no-pager', '--name-only', 'HEAD...other'),
                    'git': ('git', 'merge-base', 'left', 'other')}
        for number in range(self.rounds):
            for name, command in turns(commands.items(), number):
                lab.time('history: merge base', 'memory', name, command, cwd=git.work if name == 'git' else vault.work)
        for tool in (vault, git):
            tool.remove()

    # ------------------------------------------------------------ merges and switches

    def branches(self):
        """Two branches of 10,000 files, each with 100 changes of its own; and one that shares no content with them."""
        lab = self.lab
        vault, git = Vaultctl(lab, 'memory', extra=lab.no_sync), Git(lab, 'memory')
        master = lab.fresh('memory', 'master', make=True)
        lab.fill(master, FILES)
        switch = {'vaultctl': (lab.vaultctl, 'switch', '-q'), 'git': ('git', 'switch', '-q')}
        first = {'vaultctl': 'current', 'git': 'master'}
        tools = {'vaultctl': vault, 'git': git}
        for name, tool in tools.items():
            shutil.copytree(master, tool.work, dirs_exist_ok=True, copy_function=shutil.copyfile)
            tool.measure('', 'commit', keep=False)
            for branch, seed, step, offset in (('side', 2, FILES // EACH, 1), ('whole', 3, 1, 0)):
                lab.run(switch[name] + ('-c', branch), cwd=tool.work)
                self.change(tool.work, master, seed, step, offset)
                tool.measure('', 'one', keep=False)
                lab.run(switch[name] + (first[name],), cwd=tool.work)
            self.change(tool.work, master, 4, FILES // EACH, 0)
            tool.measure('', 'one', keep=False)
        self.reference_branches(vault)
        back = {'vaultctl': (lab.vaultctl, 'reset', '-q', '--hard', '-y', 'HEAD~1'),
                'git': ('git', 'reset', '-q', '--hard', 'HEAD~1')}
        merge = {'vaultctl': (lab.vaultctl, 'merge', '-q', 'side'), 'git': ('git', 'merge', '-q', '--no-edit', 'side')}
        status = {'vaultctl': (lab.vaultctl, 'status'), 'git': ('git', 'status')}
        for number in range(self.rounds):
            for case, branch in (('history: switch', 'side'), ('history: switch all', 'whole')):
                for to in (branch, None):
                    self.settle(tools, status)
                    for name, tool in turns(tools.items(), number):
                        lab.time(case, 'memory', name, switch[name] + (to or first[name],), cwd=tool.work)
            self.settle(tools, status)
            for name, tool in turns(tools.items(), number):
                lab.time('history: merge', 'memory', name, merge[name], cwd=tool.work)
            for name, tool in tools.items():
                lab.run(back[name], cwd=tool.work)
        shutil.rmtree(master)
        for tool in tools.values():
            tool.remove()

    def settle(self, tools, status):
        """Caches believe files that are older than 2 s."""
        time.sleep(2.2)
        for name, tool in tools.items():
            self.lab.run(status[name], cwd=tool.work)

    def change(self, folder, master, seed, step, offset):
        """Gives every `step`-th file other content."""
        found = sorted(os.path.relpath(os.path.join(above, name), master)
                       for above, _, names in os.walk(master) for name in names)
        fresh = self.lab.fresh('memory', 'fresh', make=True)
        self.lab.fill(fresh, FILES, seed=seed)
        for path in found[offset::step]:
            shutil.copyfile(os.path.join(fresh, path), os.path.join(folder, path))
        shutil.rmtree(fresh)

    def reference_branches(self, vault):
        """The reference once, in a copy of the clone: it takes seconds for what is measured in milliseconds here."""
        lab = self.lab
        copy = vault.copy
        shutil.copytree(vault.work, copy)
        for case, arguments in (('history: merge', ('branch', 'merge', 'side')), ('history: switch', ('branch', 'switch', 'side'))):
            lab.run((lab.sgit, 'status'), cwd=copy)
            try:
                lab.time(case, 'memory', 'sgit', (lab.sgit, *arguments), cwd=copy)
            except SystemExit as error:
                lab.notes.append(f'{case}: the reference did not do it ({str(error).strip().splitlines()[-1][:120]})')
        shutil.rmtree(copy)
