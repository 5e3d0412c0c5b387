"""r. Maintenance: backups restored by the other tool, vaults with another key, pruned clones, vaults that are gone."""
import glob
import json
import os
import time

from cases.b_made_by_vaultctl import new_vault
from roundtrip.harness import case, equal, files_of, same_keys
from roundtrip.served import serve


def read(path):
    with open(path, encoding='ascii') as file:
        return file.read().strip()


def published(lab, clone='ours', *options):
    """A vault of vaultctl with three commits, published; gives its key."""
    key = new_vault(lab, clone, *options)
    lab.some_files(clone)
    lab.ours.commit(lab.path(clone), 'first')
    lab.put(clone, 'data/random.bin', lab.bytes(60_000))
    lab.ours.commit(lab.path(clone), 'second \u2713')
    lab.ours.push(lab.path(clone))
    return key


def object_ids(lab, clone):
    return set(os.listdir(lab.path(clone, '.sg_vault', 'bare', 'data')))


# ------------------------------------------------------------ backups

@case('r.backup-of-ours')
def backup_of_ours(lab):
    """A backup with the key, restored by the reference: the same files, and a whole clone once it has its key."""
    key = published(lab)
    made = lab.ours.json('backup', '--include-key', lab.path('b.zip'), cwd=lab.path('ours'))
    equal(read(lab.path('b.zip.sha256')), made['sha256'], 'digest beside it')
    equal(os.stat(lab.path('b.zip')).st_mode & 0o777, 0o600, 'mode')
    lab.reference.run('vault', 'restore', lab.path('b.zip'), lab.path('theirs'), cwd=lab.path('ours'))
    lab.same_files('ours', 'theirs')
    # It leaves the key to the user.
    with open(lab.path('theirs', '.sg_vault', 'local', 'vault_key'), 'w', encoding='ascii') as file:
        file.write(key.strip())
    lab.both_agree('theirs', commits=3)


@case('r.backup-of-reference')
def backup_of_reference(lab):
    """The reference's backups, with and without the key, and its uninit, restored by vaultctl."""
    key = published(lab)
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.put('theirs', 'more.txt', 'more')
    lab.reference.commit(lab.path('theirs'), 'not pushed')
    for options in (['--include-key', '--yes'], []):
        lab.reference.run('vault', 'backup', '--label', f'n{len(options)}', '--output-dir', lab.root, *options,
                          cwd=lab.path('theirs'))
    with_key, = glob.glob(lab.path('*__n2.zip'))
    without, = glob.glob(lab.path('*__n0.zip'))
    restored = lab.ours.json('restore-backup', with_key, 'one', cwd=lab.root)
    equal((restored['new_branch'], restored['skipped']), (False, []), 'what came out')
    lab.same_files('theirs', 'one')
    lab.both_agree('one', commits=4)
    lab.ours.refused('restore-backup', without, 'two', cwd=lab.root, code=14, error='input_needed')
    with open(lab.path('key'), 'w', encoding='ascii') as file:
        file.write(key)
    os.chmod(lab.path('key'), 0o600)
    equal(lab.ours.json('restore-backup', '--key-file', lab.path('key'), without, 'two', cwd=lab.root)['new_branch'],
          True, 'a branch of its own')
    lab.both_agree('two', commits=4)
    lab.put('two', 'two.txt', 'two')
    lab.ours.commit(lab.path('two'), 'signed by its own key')
    lab.ours.json('push', '--server', lab.host, cwd=lab.path('two'))
    lab.both_agree('two', commits=5)
    files = files_of(lab.path('theirs'))
    lab.reference.run('vault', 'uninit', cwd=lab.path('theirs'))
    archive, = glob.glob(lab.path('theirs', '.vault__*__uninit.zip'))
    lab.ours.json('restore-backup', '--existing', archive, 'theirs', cwd=lab.root)
    same_keys({path: digest for path, digest in files_of(lab.path('theirs')).items() if not path.startswith(b'.vault__')},
              files, 'files')
    lab.both_agree('theirs', commits=4)


@case('r.detach')
def detach(lab):
    """vaultctl detaches with a backup; the reference makes a vault of the folder again."""
    published(lab)
    files = files_of(lab.path('ours'))
    made = lab.ours.json('detach', '--backup', '-y', cwd=lab.path('ours'))
    equal(os.path.exists(lab.path('ours', '.sg_vault')), False, 'the vault is gone')
    equal(made['backup']['includes_key'], True, 'key')
    # It proposes the newest backup and wants an answer from a terminal; its own function is what it then calls.
    sync = lab.reference.Vault__Sync(crypto=lab.reference.Vault__Crypto())
    sync.restore_from_backup(made['backup']['path'], lab.path('ours'))
    same_keys({path: digest for path, digest in files_of(lab.path('ours')).items() if not path.startswith(b'.vault__')},
              files, 'files')
    lab.both_agree('ours', commits=3)


# ------------------------------------------------------------ another key

@case('r.rekey')
@case('r.rekey.format-2', options=('--format', '2'))
def rekey(lab, options=()):
    """The history under another key, cloned and worked on by the reference; nothing of the old key is in it."""
    key = published(lab, 'ours', *options)
    before = lab.ours.log(lab.path('ours'))
    files = files_of(lab.path('ours'))
    old = object_ids(lab, 'ours')
    made = lab.ours.json('rekey', '-y', '--to', lab.path('moved'), '--key-out', lab.path('key'), cwd=lab.path('ours'))
    new_key = read(lab.path('key'))
    equal(new_key != key and new_key == read(lab.path('ours', '.sg_vault', 'local', 'vault_key')), True, 'the new key')
    equal(object_ids(lab, 'ours') & old, set(), 'objects of the old vault in the new one')
    same_keys({path: digest for path, digest in files_of(lab.path('ours')).items()
               if not path.startswith(b'.sg_vault_old_')}, files, 'files')
    log = lab.both_agree('ours', commits=3)
    equal([(entry['message'], entry['time_ms']) for entry in log],
          [(entry['message'], entry['time_ms']) for entry in before], 'messages and times')
    lab.reference.clone(new_key, 'theirs', lab.path('moved'), lab.root)
    same_keys(files_of(lab.path('theirs')), files, 'files of a new clone')
    lab.both_agree('theirs', commits=3)
    lab.put('theirs', 'theirs.txt', 'theirs')
    lab.reference.commit(lab.path('theirs'), 'theirs')
    lab.reference.push(lab.path('theirs'), lab.path('moved'))
    lab.ours.pull(lab.path('ours'))
    lab.both_agree('ours', commits=4)
    lab.ours.json('rekey', '--resume', '--delete-old', '--confirm', made['old_vault_id'], cwd=lab.path('ours'))
    equal(os.listdir(lab.host), ['.vaultctl'], 'what is left of the old vault')


@case('r.rekey-on-server')
def rekey_on_server(lab):
    """On one server from one id to another, of a vault of the reference, which then clones the new one."""
    with serve(lab) as server:
        key = lab.key()
        lab.reference.init(lab.path('sgit'), key, server.url, lab.root)
        lab.some_files('sgit')
        lab.put('sgit', 'large.bin', lab.bytes(6_000_000))
        lab.reference.commit(lab.path('sgit'), 'first')
        lab.reference.run('push', cwd=lab.path('sgit'))
        lab.ours.clone(key, 'ours', server.url, cwd=lab.root)
        old = key.split(':')[1]
        made = lab.ours.json('rekey', '--delete-old', '--confirm', old, '--key-out', lab.path('key'),
                             cwd=lab.path('ours'))
        equal((made['old_destroyed'], made['server']), (True, server.url), 'outcome')
        equal(made['unsigned'], 2, 'commits of the other clone')
        lab.reference.clone(read(lab.path('key')), 'new', server.url, lab.root)
        lab.same_files('ours', 'new')
        lab.both_agree('new', signed=False)
        equal(json.loads(server.request('GET', f'/api/vault/list/{old}')[1])['files'], [], 'the old vault')
        lab.put('new', 'more.txt', 'more')
        lab.reference.commit(lab.path('new'), 'more')
        lab.reference.run('push', cwd=lab.path('new'))
        lab.ours.pull(lab.path('ours'))
        lab.same_files('ours', 'new')


# ------------------------------------------------------------ pruning, repair, the end

@case('r.gc')
def gc(lab):
    """A clone that was pruned is whole for the reference, which works on in it."""
    published(lab)
    for text in ('third', 'amended', 'fourth'):
        lab.put('ours', 'README.md', text)
        lab.ours.json('commit', '-m', text, *(['--amend'] if text == 'amended' else []), cwd=lab.path('ours'))
    folder = lab.path('ours', '.sg_vault', 'bare', 'data')
    past = time.time() - 100 * 86_400
    for name in os.listdir(folder):
        os.utime(os.path.join(folder, name), (past, past))
    # The log of moves keeps what it names; a move of long ago is forgotten.
    log = lab.path('ours', '.sg_vault', 'local', 'reflog.jsonl')
    with open(log, encoding='ascii') as file:
        moves = [json.loads(line) for line in file]
    equal(lab.ours.json('gc', cwd=lab.path('ours'))['removed'], [], 'removed while the log knows')
    with open(log, 'w', encoding='ascii') as file:
        for move in moves:
            file.write(json.dumps(dict(move, timestamp_ms=move['timestamp_ms'] - 100 * 86_400_000)) + '\n')
    plan = lab.ours.json('gc', '--dry-run', cwd=lab.path('ours'))
    done = lab.ours.json('gc', cwd=lab.path('ours'))
    equal(done['removed'], plan['removed'], 'plan')
    equal(len(done['removed']), 3, 'commit, folder and content of the commit that was amended')
    lab.both_agree('ours', commits=5)
    lab.put('ours', 'again.txt', 'again')
    lab.reference.commit(lab.path('ours'), 'by the reference')
    lab.ours.push(lab.path('ours'))
    lab.both_agree('ours', commits=6)


@case('r.repair-remote')
def repair_remote(lab):
    """Objects that a server lost are put back; the reference, which could not clone, can again."""
    with serve(lab) as server:
        key = new_vault(lab, 'ours')
        lab.some_files('ours')
        lab.ours.commit(lab.path('ours'), 'first')
        lab.ours.json('push', '--server', server.url, '--set-default', cwd=lab.path('ours'))
        data = lab.path('served', key.split(':')[1].strip(), 'bare', 'data')
        lost = sorted(os.listdir(data))[::3]
        for name in lost:
            os.remove(os.path.join(data, name))
        made = lab.ours.json('push', '--repair', cwd=lab.path('ours'))
        equal((made['repaired'], made['repair_missing'], made['result']), (lost, [], 'up_to_date'), 'put back')
        lab.reference.clone(key, lab.path('theirs'), server.url, lab.root)
        lab.same_files('ours', 'theirs')
        lab.both_agree('theirs', commits=2)


@case('r.destroy')
def destroy(lab):
    """A vault that vaultctl destroyed on a server is gone for the reference, and its id is burnt."""
    with serve(lab) as server:
        key = lab.key()
        vault = key.split(':')[1]
        lab.reference.init(lab.path('sgit'), key, server.url, lab.root)
        lab.some_files('sgit')
        lab.reference.commit(lab.path('sgit'), 'first')
        lab.reference.run('push', cwd=lab.path('sgit'))
        lab.ours.clone(key, 'ours', server.url, cwd=lab.root)
        lab.ours.refused('destroy', '-y', cwd=lab.path('ours'), code=14, error='input_needed')
        equal(lab.ours.json('destroy', '--confirm', vault, cwd=lab.path('ours'))['vault_id'], vault, 'vault')
        equal(json.loads(server.request('GET', f'/api/vault/list/{vault}')[1])['files'], [], 'list')
        lab.put('sgit', 'more.txt', 'more')
        lab.reference.commit(lab.path('sgit'), 'more')
        refused = lab.reference.run('push', cwd=lab.path('sgit'), ok=False)
        equal(refused.code != 0, True, 'a push to a destroyed vault is refused')
        lab.both_agree('ours', commits=2, signed=False)
