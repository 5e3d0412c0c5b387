"""m. What the reference does wrong on the wire (its known weaknesses K5 to K30), done right; wrong answers refused.

Those that concern sync are in `m_sync_weaknesses`, with the list of what is tested elsewhere.
"""
import base64
import json
import os
import urllib.request

from cases.m_sync_weaknesses import blob_of, changed, every_server, ids, made_here, two_clones
from reliability.fault_proxy import Fault, FaultProxy, replace_reads, swap_objects
from roundtrip.harness import case, equal
from roundtrip.stand_in import own, stand_in


def proxy_of(url):
    return FaultProxy(int(url.rsplit(':', 1)[1]))


def derived(lab, clone):
    return lab.ours.json('keys', 'derive', '--show-secrets', '-y', cwd=lab.path(clone))


def post(url, document):
    request = urllib.request.Request(url, json.dumps(document).encode(), method='POST')
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read()


def log_of(url):
    """Method, path and size of the body of every request that the stand-in answered, and the writes in it."""
    with urllib.request.urlopen(f'{url}/_test/log', timeout=20) as answer:
        exchanges = json.load(answer)
    for exchange in exchanges:
        body = base64.b64decode(exchange['body_b64'])
        operations = json.loads(body)['operations'] if '/batch/' in exchange['path'] else []
        yield (exchange['method'], exchange['path'], len(body),
               [operation for operation in operations if operation['op'] != 'read'])


def writes_of(url):
    return [operation for *_, operations in log_of(url) for operation in operations]


def destroy(lab, url, clone):
    keys = derived(lab, clone)
    vault = keys['vault_id']
    request = urllib.request.Request(
        f'{url}/api/vault/destroy/{vault}', json.dumps(dict(vault_id=vault)).encode(), method='DELETE',
        headers={'x-sgraph-vault-write-key': keys['write_key'], 'Content-Type': 'application/json'})
    with urllib.request.urlopen(request, timeout=20) as answer:
        equal(answer.status, 200, 'destroy')


# ---------------------------------------------------------------- writes

@every_server('m.K5')
def gateway_errors_after_the_swap(lab, url):
    """502 and 504 after the compare-and-swap took effect: the push has succeeded, once, and says so."""
    with proxy_of(url) as proxy:
        key = made_here(lab, proxy.url)
        for kind in (502, 504):
            mine = changed(lab, 'a', f'{kind}.txt')
            struck = []

            def fate(request):
                if request.is_write and not struck:
                    struck.append(request.number)
                    return Fault(kind, 'after')
            proxy.set(fate)
            pushed = lab.ours.push(lab.path('a'))
            equal((pushed['result'], pushed['new'], len(struck)), ('pushed', mine, 1), 'push')
            proxy.set(lambda request: None)
        lab.ours.clone(key, 'c', url, cwd=lab.root)
        equal(ids(lab, 'c'), ids(lab, 'a'), 'history on the server')


@every_server('m.K16')
def destroyed_is_told_once(lab, url):
    """A first push under the id of a destroyed vault: one write is refused, nothing else is tried, exit 6."""
    with proxy_of(url) as proxy:
        with open(os.open(lab.path('key'), os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='ascii') as file:
            file.write(made_here(lab, proxy.url))
        destroy(lab, url, 'a')
        lab.ours.json('init', 'again', '--server', proxy.url, '--key-file', lab.path('key'), cwd=lab.root)
        writes = []
        proxy.set(lambda request: writes.append(request.method) if request.is_write else None)
        refused = lab.ours.json('push', cwd=lab.path('again'), code=6)['error']
        equal(writes, ['POST'], 'writes')
        equal('destroyed' in refused['message'] + (refused['hint'] or ''), True, f'told as destroyed: {refused}')


@case('m.K18')
def no_single_puts(lab):
    """A batch that is refused is never sent file by file; a ref never goes by PUT, whatever the server lacks."""
    with stand_in(lab) as url:
        made_here(lab, url)
        lab.ours.json('config', 'set', 'net.retries', '1', cwd=lab.path('a'))
        for status, codes in {401: {6}, 403: {6}, 500: {7}, 502: {7}, 405: {7, 9}, 501: {7, 9}}.items():
            mine = changed(lab, 'a', f'{status}.txt')
            post(f'{url}/_test/reset', {})
            post(f'{url}/_test/fault', dict(match='/batch/', body_has='write-if-match', status=status, count=99))
            code = lab.ours.run('push', cwd=lab.path('a'), code=None).code
            equal(code in codes, True, f'{status} ended with {code}')
            puts = [path for method, path, *_ in log_of(url) if method == 'PUT']
            if status in (405, 501):
                puts = [path for path in puts if 'refs' in path]
            equal(puts, [], f'files sent one by one after {status}')
            post(f'{url}/_test/reset', {})
            equal(lab.ours.push(lab.path('a'))['new'], mine, 'the next push')


@case('m.K21')
def names_do_not_block_a_push(lab):
    """A tracked file that a user named `*.conflict` is a file."""
    with own(lab) as url:
        key = made_here(lab, url)
        changed(lab, 'a', 'notes.conflict')
        lab.ours.push(lab.path('a'))
        lab.ours.clone(key, 'c', url, cwd=lab.root)
        lab.same_files('a', 'c')


@case('m.K22')
def sends_each_object_once(lab):
    """A large file travels once, and a push sends what changed: commit, blob and the trees on the way."""
    with stand_in(lab, '--presigned') as url:
        lab.ours.json('init', 'a', '--server', url, cwd=lab.root)
        lab.some_files('a')
        lab.put('a', 'large.bin', lab.bytes(6 << 20))
        lab.ours.commit(lab.path('a'), 'first')
        lab.ours.push(lab.path('a'))
        sent = [size for _, path, size, _ in log_of(url) if path.startswith('/_s3/')]
        equal((len(sent), sum(sent) < (6 << 20) + 100), (1, True), f'transfers of the large file, bytes: {sent}')
        written = [operation['file_id'] for operation in writes_of(url)]
        equal(len(written), len(set(written)), 'files written twice')
        post(f'{url}/_test/reset', {})
        changed(lab, 'a', 'docs/guide/deep/er/note.txt')
        equal(lab.ours.push(lab.path('a'))['objects'], 7, 'commit, blob, and the trees of four folders and the root')
        written = writes_of(url)
        equal(len([operation for operation in written if 'obj-cas-imm' in operation['file_id']]), 7, 'objects sent')
        equal(sum(len(operation['data']) for operation in written) < 20_000, True, 'bytes sent')


@case('m.K26')
def believes_the_server_not_itself(lab):
    """What an interrupted push had sent is gone from the server: the next one sends it again before the ref."""
    with stand_in(lab) as url:
        key = made_here(lab, url)
        vault = derived(lab, 'a')['vault_id']
        lab.ours.json('config', 'set', 'net.retries', '1', cwd=lab.path('a'))
        for number in range(120):
            lab.put('a', f'many/{number}', lab.text(2))
        lab.ours.commit(lab.path('a'), 'many')
        post(f'{url}/_test/reset', {})
        post(f'{url}/_test/fault', dict(match='/batch/', body_has='refs/ref-pid-muw', skip=1, status=403, count=1))
        lab.ours.json('push', cwd=lab.path('a'), code=6)
        sent = {operation['file_id'] for operation in writes_of(url)}
        equal(len(sent) > 100, True, f'{len(sent)} objects were sent before the push was stopped')
        for file_id in sorted(name for name in sent if 'obj-cas-imm' in name)[::2]:
            post(f'{url}/_test/plant', dict(vault=vault, file=file_id, data=None))
        lab.ours.clone(key, 'old', url, cwd=lab.root)
        lab.ours.push(lab.path('a'))
        lab.ours.clone(key, 'c', url, cwd=lab.root)
        lab.same_files('a', 'c')
        lab.ours.fsck(lab.path('c'))


@case('m.K29')
def short_ids_stay_at_home(lab):
    """An id that no server takes is refused before a vault gets it; an existing vault is never sent."""
    with stand_in(lab) as url:
        with open(os.open(lab.path('key'), os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='ascii') as file:
            file.write('a passphrase of some length:abc12')
        lab.ours.json('init', 'x', '--server', url, '--key-file', lab.path('key'), cwd=lab.root, code=2)
        equal(os.path.exists(lab.path('x')), False, 'a refused vault')
        lab.reference.init(lab.path('sgit'), 'a passphrase of some length:abc12', url, lab.root)
        lab.ours.json('push', cwd=lab.path('sgit'), code=9)
        equal([path for _, path, *_ in log_of(url)], [], 'requests')


@case('m.unconfirmed_upload.presigned', step='/presigned/complete/', options=('--presigned',))
@case('m.unconfirmed_upload.plain', step='PUT /api/vault/write/', options=())
def unconfirmed_upload(lab, step, options):
    """Somebody else answers 200 for the server to the step that counts of a large upload: that is no success."""
    with stand_in(lab, *options) as url:
        key = made_here(lab, url)
        lab.ours.json('config', 'set', 'net.retries', '1', cwd=lab.path('a'))
        lab.put('a', 'large.bin', lab.bytes(5 << 20))
        lab.ours.commit(lab.path('a'), 'large')
        post(f'{url}/_test/fault', dict(match=step, status='garbage'))
        lab.ours.refused('push', code=7, error='server_error', cwd=lab.path('a'))
        lab.ours.push(lab.path('a'))
        lab.ours.clone(key, 'c', url, cwd=lab.root)
        lab.same_files('a', 'c')


# ---------------------------------------------------------------- reads

@case('m.K10')
def a_gap_fails_the_clone(lab):
    """A commit that the server has lost: the clone fails and leaves nothing; and it is told by its id (K20 too)."""
    with stand_in(lab) as url:
        key = made_here(lab, url)
        vault, lost = derived(lab, 'a')['vault_id'], changed(lab, 'a', 'one.txt')
        changed(lab, 'a', 'two.txt')
        lab.ours.push(lab.path('a'))
        post(f'{url}/_test/plant', dict(vault=vault, file=f'bare/data/{lost}', data=None))
        before = sorted(os.listdir(lab.root))
        refused = lab.ours.json('clone', '-', 'c', '--server', url, cwd=lab.root, stdin=key, code=8)['error']
        equal((refused['code'], refused['object']), ('object_missing', lost), str(refused))
        equal(sorted(os.listdir(lab.root)), before, 'what a failed clone left')


@every_server('m.K15')
def gone_is_not_in_sync(lab, url):
    """A server that is not there, and a vault that was destroyed: no success, and never told as in sync."""
    with proxy_of(url) as proxy:
        two_clones(lab, proxy.url)
        lab.ours.json('config', 'set', 'net.retries', '1', cwd=lab.path('b'))
        proxy.set(lambda request: Fault('drop'))
        for verb in ('pull', 'fetch'):
            lab.ours.refused(verb, code=7, error='unreachable', cwd=lab.path('b'))
        lab.ours.json('status', '--fetch', cwd=lab.path('b'), code=7)
        changed(lab, 'b', 'mine.txt')
        lab.ours.refused('push', code=7, error='unreachable', cwd=lab.path('b'))
        proxy.set(lambda request: None)
        destroy(lab, url, 'a')
        for verb in ('pull', 'push'):
            equal(lab.ours.run(verb, cwd=lab.path('b'), code=None).code, 8, f'{verb} from a destroyed vault')
        answer = lab.ours.run('status', '--fetch', '--json', cwd=lab.path('b'), code=None)
        in_sync = answer.code == 0 and answer.json()['remote']['state'] == 'up_to_date'
        equal(in_sync, False, f'told as in sync: {answer}')
        lab.ours.fsck(lab.path('b'))


@every_server('m.K19')
def leaves_no_key_behind(lab, url):
    """Commands that fail half-way leave no key outside `local`, nor in the folder for temporary files."""
    with proxy_of(url) as proxy:
        key = two_clones(lab, proxy.url)
        keys = derived(lab, 'a')
        marks = [key.encode(), keys['read_key'].encode(), bytes.fromhex(keys['read_key']), keys['write_key'].encode()]
        lab.ours.json('config', 'set', 'net.retries', '1', cwd=lab.path('b'))
        for number in range(4):
            changed(lab, 'a', f'{number}.txt')
            lab.ours.push(lab.path('a'))
            wrong = Fault('edit', 'after', edit=swap_objects)
            proxy.set(lambda request: wrong if request.operations and request.number == number
                      else Fault('drop', 'after') if request.number == number + 1 else None)
            lab.ours.run('pull', cwd=lab.path('b'), code=None)
            proxy.set(lambda request: Fault(500) if request.number == number else None)
            lab.ours.run('clone', '-', f'c{number}', '--server', proxy.url, cwd=lab.root, stdin=key, code=None)
            proxy.set(lambda request: None)
        for folder, _, names in os.walk(lab.root):
            if os.path.basename(folder) in ('local', 'vaultctl') and '.sg_vault' in folder:
                continue
            for name in names:
                with open(os.path.join(folder, name), 'rb') as file:
                    content = file.read()
                equal([mark for mark in marks if mark in content], [], f'keys in {os.path.join(folder, name)}')


@every_server('m.K20')
def a_failed_clone_can_be_tried_again(lab, url):
    """A clone that failed leaves its folder as it was: none, or an empty one; the same command then succeeds."""
    with proxy_of(url) as proxy:
        key = made_here(lab, proxy.url)
        os.makedirs(lab.path('empty'))
        for name in ('none', 'empty'):
            for number in range(3):
                before = sorted(os.listdir(lab.root))
                proxy.set(lambda request: Fault(500) if request.number == number else None)
                lab.ours.json('clone', '-', name, '--server', proxy.url, cwd=lab.root, stdin=key, code=7)
                equal(sorted(os.listdir(lab.root)), before, 'what is there')
                equal(os.listdir(lab.path('empty')), [], 'what is in the empty folder')
            proxy.set(lambda request: None)
            lab.ours.clone(key, name, proxy.url, cwd=lab.root)
            lab.same_files('a', name)


@every_server('m.K23')
def large_files_are_asked_for_alone(lab, url):
    """Behind a gateway that lets no answer above 6 MB through, a clone of large and middling files comes through."""
    with proxy_of(url) as proxy:
        key = made_here(lab, url)
        for number in range(3):
            lab.put('a', f'large{number}.bin', lab.bytes(5 << 20))
        for number in range(12):
            lab.put('a', f'middle{number}.bin', lab.bytes(1 << 20))
        lab.ours.commit(lab.path('a'), 'large')
        lab.ours.push(lab.path('a'))
        proxy.set(lambda request: Fault('gateway', 'after', count=6_000_000) if '/batch/' in request.target else None)
        lab.ours.clone(key, 'c', proxy.url, cwd=lab.root)
        lab.same_files('a', 'c')
        lab.ours.fsck(lab.path('c'))


def repaired(lab, url, content):
    """A damaged object of the clone is noticed, and replaced by the server's."""
    two_clones(lab, url)
    path = lab.path('b', '.sg_vault', 'bare', 'data', blob_of(lab, 'b', 'README.md'))
    with open(path, 'rb') as file:
        honest = file.read()
    os.chmod(path, 0o600)
    with open(path, 'wb') as file:
        file.write(content(honest))
    lab.ours.json('fsck', cwd=lab.path('b'), code=8)
    lab.ours.json('cat', 'README.md', cwd=lab.path('b'), code=8)
    lab.ours.json('fsck', '--repair', cwd=lab.path('b'))
    with open(path, 'rb') as file:
        equal(file.read() == honest, True, 'the object is whole again')
    lab.ours.fsck(lab.path('b'))


@every_server('m.K13')
def truncated_objects_are_fetched_again(lab, url):
    """An object that a crash left half written."""
    repaired(lab, url, lambda honest: honest[:len(honest) // 2])


@every_server('m.K30')
def corrupt_objects_are_replaced(lab, url):
    """An object with other bytes than its id says."""
    repaired(lab, url, lambda honest: honest[:-1] + bytes([honest[-1] ^ 1]))


# ---------------------------------------------------------------- wrong answers

@every_server('m.wrong_answers')
def wrong_answers(lab, url):
    """Swapped objects and a rolled-back ref are refused (8), a stale ref loses (5); then all goes on."""
    with proxy_of(url) as proxy:
        key = two_clones(lab, proxy.url)
        keys = derived(lab, 'a')
        ref, refs = 'bare/refs/' + keys['ref_file_id'], []

        def remember():
            target = f'{url}/api/vault/read/{keys["vault_id"]}/{ref.replace("/", "%2F")}'
            with urllib.request.urlopen(target, timeout=20) as answer:
                refs.append(answer.read())

        def show(held):
            wrong = Fault('edit', 'after', edit=replace_reads(lambda file_id, data: held if file_id == ref else None))
            proxy.set(lambda request: wrong if request.operations and not request.is_write else None)
        remember()
        changed(lab, 'a', 'one.txt')
        lab.ours.push(lab.path('a'))
        remember()
        # Objects under each other's names: nothing of them is kept.
        proxy.set(lambda request: Fault('edit', 'after', edit=swap_objects) if request.operations else None)
        lab.ours.refused('pull', code=8, error='object_corrupt', cwd=lab.path('b'))
        lab.ours.refused('clone', '-', 'c', '--server', proxy.url, code=8, error='object_corrupt', cwd=lab.root,
                         stdin=key)
        # The state that this clone has seen, though there is a newer one: its swap fails.
        changed(lab, 'b', 'two.txt')
        show(refs[0])
        equal(lab.ours.pull(lab.path('b'))['result'], 'up_to_date', 'pull of a stale ref')
        lab.ours.refused('push', code=5, error='remote_moved', cwd=lab.path('b'))
        proxy.set(lambda request: None)
        lab.ours.push(lab.path('b'), '--pull')
        # A state from before what this clone has accepted.
        changed(lab, 'b', 'three.txt')
        for held in refs:
            show(held)
            lab.ours.refused('pull', code=8, error='ref_rewound', cwd=lab.path('b'))
            lab.ours.refused('push', code=8, error='ref_rewound', cwd=lab.path('b'))
            lab.ours.refused('push', '--pull', code=8, error='ref_rewound', cwd=lab.path('b'))
        proxy.set(lambda request: None)
        lab.ours.push(lab.path('b'))
        lab.ours.pull(lab.path('a'))
        lab.same_files('a', 'b')
        lab.both_agree('b')
