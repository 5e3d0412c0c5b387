"""f. Read-only clones by read key, of vaults that either tool made."""
import os

from roundtrip.harness import case, equal, files_of, same_keys


def read_only(lab, made_by):
    key = lab.key()
    keys = lab.reference.keys_of(key)
    if made_by == 'vaultctl':
        lab.ours.json('init', 'source', '--server', lab.host, '--key-fd', '0', cwd=lab.root, stdin=key)
        commit, push = lab.ours.commit, lab.ours.push
    else:
        lab.reference.init('source', key, lab.host, lab.root)
        commit, push = lab.reference.commit, lambda directory: lab.reference.push(directory, lab.host)
    lab.some_files('source')
    commit(lab.path('source'), 'first')
    push(lab.path('source'))

    bare = f'{keys["read_key"]}:{keys["vault_id"]}'
    answer = lab.ours.clone('sgit_private_read_' + bare, 'ours', lab.host, cwd=lab.root)
    equal(answer['mode'], 'read-only', 'mode')
    lab.ours.clone(bare, 'bare-text', lab.host, cwd=lab.root)
    lab.ours.json('clone', 'sgit_public_read_' + bare, 'public', '--server', lab.host, cwd=lab.root)
    lab.ours.clone(key, 'from-vault-key', lab.host, '--read-only', cwd=lab.root)
    lab.reference.clone(bare, 'theirs', lab.host, lab.root)
    for clone in ('ours', 'bare-text', 'public', 'from-vault-key', 'theirs'):
        check(lab, clone, keys, commits=2)

    lab.put('source', 'README.md', lab.text())
    lab.drop('source', 'data/empty')
    commit(lab.path('source'), 'second')
    push(lab.path('source'))
    equal(lab.ours.pull(lab.path('ours'))['result'], 'fast_forward', 'pull in our clone')
    equal(lab.ours.pull(lab.path('theirs'))['result'], 'fast_forward', 'pull by vaultctl in the clone of the reference')
    lab.reference.pull(lab.path('bare-text'))                      # and the reference in ours
    for clone in ('ours', 'theirs', 'bare-text'):
        check(lab, clone, keys, commits=3)


def check(lab, clone, keys, commits):
    directory = lab.path(clone)
    lab.same_files('source', clone)
    equal(lab.ours.status_is_clean(directory)['mode'], 'read-only', 'mode in status')
    lab.reference.status_is_clean(directory)
    lab.ours.fsck(directory)
    lab.compare_history(clone, lab.reference_sees('source')[2])
    equal(len(lab.ours.log(directory)), commits, 'number of commits')
    equal(os.path.exists(os.path.join(directory, '.sg_vault', 'local', 'vault_key')), False, 'a vault key in the clone')
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), 'rb') as file:
                data = file.read()
            equal(keys['passphrase'].encode() in data or keys['write_key'].encode() in data, False,
                  f'the passphrase or the write key in {name}')
    before = files_of(directory)
    lab.ours.refused('commit', '-m', 'no', cwd=directory, code=6, error='read_only_clone')
    lab.ours.refused('push', cwd=directory, code=6, error='read_only_clone')
    lab.ours.refused('write', 'x', '-m', 'no', cwd=directory, stdin=b'x', code=6, error='read_only_clone')
    same_keys(files_of(directory), before, 'files after refused writes')


case('f.made-by-sgit', made_by='sgit')(read_only)
case('f.made-by-vaultctl', made_by='vaultctl')(read_only)


@case('f.keys-refused')
def keys_refused(lab):
    """A wrong key, a read key where the vault key is needed, a key as an argument."""
    key = lab.key()
    lab.ours.json('init', 'source', '--server', lab.host, '--push', '--key-fd', '0', cwd=lab.root, stdin=key)
    wrong = 'x' * 24 + ':' + key.rpartition(':')[2]
    lab.ours.json('clone', '-', 'wrong', '--server', lab.host, cwd=lab.root, stdin=wrong, code=6)
    lab.ours.json('clone', 'sgit_private_vault_' + key, 'argv', '--server', lab.host, cwd=lab.root, code=2)
    lab.ours.json('clone', '-', 'malformed', '--server', lab.host, cwd=lab.root, stdin='no colon here', code=2)
    read_key = lab.reference.keys_of(key)['read_key']
    lab.ours.json('init', 'read', '--key-fd', '0', cwd=lab.root,
                  stdin=f'sgit_private_read_{read_key}:{key.rpartition(":")[2]}', code=2)
    equal(sorted(os.listdir(lab.root)), ['remote', 'source'], 'nothing is left behind')
