"""n. Merges that stop with conflicts: begun by one tool, finished or ended by the other, in the same clone."""
import hashlib
import json
import os

from cases.b_made_by_vaultctl import new_vault
from roundtrip.harness import case, equal, files_of, same_keys


def diverge(lab):
    """A clone 'ours' with a commit of its own and a remote that moved elsewhere; the other side is in 'theirs'."""
    key = new_vault(lab, 'ours')
    for name in ('both.txt', 'deleted.txt', 'kept.txt', 'docs/plain.txt'):
        lab.put('ours', name, f'base of {name}\n'.encode())
    lab.ours.commit(lab.path('ours'), 'base')
    lab.ours.push(lab.path('ours'))
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.put('theirs', 'both.txt', b'theirs\n')
    lab.put('theirs', 'deleted.txt', b'changed there\n')
    lab.put('theirs', 'docs/plain.txt', b'only theirs\n')
    lab.put('theirs', 'new.txt', b'new there\n')
    lab.reference.commit(lab.path('theirs'), 'theirs')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.put('ours', 'both.txt', b'ours\n')
    lab.drop('ours', 'deleted.txt')
    lab.put('ours', 'mine.txt', b'mine\n')
    lab.ours.commit(lab.path('ours'), 'ours')


def merge_state(lab):
    with open(lab.path('ours', '.sg_vault', 'local', 'merge_state.json'), encoding='utf-8') as file:
        return json.load(file)


def finished(lab, wanted):
    """A commit of both sides, which both tools read alike, and which goes on to the other clone."""
    log = lab.both_agree('ours', commits=5)
    equal(len(log[0]['parents']), 2, 'parents of the merge')
    equal(os.path.exists(lab.path('ours', '.sg_vault', 'local', 'merge_state.json')), False, 'state after the merge')
    found = files_of(lab.path('ours'))
    for path, data in wanted.items():
        equal(found.get(path.encode()), data and hashlib.sha256(data).hexdigest(), path)
    lab.ours.push(lab.path('ours'))
    lab.reference.pull(lab.path('theirs'))
    lab.same_files('ours', 'theirs')


@case('n.begun-by-ours-finished-by-reference')
def begun_by_ours(lab):
    """vaultctl stops, the reference resolves and commits."""
    diverge(lab)
    stopped = lab.ours.json('pull', cwd=lab.path('ours'), code=4)
    equal(stopped['conflicts'], ['both.txt', 'deleted.txt'], 'conflicts')
    state = merge_state(lab)
    equal(sorted(state), ['conflict_paths', 'lca_id', 'ours_commit_id', 'resolved_paths', 'schema_version', 'started_at',
                          'theirs_commit_id'], 'members of the state')
    lab.reference.run('resolve', '--theirs', 'both.txt', cwd=lab.path('ours'))
    lab.reference.run('resolve', '--theirs', 'deleted.txt', cwd=lab.path('ours'))
    lab.reference.commit(lab.path('ours'), 'merged by the reference')
    finished(lab, {'both.txt': b'theirs\n', 'deleted.txt': b'changed there\n', 'mine.txt': b'mine\n',
                   'new.txt': b'new there\n'})


@case('n.names-of-other-case')
def names_of_other_case(lab):
    """vaultctl stops at names that differ in case only; the reference decides for both and commits."""
    diverge(lab)
    lab.put('theirs', 'docs/Plan.txt', b'their plan\n')
    lab.reference.commit(lab.path('theirs'), 'their plan')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.put('ours', 'docs/plan.txt', b'our plan\n')
    lab.ours.commit(lab.path('ours'), 'our plan')
    stopped = lab.ours.json('pull', cwd=lab.path('ours'), code=4)
    equal(stopped['conflicts'], ['both.txt', 'deleted.txt', 'docs/Plan.txt', 'docs/plan.txt'], 'conflicts')
    for path in stopped['conflicts']:
        side = '--ours' if path == 'docs/plan.txt' else '--theirs'
        lab.reference.run('resolve', side, path, cwd=lab.path('ours'))
    lab.reference.commit(lab.path('ours'), 'merged by the reference')
    found = files_of(lab.path('ours'))
    for path, data in (('docs/Plan.txt', b'their plan\n'), ('docs/plan.txt', b'our plan\n')):
        equal(found.get(path.encode()), hashlib.sha256(data).hexdigest(), path)
    lab.ours.push(lab.path('ours'))
    lab.reference.pull(lab.path('theirs'))
    lab.same_files('ours', 'theirs')


@case('n.begun-by-reference-finished-by-ours')
def begun_by_reference(lab):
    """The reference stops, vaultctl tells, resolves and commits."""
    diverge(lab)
    lab.reference.pull(lab.path('ours'))
    status = lab.ours.json('status', cwd=lab.path('ours'))
    equal(status['merge'], {'in_progress': True, 'conflicts': ['both.txt', 'deleted.txt']}, 'merge in status')
    lab.ours.refused('commit', '-m', 'too early', cwd=lab.path('ours'), code=4, error='conflicts')
    told = lab.ours.json('resolve', '--list', cwd=lab.path('ours'))
    equal([(item['path'], item['kind'], item['verdict']) for item in told['conflicts']],
          [('both.txt', 'both_modified', 'genuine'), ('deleted.txt', 'deleted_by_us', 'genuine')], 'conflicts')
    lab.ours.json('resolve', '--ours', 'both.txt', cwd=lab.path('ours'))
    equal(lab.ours.json('resolve', '--ours', 'deleted.txt', cwd=lab.path('ours'))['left'], 0, 'left')
    lab.ours.json('merge', '--continue', cwd=lab.path('ours'))
    finished(lab, {'both.txt': b'ours\n', 'deleted.txt': None, 'mine.txt': b'mine\n', 'new.txt': b'new there\n'})


@case('n.half-resolved-by-each')
def half_by_each(lab):
    """Each tool decides one path; whoever commits finds nothing left."""
    diverge(lab)
    lab.ours.json('pull', cwd=lab.path('ours'), code=4)
    lab.ours.json('resolve', '--theirs', 'both.txt', cwd=lab.path('ours'))
    lab.reference.run('resolve', '--theirs', 'deleted.txt', cwd=lab.path('ours'))
    equal(lab.ours.json('resolve', '--list', cwd=lab.path('ours'))['left'], 0, 'left')
    lab.ours.commit(lab.path('ours'), 'merged')
    finished(lab, {'both.txt': b'theirs\n', 'deleted.txt': b'changed there\n'})


@case('n.ended-begun-by-ours', begins='ours')
@case('n.ended-begun-by-reference', begins='reference')
def ended(lab, begins):
    """A merge begun by either tool is ended by vaultctl, and every file is as before; untracked ones stay."""
    diverge(lab)
    lab.put('ours', 'untracked.txt', b'mine alone\n')
    before = files_of(lab.path('ours'))
    if begins == 'ours':
        lab.ours.json('pull', cwd=lab.path('ours'), code=4)
    else:
        lab.reference.pull(lab.path('ours'))
    lab.put('ours', 'later.txt', b'written meanwhile\n')
    lab.ours.json('merge', '--abort', cwd=lab.path('ours'))
    found = files_of(lab.path('ours'))
    equal(found.pop(b'later.txt', None), hashlib.sha256(b'written meanwhile\n').hexdigest(), 'a file written meanwhile')
    same_keys(found, before, 'files after the merge was ended')
    lab.drop('ours', 'later.txt')
    lab.drop('ours', 'untracked.txt')
    lab.both_agree('ours', commits=3)
