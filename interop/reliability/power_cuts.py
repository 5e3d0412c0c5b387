#!/usr/bin/env python3
"""Power cuts: the real program on an ext4 of its own that stops at random moments, then mounts and looks again.

    interop/reliability/power_cuts.py [--vaultctl PATH] [--cuts 1000] [--seed 1] [--seconds 0]

The file system lies on a loop device and is stopped by its shutdown call, which drops what its log holds: what was not
synced is gone. Commands write, commit, push and pull one after the other; at a random moment the file system stops
under them. After the next mount every commit whose command had exited with 0 must be in the history, every push that
had must be in a fresh clone, `fsck` must be clean, and the commands must work without help. Needs root and loop
devices; otherwise it says so and exits 0. Exit 1 when anything was lost.
"""
import argparse
import fcntl
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
SHUTDOWN, DROP_LOG = 0x8004587D, 2
IMAGE_MB = 96
# The image is made anew now and then, so that the vault stays small.
CUTS_PER_IMAGE = 40


class Lost(Exception):
    """Something that was acknowledged is not there, or a command needs help."""


class Disk:
    """An ext4 file system in a file."""

    def __init__(self, folder):
        self.image, self.mount_point = os.path.join(folder, 'disk.img'), os.path.join(folder, 'disk')
        os.makedirs(self.mount_point)
        self.is_mounted = False

    def make(self):
        self.unmount()
        with open(self.image, 'wb') as file:
            file.truncate(IMAGE_MB << 20)
        subprocess.run(['mkfs.ext4', '-q', '-F', self.image], check=True)
        self.mount()

    def mount(self):
        subprocess.run(['mount', '-o', 'loop', self.image, self.mount_point], check=True)
        self.is_mounted = True

    def unmount(self):
        # Something that looks through all mounts may hold this one for a moment.
        for attempt in range(50):
            if not self.is_mounted:
                return
            self.is_mounted = subprocess.run(['umount', self.mount_point], check=attempt == 49,
                                             stderr=subprocess.DEVNULL).returncode != 0
            if self.is_mounted:
                time.sleep(0.1)

    def stop(self):
        """The power cut: nothing reaches the disk any more."""
        handle = os.open(self.mount_point, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(handle, SHUTDOWN, struct.pack('I', DROP_LOG))
        finally:
            os.close(handle)


def tells_the_truth(disk):
    """Whether a cut loses what was not synced and keeps what was."""
    for name, synced in (('not-synced', False), ('synced', True)):
        handle = os.open(os.path.join(disk.mount_point, name), os.O_CREAT | os.O_WRONLY)
        os.write(handle, b'x' * 100)
        if synced:
            os.fsync(handle)
        os.close(handle)
        if synced:
            sync_folder(disk.mount_point)
        disk.stop()
        disk.unmount()
        disk.mount()
    names = os.listdir(disk.mount_point)
    return 'synced' in names and 'not-synced' not in names


def sync_folder(path):
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Run:
    def __init__(self, vaultctl, disk, folder, seed):
        self.vaultctl, self.disk, self.folder = vaultctl, disk, folder
        self.random = random.Random(seed)
        self.key = os.path.join(folder, 'key')
        with open(os.open(self.key, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='ascii') as file:
            file.write('power cut:powercut1')
        self.counts = {name: 0 for name in ('cuts', 'cut inside a command', 'acknowledged', 'lost')}
        self.number = 0
        self.reset_facts()

    def reset_facts(self):
        self.commits, self.pushed, self.pulled = {}, set(), set()

    def path(self, *parts):
        return os.path.join(self.disk.mount_point, *parts)

    def call(self, *words, stdin=b''):
        """Runs a command; gives its JSON document when it exited with 0, else None."""
        environment = {'HOME': self.folder, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'}
        result = subprocess.run([self.vaultctl, '--json', *words], input=stdin, capture_output=True, env=environment,
                                cwd='/', check=False)
        told = (result.stderr + result.stdout).decode(errors='replace')[:1200]
        self.last = f'{" ".join(words)}: exit {result.returncode}: {told}'
        return json.loads(result.stdout) if result.returncode == 0 else None

    def must(self, *words, **options):
        answer = self.call(*words, **options)
        if answer is None:
            raise Lost(self.last)
        return answer

    def begin(self):
        """A vault, its remote and a second clone on a new disk."""
        self.disk.make()
        self.reset_facts()
        server = self.path('remote')
        self.must('init', '--key-file', self.key, '--server', server, self.path('a'))
        self.edit()
        self.commits[self.must('-C', self.path('a'), 'commit', '-m', 'first')['commit']['id']] = {}
        self.must('-C', self.path('a'), 'push')
        self.must('clone', '--key-file', self.key, '--server', server, 'powercut1', self.path('b'))
        subprocess.run(['sync', '-f', self.disk.mount_point], check=True)

    def edit(self):
        """What a careful editor does: files written and synced."""
        self.number += 1
        folder = self.path('a', 'edited')
        os.makedirs(folder, exist_ok=True)
        sync_folder(self.path('a'))
        files = {}
        for place in range(1 + self.random.randrange(4)):
            name = f'{self.random.randrange(12)}.txt'
            files[f'edited/{name}'] = f'{self.number} {place} '.encode() * self.random.randrange(1, 2000)
            with open(os.path.join(folder, name), 'wb') as file:
                file.write(files[f'edited/{name}'])
                file.flush()
                os.fsync(file.fileno())
        sync_folder(folder)
        return files

    # Each gives whether it succeeded, and notes what it was told.

    def write(self):
        self.number += 1
        content = f'written {self.number} '.encode() * self.random.randrange(1, 2000)
        name = f'written/{self.number % 20}'
        answer = self.call('-C', self.path('a'), 'write', name, stdin=content)
        if answer:
            self.commits[answer['commit_id']] = {name: content}
        return answer

    def commit(self):
        try:
            files = self.edit()
        except OSError:
            return None
        answer = self.call('-C', self.path('a'), 'commit', '-m', str(self.number))
        if answer:
            self.commits[answer['commit']['id']] = files
        return answer

    def push(self):
        known = set(self.commits)
        answer = self.call('-C', self.path('a'), 'push')
        if answer:
            self.pushed |= known
        return answer

    def pull(self):
        pushed = set(self.pushed)
        answer = self.call('-C', self.path('b'), 'pull')
        if answer:
            self.pulled |= pushed
        return answer

    def one_cut(self, span):
        """Commands until the power is cut, then the look at what is left."""
        acknowledged = 0
        stopped = threading.Event()

        def cut(delay):
            time.sleep(delay)
            stopped.set()
            self.disk.stop()

        thread = threading.Thread(target=cut, args=(self.random.random() * span,))
        thread.start()
        is_inside = False
        while not stopped.is_set():
            verb = self.random.choice([self.write, self.commit, self.write, self.push, self.pull])
            answer = verb()
            acknowledged += bool(answer)
            if answer is None:
                if not stopped.is_set():
                    thread.join()
                    raise Lost(f'before the cut: {self.last}')
                is_inside = True
        thread.join()
        self.disk.unmount()
        self.disk.mount()
        self.counts['cuts'] += 1
        self.counts['cut inside a command'] += is_inside
        self.counts['acknowledged'] += acknowledged
        self.check()

    def check(self):
        for name, wanted in (('a', set(self.commits)), ('b', self.pulled)):
            missing = wanted - self.history(self.path(name))
            if missing:
                raise Lost(f'{name}: {len(missing)} acknowledged commits are not in the history')
            self.must('-C', self.path(name), 'fsck')
        # The next commands work without help; what was interrupted is finished or undone by them.
        self.must('-C', self.path('a'), 'write', 'after', stdin=str(self.number).encode())
        for verb, name in (('push', 'a'), ('pull', 'b')):
            self.must('-C', self.path(name), verb)
        clean = self.must('-C', self.path('b'), 'status')
        if not clean.get('clean', True):
            raise Lost(f'b is not clean after a pull: {clean}')
        if self.pushed - self.history(self.path('b')):
            raise Lost('a push that was acknowledged did not come to b')
        if self.counts['cuts'] % 5 == 0:
            self.check_clone()

    def check_clone(self):
        """A fresh clone holds what was pushed, byte for byte."""
        check = os.path.join(self.folder, 'check')
        shutil.rmtree(check, ignore_errors=True)
        self.must('clone', '--key-file', self.key, '--server', self.path('remote'), 'powercut1', check)
        if self.pushed - self.history(check):
            raise Lost('a push that was acknowledged is not in the remote')
        self.must('-C', check, 'fsck')
        for commit in self.random.sample(sorted(self.commits), min(3, len(self.commits))):
            for name, content in self.commits[commit].items():
                shown = subprocess.run([self.vaultctl, '-C', check, 'show', f'{commit}:{name}'], capture_output=True,
                                       check=False, env={'HOME': self.folder, 'PATH': os.environ['PATH']})
                if shown.stdout != content:
                    raise Lost(f'{name} of {commit} does not hold what was committed: {shown.stderr[:300]}')

    def history(self, clone):
        return {entry['id'] for entry in self.must('-C', clone, 'log', '-n', '100000')['commits']}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(ROOT, 'build', 'vaultctl')))
    parser.add_argument('--cuts', type=int, default=1000)
    parser.add_argument('--seconds', type=int, default=0, help='stop after so long, whatever was reached')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--keep', help='where the disk goes on which something was lost; a number and .img are added')
    options = parser.parse_args()
    if os.geteuid() != 0 or not os.path.exists('/dev/loop-control') or not shutil.which('mkfs.ext4'):
        print('power cuts: SKIPPED, they need root, loop devices and mkfs.ext4')
        return 0
    end = time.monotonic() + options.seconds if options.seconds else float('inf')
    # In memory when there is room: what the cut drops is decided above the device.
    place = '/dev/shm' if os.path.isdir('/dev/shm') and shutil.disk_usage('/dev/shm').free > 1 << 30 else None
    with tempfile.TemporaryDirectory(prefix='vaultctl-cuts-', dir=place) as folder:
        disk = Disk(folder)
        try:
            try:
                disk.make()
                truth = tells_the_truth(disk)
            except (subprocess.CalledProcessError, OSError) as error:
                print(f'power cuts: SKIPPED, this machine mounts no loop device or stops no file system: {error}')
                return 0
            if not truth:
                print('power cuts: FAILED, the cut does not lose what was not synced')
                return 1
            run = Run(os.path.abspath(options.vaultctl), disk, folder, options.seed)
            return attack(run, options, end)
        finally:
            disk.unmount()


def attack(run, options, end):
    span = 0.4
    while run.counts['cuts'] < options.cuts and time.monotonic() < end:
        try:
            run.begin()
            for _ in range(CUTS_PER_IMAGE):
                if run.counts['cuts'] >= options.cuts or time.monotonic() >= end:
                    break
                run.one_cut(span)
        except Lost as error:
            run.counts['lost'] += 1
            print(f'power cuts: LOST at cut {run.counts["cuts"]}: {error}', flush=True)
            if options.keep:
                shutil.copy(run.disk.image, f'{options.keep}-{run.counts["cuts"]}.img')
            if run.counts['lost'] >= 10:
                break
    figures = ', '.join(f'{count} {name}' for name, count in run.counts.items())
    print(f'power cuts: {figures} (seed {options.seed})')
    return 1 if run.counts['lost'] else 0


if __name__ == '__main__':
    sys.exit(main())
