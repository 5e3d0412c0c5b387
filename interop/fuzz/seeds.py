"""First inputs for every fuzzed reader, taken from the test vectors or built by hand where those hold none."""
import base64
import hashlib
import json
import os
import struct
import zlib

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'TestVectors')
OBJECT = 'obj-cas-imm-6a2cbed61ecf'
REF = 'ref-pid-muw-3fee90e52cdf'


def load(name):
    with open(os.path.join(VECTORS, name), encoding='utf-8') as file:
        return json.load(file)


def document(value):
    return json.dumps(value).encode()


def stat_cache():
    """Two entries as the program writes them: a tree, a count, prefix-compressed paths and their numbers."""
    entry = b'\x01' + struct.pack('<QQB', 7, 5, 3) + struct.pack('<Q', 9) + struct.pack('<QQQQQ', 1, 2, 5, 3, 4)
    first = struct.pack('<HH', 0, 5) + b'a.txt' + entry
    second = struct.pack('<HH', 2, 3) + b'bcd' + entry
    return b'\x02' + struct.pack('<QQI', 1, 2, 2) + first + second


def block(pem):
    """The bytes of the first PEM block of a text."""
    body = pem.split('-----BEGIN ')[1].split('-----', 1)[1].split('-----END ')[0]
    return base64.b64decode(''.join(body.split()))


def blocks(rows):
    """The bytes of every row whose text holds a readable block, which vectors of damaged texts do not."""
    for row in rows:
        try:
            yield block(row['pem'])
        except (IndexError, ValueError):
            pass


def pki_seeds():
    """Inputs for the readers of other people's keys, messages and signatures."""
    public, private, encrypted, bundles, envelopes, detached = (
        load(f'pki/{name}.json')['cases']
        for name in ('public_keys', 'private_keys', 'encrypted_keys', 'bundles', 'envelopes', 'detached'))
    links = []
    for row in bundles[:3]:
        bundle = json.loads(row['bundle'])
        parts = [block(bundle['encrypt']), block(bundle['sign']), bundle['label'].encode()]
        text = b'vaultctl-id:1.' + b'.'.join(base64.urlsafe_b64encode(part).rstrip(b'=') for part in parts)
        links.append(text + b'.' + base64.urlsafe_b64encode(hashlib.sha256(text).digest()[:6]))
    recipient = {'k': 64 * '0', 'w': base64.b64encode(bytes(512)).decode()}
    sealed = {'sealed': 1, 'r': [recipient], 'i': base64.b64encode(bytes(12)).decode(),
              'c': base64.b64encode(bytes(20)).decode(), 'h': base64.b64encode(bytes(32)).decode(),
              'f': 'sha256:' + 16 * '0', 'sf': base64.b64encode(bytes(64)).decode()}
    digest = hashlib.sha256(b'').hexdigest().encode()
    head = b'# vaultctl manifest 1\n'
    return {
        'der': list(blocks(public)) + list(blocks(private)) + list(blocks(encrypted)),
        'public-key': [row['pem'].encode() for row in public] + list(blocks(public)),
        'private-key': list(blocks(private)),
        'encrypted-key': list(blocks(encrypted)),
        'bundle': [row['bundle'].encode() for row in bundles if 'bundle' in row] + links,
        'sealed-envelope': [row['envelope'].encode() for row in envelopes if len(row.get('envelope', '')) in range(1, 4000)]
        + [base64.b64encode(json.dumps(sealed).encode())],
        'detached-signature': [row['signature_file'].encode() for row in detached if 'signature_file' in row],
        'manifest': [head, head + digest + b'  a\n', head + digest + b'  a/b\n\\' + digest + b'  c\\nd\\\\\n'],
    }


def seeds():
    """Target name to list of inputs."""
    objects, extra = load('vault/objects.json'), load('vault/extra.json')
    keys, rules = load('vault/keys.json'), load('vault/rules.json')
    texts = {name: [row['plaintext'].encode() for row in objects[name]]
             for name in ('commits', 'refs', 'indexes', 'key_objects', 'tags', 'cache')}
    trees = [tree['plaintext'].encode() for row in objects['trees'] for tree in row['trees']]
    cases = {kind: [document(row['json']) for row in objects['reader_cases'] if row['object'] == kind]
             for kind in ('tree', 'commit', 'index')}
    pems = [row['pem'].encode() for kind in ('public', 'private') for row in load(f'pki/{kind}_keys.json')['cases']
            if len(row.get('pem') or '') in range(1, 400)]
    plain = [b'', b'a', b'hostile ' * 40, bytes(range(256))]
    streams = [bytes([head]) + zlib.compress(data)[skip:len(zlib.compress(data)) - skip]
               for data in plain for head, skip in ((0xE0, 0), (0x6E, 0), (0xE1, 2), (0x01, 2))]
    journal = {'v': 1, 'steps': [{'to': f'bare/data/{OBJECT}', 'from': 'o-1'}, {'to': f'bare/refs/{REF}', 'from': None}]}
    lines = ['--json\nls\na', 'commit\n-m\nx\n--', 'log\n-qn5', 'remote\nadd\no\n/r', '-C\nx\nstatus\n--lock-timeout=2',
             'clone\n--key-file\nk\nv\nd', 'keys\nshow', 'config\nset\ncolor\nnever', 'write\na\n--message=m', 'help\n--json']
    ignores = [('\n'.join(row['gitignore']) if isinstance(row['gitignore'], list) else row['gitignore']).encode()
               for row in rules['ignore'] + extra['ignore'][:120]]
    return pki_seeds() | {
        'key-text': [row['argument'].encode() for row in keys['clone_argument_routing']]
        + [row['input'].encode() for row in keys['vault_keys'] + keys['invalid_vault_keys']]
        + [row['read_key_text'].encode() + b'\0' + row['vault_id'].encode() for row in keys['read_key_imports']],
        'envelope': plain + [zlib.compress(data) for data in plain] + trees[:3],
        'tree': trees + cases['tree'],
        'tree-entry': [b'a.txt\n5\n2cf24dba5fb0\ntext/plain', 'café\n0\n\n'.encode(), b'big.bin\n99999999999\n\nx/y',
                       b'../x\n-1', b'n\n1\n2CF24DBA5FB0\n'],
        'commit': texts['commits'] + cases['commit'],
        'ref': texts['refs'] + [b'{"commit_id": null}', b'{}'],
        'index': texts['indexes'] + cases['index'],
        'tag': texts['tags'],
        'key-object': texts['key_objects'],
        'cache-object': texts['cache'],
        'json': [row['text'].encode() for row in extra['json_texts']] + [row['python'].encode() for row in extra['json'][:40]],
        'zlib': streams,
        'zip': [base64.b64decode(row['content_b64']) for row in extra['zips']],
        'ignore': ignores + [b'*.log\n!a.log\nd/\0d/a.log', b'/**[!b-a]/\0a/b'],
        'path': [row['path'].encode() for row in rules['path_guard'] + extra['paths'][:100]],
        'pem': pems,
        'base64': [base64.b64encode(data) for data in plain + [b'f', b'fo', bytes(601)]]
        + [b'Zh==', b'Zm9=', b'====', b'Zg==Zg==', b'Z=g=', b'Zm9v\nYmFy', b'-_-_', b'Zm9vYmFy\x80m9v'],
        'config': [document({'my_branch_id': 'branch-clone-00112233445566aa', 'mode': None, 'sparse': False,
                             'last_remote_head': OBJECT, 'remote_heads_file': True, 'scope_paths': ['a'],
                             'shallow_boundaries': [OBJECT]}), b'{}', document({'mode': 'read_only', 'x': 1})],
        'settings': [document({'v': 1, 'core.cacheKeys': False, 'commit.sign': True, 'color': 'never'}),
                     document({'v': 2}), document({'a': 'b', 'secret.scan': 1})],
        'arguments': [line.encode() for line in lines],
        'folder-journal': [document(journal)],
        'clone-journal': [document({'v': 1, 'verb': 'pull', 'ref_id': REF, 'from': None, 'to': OBJECT, 'kept': ['YQ==']})],
        'stat-cache': [stat_cache(), b'\0' + bytes(4)],
        'derived-keys': [b'vctlkey2' + bytes(96), b'vctlkey1' + bytes(96)],
        'local-files': [document({REF: OBJECT}), document({'v': 1, 'remotes': {'/r': {REF: OBJECT}}}),
                        document({'ref_id': REF, 'old_commit': None, 'new_commit': OBJECT, 'timestamp_ms': 1}) + b'\n'],
    }
