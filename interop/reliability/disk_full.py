#!/usr/bin/env python3
"""Disk full in steps: the real program on a tmpfs that has room for so many pages, or so many files, and no more.

    interop/reliability/disk_full.py [--vaultctl PATH] [--step 1] [--seconds 0] [--only VERB,...]

Each verb starts with no page free, then with one more each time until it succeeds; then the same with files in place
of pages. It must say `no_space` and exit with 12, or succeed; then, still without room, `status`, `log` and `fsck` must
answer, the head must be the old one and the files of the working copy old or new; with room the same command must
succeed and leave nothing behind. Needs root, otherwise it says so and exits 0. Exit 1 when something did not hold.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
PAGE = os.sysconf('SC_PAGE_SIZE')
# The verbs, the template each starts from, the clone it works in, and its words.
VERBS = {
    'init': ('empty', 'a', ('init', '--key-file', 'KEY', '--server', 'HERE/remote', 'HERE/a')),
    'commit': ('edited', 'a', ('-C', 'HERE/a', 'commit', '-m', 'second')),
    'write': ('edited', 'a', ('-C', 'HERE/a', 'write', 'docs/3.bin')),
    'first push': ('unpublished', 'a', ('-C', 'HERE/a', 'push')),
    'push': ('ahead', 'a', ('-C', 'HERE/a', 'push')),
    'fetch': ('pushed', 'b', ('-C', 'HERE/b', 'fetch')),
    'pull': ('pushed', 'b', ('-C', 'HERE/b', 'pull')),
    'pull with merge': ('diverged', 'b', ('-C', 'HERE/b', 'pull')),
    'clone': ('pushed', 'c', ('clone', '--key-file', 'KEY', '--server', 'HERE/remote', 'diskfull1', 'HERE/c')),
    'fsck --repair': ('damaged', 'b', ('-C', 'HERE/b', 'fsck', '--repair')),
}
# A verb has succeeded for good when it did so often in a row.
ENOUGH = 3


class Wrong(Exception):
    """Something that must hold does not."""


class Campaign:
    def __init__(self, vaultctl, folder):
        self.vaultctl, self.folder = vaultctl, folder
        self.disk, self.key = os.path.join(folder, 'disk'), os.path.join(folder, 'key')
        self.counts = {name: 0 for name in ('points', 'told', 'succeeded', 'violations')}
        os.makedirs(self.disk)
        with open(os.open(self.key, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='ascii') as file:
            file.write('disk full:diskfull1')
        self.mount()

    def mount(self):
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=256m,nr_inodes=100000', 'none', self.disk], check=True)

    def unmount(self):
        subprocess.run(['umount', '-l', self.disk], check=False, stderr=subprocess.DEVNULL)

    def limit(self, pages=None, files=None):
        """Leaves room for so many pages or files; without a number, for everything."""
        found = os.statvfs(self.disk)
        used, names = found.f_blocks - found.f_bfree, found.f_files - found.f_ffree
        # A size of 0 would be one without a limit.
        size = 65536 if pages is None else max(1, used + pages)
        count = 100_000 if files is None else names + files
        subprocess.run(['mount', '-o', f'remount,size={size * PAGE},nr_inodes={count}', self.disk], check=True)

    def call(self, *words, stdin=b''):
        words = [word.replace('HERE', self.disk).replace('KEY', self.key) for word in words]
        return subprocess.run([self.vaultctl, '--json', *words], input=stdin, capture_output=True, check=False, cwd='/',
                              env={'HOME': self.folder, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'})

    def must(self, *words, **options):
        result = self.call(*words, **options)
        if result.returncode:
            raise Wrong(f'{" ".join(words)}: exit {result.returncode}: {result.stderr + result.stdout}')
        return json.loads(result.stdout)

    # Templates

    def put(self, name, number, pages=8):
        path = os.path.join(self.disk, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(random.Random(number).randbytes(pages * PAGE))

    def keep(self, name):
        shutil.copytree(self.disk, os.path.join(self.folder, name))

    def prepare(self):
        self.keep('empty')
        self.must('init', '--key-file', 'KEY', '--server', 'HERE/remote', 'HERE/a')
        for number in range(4):
            self.put(f'a/docs/{number}.bin', number)
        self.put('a/going.bin', 4)
        self.must('-C', 'HERE/a', 'commit', '-m', 'first')
        self.keep('unpublished')
        self.must('-C', 'HERE/a', 'push')
        self.must('clone', '--key-file', 'KEY', '--server', 'HERE/remote', 'diskfull1', 'HERE/b')
        for number in range(3):
            self.put(f'a/docs/{number}.bin', 10 + number)
        self.put('a/more/new.bin', 13, pages=20)
        os.remove(os.path.join(self.disk, 'a/going.bin'))
        self.keep('edited')
        self.must('-C', 'HERE/a', 'commit', '-m', 'second')
        self.keep('ahead')
        self.must('-C', 'HERE/a', 'push')
        self.keep('pushed')
        self.must('-C', 'HERE/b', 'write', 'from-b', stdin=b'b' * 9 * PAGE)
        self.keep('diverged')
        self.restore('pushed')
        data = os.path.join(self.disk, 'b/.sg_vault/bare/data')
        for name in sorted(os.listdir(data))[::2]:
            os.truncate(os.path.join(data, name), 3)
        self.keep('damaged')

    def restore(self, template):
        self.limit()
        for name in os.listdir(self.disk):
            shutil.rmtree(os.path.join(self.disk, name))
        shutil.copytree(os.path.join(self.folder, template), self.disk, dirs_exist_ok=True)

    # One point

    def history(self, clone):
        return [entry['id'] for entry in self.must('-C', f'HERE/{clone}', 'log', '-n', '1000')['commits']]

    def files(self, clone):
        """The files of a working copy, by name."""
        found = {}
        for folder, names, leaves in os.walk(os.path.join(self.disk, clone)):
            names[:] = [name for name in names if name != '.sg_vault']
            for leaf in leaves:
                path = os.path.join(folder, leaf)
                with open(path, 'rb') as file:
                    found[os.path.relpath(path, self.disk)] = file.read()
        return found

    def expect(self, verb):
        """How an undisturbed run ends: the files and the number of commits."""
        template, clone, words = VERBS[verb]
        self.restore(template)
        # A damaged clone has a history only once it is mended.
        has_history = os.path.isdir(os.path.join(self.disk, clone)) and template != 'damaged'
        before = self.files(clone), self.history(clone) if has_history else []
        self.must(*words, stdin=b'written' * PAGE)
        return before, (self.files(clone), len(self.history(clone)))

    def point(self, verb, expected, **room):
        """Runs the verb with so much room; tells whether it succeeded."""
        template, clone, words = VERBS[verb]
        new_files, new_length = expected[1]
        self.restore(template)
        self.limit(**room)
        result = self.call(*words, stdin=b'written' * PAGE)
        self.counts['points'] += 1
        succeeded = result.returncode == 0
        self.counts['succeeded' if succeeded else 'told'] += 1
        if not succeeded and (result.returncode != 12 or json.loads(result.stdout)['error']['code'] != 'no_space'):
            raise Wrong(f'exit {result.returncode}: {(result.stderr + result.stdout)[:600]}')
        is_there = os.path.isdir(os.path.join(self.disk, clone, '.sg_vault'))
        if not succeeded and verb in ('init', 'clone') and os.path.isdir(os.path.join(self.disk, clone)):
            raise Wrong(f'left {os.listdir(os.path.join(self.disk, clone))}')
        if is_there:
            self.look(verb, clone, succeeded, expected)
        # With room the same command does what it did without the trouble.
        self.limit()
        if not succeeded:
            self.must(*words, stdin=b'written' * PAGE)
        if self.files(clone) != new_files:
            raise Wrong('in the end: other files')
        if len(self.history(clone)) != new_length:
            raise Wrong('in the end: another history')
        self.must('-C', f'HERE/{clone}', 'fsck')
        left = os.listdir(os.path.join(self.disk, clone, '.sg_vault/local/vaultctl/tmp'))
        left += [name for name in os.listdir(self.disk) if name not in ('a', 'b', 'c', 'remote')]
        if left:
            raise Wrong(f'left {left}')
        return succeeded

    def look(self, verb, clone, succeeded, expected):
        """What must hold while there is no room yet."""
        (old_files, old_history), (new_files, _) = expected
        if VERBS[verb][0] == 'damaged' and not succeeded:
            return
        self.must('-C', f'HERE/{clone}', 'status')
        head = self.history(clone)
        if not succeeded and head != old_history:
            raise Wrong('an error told, the head moved')
        if succeeded and verb not in ('push', 'first push', 'fetch', 'fsck --repair') and head == old_history:
            raise Wrong('success told, the head is old')
        for name, content in self.files(clone).items():
            if content not in (old_files.get(name), new_files.get(name)):
                raise Wrong(f'{name} is neither old nor new')
        self.must('-C', f'HERE/{clone}', 'fsck')

    def run(self, verb, step, end):
        expected = self.expect(verb)
        sizes = 0
        for kind in ('pages', 'files'):
            room, row = 0, 0
            while row < ENOUGH and time.monotonic() < end:
                try:
                    succeeded = self.point(verb, expected, **{kind: room})
                    row = row + 1 if succeeded else 0
                except Wrong as error:
                    self.counts['violations'] += 1
                    print(f'disk full: {verb} with room for {room} {kind}: {error}', flush=True)
                    row = row + 1 if self.counts['violations'] > 20 else 0
                sizes += 1
                room += step
        print(f'disk full: {verb}: {sizes} points', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(ROOT, 'build', 'vaultctl')))
    parser.add_argument('--step', type=int, default=1, help='pages or files that are added each time')
    parser.add_argument('--seconds', type=int, default=0, help='stop after so long, whatever was reached')
    parser.add_argument('--only', help='verbs, comma-separated')
    options = parser.parse_args()
    if os.geteuid() != 0:
        print('disk full: SKIPPED, it needs root')
        return 0
    end = time.monotonic() + options.seconds if options.seconds else float('inf')
    with tempfile.TemporaryDirectory(prefix='vaultctl-full-') as folder:
        try:
            campaign = Campaign(os.path.abspath(options.vaultctl), folder)
        except subprocess.CalledProcessError as error:
            print(f'disk full: SKIPPED, this machine mounts no tmpfs: {error}')
            return 0
        try:
            campaign.prepare()
            for verb in VERBS:
                if not options.only or verb in options.only.split(','):
                    campaign.run(verb, options.step, end)
        finally:
            campaign.unmount()
    print('disk full: ' + ', '.join(f'{count} {name}' for name, count in campaign.counts.items())
          + f' (step {options.step})')
    # Without a command that met the end of the room nothing was shown.
    return 1 if campaign.counts['violations'] or not campaign.counts['told'] else 0


if __name__ == '__main__':
    sys.exit(main())
