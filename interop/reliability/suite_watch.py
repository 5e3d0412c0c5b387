#!/usr/bin/env python3
"""The watch over nonces and keys, over the whole suite of tests.

    interop/reliability/suite_watch.py --bundle FILE [--filter PATTERN] [--keep FOLDER]

Runs the tests one after the other with every AES-GCM message noted by key, nonce, content and time, also those of the
programs that tests start. Two messages under one key and nonce must have the same content. Many tests take their nonces
from a source that repeats itself in every run: such a source notes each nonce that it hands out, and within one test
there must be as many of them as messages; a message that uses a nonce without having asked for it is found. Tests that
hand in nonces themselves are named below.

Every key that sealed or opened anything is searched - as it is, in hex and in base64 - in everything that the tests and
those programs write or print from then on, and pieces of what was sealed in all files of vaults. Exit 1 when anything was
found, a test failed, or the watch was blind.
"""
import argparse
import bisect
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

import nonces

DRAW = struct.Struct('<12sQ')
# The cache of derived keys holds them on purpose; this is how it begins.
KEY_CACHE = b'vctlkey2'
# A file of a working copy before it gets its name; objects are never without one.
PENDING_FILE = re.compile(r'/\.sg_vault/local/vaultctl/tmp/#\d+ \(deleted\)$')
# Suites and tests that hand key and nonce to the cipher themselves.
GIVEN_NONCES = {
    'VaultCryptoTests.AESGCMTests': 'the cipher alone, under one key and nonce',
    'VaultCryptoTests.AESGCMStreamingTests': 'the same in pieces',
    'VaultCryptoTests.WycheproofTests': 'published vectors',
    'FuzzTests.FuzzTests/keptInputs(_:)': 'envelopes around foreign bytes, which are never stored',
    'FuzzTests.FuzzTests/damagedInputs()': 'the same',
}
# Tests in which a key is written on purpose.
SHOWN_KEYS = {}


class Timeline:
    """Which test ran when, by what the tests themselves tell."""

    def __init__(self, events):
        self.starts, self.names, self.outcome, self.count = [], [], '', 0
        functions, labels = set(), {}
        with open(events, encoding='utf-8') as file:
            for line in file:
                record = json.loads(line)
                payload = record['payload']
                if record['kind'] == 'test':
                    if payload['kind'] == 'function':
                        functions.add(payload['id'])
                        suite, name, _ = payload['id'].rsplit('/', 2)
                        labels[payload['id']] = f'{suite}/{name}'
                elif payload['kind'] == 'testStarted' and payload['testID'] in functions:
                    self.starts.append(int(payload['instant']['since1970'] * 1e9))
                    self.names.append(labels[payload['testID']])
                elif payload['kind'] == 'runEnded':
                    self.outcome = ' '.join(message['text'] for message in payload['messages'])

    def test(self, time):
        place = bisect.bisect_right(self.starts, time)
        return self.names[place - 1] if place else 'before the first test'


def run(options, folder):
    """Runs the tests; gives the exit code."""
    names = {name: os.path.join(folder, name) for name in ('events', 'nonces', 'draws', 'secrets', 'output', 'tmp')}
    os.mkdir(names['tmp'])
    for name in ('nonces', 'draws', 'secrets'):
        with open(names[name], 'wb'):
            pass
    bundle = os.path.abspath(options.bundle)
    line = [bundle, '--no-parallel', '--testing-library', 'swift-testing', '--event-stream-version', '0',
            '--event-stream-output-path', names['events']]
    if options.filter:
        line += ['--filter', options.filter]
    environment = dict(os.environ, LD_PRELOAD=nonces.build_library(folder), NONCE_LOG=names['nonces'],
                       NONCE_DRAWS=names['draws'], SECRET_LOG=names['secrets'], TMPDIR=names['tmp'],
                       VAULT_SEED=os.environ.get('VAULT_SEED', '1'))
    with open(names['output'], 'wb') as output:
        code = subprocess.run(line, env=environment, stdout=output, stderr=subprocess.STDOUT,
                              cwd=os.path.dirname(bundle), check=False).returncode
    return code, names


def is_named(test, names):
    """Whether a test, or its suite, is among the names."""
    return test in names or test.split('/')[0] in names


def judge_nonces(noted, draws, timeline):
    """The nonces with two contents: told apart by whether a source gave them anew, a test named them, or neither."""
    found, repeated = collections.Counter(), collections.Counter()
    drawn = collections.defaultdict(list)
    for nonce, time in draws:
        drawn[nonce].append(time)
    for group in nonces.by_nonce(noted).values():
        different = len(nonces.contents(group))
        found['again'] += len(group) - different
        if different == 1:
            continue
        tests = collections.Counter(timeline.test(message.time) for message in group)
        given = collections.Counter(timeline.test(time) for time in drawn[group[0].nonce])
        for test, count in tests.items():
            if count <= given[test]:
                found['drawn anew'] += count
            elif is_named(test, GIVEN_NONCES):
                found['given'] += count
            else:
                found['broken'] += 1
                repeated[test] += 1
    return found, repeated


def judge_secrets(log, timeline):
    """Lines about keys and contents that were written where they have no place, and how many have one."""
    allowed, found = collections.Counter(), []
    with open(log, encoding='utf-8', errors='replace') as file:
        for line in file:
            time, kind, process, start, path = line.rstrip('\n').split(' ', 4)
            test = timeline.test(int(time))
            if kind == 'key' and bytes.fromhex(start.strip('-')).startswith(KEY_CACHE):
                allowed['cache of derived keys'] += 1
            elif kind == 'content' and PENDING_FILE.search(path):
                allowed['piece of a working file before it has its name'] += 1
            elif is_named(test, SHOWN_KEYS):
                allowed['shown on purpose'] += 1
            else:
                found.append(f'{kind} written by {test}: {path} (process {process}, begins {start})')
    return allowed, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bundle', required=True, help='the built tests')
    parser.add_argument('--filter', help='of the tests, by name')
    parser.add_argument('--keep', help='an empty folder for all that was noted')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='vaultctl-suite-watch-') as temporary:
        code, names = run(options, options.keep or temporary)
        timeline = Timeline(names['events'])
        noted = nonces.messages(names['nonces'])
        with open(names['draws'], 'rb') as file:
            draws = list(DRAW.iter_unpack(file.read()))
        found, repeated = judge_nonces(noted, draws, timeline)
        allowed, leaks = judge_secrets(names['secrets'], timeline)
        left = os.listdir(names['tmp'])
        with open(names['output'], encoding='utf-8', errors='replace') as file:
            failed = sorted(set(re.findall(r'^✘ (Test .*) failed after', file.read(), re.M)))
    for test, count in repeated.most_common():
        print(f'nonces: {count} used twice with different contents in {test}')
    for leak in leaks[:50]:
        print(f'secrecy: HIT: {leak}')
    for test in failed:
        print(f'suite: {test} failed')
    keys = len({message.key for message in noted})
    processes = len({message.process for message in noted})
    print(f'suite: {timeline.outcome}')
    print(f'nonces: {len(noted):,} messages under {keys:,} keys in {processes:,} processes, {len(draws):,} nonces from '
          f'sources that repeat themselves; {found["again"]:,} messages sealed before with the same nonce and content, '
          f'{found["drawn anew"]:,} under a nonce that such a source gave anew, {found["given"]:,} under one that a test '
          f'gave; {found["broken"]:,} nonces with two contents')
    print(f'secrecy: {len(leaks):,} hits; written on purpose: '
          + (', '.join(f'{count:,} × {what}' for what, count in allowed.items()) or 'none') + f'; {len(left)} files left')
    is_blind = not noted or not draws or not options.filter and not allowed['cache of derived keys']
    if is_blind:
        print('suite: the watch is blind')
    return 1 if code or found['broken'] or leaks or is_blind else 0


if __name__ == '__main__':
    sys.exit(main())
