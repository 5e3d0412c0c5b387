"""i. Hostile, damaged and absurd vaults: a clear error, the right exit code, nothing left behind, nothing written elsewhere."""
import json
import os
import shutil

from roundtrip.forge import Forge
from roundtrip.harness import Skipped, case, equal, files_of, read_json, same_keys, tree_of


def refused_clone(lab, forge, why, codes, error=None):
    """A clone that must fail with one of `codes`, and leave nothing."""
    outside = tree_of(lab.host)
    answer = lab.ours.json('clone', '-', 'clone', '--server', lab.host, cwd=lab.root, stdin=forge.key, code=None)
    if answer['ok']:
        raise AssertionError(f'{why}: cloned')
    equal(answer['exit'] in codes, True, f'{why}: exit {answer["exit"]}, {answer["error"]}')
    if error:
        equal(answer['error']['code'], error, f'{why}: error')
    equal(sorted(os.listdir(lab.root)), ['remote', 'source'], f'{why}: left behind')
    same_keys(tree_of(lab.host), outside, f'{why}: the folder changed')


@case('i.hostile-names')
def hostile_names(lab):
    """Every path the reference refuses to write, as an entry of an authentic tree; whole and split into folders."""
    rules = os.path.join(os.path.dirname(lab.vectors), 'rules.json')
    if not os.path.exists(rules):
        raise Skipped(f'no {rules}')
    forge, count = Forge(lab), 0
    for rule in read_json(rules)['path_guard']:
        path = rule['path']
        if rule['writable'] and not rule['protected'] or path == '' or path.startswith('link'):
            continue
        forge.publish_tree(forge.file_entry('first.txt'), forge.file_entry(path))
        refused_clone(lab, forge, f'{path!r}', {8}, 'unsafe_path')
        count += 1
        parts = path.split('/')
        if len(parts) > 1 and all(parts):
            tree = forge.tree(forge.file_entry(parts[-1]))
            for part in reversed(parts[1:-1]):
                tree = forge.tree(forge.folder_entry(part, tree))
            forge.publish_tree(forge.folder_entry(parts[0], tree))
            refused_clone(lab, forge, f'{path!r} as folders', {8}, 'unsafe_path')
    equal(count > 30, True, 'number of hostile paths')


@case('i.hostile-pull')
def hostile_pull(lab):
    """The same in a pull: the clone keeps its files and its head."""
    forge = Forge(lab)
    lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)
    before = files_of(lab.path('clone'))
    for path in ('../escape', '.git/hooks/post-checkout', '.sg_vault/local/base_url', '/etc/passwd', 'a/../../b', '.GIT/config'):
        forge.publish_tree(forge.file_entry('kept too.txt'), forge.file_entry(path))
        lab.ours.refused('pull', cwd=lab.path('clone'), code=8, error='unsafe_path')
        same_keys(files_of(lab.path('clone')), before, f'files after a pull of {path!r}')
        equal(lab.ours.log(lab.path('clone'))[0]['id'], forge.head, f'head after a pull of {path!r}')
    forge.restore()
    equal(lab.ours.pull(lab.path('clone'))['result'], 'up_to_date', 'pull when all is well again')
    lab.both_agree('clone', commits=2)


@case('i.through-a-link')
def through_a_link(lab):
    """A link in the working copy is never written through."""
    forge = Forge(lab)
    lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)
    os.makedirs(lab.path('elsewhere'))
    shutil.rmtree(lab.path('clone', 'folder'))
    os.symlink(lab.path('elsewhere'), lab.path('clone', 'folder'))
    forge.publish_tree(forge.folder_entry('folder', forge.tree(forge.file_entry('kept.txt'), forge.file_entry('new.txt'))))
    lab.ours.json('pull', cwd=lab.path('clone'), code=None)
    equal(os.listdir(lab.path('elsewhere')), [], 'files behind the link')


@case('i.two-names')
def two_names(lab):
    """Two entries of one name: the later one wins, as in the reference."""
    forge = Forge(lab)
    forge.publish_tree(forge.file_entry('twice', forge.object(b'first\n')), forge.file_entry('twice', forge.object(b'second\n')))
    lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)
    lab.reference.clone(forge.key, 'theirs', lab.host, lab.root)
    lab.same_files('clone', 'theirs')


@case('i.depth')
def depth(lab):
    """A tree thousands of levels deep is refused by name; the program does not run out of stack."""
    forge = Forge(lab)
    tree = forge.tree(forge.file_entry('bottom'))
    for _ in range(6000):
        tree = forge.tree(forge.folder_entry('d', tree))
    forge.publish(forge.commit(tree))
    refused_clone(lab, forge, '6000 levels', {8})


def damaged(lab, what):
    """One file of the published vault is damaged in every way; clone refuses, and a repaired folder is cloned."""
    forge = Forge(lab)
    commit = forge.view.commit(forge.head)
    folders, entries = forge.view.folders(), forge.view.entries()
    file_id = {'commit': 'bare/data/' + forge.head, 'tree': 'bare/data/' + commit['tree'],
               'subtree': 'bare/data/' + folders['folder'], 'blob': 'bare/data/' + entries['folder/kept.txt']['blob_id'],
               'ref': forge.ref, 'index': forge.index}[what]
    other = 'bare/data/' + (commit['parents'][0] if what == 'commit' else forge.head)
    good = forge.read(file_id)
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 4
    faults = {'truncated': good[:-1], 'cut to 10 bytes': good[:10], 'empty': b'', 'one bit': bytes(flipped),
              'longer': good + b'\0', 'swapped': forge.read(other), 'text': b'{"commit_id": "obj-cas-imm-000000000000"}'}
    for why, data in faults.items():
        forge.write(file_id, data)
        refused_clone(lab, forge, f'{what} {why}', {8})
    if what not in ('index', 'ref'):                       # without an index a vault is read by its derived ref
        os.remove(forge.path(file_id))
        refused_clone(lab, forge, f'{what} missing', {8})
    forge.write(file_id, good)
    lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)
    lab.both_agree('clone', commits=2)

    # the same at rest: fsck tells, repairs from the folder, and tells that all is well
    local = lab.path('clone', '.sg_vault', file_id)
    if what in ('ref', 'index'):
        return
    for why, data in faults.items():
        with open(local, 'wb') as file:
            file.write(data)
        found = lab.ours.json('fsck', cwd=lab.path('clone'), code=8)
        equal(len(found.get('corrupt', [])) + len(found.get('missing', [])) > 0, True, f'{what} {why}: fsck')
        repaired = lab.ours.json('fsck', '--repair', cwd=lab.path('clone'))
        equal(len(repaired['repaired']), 1, f'{what} {why}: repaired')
        lab.both_agree('clone', commits=2)


for damaged_kind in ('commit', 'tree', 'subtree', 'blob', 'ref', 'index'):
    case(f'i.damaged.{damaged_kind}', what=damaged_kind)(damaged)


@case('i.absurd-json')
def absurd_json(lab):
    """Authentic envelopes around JSON that no writer makes."""
    forge = Forge(lab)
    deep = '[' * 100_000
    nested = '{"commit_id": ' + '[' * 5000 + ']' * 5000 + '}'
    huge = '9' * 100_000
    refs = [deep, nested, '', 'null', '[]', '0', '"x"', '{}', '{"commit_id": 7}', '{"commit_id": "../../x"}', '{"commit_id": "obj-cas-imm-"}',
            '{"commit_id": "obj-cas-imm-000000000000/../x"}', '{"commit_id": ' + huge + '}', '\ufeff{}', b'\xff\xfe', b'\0' * 100,
            '{"commit_id": "' + 'a' * 1_000_000 + '"}', '{"commit_id": "obj-cas-imm-000000000000"}']
    for text in refs:
        forge.write(forge.ref, forge.seal(text))
        refused_clone(lab, forge, f'ref {text[:40]!r}', {8})
    forge.restore()

    good = forge.index_value()
    edit = lambda **members: json.dumps(dict(good, **members))
    record = good['branches'][0]
    indexes = [deep, '', 'null', '[]', '7', edit(branches=7), edit(branches=[7]), edit(branches=[dict(record, name='a/b')]),
               edit(branches=[dict(record, head_ref_id='../x')]), edit(branches=[dict(record, branch_id='x' * 100_000)]),
               edit(min_client='newest'), edit(features='packs'), edit(features=['A B'])]
    before = forge.read(forge.index)
    for text in indexes:
        forge.write(forge.index, forge.seal(text))
        refused_clone(lab, forge, f'index {text[:60]!r}', {8, 13})
    forge.write(forge.index, before)

    commits = [deep, '', '[]', '{}', json.dumps(dict(tree_id='x')), json.dumps(dict(schema='commit_v1', tree_id=7, parents=[]))]
    for text in commits:
        forge.publish(forge.object(text))
        refused_clone(lab, forge, f'commit {text[:40]!r}', {8})
    tree = forge.view.commit(forge.head)['tree']
    for changed in (dict(parents=['../x']), dict(timestamp_ms=1e400), dict(timestamp_ms=-5), dict(timestamp_ms='x'),
                    dict(message_enc='A' * 2000), dict(parents=[7])):
        text = json.dumps(json.loads(json.dumps(changed)))
        forge.publish(forge.commit(tree, **changed))
        refused_clone(lab, forge, f'commit {text[:60]}', {8})
    trees = [deep, '', '[]', '{"entries": 7}', '{"entries": [7]}', '{"entries": [{"blob_id": 7}]}']
    for text in trees:
        forge.publish(forge.commit(forge.object(text)))
        refused_clone(lab, forge, f'tree {text[:40]!r}', {8})
    entry = forge.file_entry('name')
    for changed in (dict(blob_id='../../x'), dict(blob_id='obj-cas-imm-XYZ'), dict(name_enc='!!!'), dict(name_enc=forge.text('n')[:-8]),
                    dict(blob_id='obj-cas-imm-' + 'a' * 12)):
        forge.publish_tree(dict(entry, **changed))
        refused_clone(lab, forge, f'entry with {str(changed)[:60]}', {8})


@case('i.gate')
def gate(lab):
    """Newer formats are refused by name; unknown features are not."""
    forge = Forge(lab)
    good = forge.index_value()
    for members in (dict(min_client='0.26.1'), dict(min_client='1.0.0'), dict(features=['packs']),
                    dict(min_client='99999999.0.0')):
        forge.write(forge.index, forge.seal(dict(good, **members)))
        refused_clone(lab, forge, str(members), {13}, 'format_unsupported')
    for members in (dict(min_client='0.26.0'), dict(min_client='0.9.99'), dict(features=['new-thing']), dict(format=1),
                    dict(member_of_tomorrow=dict(deep=[1, 2]))):
        forge.write(forge.index, forge.seal(dict(good, **members)))
        lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)
        lab.put('clone', 'more.txt', b'more\n')
        lab.ours.commit(lab.path('clone'), 'more')
        shutil.rmtree(lab.path('clone'))
    # what nobody knows survives our rewrite
    lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)
    lab.put('clone', 'more.txt', b'more\n')
    lab.ours.commit(lab.path('clone'), 'more')
    lab.ours.push(lab.path('clone'))
    equal(forge.index_value().get('member_of_tomorrow'), dict(deep=[1, 2]), 'an unknown member of the index')
    equal(len(forge.index_value()['branches']), len(good['branches']) + 1, 'branches after the push')


@case('i.listing')
def listing(lab):
    """Strange names lying about in the folder are no ids and are left alone."""
    forge = Forge(lab)
    for name in ('bare/data/obj-cas-imm-zzzzzzzzzzzz', 'bare/data/README', 'bare/data/.hidden', 'bare/refs/..x', 'bare/data/obj-cas-imm-',
                 'bare/data/' + 'x' * 200, 'bare/other/file', 'bare/data/obj-cas-imm-ABCDEF012345', 'bare/keys/key-rnd-imm-..'):
        forge.write(name, b'not an object')
    os.makedirs(forge.path('bare/data/obj-cas-imm-0123456789ab'))
    os.symlink('/etc/passwd', forge.path('bare/data/obj-cas-imm-aaaaaaaaaaaa'))
    lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)
    lab.same_files('source', 'clone')
    lab.both_agree('clone', commits=2)


@case('i.rewind')
def rewind(lab):
    """A folder set back to an older state is refused by a clone that saw the newer one."""
    forge = Forge(lab)
    lab.put('source', 'newer.txt', b'newer\n')
    lab.reference.commit(lab.path('source'), 'newer')
    lab.reference.push(lab.path('source'), lab.host)
    lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)
    before = files_of(lab.path('clone'))
    forge.restore()
    lab.ours.refused('pull', cwd=lab.path('clone'), code=8, error='ref_rewound')
    same_keys(files_of(lab.path('clone')), before, 'files after the refused pull')
