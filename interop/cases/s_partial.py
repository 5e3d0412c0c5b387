"""s. Clones of a part of a vault: made by one tool, worked in by the other; a full clone gets the same trees."""
import os

from cases.b_made_by_vaultctl import new_vault
from roundtrip.harness import case, equal, files_of, same_keys

OURS, REFERENCE = 'ours', 'reference'


def published(lab):
    """A published vault with a history in three folders, and a full clone 'whole' of it; gives the key."""
    key = new_vault(lab, 'first')
    for number in (1, 2, 3):
        lab.put('first', 'docs/guide/plan.md', f'plan {number}\n'.encode())
        lab.put('first', 'docs/notes.md', lab.text())
        lab.put('first', 'src/deep/er/code.c', f'code {number}\n'.encode())
        lab.put('first', 'data/blob.bin', lab.bytes(3000))
        lab.put('first', 'README.md', f'read {number}\n'.encode())
        lab.ours.commit(lab.path('first'), f'version {number}')
    lab.ours.push(lab.path('first'))
    lab.ours.clone(key, 'whole', lab.host, cwd=lab.root)
    return key


def clone(lab, by, key, name, *options):
    if by == OURS:
        lab.ours.clone(key, name, lab.host, *options, cwd=lab.root)
    else:
        lab.reference.clone(key, name, lab.host, lab.root, *options)


def commit(lab, by, name, message):
    if by == OURS:
        lab.ours.commit(lab.path(name), message)
    else:
        lab.reference.commit(lab.path(name), message)


def push(lab, by, name):
    if by == OURS:
        lab.ours.push(lab.path(name))
    else:
        lab.reference.push(lab.path(name), lab.host)


def both_clean(lab, name):
    lab.ours.status_is_clean(lab.path(name))
    lab.reference.status_is_clean(lab.path(name))


def whole_has(lab, changed, removed=()):
    """The full clone gets what was pushed: the changed files and nothing else, whole and clean for both tools."""
    before = files_of(lab.path('whole'))
    lab.ours.pull(lab.path('whole'))
    after = files_of(lab.path('whole'))
    differing = {path for path in set(before) | set(after) if before.get(path) != after.get(path)}
    equal(differing, {os.fsencode(path) for path in (*changed, *removed)}, 'files that changed for a full clone')
    equal([path for path in removed if os.fsencode(path) in after], [], 'files that should be gone')
    for path, data in changed.items():
        with open(lab.path('whole', path), 'rb') as file:
            equal(file.read(), data, path)
    lab.both_agree('whole')


@case('s.sparse-ours-then-reference', maker=OURS, worker=REFERENCE)
@case('s.sparse-reference-then-ours', maker=REFERENCE, worker=OURS)
@case('s.sparse-ours-alone', maker=OURS, worker=OURS)
def sparse(lab, maker, worker):
    """A clone without a working copy: some files come into it, one is edited, one deleted, one new; all others stay."""
    key = published(lab)
    clone(lab, maker, key, 'part', '--no-checkout')
    equal(files_of(lab.path('part')), {}, 'files of a new clone')
    both_clean(lab, 'part')
    if worker == OURS:
        lab.ours.json('sparse', 'add', 'docs', cwd=lab.path('part'))
    else:
        lab.reference.run('checkout', 'docs/guide/plan.md', 'docs/notes.md', cwd=lab.path('part'))
    equal(sorted(files_of(lab.path('part'))), [b'docs/guide/plan.md', b'docs/notes.md'], 'files checked out')
    both_clean(lab, 'part')
    lab.put('part', 'docs/guide/plan.md', b'edited in a part\n')
    lab.put('part', 'docs/new.md', b'new in a part\n')
    lab.drop('part', 'docs/notes.md')
    commit(lab, worker, 'part', 'from a part')
    both_clean(lab, 'part')
    push(lab, worker, 'part')
    whole_has(lab, {'docs/guide/plan.md': b'edited in a part\n', 'docs/new.md': b'new in a part\n'},
              removed=('docs/notes.md',))
    lab.ours.fsck(lab.path('part'))
    # Another's changes outside and inside come in, and nothing that is not here is taken for deleted.
    lab.put('whole', 'src/deep/er/code.c', b'code of another\n')
    lab.put('whole', 'docs/guide/plan.md', b'plan of another\n')
    lab.ours.commit(lab.path('whole'), 'elsewhere')
    lab.ours.push(lab.path('whole'))
    lab.ours.pull(lab.path('part'))
    with open(lab.path('part', 'docs/guide/plan.md'), 'rb') as file:
        equal(file.read(), b'plan of another\n', 'the file that is here')
    equal(os.path.exists(lab.path('part', 'src')), False, 'a file that is not here')
    both_clean(lab, 'part')
    equal(lab.ours.run('cat', 'src/deep/er/code.c', cwd=lab.path('part')).out, b'code of another\n', 'cat')


@case('s.scoped-ours-then-reference', maker=OURS, worker=REFERENCE)
@case('s.scoped-reference-then-ours', maker=REFERENCE, worker=OURS)
@case('s.scoped-ours-alone', maker=OURS, worker=OURS)
def scoped(lab, maker, worker):
    """A clone of two folders: a commit in them leaves all others as they are, by their ids."""
    key = published(lab)
    clone(lab, maker, key, 'part', '--path', 'docs/guide', '--path', 'src')
    equal(sorted(files_of(lab.path('part'))), [b'docs/guide/plan.md', b'src/deep/er/code.c'], 'files of a new clone')
    both_clean(lab, 'part')
    lab.ours.fsck(lab.path('part'))
    lab.put('part', 'docs/guide/plan.md', b'edited in a scope\n')
    lab.put('part', 'src/new/file.c', b'new in a scope\n')
    commit(lab, worker, 'part', 'from a scope')
    both_clean(lab, 'part')
    push(lab, worker, 'part')
    whole_has(lab, {'docs/guide/plan.md': b'edited in a scope\n', 'src/new/file.c': b'new in a scope\n'})
    lab.put('part', 'README.md', b'outside\n')
    lab.ours.refused('commit', '-m', 'outside', cwd=lab.path('part'), code=9, error='partial_clone')
    lab.drop('part', 'README.md')
    # Both sides commit: the merge takes what lies outside from the other side.
    lab.put('whole', 'README.md', b'read by another\n')
    lab.put('whole', 'data/more.bin', b'more\n')
    lab.ours.commit(lab.path('whole'), 'outside the scope')
    lab.ours.push(lab.path('whole'))
    lab.put('part', 'src/new/file.c', b'newer in a scope\n')
    lab.ours.commit(lab.path('part'), 'again')
    equal(lab.ours.pull(lab.path('part'))['result'], 'merged', 'pull')
    both_clean(lab, 'part')
    lab.ours.push(lab.path('part'))
    whole_has(lab, {'src/new/file.c': b'newer in a scope\n'})
    lab.ours.fsck(lab.path('part'))
    equal(lab.ours.run('cat', 'README.md', cwd=lab.path('part')).out, b'read by another\n', 'a file outside')


@case('s.scope-widened-by-ours', by=OURS)
@case('s.scope-widened-by-reference', by=REFERENCE)
def widened(lab, by):
    """The folders that a clone holds are made more, and in the end all."""
    key = published(lab)
    clone(lab, OURS if by == REFERENCE else REFERENCE, key, 'part', '--path', 'docs/guide')
    if by == OURS:
        lab.ours.json('sparse', 'add', 'src', cwd=lab.path('part'))
    else:
        lab.reference.run('fetch', 'src', cwd=lab.path('part'))
    equal(sorted(files_of(lab.path('part'))), [b'docs/guide/plan.md', b'src/deep/er/code.c'], 'files')
    both_clean(lab, 'part')
    equal(lab.ours.json('sparse', cwd=lab.path('part'))['paths'], ['docs/guide', 'src'], 'folders')
    lab.ours.fsck(lab.path('part'))
    lab.ours.json('sparse', 'set', 'src', cwd=lab.path('part'))
    equal(sorted(files_of(lab.path('part'))), [b'src/deep/er/code.c'], 'files of the smaller part')
    both_clean(lab, 'part')
    lab.ours.json('sparse', 'disable', cwd=lab.path('part'))
    lab.same_files('part', 'whole')
    lab.both_agree('part')


@case('s.shallow-ours-then-reference', maker=OURS, worker=REFERENCE)
@case('s.shallow-reference-then-ours', maker=REFERENCE, worker=OURS)
@case('s.shallow-ours-alone', maker=OURS, worker=OURS)
def shallow(lab, maker, worker):
    """A clone of two levels of history commits, pushes, pulls, and is given the rest."""
    key = published(lab)
    clone(lab, maker, key, 'part', '--depth', '2')
    lab.same_files('part', 'whole')
    both_clean(lab, 'part')
    log = lab.ours.json('log', cwd=lab.path('part'))
    equal((len(log['commits']), log['boundary']), (2, [log['commits'][-1]['id']]), 'history')
    lab.ours.fsck(lab.path('part'))
    lab.put('part', 'docs/new.md', b'new\n')
    commit(lab, worker, 'part', 'from a shallow clone')
    push(lab, worker, 'part')
    whole_has(lab, {'docs/new.md': b'new\n'})
    lab.put('whole', 'README.md', b'read by another\n')
    lab.ours.commit(lab.path('whole'), 'elsewhere')
    lab.ours.push(lab.path('whole'))
    lab.put('part', 'src/deep/er/code.c', b'code\n')
    lab.ours.commit(lab.path('part'), 'here')
    equal(lab.ours.pull(lab.path('part'))['result'], 'merged', 'pull')
    lab.ours.push(lab.path('part'))
    whole_has(lab, {'src/deep/er/code.c': b'code\n'})
    lab.same_files('part', 'whole')
    if worker == OURS:
        equal(lab.ours.json('fetch', '--unshallow', cwd=lab.path('part'))['boundary'], [], 'ends of history')
    else:
        lab.reference.run('fetch', '--unshallow', cwd=lab.path('part'))
    lab.both_agree('part')
    same_keys(
        {entry['id']: entry['tree'] for entry in lab.ours.log(lab.path('part'))},
        {entry['id']: entry['tree'] for entry in lab.ours.log(lab.path('whole'))}, 'trees')
