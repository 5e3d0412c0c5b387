"""o. Branches: made by one tool, used by the other."""
from cases.b_made_by_vaultctl import new_vault
from roundtrip.harness import case, equal


def names(lab, clone):
    return [branch['name'] for branch in lab.ours.json('branch', cwd=lab.path(clone))['branches']]


@case('o.made-by-ours')
def made_by_ours(lab):
    """vaultctl makes and pushes a branch; the reference works on it and pushes; vaultctl goes on."""
    key = new_vault(lab, 'ours')
    lab.some_files('ours')
    lab.ours.commit(lab.path('ours'), 'base')
    lab.ours.push(lab.path('ours'))
    lab.ours.json('switch', '-c', 'drafts', cwd=lab.path('ours'))
    lab.put('ours', 'draft.txt', b'draft\n')
    lab.ours.commit(lab.path('ours'), 'draft')
    lab.ours.push(lab.path('ours'))
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.reference.run('branch', 'switch', 'drafts', cwd=lab.path('theirs'))
    lab.same_files('ours', 'theirs')
    lab.both_agree('theirs', commits=3)
    lab.put('theirs', 'reply.txt', b'reply\n')
    lab.reference.commit(lab.path('theirs'), 'reply')
    lab.reference.push(lab.path('theirs'), lab.host)
    equal(lab.ours.pull(lab.path('ours'))['result'], 'fast_forward', 'pull')
    lab.same_files('ours', 'theirs')
    lab.ours.json('switch', 'current', cwd=lab.path('ours'))
    lab.both_agree('ours', commits=2)
    lab.ours.json('merge', 'drafts', cwd=lab.path('ours'))
    lab.ours.push(lab.path('ours'))
    lab.reference.run('branch', 'switch', 'current', cwd=lab.path('theirs'))
    lab.reference.pull(lab.path('theirs'))
    lab.same_files('ours', 'theirs')
    lab.both_agree('ours', commits=4)


@case('o.made-by-reference')
def made_by_reference(lab):
    """The reference makes and pushes a branch; vaultctl finds it in a clone, and by fetching in an older one."""
    key = new_vault(lab, 'ours')
    lab.some_files('ours')
    lab.ours.commit(lab.path('ours'), 'base')
    lab.ours.push(lab.path('ours'))
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.reference.run('branch', 'new', 'sketch', cwd=lab.path('theirs'))
    lab.put('theirs', 'sketch.txt', b'sketch\n')
    lab.reference.commit(lab.path('theirs'), 'sketch')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.ours.json('switch', '--fetch', 'sketch', cwd=lab.path('ours'))
    lab.same_files('ours', 'theirs')
    lab.ours.clone(key, 'third', lab.host, cwd=lab.root)
    equal(names(lab, 'third'), ['current', 'sketch'], 'branches of a new clone')
    lab.ours.json('switch', 'sketch', cwd=lab.path('third'))
    lab.same_files('third', 'theirs')
    lab.put('third', 'more.txt', b'more\n')
    lab.ours.commit(lab.path('third'), 'more')
    lab.ours.push(lab.path('third'))
    lab.reference.pull(lab.path('theirs'))
    lab.same_files('third', 'theirs')
    lab.both_agree('theirs', commits=4)


@case('o.same-clone')
def same_clone(lab):
    """Both tools switch in one clone, in turns."""
    new_vault(lab, 'ours')
    lab.some_files('ours')
    lab.ours.commit(lab.path('ours'), 'base')
    lab.ours.push(lab.path('ours'))
    lab.ours.json('switch', '-c', 'one', cwd=lab.path('ours'))
    lab.put('ours', 'one.txt', b'one\n')
    lab.ours.commit(lab.path('ours'), 'one')
    lab.ours.push(lab.path('ours'))
    lab.reference.run('branch', 'switch', 'current', cwd=lab.path('ours'))
    equal(lab.ours.json('status', cwd=lab.path('ours'))['branch'], 'current', 'branch after the reference switched')
    lab.put('ours', 'two.txt', b'two\n')
    lab.reference.commit(lab.path('ours'), 'two')
    lab.ours.json('switch', 'one', cwd=lab.path('ours'))
    lab.both_agree('ours', commits=3)
    lab.ours.json('switch', '-', cwd=lab.path('ours'))
    lab.both_agree('ours', commits=3)
