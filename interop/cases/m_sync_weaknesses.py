"""m. What the reference does wrong in sync (its known weaknesses K1 to K31), over HTTP and done right; long histories.

Those that concern transport are in `m_transport_weaknesses`. Of local work only, and tested elsewhere: K8, K9 and K27
(MergeTests, `n.*`), K12 (RaceTests, ProcessRaceTests), the kills of K13 (KillTests), K17 (RekeyTests) and K31
(BackupTests). K28 has nothing to test: no range of commits is offered to `clone`.
"""
import contextlib
import os
import shutil
import threading

from roundtrip.forge import Forge
from roundtrip.harness import case, equal
from roundtrip.served import serve
from roundtrip.stand_in import own, stand_in

SERVERS = dict(stand_in=stand_in, serve=own)


def made_here(lab, url, clone='a'):
    """A vault of vaultctl with some files on the server; gives its key."""
    lab.ours.json('init', clone, '--server', url, '--push', cwd=lab.root)
    lab.some_files(clone)
    lab.ours.commit(lab.path(clone), 'first')
    lab.ours.push(lab.path(clone))
    with open(lab.path(clone, '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
        return file.read()


def two_clones(lab, url):
    key = made_here(lab, url)
    lab.ours.clone(key, 'b', url, cwd=lab.root)
    return key


def changed(lab, clone, path, data=None):
    """One file changed and committed."""
    lab.put(clone, path, lab.text() if data is None else data)
    return lab.ours.commit(lab.path(clone), f'{clone}: {path}')['commit']['id']


def ids(lab, clone):
    return {entry['id'] for entry in lab.ours.log(lab.path(clone), '-n', '1000000')}


def blob_of(lab, clone, path):
    entries = lab.ours.json('ls', '--ids', cwd=lab.path(clone))['entries']
    return next(entry['blob_id'] for entry in entries if entry['path'] == path)


class Served:
    """A vault that can be forged while `vaultctl serve` serves it."""

    def __init__(self, lab, root='served'):
        self.key = lab.key()
        lab.host = lab.path(root, self.key.split(':')[1])
        os.makedirs(lab.host)
        self.forge = Forge(lab, self.key)

    def counter(self, number):
        """An entry that says another number in every commit."""
        content = self.forge.object(f'{number}\n'.encode())
        return self.forge.file_entry('counter.txt', content, size_enc=None, content_hash_enc=None)

    def chain(self, count, start=None, trees=None):
        """Publishes `count` commits on top of each other; gives their ids."""
        forge, made = self.forge, []
        honest = forge.view.commit(forge.head)['tree']
        for number in range(count):
            parents = [made[-1]] if made else [forge.head] if start is None else start
            tree = trees(number) if trees else honest
            made.append(forge.commit(tree, parents=parents, timestamp_ms=1767225600000 + number))
        forge.publish(made[-1])
        return made


def every_server(name):
    """Registers a case once per server; the function gets the URL."""
    def register(function):
        def run(lab, server):
            with SERVERS[server](lab) as url:
                function(lab, url)
        for server in SERVERS:
            case(f'{name}.{server}', server=server)(run)
        return function
    return register


# ---------------------------------------------------------------- pushes

@case('m.K1')
def pushes_all_commits(lab):
    """More commits than the reference sends: all of them are there for everybody."""
    with stand_in(lab) as url:
        key = made_here(lab, url)
        for number in range(130):
            changed(lab, 'a', f'folder{number % 7}/file', f'{number}\n')
        equal(lab.ours.push(lab.path('a'))['commits'], 130, 'commits pushed')
        lab.ours.clone(key, 'b', url, cwd=lab.root)
        equal(len(lab.ours.log(lab.path('b'), '-n', '1000')), 132, 'commits of a clone')
        lab.ours.fsck(lab.path('b'))
        lab.reference.clone(key, lab.path('sgit'), url, lab.root)
        lab.reference.verify(lab.path('sgit'), 132)


@every_server('m.K4')
def first_pushes_race(lab, url):
    """Two first pushes of one key at the same moment: one makes the vault, the other merges into it."""
    for turn in range(3):
        names, codes, key = [f'{turn}a', f'{turn}b'], {}, lab.path(f'key{turn}')
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='ascii') as file:
            file.write(lab.key())
        for name in names:
            lab.ours.json('init', name, '--server', url, '--key-file', key, cwd=lab.root)
            changed(lab, name, f'{name[1]}.txt')
        mine = {name: ids(lab, name) for name in names}

        def push(name):
            codes[name] = lab.ours.run('push', cwd=lab.path(name), code=None).code
        threads = [threading.Thread(target=push, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(sorted(codes.values()), [0, 5], 'codes of two first pushes')
        loser = next(name for name in names if codes[name] == 5)
        lab.ours.push(lab.path(loser), '--pull')
        with open(key, encoding='ascii') as file:
            lab.ours.clone(file.read(), f'{turn}c', url, cwd=lab.root)
        held = ids(lab, f'{turn}c')
        for name in names:
            equal(mine[name] - held, set(), f'commits of {name} that are gone')
            equal(os.path.exists(lab.path(f'{turn}c', f'{name[1]}.txt')), True, f'file of {name}')
            lab.ours.pull(lab.path(name))
            lab.ours.fsck(lab.path(name))


@case('m.thousand_commits')
def thousand_commits(lab):
    """A thousand commits are pushed to a server that has none of them."""
    served = Served(lab)
    vault = served.key.split(':')[1]
    shutil.copytree(lab.path('served', vault), lab.path('other', vault))
    made = served.chain(1000, trees=lambda number: served.forge.tree(served.counter(number)))
    with serve(lab) as here, serve(lab, root='other') as there:
        lab.ours.clone(served.key, 'a', here.url, cwd=lab.root)
        pushed = lab.ours.push(lab.path('a'), '--server', there.url)
        equal((pushed['result'], pushed['commits'], pushed['objects']), ('pushed', 1000, 3000), 'push')
        lab.ours.clone(served.key, 'b', there.url, cwd=lab.root)
        equal(set(made) - ids(lab, 'b'), set(), 'commits that did not arrive')
        lab.ours.fsck(lab.path('b'))
        lab.same_files('a', 'b')


@every_server('m.K14')
def sends_nothing_corrupt(lab, url):
    """A damaged object of the clone stops the push, by name; the server keeps what it had."""
    key = two_clones(lab, url)
    before = ids(lab, 'a')
    changed(lab, 'a', 'new.txt')
    blob = blob_of(lab, 'a', 'new.txt')
    path = lab.path('a', '.sg_vault', 'bare', 'data', blob)
    os.chmod(path, 0o600)
    with open(path, 'r+b') as file:
        file.seek(20)
        file.write(b'damage')
    refused = lab.ours.json('push', cwd=lab.path('a'), code=8)['error']
    equal(refused['code'], 'object_corrupt', 'error')
    equal(blob in (refused['object'] or '') + refused['message'], True, f'the object is named: {refused}')
    lab.ours.clone(key, 'c', url, cwd=lab.root)
    equal(ids(lab, 'c'), before, 'history on the server')


# ---------------------------------------------------------------- pulls

@case('m.K2')
def merges_far_behind(lab):
    """240 commits behind with one of its own: no false conflict, and what was deleted stays deleted."""
    served = Served(lab)
    forge = served.forge
    kept = forge.file_entry('kept.txt')
    old = forge.tree(kept, forge.file_entry('doomed.txt'))
    served.chain(1, trees=lambda _: old)
    with serve(lab) as server:
        lab.ours.clone(served.key, 'b', server.url, cwd=lab.root)
        changed(lab, 'b', 'mine.txt')
        there = lab.ours.log(lab.path('b'))[1]['id']
        served.chain(240, start=[there], trees=lambda number: forge.tree(kept, served.counter(number)))
        equal(lab.ours.pull(lab.path('b'))['result'], 'merged', 'pull')
        equal(sorted(os.listdir(lab.path('b'))), ['.sg_vault', 'counter.txt', 'kept.txt', 'mine.txt'], 'files')
        lab.ours.push(lab.path('b'))
        lab.ours.fsck(lab.path('b'))


@case('m.K3')
def refuses_a_rewritten_history(lab):
    """A history rewritten with 60 new commits is refused by pull and push, and accepted when that is asked for."""
    served = Served(lab)
    with serve(lab) as server:
        lab.ours.clone(served.key, 'b', server.url, cwd=lab.root)
        before = ids(lab, 'b')
        served.chain(60, start=[])
        lab.ours.refused('pull', code=8, error='ref_rewound', cwd=lab.path('b'))
        changed(lab, 'b', 'mine.txt')
        lab.ours.refused('push', code=5, error='remote_moved', cwd=lab.path('b'))
        lab.ours.refused('push', '--pull', code=8, error='ref_rewound', cwd=lab.path('b'))
        equal(before - ids(lab, 'b'), set(), 'commits that are gone')


@every_server('m.K6')
def same_content_is_no_conflict(lab, url):
    """Two clones add the same bytes."""
    two_clones(lab, url)
    for clone in ('a', 'b'):
        changed(lab, clone, 'same.txt', 'the same\n')
    lab.ours.push(lab.path('a'))
    equal(lab.ours.pull(lab.path('b'))['result'], 'merged', 'pull')
    lab.ours.push(lab.path('b'))
    lab.ours.pull(lab.path('a'))
    lab.same_files('a', 'b')


@every_server('m.K7')
def file_and_folder_conflict(lab, url):
    """A file on one side, a folder on the other: a conflict that can be decided or left, and no dead end."""
    two_clones(lab, url)
    changed(lab, 'a', 'name', 'a file\n')
    lab.ours.push(lab.path('a'))
    changed(lab, 'b', 'name/inside', 'in a folder\n')
    before = ids(lab, 'b')
    stopped = lab.ours.json('pull', code=4, cwd=lab.path('b'))
    equal((stopped['error']['code'], stopped['conflicts']), ('conflicts', ['name']), 'conflict')
    equal(ids(lab, 'b'), before, 'history')
    lab.ours.json('merge', '--abort', cwd=lab.path('b'))
    lab.ours.status_is_clean(lab.path('b'))
    lab.rename('b', 'name', 'other')
    lab.ours.commit(lab.path('b'), 'out of the way')
    lab.ours.pull(lab.path('b'))
    lab.ours.push(lab.path('b'))
    lab.ours.pull(lab.path('a'))
    lab.same_files('a', 'b')


@every_server('m.K11')
def read_only_keeps_what_is_there(lab, url):
    """A pull of a read-only clone keeps untracked files, and stops before it would overwrite an edit."""
    key = made_here(lab, url)
    lab.ours.clone(key, 'r', url, '--read-only', cwd=lab.root)
    lab.put('r', 'untracked.txt', 'mine')
    changed(lab, 'a', 'docs/guide/first.md')
    lab.ours.push(lab.path('a'))
    lab.ours.pull(lab.path('r'))
    with open(lab.path('r', 'untracked.txt'), encoding='ascii') as file:
        equal(file.read(), 'mine', 'untracked file')
    lab.put('r', 'README.md', 'edited')
    changed(lab, 'a', 'README.md')
    lab.ours.push(lab.path('a'))
    lab.ours.json('pull', cwd=lab.path('r'), code=9)
    with open(lab.path('r', 'README.md'), encoding='ascii') as file:
        equal(file.read(), 'edited', 'edited file')


@case('m.K24')
def criss_cross(lab):
    """Two merges of the same two commits, merged: every run comes to the same tree."""
    with stand_in(lab) as one, own(lab) as two:
        two_clones(lab, one)
        changed(lab, 'a', 'a.txt')
        changed(lab, 'b', 'b.txt')
        lab.ours.push(lab.path('a'))
        lab.ours.push(lab.path('b'), '--server', two)
        lab.ours.pull(lab.path('b'))
        lab.ours.pull(lab.path('a'), '--server', two)
        changed(lab, 'a', 'README.md')
        changed(lab, 'b', 'docs/guide/first.md')
        lab.ours.push(lab.path('a'))
        trees = set()
        for turn in range(4):
            shutil.copytree(lab.path('b'), lab.path(f'copy{turn}'))
            equal(lab.ours.pull(lab.path(f'copy{turn}'))['result'], 'merged', 'pull')
            trees.add(lab.ours.log(lab.path(f'copy{turn}'))[0]['tree'])
        equal(len(trees), 1, 'different trees of one merge')


@case('m.K25')
def exact_counts(lab, commits=10_000):
    """How far a clone is ahead and behind, over more commits than anybody counts by hand."""
    served = Served(lab)
    vault = served.key.split(':')[1]
    shutil.copytree(lab.path('served', vault), lab.path('other', vault))
    with contextlib.ExitStack() as servers:
        here, there = (servers.enter_context(serve(lab, root=root)) for root in ('served', 'other'))
        lab.ours.clone(served.key, 'b', here.url, cwd=lab.root)
        for number in range(3):
            changed(lab, 'b', f'mine{number}.txt')
        served.chain(commits)

        def counts(*options):
            remote = lab.ours.json('status', *options, cwd=lab.path('b'))['remote']
            return remote['ahead'], remote['behind'], remote['behind_lower_bound']
        lab.ours.json('fetch', cwd=lab.path('b'))
        equal(counts(), (3, commits, False), 'three of its own, all others missing')
        lab.ours.pull(lab.path('b'))
        equal(counts(), (4, 0, False), 'after the merge')
        lab.ours.json('remote', 'add', 'other', there.url, '--default', cwd=lab.path('b'))
        equal(counts('--fetch'), (commits + 4, 0, False), 'beside a server that stood still')
