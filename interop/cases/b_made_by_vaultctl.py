"""b. Vaults made by vaultctl, read by the reference: clone from the folder, history log, check fsck, check verify."""
import os

from roundtrip.harness import case, equal, files_of, same_keys


def new_vault(lab, clone, *options):
    """A vault under a key that vaultctl made; returns the key's text."""
    lab.ours.json('init', clone, '--server', lab.host, *options, cwd=lab.root)
    with open(lab.path(clone, '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
        return file.read()


def reference_reads(lab, key, clone, commits):
    """The reference clones what is in the folder and finds what `clone` has."""
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.same_files(clone, 'theirs')
    head = lab.ours.log(lab.path(clone))[0]['id']
    _, their_head, history = lab.reference_sees('theirs')
    equal(their_head, head, 'head')
    lab.compare_history(clone, history)
    lab.both_agree('theirs', commits=commits)
    return history


def with_options(lab, options=()):
    key = new_vault(lab, 'ours', *options)
    lab.some_files('ours')
    lab.ours.commit(lab.path('ours'), 'first files \u2713')
    equal(lab.ours.push(lab.path('ours'))['result'], 'created', 'first push')
    lab.put('ours', 'README.md', lab.text())
    lab.drop('ours', 'docs/guide/deep')
    lab.ours.commit(lab.path('ours'), 'second\n\nwith a body')
    equal(lab.ours.push(lab.path('ours'))['result'], 'pushed', 'second push')
    equal(lab.ours.push(lab.path('ours'))['result'], 'up_to_date', 'third push')
    lab.both_agree('ours', commits=3)
    history = reference_reads(lab, key, 'ours', commits=3)
    equal(lab.reference.log_ids(lab.path('theirs')), [entry['id'] for entry in lab.ours.log(lab.path('ours'))],
          'ids of `history log`')
    equal(sorted(commit['message'] for commit in history.values()),
          ['first files \u2713', 'init', 'second\n\nwith a body'], 'messages')


case('b.default')(with_options)
case('b.format2', options=('--format', '2'))(with_options)


@case('b.empty')
def empty_vault(lab):
    """A vault without files is published and cloned all the same."""
    key = new_vault(lab, 'ours')
    equal(lab.ours.push(lab.path('ours'))['result'], 'created', 'first push')
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    equal(files_of(lab.path('theirs')), {}, 'files')
    lab.both_agree('theirs', commits=1)
    lab.ours.clone(key, 'second', lab.host, cwd=lab.root)
    lab.both_agree('second', commits=1)


@case('b.init-push')
def init_with_push(lab):
    os.makedirs(lab.path('ours'))
    lab.some_files('ours')
    key = new_vault(lab, 'ours', '--existing', '--push')
    lab.ours.commit(lab.path('ours'), 'what was there')
    lab.ours.push(lab.path('ours'))
    reference_reads(lab, key, 'ours', commits=2)


@case('b.given-key')
def given_key(lab):
    """A key that the user chose, spaces and colons included, given by file."""
    key = 'correct horse: battery ' + lab.key()
    key_file = lab.path('key')
    with open(key_file, 'w', encoding='ascii') as file:
        file.write(key + '\n')
    os.chmod(key_file, 0o600)
    lab.ours.json('init', 'ours', '--server', lab.host, '--key-file', key_file, cwd=lab.root)
    lab.some_files('ours')
    lab.ours.commit(lab.path('ours'), 'first')
    lab.ours.push(lab.path('ours'))
    reference_reads(lab, key, 'ours', commits=2)
    equal(os.stat(lab.path('ours', '.sg_vault', 'local', 'vault_key')).st_mode & 0o777, 0o600, 'mode of vault_key')


@case('b.many-commits')
def many_commits(lab):
    key = new_vault(lab, 'ours')
    for number in range(25):
        lab.put('ours', f'folder {number % 5}/file {number % 7}.txt', lab.text())
        lab.ours.commit(lab.path('ours'), f'commit {number}')
    lab.ours.push(lab.path('ours'))
    reference_reads(lab, key, 'ours', commits=26)


@case('b.amend')
def amended(lab):
    key = new_vault(lab, 'ours')
    lab.some_files('ours')
    lab.ours.commit(lab.path('ours'), 'with a mistake')
    lab.put('ours', 'README.md', b'mended\n')
    lab.ours.commit(lab.path('ours'), 'without it', '--amend')
    lab.ours.push(lab.path('ours'))
    history = reference_reads(lab, key, 'ours', commits=2)
    equal(sorted(commit['message'] for commit in history.values()), ['init', 'without it'], 'messages')
    lab.ours.commit(lab.path('ours'), 'too late', '--amend', code=9)


@case('b.write')
def written(lab):
    """`write` commits a file without the working copy's help."""
    key = new_vault(lab, 'ours')
    lab.some_files('ours')
    lab.ours.commit(lab.path('ours'), 'first')
    answer = lab.ours.json('write', 'docs/from stdin.txt', '-m', 'written', cwd=lab.path('ours'), stdin=b'by stdin\n')
    equal(answer['unchanged'], False, 'write')
    again = lab.ours.json('write', 'docs/from stdin.txt', '-m', 'again', cwd=lab.path('ours'), stdin=b'by stdin\n')
    equal((again['unchanged'], again['blob_id']), (True, answer['blob_id']), 'the same content again')
    lab.ours.push(lab.path('ours'))
    reference_reads(lab, key, 'ours', commits=3)
    shown = lab.reference.run('cat', 'docs/from stdin.txt', cwd=lab.path('theirs'))
    equal(shown.bytes, b'by stdin\n', 'sgit cat')


@case('b.two-writers')
def two_writers(lab):
    """A vaultctl clone and a reference clone work at once: pulls merge on either side, every commit survives."""
    key = new_vault(lab, 'ours')
    lab.some_files('ours')
    lab.ours.commit(lab.path('ours'), 'first')
    lab.ours.push(lab.path('ours'))
    lab.reference.clone(key, 'theirs', lab.host, lab.root)

    lab.put('theirs', 'theirs.txt', lab.text())                                   # the reference publishes first
    lab.reference.commit(lab.path('theirs'), 'by the reference')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.put('ours', 'ours.txt', lab.text())
    lab.ours.commit(lab.path('ours'), 'by vaultctl')
    lab.ours.refused('push', cwd=lab.path('ours'), code=5, error='remote_moved')
    equal(lab.ours.pull(lab.path('ours'))['result'], 'merged', 'pull')
    lab.ours.push(lab.path('ours'))
    lab.both_agree('ours', commits=5)

    lab.put('theirs', 'theirs.txt', lab.text())                                   # now vaultctl was first
    lab.reference.commit(lab.path('theirs'), 'by the reference again')
    lab.reference.pull(lab.path('theirs'))
    lab.reference.push(lab.path('theirs'), lab.host)
    equal(lab.ours.pull(lab.path('ours'))['result'], 'fast_forward', 'pull')
    lab.same_files('ours', 'theirs')
    lab.both_agree('ours', commits=7)
    lab.both_agree('theirs', commits=7)


@case('b.conflict')
def conflict(lab):
    """A path changed on both sides stops the pull with exit 4; an aborted merge has changed nothing."""
    key = new_vault(lab, 'ours')
    lab.put('ours', 'shared.txt', b'base\n')
    lab.ours.commit(lab.path('ours'), 'base')
    lab.ours.push(lab.path('ours'))
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.put('theirs', 'shared.txt', b'theirs\n')
    lab.reference.commit(lab.path('theirs'), 'theirs')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.put('ours', 'shared.txt', b'ours\n')
    lab.ours.commit(lab.path('ours'), 'ours')
    before = files_of(lab.path('ours'))
    stopped = lab.ours.json('pull', cwd=lab.path('ours'), code=4)
    equal(stopped['conflicts'], ['shared.txt'], 'conflicts')
    lab.ours.json('merge', '--abort', cwd=lab.path('ours'))
    same_keys(files_of(lab.path('ours')), before, 'files after the stopped pull')
    lab.both_agree('ours', commits=3)


@case('b.same-key-twice')
def same_key_twice(lab):
    """Two vaults under one key: the second first push is refused and touches nothing of the first."""
    key = new_vault(lab, 'ours')
    lab.some_files('ours')
    lab.ours.commit(lab.path('ours'), 'first')
    lab.ours.push(lab.path('ours'))
    lab.ours.json('init', 'rival', '--server', lab.host, '--key-fd', '0', cwd=lab.root, stdin=key)
    lab.ours.json('push', cwd=lab.path('rival'), code=5)
    reference_reads(lab, key, 'ours', commits=2)
