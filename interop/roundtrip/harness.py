"""Cases, their registry and what they share: a laboratory with a folder of its own, both tools, and comparisons."""
import fnmatch
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import tempfile
import time
import traceback
import zlib

CASES = []


def case(name, /, **parameters):
    """Registers a round trip. The function gets a `Lab` and `parameters`."""
    def register(function):
        CASES.append((name, function, parameters))
        return function
    return register


class Skipped(Exception):
    pass


def equal(found, expected, what):
    if found != expected:
        raise AssertionError(f'{what}\n    found:    {found!r}\n    expected: {expected!r}')


def same_keys(found, expected, what):
    """Dictionaries, told apart by their differences only."""
    if found == expected:
        return
    lines = [f'{what}:']
    for key in sorted(set(found) | set(expected), key=str):
        if found.get(key) != expected.get(key):
            lines.append(f'    {key!r}: found {found.get(key)!r}, expected {expected.get(key)!r}')
    raise AssertionError('\n'.join(lines[:20]))


def files_of(directory):
    """Relative path (bytes) → SHA-256 of every file of a working copy. Links and special files are named as such."""
    root, found = os.fsencode(directory), {}
    for folder, folders, names in os.walk(root):
        if folder == root and b'.sg_vault' in folders:
            folders.remove(b'.sg_vault')
        for name in names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            if os.path.islink(path) or not os.path.isfile(path):
                found[relative] = 'not a regular file'
                continue
            digest = hashlib.sha256()
            with open(path, 'rb') as file:
                while block := file.read(1 << 20):
                    digest.update(block)
            found[relative] = digest.hexdigest()
    return found


def tree_of(directory):
    """Relative path → SHA-256 of every file, `.sg_vault` included."""
    root, found = os.fsencode(directory), {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, 'rb') as file:
                found[os.path.relpath(path, root)] = hashlib.sha256(file.read()).hexdigest()
    return found


class Lab:
    """One case: a fresh folder, a seeded source of content, the two tools."""

    def __init__(self, name, seed, root, vaultctl, reference, vectors):
        self.name, self.root, self.ours, self.reference, self.vectors = name, root, vaultctl, reference, vectors
        self.random = random.Random(zlib.crc32(f'{seed}/{name}'.encode()))
        self.host = self.path('remote')
        os.makedirs(self.host)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    # ------------------------------------------------------------ content

    def key(self):
        """A vault key as new vaults get one."""
        letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
        draw = lambda count: ''.join(self.random.choice(letters) for _ in range(count))
        return f'{draw(24)}:{draw(8)}'

    def bytes(self, count):
        return self.random.randbytes(count)

    def text(self, lines=20):
        return ''.join(f'line {n} {self.random.getrandbits(32):08x}\n' for n in range(lines)).encode()

    def put(self, clone, path, data):
        full = os.path.join(os.fsencode(self.path(clone)), os.fsencode(path))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'wb') as file:
            file.write(data if isinstance(data, bytes) else data.encode())

    def drop(self, clone, path):
        full = os.path.join(os.fsencode(self.path(clone)), os.fsencode(path))
        shutil.rmtree(full) if os.path.isdir(full) and not os.path.islink(full) else os.remove(full)

    def rename(self, clone, old, new):
        target = self.path(clone, new)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.rename(self.path(clone, old), target)

    def some_files(self, clone):
        """A small tree with the usual shapes."""
        self.put(clone, 'README.md', self.text())
        self.put(clone, 'docs/guide/first.md', self.text())
        self.put(clone, 'docs/guide/deep/er/note.txt', self.text(2))
        self.put(clone, 'data/random.bin', self.bytes(70_000))
        self.put(clone, 'data/empty', b'')
        self.put(clone, 'data/caf\u00e9/na\u00efve.json', b'{"n": 1}\n')

    # ------------------------------------------------------------ the same thing, seen by both tools

    def reference_sees(self, clone):
        """The clone as the reference reads it."""
        view = self.reference.View(self.path(clone))
        return view, view.head(), view.history()

    def compare_history(self, clone, expected=None):
        """vaultctl's `log --json` against the reference's reading of the same clone (or against `expected`)."""
        log = self.ours.log(self.path(clone))
        if expected is None:
            _, head, expected = self.reference_sees(clone)
            equal(log[0]['id'], head, 'head of the clone')
        found = {entry['id']: (entry['parents'], entry['tree'], entry['message'], entry['time_ms']) for entry in log}
        equal(len(found), len(log), 'a commit is listed twice')
        same_keys(found, {commit['id']: (commit['parents'], commit['tree'], commit['message'], commit['time_ms'])
                          for commit in expected.values()}, 'history')
        seen = set()
        for entry in log:                                # newest first: no commit after one of its parents
            equal([parent for parent in entry['parents'] if parent in seen], [], f'parents before {entry["id"]}')
            seen.add(entry['id'])
        return log

    def compare_entries(self, clone):
        """`ls -r --json` against the reference's flat map of the head."""
        view = self.reference.View(self.path(clone))
        listed = {entry['path']: (entry['blob_id'], entry['size'], entry['content_type'], entry['large'])
                  for entry in self.ours.json('ls', '-r', cwd=self.path(clone))['entries'] if entry['type'] == 'file'}
        same_keys(listed, {path: (entry['blob_id'], entry['size'], entry['content_type'], bool(entry['large']))
                           for path, entry in view.entries().items()}, 'tracked files')

    def both_agree(self, clone, commits=None, signed=True):
        """Clean status, whole fsck, the same head, history and files, by both tools in one clone."""
        directory = self.path(clone)
        self.ours.status_is_clean(directory)
        self.reference.status_is_clean(directory)
        log = self.compare_history(clone)
        self.compare_entries(clone)
        checked = self.ours.fsck(directory)
        if commits is not None:
            equal(len(log), commits, 'number of commits')
        if signed:
            self.reference.verify(directory, len(log))
            signatures = checked['signatures']                   # of all branches, so there may be more than in the log
            equal((signatures['unsigned'], signatures['no_key']), (0, 0), 'commits without a good signature, by fsck')
            equal(signatures['verified'] >= len(log), True, 'signatures verified by fsck')
        else:
            self.reference.fsck(directory)
        return log

    def same_files(self, one, other):
        same_keys(files_of(self.path(one)), files_of(self.path(other)), f'files of {one} and {other}')


class Run:
    """How cases are run: with which tools, from which seed, where."""

    def __init__(self, vaultctl, reference, seed, vectors, folder=None, keep=False, jobs=1):
        self.vaultctl, self.reference, self.seed, self.vectors = vaultctl, reference, seed, vectors
        self.folder, self.keep, self.jobs = folder, keep, jobs

    def one(self, name):
        """Runs a case; returns what became of it, what to print, and how many commands of vaultctl it took."""
        function, parameters = next((function, parameters) for known, function, parameters in CASES if known == name)
        root = tempfile.mkdtemp(prefix='vaultctl-interop-', dir=self.folder)
        started, calls = time.monotonic(), self.vaultctl.calls
        try:
            function(Lab(name, self.seed, root, self.vaultctl, self.reference, self.vectors), **parameters)
            outcome, lines = 'passed', [f'ok    {name}  ({time.monotonic() - started:.1f} s)']
        except Skipped as reason:
            outcome, lines = 'skipped', [f'skip  {name}: {reason}']
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            outcome, lines = 'failed', [
                f'FAIL  {name}  ({time.monotonic() - started:.1f} s)  seed {self.seed}',
                '      ' + str(error).replace('\n', '\n      '),
                '      at ' + ' < '.join(f'{os.path.basename(frame.filename)}:{frame.lineno}'
                                         for frame in reversed(frames[1:]))]
        if self.keep:
            lines.append(f'      kept in {root}')
        else:
            shutil.rmtree(root, ignore_errors=True)
        return outcome, lines, self.vaultctl.calls - calls

    def all(self, patterns, report):
        """Runs every case that matches, some at once; returns how many passed, failed, were skipped, and the commands."""
        names = sorted(name for name, _, _ in CASES
                       if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))
        global _current
        _current = self
        counts, calls = dict(passed=0, failed=0, skipped=0), 0
        # Forked after the reference was imported, so that each worker has it at once and a folder of its own to be in.
        with multiprocessing.get_context('fork').Pool(self.jobs) as pool:
            for outcome, lines, used in pool.imap(_one, names, chunksize=1):
                counts[outcome] += 1
                calls += used
                for line in lines:
                    report(line)
        return counts, calls


_current = None                                             # what the forked workers run


def _one(name):
    return _current.one(name)


def read_json(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)
