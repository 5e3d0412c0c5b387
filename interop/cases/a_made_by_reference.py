"""a. Vaults made by the reference, read by vaultctl: clone, log, files, fsck, from every place a vault can lie in."""
import os
import shutil

from roundtrip.harness import Skipped, case, equal, files_of, read_json, same_keys, tree_of

VECTORS = ('a-default', 'b-format2', 'c-signed-deflate')


def reachable(commits, head):
    by_id, todo, found = {commit['id']: commit for commit in commits}, [head], {}
    while todo:
        commit = by_id[todo.pop()]
        if commit['id'] not in found:
            found[commit['id']] = dict(id=commit['id'], parents=commit['parents'], tree=commit['tree_id'],
                                       message=commit['message'] or '', time_ms=commit['timestamp_ms'])
            todo.extend(commit['parents'])
    return found


def vector(lab, name):
    folder = os.path.join(lab.vectors, name)
    if not os.path.isdir(folder):
        raise Skipped(f'no {folder}')
    return folder, read_json(os.path.join(folder, 'expected.json'))


def clone_of_vector(lab, name):
    folder, expected = vector(lab, name)
    answer = lab.ours.clone(expected['vault_key'], 'clone', os.path.join(folder, 'server'), cwd=lab.root)
    current = next(branch for branch in expected['branches']
                   if branch['name'] == 'current' and branch['branch_type'] == 'named')
    head = current['server_head']
    equal(answer['vault_id'], expected['vault_id'], 'vault id')
    equal(answer['head'], head, 'head')
    same_keys(files_of(lab.path('clone')),
              {os.fsencode(path): entry['sha256'] for path, entry in expected['files'].items()}
              if head == expected['head_commit_id'] else files_of(lab.path('clone')), 'files')
    history = reachable(expected['commits'], head)
    lab.compare_history('clone', history)
    log = lab.ours.log(lab.path('clone'), '--show-signature')
    signatures = {commit['id']: commit['signature'] for commit in expected['commits']}
    same_keys({entry['id']: entry['signature'] for entry in log},
              {commit_id: signatures[commit_id] for commit_id in history}, 'signatures')
    lab.both_agree('clone', commits=len(history), signed=all(signatures[commit] == 'verified' for commit in history))


def working_clone_of_vector(lab, name):
    """The clone the reference itself left: used in place, as if vaultctl had been installed afterwards."""
    folder, expected = vector(lab, name)
    shutil.copytree(os.path.join(folder, 'clone'), lab.path('clone'), symlinks=True)
    before = files_of(lab.path('clone'))
    status = lab.ours.status_is_clean(lab.path('clone'))
    equal(status['head'], expected['head_commit_id'], 'head')
    lab.compare_history('clone', reachable(expected['commits'], expected['head_commit_id']))
    lab.ours.fsck(lab.path('clone'))
    lab.compare_entries('clone')
    same_keys(files_of(lab.path('clone')), before, 'a read verb changed a file')


for vector_name in VECTORS:
    case(f'a.vector.{vector_name}', name=vector_name)(clone_of_vector)
    case(f'a.vector-clone.{vector_name}', name=vector_name)(working_clone_of_vector)


def make_vault(lab, features=(), width=1):
    """Two clones of one vault by the reference: edits on both sides, a clean merge, a rename, deletions."""
    ref, key = lab.reference, lab.key()
    ref.init('one', key, lab.host, lab.root)
    lab.some_files('one')
    ref.commit(lab.path('one'), 'first files \u2713')
    ref.push(lab.path('one'), lab.host)
    if features or width == 2:
        ref.set_format(lab.path('one'), lab.host, min_client='0.24.0', add_features=list(features),
                       **(dict(format=2) if width == 2 else {}))
    lab.put('one', 'data/log.txt', b'a compressible line\n' * 5000)
    lab.rename('one', 'docs/guide/first.md', 'docs/second.md')
    ref.commit(lab.path('one'), 'rename and a log')
    ref.push(lab.path('one'), lab.host)
    ref.clone(key, 'two', lab.host, lab.root)
    lab.put('two', 'from-two.txt', lab.text())
    ref.commit(lab.path('two'), 'work in the second clone')
    lab.drop('one', 'docs/guide/deep')
    lab.put('one', 'README.md', lab.text())
    ref.commit(lab.path('one'), '')
    ref.push(lab.path('one'), lab.host)
    ref.pull(lab.path('two'))
    ref.push(lab.path('two'), lab.host)
    ref.pull(lab.path('one'))
    lab.same_files('one', 'two')
    return key


FRESH = {'default': {}, 'format2': dict(width=2), 'blob-deflate': dict(features=['blob-deflate']),
         'signed': dict(features=['signatures-required']),
         'all': dict(features=['signatures-required', 'blob-deflate'], width=2)}


def fresh(lab, **options):
    key = make_vault(lab, **options)
    answer = lab.ours.clone(key, 'clone', lab.host, cwd=lab.root)
    _, head, history = lab.reference_sees('two')
    equal(answer['head'], head, 'head')
    lab.compare_history('clone', history)
    lab.same_files('clone', 'two')
    log = lab.both_agree('clone', commits=len(history))
    equal(max(len(entry['parents']) for entry in log), 2, 'the merge has two parents')

    # and the reference goes on, then vaultctl follows
    lab.put('one', 'later.txt', lab.text())
    lab.drop('one', 'data/empty')
    lab.reference.commit(lab.path('one'), 'later')
    lab.reference.push(lab.path('one'), lab.host)
    answer = lab.ours.pull(lab.path('clone'))
    equal((answer['result'], answer['added'], answer['deleted']), ('fast_forward', ['later.txt'], ['data/empty']), 'pull')
    lab.same_files('clone', 'one')
    lab.both_agree('clone', commits=len(history) + 1)
    equal(lab.ours.pull(lab.path('clone'))['result'], 'up_to_date', 'second pull')


for flavour, flavour_options in FRESH.items():
    case(f'a.fresh.{flavour}', **flavour_options)(fresh)


def published(lab, layout):
    """A folder made by `sgit publish`, as it would be copied to a static host."""
    key = make_vault(lab)
    one = lab.path('one')
    lab.reference.run('publish', '--layout', layout, '.', cwd=one)
    site = lab.path('site')
    shutil.copytree(os.path.join(one, '.sg_vault', 'publish'), site)
    vault_id = key.rpartition(':')[2]
    below = os.path.join(site, 'api', 'vault', 'read', vault_id) if layout == 'api-path' else site
    shutil.copytree(os.path.join(one, '.sg_vault', 'bare'), os.path.join(below, 'bare'))
    readable_only(lab, key, site)


case('a.published.flat', layout='flat')(published)
case('a.published.api-path', layout='api-path')(published)


@case('a.store.bare')
def store(lab):
    """The `.sg_vault` folder of somebody's clone as a remote."""
    key = make_vault(lab)
    readable_only(lab, key, lab.path('one', '.sg_vault'))


@case('a.store.clone')
def store_of_clone(lab):
    key = make_vault(lab)
    readable_only(lab, key, lab.path('one'))


def readable_only(lab, key, place):
    before = tree_of(place)
    lab.ours.clone(key, 'clone', place, cwd=lab.root)
    lab.same_files('clone', 'one')
    lab.compare_history('clone', lab.reference_sees('one')[2])
    lab.ours.fsck(lab.path('clone'))
    lab.put('clone', 'mine.txt', b'mine\n')
    lab.ours.commit(lab.path('clone'), 'mine')
    lab.ours.json('push', cwd=lab.path('clone'), code=9)
    same_keys(tree_of(place), before, 'a place that is only read was changed')


@case('a.keys-derive')
def derived_keys(lab):
    """Both tools derive the same ids and keys."""
    for _ in range(3):
        key = lab.key()
        theirs = lab.reference.keys_of(key)
        ours = lab.ours.json('keys', 'derive', '--key-fd', '0', '--show-secrets', cwd=lab.root, stdin=key)
        for name in ('vault_id', 'read_key', 'write_key', 'ref_file_id', 'branch_index_file_id'):
            equal(ours[name], theirs[name], name)
        hidden = lab.ours.json('keys', 'derive', '--key-fd', '0', cwd=lab.root, stdin=key)
        equal([name for name in ('read_key', 'write_key') if hidden.get(name)], [], 'secrets without the flag')
