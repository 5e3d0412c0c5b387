"""c. One clone, used by both tools in turn: each sees a clean status and a whole history after the other's commit."""
from roundtrip.harness import case, equal

ROUNDS = 10


def alternate(lab, made_by):
    key = lab.key()
    clone = lab.path('shared')
    if made_by == 'sgit':
        lab.reference.init('shared', key, lab.host, lab.root)
    else:
        lab.ours.json('init', 'shared', '--server', lab.host, '--key-fd', '0', cwd=lab.root, stdin=key)
    lab.some_files('shared')
    for number in range(ROUNDS):
        lab.put('shared', 'README.md', lab.text())
        lab.put('shared', f'round/{number:02}/a.txt', lab.text(3))
        if number >= 3:
            lab.drop('shared', f'round/{number - 3:02}')
        if number % 2 == 0:
            lab.ours.commit(clone, f'round {number} by vaultctl')
        else:
            lab.reference.commit(clone, f'round {number} by sgit')
        lab.both_agree('shared', commits=number + 2)
        if number in (3, 4, 7, 8):                       # each tool publishes, twice, after the other had its turn
            if number % 2 == 0:
                lab.ours.push(clone)
            else:
                lab.reference.push(clone, lab.host)
            equal(lab.ours.push(clone)['result'], 'up_to_date', 'a second push')
            lab.both_agree('shared', commits=number + 2)
    lab.ours.push(clone)
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.ours.clone(key, 'ours', lab.host, cwd=lab.root)
    lab.same_files('shared', 'theirs')
    lab.same_files('shared', 'ours')
    lab.both_agree('theirs', commits=ROUNDS + 1)
    lab.both_agree('ours', commits=ROUNDS + 1)


case('c.made-by-sgit', made_by='sgit')(alternate)
case('c.made-by-vaultctl', made_by='vaultctl')(alternate)


def alternate_pulls(lab, cloned_by):
    """A second clone follows by pulls of either tool."""
    key = lab.key()
    lab.reference.init('source', key, lab.host, lab.root)
    lab.some_files('source')
    lab.reference.commit(lab.path('source'), 'first')
    lab.reference.push(lab.path('source'), lab.host)
    if cloned_by == 'sgit':
        lab.reference.clone(key, 'shared', lab.host, lab.root)
    else:
        lab.ours.clone(key, 'shared', lab.host, cwd=lab.root)
    for number in range(6):
        lab.put('source', 'README.md', lab.text())
        lab.put('source', f'new/{number}.txt', lab.text(2))
        lab.reference.commit(lab.path('source'), f'change {number}')
        lab.reference.push(lab.path('source'), lab.host)
        if number % 2 == 0:
            equal(lab.ours.pull(lab.path('shared'))['result'], 'fast_forward', 'pull')
        else:
            lab.reference.pull(lab.path('shared'))
        remote = lab.ours.json('status', cwd=lab.path('shared'))['remote']
        # One that only the reference has read is not known yet; any other is as either tool left it.
        known = 'never_read' if remote['seen_ms'] is None else 'up_to_date'
        equal(remote['state'], known, f'the remote after pull {number}')
        lab.same_files('source', 'shared')
        lab.both_agree('shared', commits=number + 3)


case('c.pulls.cloned-by-sgit', cloned_by='sgit')(alternate_pulls)
case('c.pulls.cloned-by-vaultctl', cloned_by='vaultctl')(alternate_pulls)
