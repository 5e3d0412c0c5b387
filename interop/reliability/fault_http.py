#!/usr/bin/env python3
"""Every request of init --push, first push, push, push --pull, pull, fetch, clone, and of large files, fails once.

    interop/reliability/fault_http.py [--vaultctl PATH] [--seed 1] [--only PATTERN]... [--short] [--seconds N]

The stand-in server fails by its own queue of faults; `vaultctl serve`, and what the queue does not know, by a proxy.
Each fault strikes before or after the request is done. Afterwards: the exit code is one that the fault allows, exit 0
means that the server has it, the clone is intact, nothing that was committed is gone, and the same command without a
fault succeeds and comes to the expected history. `once` runs with one attempt per request, `retry` with the default
four, which must not let anybody notice. Exit 1 when anything was violated.
"""
import argparse
import fnmatch
import functools
import glob
import itertools
import multiprocessing
import os
import random
import sys
import tempfile
import time

from fault_kinds import ALLOWED, CHECK, CHECK_OF_REF, DEFERRED, PASSING, Spoiler
from http_scene import HERE, SERVERS, Place, Scene, Violation, memory, server_of, told

MOST_REQUESTS = 30


class Attack:
    """All verbs under one kind of fault, on one server."""

    def __init__(self, mode, spoiler, scene):
        self.mode, self.spoiler, self.scene = mode, spoiler, scene

    def allowed(self, verb):
        if self.mode == 'retry':
            return {0}
        allowed = ALLOWED[self.spoiler.kind]
        allowed = allowed(verb) if callable(allowed) else allowed
        if self.spoiler.is_check:
            allowed = allowed | (CHECK_OF_REF if self.spoiler.kind.endswith('-ref') else CHECK)
        return allowed

    def strike(self, verb, number, *arguments, cwd='', stdin=''):
        """Runs the command with its fault; the code, or None when it has no such request and therefore succeeded."""
        # Only a stall lasts until patience ends: that is as short then as a loaded machine allows.
        self.spoiler.patience = 6 if verb.startswith('large') else 1.2
        self.spoiler.arm(self.scene, number)
        limit = self.spoiler.patience if self.spoiler.kind == 'stall' else 60
        code, document = self.scene.run(*arguments, cwd=cwd, stdin=stdin, patience=limit)
        self.spoiler.disarm()
        if not self.spoiler.struck:
            if code:
                raise Violation(f'{verb} without a fault ended with {code}: {told(document)}')
            return None
        if code not in self.allowed(verb):
            raise Violation(f'{verb} ended with {code}, allowed are {sorted(self.allowed(verb))}: {told(document)}')
        if (verb, code, self.spoiler.kind) == ('fetch', 0, 'rolled-back-ref') and not document['refs'][0]['rewind']:
            raise Violation('fetch does not tell that the branch went back')
        if code == DEFERRED:
            self.is_remembered(arguments, cwd, stdin)
        elif code == 0:
            self.forget()
        return code

    def is_remembered(self, arguments, cwd, stdin):
        """The time that the server named is kept by a clone: the next run asks nothing before it."""
        if arguments[0] in ('clone', 'init') or not os.path.isdir(self.scene.path(cwd)):
            return
        code, document = self.scene.run(*arguments, cwd=cwd, stdin=stdin)
        if code != DEFERRED or self.spoiler.proxy.count:
            raise Violation(f'before its time: exit {code}, {self.spoiler.proxy.count} requests, {told(document)}')

    def again(self, *arguments, cwd='', stdin=''):
        """The same command without a fault; then the time that a server named is over."""
        late = ['--ignore-backoff'] if self.spoiler.kind.endswith('-later') else []
        self.scene.json(*arguments, *late, cwd=cwd, stdin=stdin)
        self.forget()

    def forget(self):
        for path in glob.glob(self.scene.path('*', '.sg_vault', 'local', 'vaultctl', 'not_before.json')):
            os.remove(path)

    # ------------------------------------------------------------ the verbs; each tells whether its request was reached

    def init(self, number):
        scene, name = self.scene, self.scene.fresh('init')
        code = self.strike('init', number, 'init', name, '--server', scene.proxy.url, '--push')
        if os.path.isdir(scene.path(name)):
            scene.intact(name, ())
            self.again('push', cwd=name)
        elif code == 0:
            raise Violation('init ended with 0 and there is no vault')
        else:
            self.again('init', name, '--server', scene.proxy.url, '--push')
        with open(scene.path(name, '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
            self.again('clone', '-', name + 'c', '--server', scene.proxy.url, stdin=file.read() + '\n')
        if scene.history(name) != scene.intact(name + 'c', ()):
            raise Violation('init and clone have different histories')
        return code is not None

    def first_push(self, number):
        """A vault with more objects than one batch takes."""
        scene, name = self.scene, self.scene.fresh('first')
        scene.json('init', name, '--server', scene.proxy.url)
        before = set(scene.expected)
        scene.commit(name, files=scene.FILES)
        scene.expected = before                             # of another vault
        mine = scene.history(name)
        code = self.strike('push', number, 'push', cwd=name)
        scene.intact(name, mine)
        if code != 0:
            self.again('push', cwd=name)
        with open(scene.path(name, '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
            self.again('clone', '-', name + 'c', '--server', scene.proxy.url, stdin=file.read() + '\n')
        if scene.intact(name + 'c', mine) != mine:
            raise Violation('the server holds another history')
        return code is not None

    def push(self, number):
        scene = self.scene
        scene.commit('a', files=scene.FILES if number % 2 else 3)
        code = self.strike('push', number, 'push', cwd='a')
        scene.intact('a')
        if code not in (0, None):
            self.again('push', cwd='a')
        scene.published()
        return code is not None

    def push_pull(self, number):
        """Both clones have something new; the second one merges in its push."""
        scene = self.scene
        scene.commit('a')
        scene.json('push', cwd='a')
        scene.remember()
        scene.commit('b')
        mine = scene.history('b')
        code = self.strike('push --pull', number, 'push', '--pull', cwd='b')
        scene.intact('b', mine)
        if code not in (0, None):
            self.again('push', '--pull', cwd='b')
        scene.expected.add(scene.history('b')[0])           # the merge
        scene.published('b', 'a')
        return code is not None

    def pull(self, number):
        scene = self.scene
        scene.commit('a', files=scene.FILES if number % 2 else 3)
        before = scene.history('b')
        scene.json('push', cwd='a')
        scene.remember()
        code = self.strike('pull', number, 'pull', cwd='b')
        scene.intact('b', scene.expected if code == 0 and self.spoiler.kind != 'stale-ref' else before)
        self.again('pull', cwd='b')
        scene.published()
        return code is not None

    def large_push(self, number):
        """A file that goes by a way of its own, where the server has one."""
        scene = self.scene
        scene.commit_large('a', 'large.bin')
        code = self.strike('large push', number, 'push', cwd='a')
        scene.intact('a')
        if code not in (0, None):
            self.again('push', cwd='a')
        scene.published()
        return code is not None

    def large_pull(self, number):
        scene = self.scene
        before = scene.history('b')
        scene.commit_large('a', 'large.bin')
        scene.json('push', cwd='a')
        scene.remember()
        code = self.strike('large pull', number, 'pull', cwd='b')
        scene.intact('b', scene.expected if code == 0 and self.spoiler.kind != 'stale-ref' else before)
        self.again('pull', cwd='b')
        scene.published()
        return code is not None

    def fetch(self, number):
        scene = self.scene
        scene.commit('a')
        before = scene.history('b')
        scene.json('push', cwd='a')
        scene.remember()
        code = self.strike('fetch', number, 'fetch', cwd='b')
        if scene.intact('b', before) != before:
            raise Violation('fetch moved the head')
        self.again('fetch', cwd='b')
        if (seen := scene.json('status', cwd='b')['remote'])['head'] != scene.history('a')[0]:
            raise Violation(f'after a fetch the remote\'s head is told as {seen}')
        self.again('pull', cwd='b')
        scene.published()
        return code is not None

    def clone(self, number):
        scene, name = self.scene, self.scene.fresh('clone')
        arguments = 'clone', '-', name, '--server', scene.proxy.url
        before = set(os.listdir(scene.path()))
        code = self.strike('clone', number, *arguments, stdin=scene.key + '\n')
        if code in (0, None):
            whole = not self.spoiler.kind.endswith('-ref')
            scene.intact(name, None if whole else ())
            self.again('pull', cwd=name)
        else:
            if left := set(os.listdir(scene.path())) - before:
                raise Violation(f'a failed clone left {left}')
            self.again(*arguments, stdin=scene.key + '\n')
        if set(scene.intact(name)) != scene.expected:
            raise Violation('the clone has another history')
        return code is not None


VERBS = ('init', 'first_push', 'clone', 'fetch', 'push', 'push_pull', 'pull', 'large_push', 'large_pull')


def tasks(patterns):
    """Every combination, named `server.mode.kind.when`."""
    for server, (mode, kinds) in itertools.product(SERVERS, (('once', ALLOWED), ('retry', PASSING))):
        for kind, when in itertools.product(kinds, ('before', 'after')):
            if kind.endswith('-ref') or kind == 'swapped-objects':
                if when == 'before':
                    continue                                # an answer is changed: there has to be one
            if kind == 'conflict-with-own' and when == 'before':
                continue
            name = f'{server}.{mode}.{kind}.{when}'
            if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                yield name


class Tally:
    """What one process did."""

    def __init__(self):
        self.verbs, self.kinds, self.queue, self.commands, self.violations = dict.fromkeys(VERBS, 0), set(), 0, 0, []


class Run:
    """One server with its proxy, and a scene that is made anew when nobody knows any more what is there."""

    def __init__(self, place, server, url, proxy, seed):
        self.place, self.server, self.url, self.proxy, self.seed = place, server, url, proxy, seed
        self.tally, self.scene, self.scenes = Tally(), None, 0

    def prepare(self):
        self.scenes += 1
        self.scene = Scene(self.place, self.proxy, f'scene{self.scenes}', self.seed + self.scenes)
        for files in (3, Scene.FILES):                      # some states that were
            self.scene.commit('a', files)
            self.scene.json('push', cwd='a')
            self.scene.published()

    def one(self, name, verb, number):
        """One fault; whether the command had such a request."""
        _, mode, kind, when = name.split('.')
        self.place.configure(**({'net.retries': 1} if mode == 'once' else {}))
        spoiler = Spoiler(kind, when, self.server, self.url, self.proxy)
        try:
            if self.scene is None:
                self.prepare()
            reached = getattr(Attack(mode, spoiler, self.scene), verb)(number)
        except Violation as error:
            spoiler.disarm()
            self.tally.violations.append(f'{name} {verb} request {number}: {error}')
            self.scene, reached = None, True
        self.tally.verbs[verb] += spoiler.strikes
        self.tally.queue += spoiler.by_queue
        if spoiler.strikes:
            self.tally.kinds.add(name)
        return reached


def attack(job, options):
    """All requests of all verbs under one combination; or, in short, any until the time is over."""
    server, names = job
    with tempfile.TemporaryDirectory(prefix='vaultctl-faults-', dir=options.dir) as folder:
        place = Place(options.vaultctl, os.path.join(folder, 'place'))
        with server_of(place, server) as (url, proxy):
            run = Run(place, server, url, proxy, options.seed)
            choices = random.Random(f'{options.seed}/{server}')
            done = 0
            while options.short and time.monotonic() < options.end:
                # Requests that most verbs have.
                run.one(choices.choice(names), choices.choice(VERBS), choices.choice((0, 0, 0, 1, 1, 2)))
                done += 1
                if done % 25 == 0:
                    run.scene = None
            for name, verb in itertools.product(() if options.short else names, VERBS):
                for number in range(MOST_REQUESTS):
                    if options.end and time.monotonic() > options.end or not run.one(name, verb, number):
                        break
            run.tally.commands = place.ours.calls
    return run.tally


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(HERE))
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(root, 'build', 'vaultctl')))
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', action='append', default=[], metavar='PATTERN', help='of server.mode.kind.when')
    parser.add_argument('--short', action='store_true', help='any requests in random order, for 20 s')
    parser.add_argument('--seconds', type=float, default=0, help='begin nothing after this time')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--dir', default=memory(), help='where the vaults lie; in memory when there is room')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    names = list(tasks(options.only))
    if options.list:
        print('\n'.join(names))
        return 0
    options.vaultctl = os.path.abspath(options.vaultctl)
    started = time.monotonic()
    options.end = started + options.seconds if options.seconds else started + 20 if options.short else 0
    # In random order, so that a run that is cut short has some of all.
    random.Random(options.seed).shuffle(names)
    jobs = [(name.split('.')[0], [name]) for name in names]
    if options.short:
        jobs = [(server, [name for name in names if name.startswith(server + '.')]) for server in SERVERS]
    tallies = []
    with multiprocessing.get_context('fork').Pool(options.jobs) as pool:
        for tally in pool.imap_unordered(functools.partial(attack, options=options), jobs):
            tallies.append(tally)
            for violation in tally.violations:
                print(f'fault-http: {violation}', flush=True)
    verbs = {verb: sum(tally.verbs[verb] for tally in tallies) for verb in VERBS}
    failed, faults = sum(len(tally.violations) for tally in tallies), sum(verbs.values())
    print(f'fault-http: {faults:,} faults ({", ".join(f"{verb} {count:,}" for verb, count in verbs.items())}) in '
          f'{len(set().union(*(tally.kinds for tally in tallies)))} of {len(names)} combinations, '
          f'{sum(tally.queue for tally in tallies):,} by the stand-in\'s own queue, '
          f'{sum(tally.commands for tally in tallies):,} commands, {time.monotonic() - started:.0f} s; '
          f'{failed} violations (seed {options.seed})')
    return 1 if failed or not faults else 0


if __name__ == '__main__':
    sys.exit(main())
