#!/usr/bin/env python3
"""The watch over nonces and keys, over the whole suite of tests.

    interop/reliability/suite_watch.py --bundle FILE [--filter PATTERN] [--keep FOLDER]

Runs the tests one after the other with every AES-GCM message noted by key, nonce, content and time, also those of the
programs that tests start. Two messages under one key and nonce must have the same content. Many tests take their nonces
from a source that repeats itself in every run: such a source notes each nonce that it hands out, and within one test
there must be as many of them as messages; a message that uses a nonce without having asked for it is found. Tests that
hand in nonces themselves are named below.

Every key that sealed or opened anything is searched - as it is, in hex and in base64 - in everything that the tests and
those programs write or print from then on, and pieces of what was sealed in all files of vaults. A program that does
both wrong has to be found first. Exit 1 when anything was found, a test failed, or the watch was blind.
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
# What holds keys or ids on purpose, by how it begins; a key alone also where a command was asked for it.
PLACES = [
    ('key', b'vctlkey2', 'cache of derived keys'),
    ('key', b'{\n  "mode": "read', 'mode of a read-only clone'),
    ('key', b'sgit_private_read_', 'read key that was asked for'),
    ('content', b'{\n  "schema_version', 'commit ids of a merge that waits'),
    ('content', b'{\n  "index_id": ', 'ids of a branch that waits for its registration'),
    ('content', b'{\n  "ref-pid-', 'accepted heads of a remote'),
    ('content', b'{"v":1,"remotes":', 'what was last seen of the remotes'),
]
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
# A program that does everything wrong: two contents under one key and nonce, its key printed as it is and in base64,
# and a piece of the content left in the store of a vault.
OFFENDER = '''
import base64, ctypes, os
crypto = ctypes.CDLL(None)
crypto.EVP_CIPHER_CTX_new.restype = crypto.EVP_CIPHER_fetch.restype = ctypes.c_void_p
key, content, count = bytes(range(100, 132)), bytes(range(200, 240)), ctypes.c_int()
context = ctypes.c_void_p(crypto.EVP_CIPHER_CTX_new())
cipher, out = ctypes.c_void_p(crypto.EVP_CIPHER_fetch(None, b"AES-256-GCM", None)), ctypes.create_string_buffer(64)
for text in (content, content[1:]):
    crypto.EVP_EncryptInit_ex2(context, cipher, key, bytes(12), None)
    crypto.EVP_CipherInit_ex2(context, None, None, bytes(12), 1, None)
    crypto.EVP_CipherUpdate(context, out, ctypes.byref(count), text, len(text))
    crypto.EVP_CipherFinal_ex(context, out, ctypes.byref(count))
os.write(1, key)
os.write(1, b"xx" + base64.b64encode(b"x" + key))
os.makedirs(".sg_vault/bare")
os.write(os.open(".sg_vault/bare/x", os.O_WRONLY | os.O_CREAT), content)
'''


class Timeline:
    """Which test ran when, by what the tests themselves tell."""

    def __init__(self, events):
        self.starts, self.names, self.outcome = [], [], ''
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


def sees(folder, library):
    """Whether the watch sees what a program does that misuses nonces and gives its secrets away."""
    work = os.path.join(folder, 'control')
    os.mkdir(work)
    logs = {name: os.path.join(work, name) for name in ('nonces', 'secrets')}
    subprocess.run([sys.executable, '-c', OFFENDER], cwd=work, check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, LD_PRELOAD=f'{library} libcrypto.so.3', NONCE_LOG=logs['nonces'],
                            SECRET_LOG=logs['secrets']))
    with open(logs['secrets'], encoding='utf-8') as file:
        kinds = [line.split(' ')[1] for line in file]
    noted = nonces.messages(logs['nonces'])
    return (kinds == ['key', 'key', 'content']
            and [len(nonces.contents(group)) for group in nonces.by_nonce(noted).values()] == [2])


def run(options, folder):
    """Runs the tests; gives the exit code, the names of what was noted, and whether the watch sees."""
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
    library = nonces.build_library(folder)
    is_seeing = sees(folder, library)
    environment = dict(os.environ, LD_PRELOAD=library, NONCE_LOG=names['nonces'],
                       NONCE_DRAWS=names['draws'], SECRET_LOG=names['secrets'], TMPDIR=names['tmp'],
                       VAULT_SEED=os.environ.get('VAULT_SEED', '1'))
    with open(names['output'], 'wb') as output:
        code = subprocess.run(line, env=environment, stdout=output, stderr=subprocess.STDOUT,
                              cwd=os.path.dirname(bundle), check=False).returncode
    return code, names, is_seeing


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
            begins = bytes.fromhex(start.strip('-'))
            # Up to sixteen bytes are told; no other file begins like one of these.
            place = next((name for what, beginning, name in PLACES
                          if what == kind and begins and begins[:len(beginning)] == beginning[:len(begins)]), None)
            if kind == 'content' and PENDING_FILE.search(path):
                place = 'piece of a working file before it has its name'
            if place:
                allowed[place] += 1
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
        code, names, is_seeing = run(options, options.keep or temporary)
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
    is_blind = not is_seeing or not noted or not draws or not options.filter and not allowed['cache of derived keys']
    if is_blind:
        print('suite: the watch is blind')
    return 1 if code or found['broken'] or leaks or is_blind else 0


if __name__ == '__main__':
    sys.exit(main())
