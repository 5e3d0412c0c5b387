#!/usr/bin/env python3
"""Counts what each everyday verb does on fixed input, and holds it against interop/bench/thresholds.json.

    interop/bench/counts.py [--update] [--only PATTERN] [--calls VERB]

System calls, syncs, bytes read and written (strace), objects put into the store, allocations (a counting allocator).
These do not depend on what else the machine does, so a count above its threshold fails; what the kernel tells in /proc
has no fixed length and is left out. Syncs and objects must not be
above at all; the others may be 2 % above, because some depend on how threads meet. --update writes what was counted as
the new thresholds: lower them when something got better, and never raise one without a reason in the commit.
"""
import argparse
import fnmatch
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from lab import HERE, ROOT, build_native, compiler

KEY = b'countspassphrase000000001:counts01\n'
FILES, SIZE, BIG = 300, 1000, 9_000_000
THRESHOLDS = os.path.join(HERE, 'thresholds.json')
ALLOWED = {'calls': 1.02, 'read': 1.02, 'written': 1.02, 'allocations': 1.02}            # the others: exactly

# Calls whose number says how threads and the allocator meet, not what the verb does.
IGNORED = {'futex', 'sched_yield', 'mmap', 'munmap', 'mprotect', 'madvise', 'brk', 'mremap', 'restart_syscall', 'exit',
           'rt_sigprocmask', 'clone3', 'set_robust_list', 'rseq', 'execve', 'exit_group'}
SYNCS = {'fsync', 'fdatasync', 'syncfs', 'sync', 'sync_file_range'}
READS, WRITES = {'read', 'pread64', 'readv', 'preadv'}, {'write', 'pwrite64', 'writev', 'pwritev'}
COPIES = {'copy_file_range', 'sendfile'}
LINE = re.compile(r'^(\d+)\s+(?:<\.\.\. )?(\w+)(\(| resumed>)(.*)$')
RESULT = re.compile(r'\)\s+= (-?\d+)')


def trace_counts(path):
    """Name → calls, and bytes read and written, of all threads in one strace output."""
    calls, read, written = {}, 0, 0
    of_kernel = {}                                      # thread → whether its last call reads what the kernel tells
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            found = LINE.match(line)
            if not found:
                continue
            thread, name, opening, rest = found.groups()
            if opening == '(':
                calls[name] = calls.get(name, 0) + 1
                of_kernel[thread] = '</proc/' in rest.split(',', 1)[0]
            result = RESULT.search(rest)
            size = max(0, int(result.group(1))) if result else 0
            is_read = name in COPIES or (name in READS and not of_kernel.get(thread))
            read += size if is_read else 0
            written += size if name in WRITES or name in COPIES else 0
    return calls, read, written


class Counter:
    def __init__(self, vaultctl, only):
        self.vaultctl, self.only = vaultctl, only
        self.work = tempfile.mkdtemp(prefix='vaultctl-counts-', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.counts, self.calls = {}, {}
        self.allocations = None
        if compiler():
            self.allocations = build_native('allocations', self.path('allocations.so'), '-shared', '-fPIC',
                                            '-fno-builtin')
        self.environment = dict(PATH='/usr/bin:/bin', HOME=self.path('home'), LC_ALL='C', TZ='UTC',
                                SOURCE_DATE_EPOCH='1750000000')
        os.makedirs(self.path('home'))

    def path(self, *parts):
        return os.path.join(self.work, *parts)

    def run(self, *command, cwd=None, stdin=b'', extra=None):
        done = subprocess.run(command, cwd=cwd or self.work, input=stdin, capture_output=True, check=False,
                              env={**self.environment, **(extra or {})})
        if done.returncode != 0:
            said = done.stderr.decode(errors='replace')[-2000:]
            raise SystemExit(f'{" ".join(command)}: exit {done.returncode}\n{said}')

    def objects(self, *stores):
        return sum(len(os.listdir(store)) for store in stores if os.path.isdir(store))

    def count(self, name, *arguments, cwd=None, stdin=b'', stores=()):
        """Runs a verb once, under strace, with the counting allocator."""
        if not fnmatch.fnmatchcase(name, self.only):
            self.run(self.vaultctl, *arguments, cwd=cwd, stdin=stdin)
            return
        counted, counting = self.path('allocations'), ()
        if self.allocations:
            counting = ('-E', 'LD_PRELOAD=' + self.allocations, '-E', 'ALLOCATIONS=' + counted)
        before = self.objects(*stores)
        self.run(shutil.which('strace'), '-f', '-qq', '-y', '-s', '0', '-o', self.path('trace'), *counting, self.vaultctl, *arguments,
                 cwd=cwd, stdin=stdin)
        calls, read, written = trace_counts(self.path('trace'))
        self.calls[name] = calls
        self.counts[name] = dict(
            calls=sum(number for call, number in calls.items() if call not in IGNORED),
            syncs=sum(calls.get(call, 0) for call in SYNCS), read=read, written=written,
            objects=self.objects(*stores) - before)
        if self.allocations:
            with open(counted, 'rb') as file:
                self.counts[name]['allocations'] = struct.unpack('3Q', file.read())[0]
            os.remove(counted)

    # ------------------------------------------------------------ the verbs, in the order of a user's day

    def fill(self, folder, numbers):
        for number in numbers:
            below = os.path.join(folder, f'd{number % 10}')
            os.makedirs(below, exist_ok=True)
            self.write(os.path.join(below, f'f{number:04}'), SIZE, number)

    def write(self, path, size, seed, time=1_700_000_000):
        with open(path, 'wb') as file:
            file.write(random.Random(seed).randbytes(size))
        os.utime(path, (time, time))

    def everything(self):
        clone, host, other = self.path('clone'), self.path('host'), self.path('other')
        store, remote, theirs = (os.path.join(folder, 'bare', 'data')
                                 for folder in (clone + '/.sg_vault', host, other + '/.sg_vault'))
        os.makedirs(host)
        self.count('version', 'version')
        self.count('init', 'init', '--server', host, '--key-fd', '0', clone, stdin=KEY)
        self.fill(clone, range(FILES))

        def here(name, *arguments, stores=(store,), stdin=b''):
            self.count(name, *arguments, cwd=clone, stores=stores, stdin=stdin)

        here(f'commit {FILES} files', 'commit', '-q', '-m', 'c')
        self.run(self.vaultctl, 'status', cwd=clone)
        here('status', 'status')
        here('push all', 'push', '-q', stores=(remote,))
        self.write(os.path.join(clone, 'd0', 'f0000'), SIZE, 'changed', 1_700_000_100)
        here('status, one changed', 'status')
        here('commit one', 'commit', '-q', '-m', 'c')
        here('push one', 'push', '-q', stores=(remote,))
        here('push nothing', 'push', '-q', stores=(remote,))
        here('pull nothing', 'pull', '-q')
        self.write(os.path.join(clone, 'big'), BIG, 'big')
        here('commit a big file', 'commit', '-q', '-m', 'c')
        here('write', 'write', '-q', '-m', 'c', 'd1/new', stdin=b'x' * SIZE)
        here('push two', 'push', '-q', stores=(remote,))
        for verb in ('log', 'ls', 'info', 'fsck'):
            here(verb, verb)
        here('cat', 'cat', 'd1/f0001')
        here('cat a big file', 'cat', '-q', '-o', self.path('out'), 'big')
        self.count('clone', 'clone', '-q', '--server', host, '-', other, stdin=KEY, stores=(theirs,))
        self.write(os.path.join(clone, 'd3', 'f0003'), SIZE, 'again', 1_700_000_200)
        self.run(self.vaultctl, 'commit', '-q', '-m', 'c', cwd=clone)
        self.run(self.vaultctl, 'push', '-q', cwd=clone)
        self.count('fetch one', 'fetch', '-q', cwd=other, stores=(theirs,))
        self.count('pull one', 'pull', '-q', cwd=other, stores=(theirs,))


def compare(counted, thresholds, is_all):
    """What is above its threshold, and what is well below (then the threshold can go down)."""
    above, below = [], []
    if is_all:
        above += [f'{name}: it has thresholds and is not counted' for name in thresholds if name not in counted]
    for name, numbers in counted.items():
        for kind, number in numbers.items():
            bar = thresholds.get(name, {}).get(kind)
            if bar is None:
                above.append(f'{name}: no threshold for {kind} ({number})')
            elif number > bar * ALLOWED.get(kind, 1):
                above.append(f'{name}: {kind} {number}, {bar} allowed')
            elif number < bar * 0.9:
                below.append(f'{name}: {kind} {number}, {bar} allowed')
    return above, below


def table(counted):
    kinds = ('calls', 'syncs', 'read', 'written', 'objects', 'allocations')
    print(f'{"verb":<22}' + ''.join(f'{kind:>13}' for kind in kinds))
    for name, numbers in counted.items():
        cells = (format(numbers[kind], '>13,') if kind in numbers else format('-', '>13') for kind in kinds)
        print(f'{name:<22}' + ''.join(cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--only', default='*', metavar='PATTERN')
    parser.add_argument('--calls', metavar='VERB', help='also list the system calls of this verb')
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(ROOT, 'build', 'vaultctl')))
    options = parser.parse_args()
    if shutil.which('strace') is None:
        print('counts: SKIPPED, strace is not installed')
        return 0
    if subprocess.run(['strace', '-qq', '-o', '/dev/null', 'true'], capture_output=True, check=False).returncode != 0:
        print('counts: SKIPPED, strace may not trace here')
        return 0
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])        # as many threads everywhere
    counter = Counter(os.path.abspath(options.vaultctl), options.only)
    try:
        counter.everything()
    finally:
        shutil.rmtree(counter.work, ignore_errors=True)
    if not counter.counts:
        parser.error(f'no verb is called {options.only}')
    if counter.allocations is None:
        print('counts: allocations SKIPPED, no C compiler')
    table(counter.counts)
    for name, number in sorted(counter.calls.get(options.calls, {}).items(), key=lambda item: -item[1]):
        print(f'{number:>8} {name}' + (' (not counted)' if name in IGNORED else ''))
    with open(THRESHOLDS, encoding='utf-8') as file:
        thresholds = json.load(file)
    is_all = options.only == '*'
    if options.update:
        kept = counter.counts if is_all else {**thresholds, **counter.counts}
        with open(THRESHOLDS, 'w', encoding='utf-8') as file:
            lines = (f'  {json.dumps(name)}: {json.dumps(numbers)}' for name, numbers in kept.items())
            file.write('{\n' + ',\n'.join(lines) + '\n}\n')
        print('counts: thresholds.json written')
        return 0
    above, below = compare(counter.counts, thresholds, is_all)
    for line in below:
        print(f'lower the threshold: {line}')
    for line in above:
        print(f'ABOVE: {line}')
    result = f'{len(above)} above their thresholds' if above else 'all counts within their thresholds'
    print(f'counts: {len(counter.counts)} verbs, {result}')
    return 1 if above else 0


if __name__ == '__main__':
    sys.exit(main())
