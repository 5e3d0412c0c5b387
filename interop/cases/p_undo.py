"""p. Undo: resets, reverts and stashes made by one tool, understood by the other in the same clone."""
from cases.b_made_by_vaultctl import new_vault
from roundtrip.harness import case, equal, files_of, same_keys


def three_commits(lab):
    """A clone 'ours' with the commits one, two and three, the last two not pushed."""
    new_vault(lab, 'ours')
    for text in ('one', 'two', 'three'):
        lab.put('ours', 'file.txt', f'{text}\n'.encode())
        lab.put('ours', f'{text}.txt', f'{text}\n'.encode())
        lab.ours.commit(lab.path('ours'), text)
        if text == 'one':
            lab.ours.push(lab.path('ours'))
    return lab.ours.log(lab.path('ours'))


@case('p.reset-by-ours')
def reset_by_ours(lab):
    """vaultctl resets hard; the reference finds a clean clone at that commit, undoes it and commits on."""
    log = three_commits(lab)
    lab.put('ours', 'loose.txt', b'untracked\n')
    moved = lab.ours.json('reset', '--hard', 'HEAD~1', cwd=lab.path('ours'))
    equal((moved['old'], moved['new']), (log[0]['id'], log[1]['id']), 'heads')
    equal(sorted(files_of(lab.path('ours'))), [b'file.txt', b'loose.txt', b'one.txt', b'two.txt'], 'files')
    lab.drop('ours', 'loose.txt')
    lab.both_agree('ours', commits=3)
    lab.reference.run('history', 'undo', cwd=lab.path('ours'))
    lab.both_agree('ours', commits=4)
    moves = lab.ours.json('reflog', '-n', '2', cwd=lab.path('ours'))['moves']
    equal([move['new'] for move in moves], [log[0]['id'], log[1]['id']], 'moves')


@case('p.reset-by-reference')
def reset_by_reference(lab):
    """The reference resets; vaultctl finds a clean clone, undoes it, and takes a commit apart."""
    log = three_commits(lab)
    lab.reference.run('history', 'reset', log[1]['id'], cwd=lab.path('ours'))
    lab.both_agree('ours', commits=3)
    lab.ours.json('undo', cwd=lab.path('ours'))
    lab.both_agree('ours', commits=4)
    lab.ours.json('reset', 'HEAD~1', cwd=lab.path('ours'))
    status = lab.ours.json('status', cwd=lab.path('ours'))
    equal(status['changes'], {'added': ['three.txt'], 'modified': ['file.txt'], 'deleted': []}, 'changes')


@case('p.revert-by-ours', by='ours')
@case('p.revert-by-reference', by='reference')
def reverted(lab, by):
    """Either tool reverts the last commit; both read the same history and files, and it goes to another clone."""
    log = three_commits(lab)
    if by == 'ours':
        lab.ours.json('revert', 'HEAD', cwd=lab.path('ours'))
    else:
        lab.reference.run('history', 'revert', '--as-commit', '--commit', log[0]['id'], cwd=lab.path('ours'))
    after = lab.both_agree('ours', commits=5)
    equal(after[0]['message'], f'Revert "three"\n\nThis reverts commit {log[0]["id"]}.', 'message')
    equal(sorted(files_of(lab.path('ours'))), [b'file.txt', b'one.txt', b'two.txt'], 'files')
    lab.ours.push(lab.path('ours'))


@case('p.stash-of-reference')
def stash_of_reference(lab):
    """The reference stashes; vaultctl lists it, applies it and drops it."""
    three_commits(lab)
    lab.put('ours', 'file.txt', b'edited\n')
    lab.put('ours', 'new/deep.txt', b'new\n')
    lab.drop('ours', 'two.txt')
    edited = files_of(lab.path('ours'))
    lab.reference.run('vault', 'stash', cwd=lab.path('ours'))
    equal(lab.ours.json('status', cwd=lab.path('ours'))['stash_count'], 1, 'stashes')
    listed = lab.ours.json('stash', 'list', cwd=lab.path('ours'))['stashes'][0]
    equal((listed['added'], listed['modified'], listed['deleted'], listed['encrypted']),
          (['new/deep.txt'], ['file.txt'], ['two.txt'], False), 'stash')
    lab.ours.json('stash', 'pop', cwd=lab.path('ours'))
    same_keys(files_of(lab.path('ours')), edited, 'files after pop')
    equal(lab.ours.json('stash', 'list', cwd=lab.path('ours'))['stashes'], [], 'stashes left')


@case('p.stash-of-ours')
def stash_of_ours(lab):
    """vaultctl stashes; the reference works on in the clean clone and does not see the stash; the work comes back."""
    three_commits(lab)
    lab.put('ours', 'two.txt', b'edited\n')
    lab.put('ours', 'new.txt', b'new\n')
    lab.ours.json('stash', '-m', 'half', cwd=lab.path('ours'))
    lab.both_agree('ours', commits=4)
    lab.put('ours', 'file.txt', b'by the reference\n')
    lab.reference.commit(lab.path('ours'), 'meanwhile')
    lab.ours.json('stash', 'pop', cwd=lab.path('ours'))
    status = lab.ours.json('status', cwd=lab.path('ours'))
    equal(status['changes'], {'added': ['new.txt'], 'modified': ['two.txt'], 'deleted': []}, 'changes')


@case('p.untracked-by-ours')
def untracked_by_ours(lab):
    """A file taken out with rm --cached is gone for the reference as well, and still on disk."""
    three_commits(lab)
    lab.ours.json('rm', '--cached', 'two.txt', cwd=lab.path('ours'))
    lab.ours.json('mv', 'one.txt', 'first.txt', cwd=lab.path('ours'))
    lab.ours.commit(lab.path('ours'), 'out')
    lab.ours.fsck(lab.path('ours'))
    equal(sorted(lab.reference.View(lab.path('ours')).entries()), ['file.txt', 'first.txt', 'three.txt'], 'entries')
    equal(b'two.txt' in files_of(lab.path('ours')), True, 'file on disk')
