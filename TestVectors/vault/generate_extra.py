"""Makes extra.json by asking the reference (sgit-ai 0.26.0) about many odd inputs.

    python generate_extra.py OUT_FILE

Needs the sgit_ai package importable. Inputs are drawn with a fixed seed; every expected value is
what the reference, or Python's own json, fnmatch and mimetypes as the reference calls them, returned.
"""
import base64
import io
import json
import mimetypes
import random
import sys
import tempfile
import zipfile

mimetypes.knownfiles = []
mimetypes.init()

from sgit_ai.core.Vault__Ignore import Vault__Ignore
from sgit_ai.core.Vault__Secret_Guard import Vault__Secret_Guard
from sgit_ai.core.actions.index.Vault__Index_Sync import Vault__Index_Sync
from sgit_ai.schemas.Schema__Object_Commit import Schema__Object_Commit
from sgit_ai.schemas.Schema__Object_Tag import Schema__Object_Tag
from sgit_ai.storage.Vault__Index_Reader import Vault__Index_Reader
from sgit_ai.storage.Vault__Path_Guard import Vault__Path_Guard

R = random.Random(20260731)
READER, SYNC = Vault__Index_Reader(), Vault__Index_Sync()
OBJECTS = ['obj-cas-imm-0123456789ab', 'obj-cas-imm-ffffffffffff', 'obj-cas-imm-' + 'ab' * 16]


def attempt(function):
    try:
        return dict(accepted=True, result=function())
    except Exception:
        return dict(accepted=False)


def index_of(branches=(), **members):
    return READER.parse(dict(schema='branch_index_v1', branches=list(branches), **members))


def rewritten(index):
    return json.loads(READER.serialize(index))


def tag_entry():
    entry = dict(name=R.choice(['v1', 'v1', 'b', 'a/b', 'head', 'bad name', '\u00e9', 'obj-cas-imm-00']), tag_id=R.choice(OBJECTS),
                 deleted=R.random() < 0.3, timestamp_ms=R.randint(1, 4))
    for _ in range(R.choice([0, 0, 0, 1, 2])):
        member, value = R.choice([('timestamp_ms', '3'), ('timestamp_ms', -1), ('timestamp_ms', None), ('timestamp_ms', True), ('colour', 'blue'),
                                  ('deleted', 1), ('tag_id', 'x'), ('tag_id', 'OBJ-CAS-IMM-0123456789AB'), ('timestamp_ms', 10 ** 14), ('name', None)])
        entry[member] = value
    for member in list(entry):
        if R.random() < 0.04:
            del entry[member]
    return R.choice([None, 5, 'x', [1], {}]) if R.random() < 0.02 else entry


def make_tags():
    rows = []
    for _ in range(200):
        entries = [tag_entry() for _ in range(R.randint(1, 6))]
        rows.append(dict(entries=entries, rewritten=rewritten(index_of(tags=entries))['tags']))
    return rows


def branch():
    clone = R.random() < 0.5
    number = R.randint(1, 5)
    return dict(branch_id=('branch-clone-0000000%d' if clone else 'branch-named-0000000%d') % number, name=R.choice(['current', 'local', 'x', 'y']),
                branch_type='clone' if clone else 'named', head_ref_id='ref-pid-%s-00000000000%d' % (R.choice(['muw', 'snw']), R.randint(1, 3)),
                public_key_id='key-rnd-imm-0000000%d' % R.randint(1, 3), private_key_id=R.choice([None, None, 'key-rnd-imm-00000009']),
                created_at=R.choice([0, 1, 2, 3]), creator_branch=R.choice([None, 'branch-named-00000001']), display_name=R.choice([None, 'label']))


def side():
    return dict(branches=[branch() for _ in range(R.randint(0, 5))], format=R.choice([None, None, 1, 2]), min_client=R.choice([None, '', '0.24.0', '0.25.1']),
                features=sorted(R.sample(['packs', 'blob-deflate', 'ids-128', 'new-thing', 'signatures-required'], R.choice([0, 0, 1, 2]))),
                tags=[tag_entry() for _ in range(R.choice([0, 0, 1, 3]))])


def make_merges():
    rows = []
    for _ in range(80):
        local, remote = side(), side()
        merged = SYNC.merge(READER.parse(dict(schema='branch_index_v1', **local)), READER.parse(dict(schema='branch_index_v1', **remote)))
        rows.append(dict(local=local, remote=remote, merged=rewritten(merged)))
    return rows


def make_paths():
    guard, base, rows = Vault__Path_Guard(), tempfile.mkdtemp(), []
    seeds = ['.git', '.sg_vault', '.sg_vault_new', '.sg_vault_old_1', 'git~1', 'sg_vau~2', 'sg1a2b~3', '.vault__x.zip', '.vault__.zip.sha256',
             '.vault__a.zip.manifest.json', 'abcd12__2026-01-01T00-00-00Z__manual.zip', 'abcd12__2026-01-01T00-00-00Z__x_y-1.zip.sha256', '..', '.', 'a', 'a/b', '.gitignore']
    odd = ['\u200b', '\u00ad', '\ufeff', '\u202e', '\u2061', '\u2065', '\u0131', '\u017f', '\u212a', '\u0130', '\ufb06', '\ufb05', '\u00df', '\u1e9e', '\u0301', '\uff0e',
           ' ', '.', ':', ':x', '~1', '/', '\\', '\t', '\n', '\u00a0', '_', 'x', '1', '\u0661', '\uff12', '\U0001f600']
    seen = set()
    while len(seen) < 700:
        path = R.choice(seeds)
        for _ in range(R.randint(0, 3)):
            at, kind = R.randint(0, len(path)), R.random()
            if kind < 0.5:
                path = path[:at] + R.choice(odd) + path[at:]
            elif kind < 0.7:
                path = path[:at] + path[at:].upper()
            elif kind < 0.8:
                path = R.choice(seeds) + R.choice(['/', '\\', '']) + path
            elif path:
                path = path[:max(0, at - 1)] + R.choice(odd) + path[at:]
        seen.add(path)
    for path in sorted(seen):
        try:
            safe = guard.safe_join(base, path)
            normal = safe[len(base):].lstrip('/')
        except Exception:
            normal = None
        rows.append(dict(path=path, protected=bool(guard.is_protected(path)), normal=normal))
    return rows


def glob(slashes):
    parts = ['a', 'b', 'ab', '*', '**', '?', '[ab]', '[!a]', '[a-b]', '[b-a]', '[!b-a]', '[', ']', '[]a]', '[!]a]', '[a-]', '[-a]', '[a-bx-z]', '[a-b-c]', '[b-a!a]', '!', '\\', '^', '[^a]', '.', '#', ' ', '\u00e9', '[\u00e0-\u00ff]']
    return ''.join(R.choice(parts + (['/', '/', '/**/', '**/', '/**'] if slashes else [])) for _ in range(R.choice([1, 1, 2, 2, 3, 4])))


def make_ignore():
    rows, letters = [], ['a', 'a', 'a', 'b', 'b', 'ab', 'c', '-', '^', '!', '.', '\u00e9', '[', 'x']
    for _ in range(400):
        lines = [R.choice(['', '', '', '!', '/', ' ', '#']) + glob(R.random() < 0.7) + R.choice(['', '', '', '/', ' ', '//', '\r', '\u00a0']) for _ in range(R.choice([1, 1, 2, 3, 4]))]
        rules = Vault__Ignore()
        for line in lines:
            parsed = rules._parse_line(line)
            if parsed:
                rules.patterns.append(parsed)
        rules = rules.load_tracked_paths([])
        verdicts = []
        for _ in range(9):
            path = '/'.join(''.join(R.choice(letters) for _ in range(R.choice([1, 1, 1, 2]))) for _ in range(R.randint(1, 3)))
            if path.startswith('.env'):
                continue
            verdicts.append([path, bool(rules.should_ignore_file(path)), bool(rules.should_ignore_dir(path))])
        rows.append(dict(gitignore='\n'.join(lines), verdicts=verdicts))
    return rows


def value(depth=0):
    texts = ['', 'a', '"\\/', '\b\f\n\r\t\x00\x1f\x7f', 'caf\u00e9', 'cafe\u0301', '\u2028\ufeff', '\U0001f600', '\ud7ff\ue000', 'x' * 40]
    kind = R.random()
    if depth < 4 and kind < 0.25:
        return [value(depth + 1) for _ in range(R.randint(0, 4))]
    if depth < 4 and kind < 0.5:
        return {R.choice(texts) + str(R.randint(0, 3)): value(depth + 1) for _ in range(R.randint(0, 4))}
    return R.choice([None, True, False, 0, -1, 2 ** 63 - 1, -2 ** 63, R.randint(-10 ** 12, 10 ** 12)] + texts)


def make_json():
    rows = []
    for _ in range(120):
        v = value()
        rows.append(dict(python=json.dumps(v), indented=json.dumps(v, indent=2),
                         canonical=json.dumps(v, sort_keys=True, separators=(',', ':'), ensure_ascii=False), compact=json.dumps(v, separators=(',', ':'), ensure_ascii=False)))
    return rows


def make_json_texts():
    """Which texts json.loads takes, and what it makes of them (None where it refuses, or the result is no JSON of ours)."""
    texts = ['', ' ', '1', ' 1 ', '01', '-0', '-', '+1', '1.', '.5', '1.5', '1e5', '1E+5', '1e', '-1.5e-3', 'NaN', 'Infinity', '-Infinity', '-NaN', 'nan', 'true', 'True', 'nul', 'nulll',
             '"', '"\\u00e9"', '"\\u00"', '"\\uD83D\\uDE00"', '"\\x41"', '"\\/"', '"a\tb"', '"a\x7fb"', '"\u00e9"', "'a'", '[]', '[1,]', '[,1]', '[1 2]', '[1,2', '{}', '{"a":1}', '{"a":1,}',
             '{"a" 1}', '{a:1}', '{"a":1,"a":2}', '{"a":1,"b":2,"a":3}', '{1:2}', '1 2', '[1] x', '\u00a01', '\x0b1', '\r\n\t 1', '// x\n1', '9223372036854775807', '9223372036854775808', '-9223372036854775808', '\ufeff1']
    rows = []
    for text in texts:
        try:
            rows.append(dict(text=text, accepted=True, again=json.dumps(json.loads(text))))
        except Exception:
            rows.append(dict(text=text, accepted=False))
    return rows


def make_content_types():
    pieces = ['a', '.', '..', '.txt', '.TXT', '.tar', '.gz', '.GZ', '.tgz', '.Z', '.z', '.br', '.bz2', '.xz', '.svgz', '.html', ':', 'data:', 'DATA:', ',', ';', '=', 'text/html', '.json', ' ', '\u00e9', '.md', '.unknown', '.Py', '.tbz2', '.txz']
    names = set()
    while len(names) < 300:
        names.add(''.join(R.choice(pieces) for _ in range(R.randint(1, 5))))
    return [[name, mimetypes.guess_type(name)[0] or 'application/octet-stream'] for name in sorted(names)]


def make_dates():
    base = dict(branch_id='branch-named-0011223344556677', name='current', branch_type='named', head_ref_id='ref-pid-muw-0123456789ab', public_key_id='key-rnd-imm-0011223344556677')
    values = [0, 1, -1, 1.5, '12', ' 12 ', '+5', '-5', '007', 'x', '2026-01-01', '2024-02-29', '2023-02-29', '2026-13-01', '2026-00-01', '2026-01-32', '0001-01-01', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59.999Z',
              '2026-01-01T00:00:00Z', '2026-01-01T00:00:00+02:00', '2026-01-01T00:00:00-0130', '2026-01-01T00:00', '2026-01-01T24:00', '2026-01-01T00:60', '2026-01-01 10:20:30', '2026-01-01T00:00:00.1Z',
              '2026-01-01T00:00:00.123Z', '2026-01-01T00:00:00.1239Z', '2026-01-01T00:00:00,5Z', '2026-01-01T00:00:00.Z', '2026-01-01T', '2026-01-01T00:00:00ZZ', '2000-02-29T12:00:00+00:00', '1900-02-29', '2100-03-01T00:00:00Z']
    return [dict(value=v, **attempt(lambda: rewritten(index_of([dict(base, created_at=v)]))['branches'][0]['created_at'])) for v in values]


def make_commits():
    base = dict(schema='commit_v1', tree_id=OBJECTS[0], message_enc='AAAA', branch_id='branch-clone-00112233445566aa', signature=None, author_key_id=None, author_signature=None,
                parents=[OBJECTS[1]], timestamp_ms=1, attestations=[])
    cases = dict(schema=[None, '', 5, 'commit_v12 ', ' commit_v1', 'commit_v', 'Commit_v1', '_v1', 'a_v1'], tree_id=[None, '', ' OBJ-CAS-IMM-0123456789AB ', 5, True, [], 'x'],
                 message_enc=[None, '', 'A', ' AAAA ', 5, '====', '-_-_', 'A' * 1024, 'A' * 1025], branch_id=[None, '', ' BRANCH-CLONE-00112233 '],
                 signature=[None, '', 'AAAA', 'x y', 5, 'A' * 256, 'A' * 257], author_key_id=[None, '', 'x y', 'A' * 128, 'A' * 129, 5, ' abc ', 'sha256:ab'],
                 author_signature=[None, '', 'AAAA', 'x y'], parents=[None, '', {}, 'x', 5, OBJECTS, {'a': 1}, [5]], timestamp_ms=[None, '', True, ' 5 ', '+5', '-5', '0x10', 1.0, '007', 0, 99999999999999, 10 ** 14, '9' * 20],
                 attestations=[None, '', {}, [5], ['x y'], [''], ['QUJD', 'AA=='], [[]]])
    rows = [dict(member=m, value=v, **attempt(lambda: Schema__Object_Commit.from_json(dict(base, **{m: v})).json())) for m, values in cases.items() for v in values]
    return dict(base=base, cases=rows)


def make_tag_objects():
    base = dict(schema='tag_v1', name='v1.0', commit_id=OBJECTS[0], message='x', tagger_branch='branch-clone-00112233445566aa', tagger_key_id='key-rnd-imm-00112233445566bb', signature='AAAA', timestamp_ms=1)
    cases = dict(schema=[None, 'x'], name=[None, '', 'a b', 'x' * 100, 'x' * 101, 'HEAD'], commit_id=[None, '', 'x', OBJECTS[2]], message=[None, '', 'x' * 4096, 'x' * 4097, 'a\nb\tc\r', 'a\x00', 'a\x7f', '\u00e9\U0001f600', ' lead ', 5],
                 tagger_branch=[None, '', 'web-1', ' BRANCH-CLONE-00112233 '], tagger_key_id=[None, '', 'web-1', 'sha256:00112233', 'x y'], timestamp_ms=[None, '5', -1, 1.5, 0], signature=[None, '', 'x y', 'A' * 256, 'A' * 257], extra=[1])
    rows = [dict(member=m, value=v, **attempt(lambda: Schema__Object_Tag.from_json(dict(base, **{m: v})).json())) for m, values in cases.items() for v in values]
    return dict(base=base, cases=rows)


def make_zips():
    key, guard, rows = b'-----BEGIN PRIVATE KEY-----\nx', Vault__Secret_Guard(), []

    def zipped(entries, compression=zipfile.ZIP_STORED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, 'w', compression) as archive:
            for name, content in entries:
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, compression)
        return out.getvalue()

    def add(why, data):
        rows.append(dict(why=why, content_b64=base64.b64encode(data).decode(), entry=guard._secret_entry(data) or None))
    for name in ['VAULT-KEY', 'a/VAULT-KEY', 'a/b/c/VAULT-KEY', 'vault-key', 'xVAULT-KEY', 'local/vault_key', '.sg_vault/local/vault_key', 'a/b/local/vault_key', 'xlocal/vault_key', 'vault_key', 'a/vault_key',
                 'local/token', 'VAULT-KEY/', './/VAULT-KEY', 'a\\VAULT-KEY', 'a\\local\\vault_key', 'LOCAL/VAULT_KEY', 'local//vault_key', 'local/vault_key/', 'local/vault_key.txt']:
        add('name ' + name, zipped([(name, b'x')]))
    for names in [['local/token', 'bare/x'], ['local/token', '.sg_vault/x'], ['local/token', 'manifest.json'], ['local/token', 'a/manifest.json'], ['local/token', 'x/bare/y'], ['local/token', 'bare/'],
                  ['a/local/token', 'bare/x'], ['local/token', 'bare'], ['local/token', 'a/.sg_vault/x'], ['.sg_vault/local/token'], ['local/token', 'BARE/x'], ['token', 'manifest.json']]:
        add('names ' + ' '.join(names), zipped([(n, b'x') for n in names]))
    for name in ['local/k.pem', 'a/local/k.pem', 'local/a/k.pem', 'k.pem', 'local/.pem', 'local/k.PEM', '.sg_vault/local/key-rnd.pem', 'local\\k.pem']:
        add('key ' + name, zipped([(name, key)]))
    add('a public key', zipped([('local/k.pem', b'-----BEGIN PUBLIC KEY-----')]))
    add('deflated key', zipped([('local/k.pem', key * 1000)], zipfile.ZIP_DEFLATED))
    add('key after 200000 bytes', zipped([('local/k.pem', b'x' * 200000 + key)], zipfile.ZIP_DEFLATED))
    good = zipped([('VAULT-KEY', b'x')])
    add('junk in between', b'PK\x03\x04junkjunk' + good)
    add('junk after', good + b'junk')
    add('cut short', good[:-5])
    add('no directory', b'PK\x03\x04')
    add('two entries, the second is one', zipped([('a.txt', b'a'), ('x/VAULT-KEY', b'x')]))
    return rows


def main():
    data = dict(reference='sgit-ai 0.26.0', tags=make_tags(), merges=make_merges(), paths=make_paths(), ignore=make_ignore(), json=make_json(), json_texts=make_json_texts(),
                content_types=make_content_types(), dates=make_dates(), commits=make_commits(), tag_objects=make_tag_objects(), zips=make_zips())
    with open(sys.argv[1], 'w', encoding='utf-8') as out:
        out.write('{\n' + ',\n'.join(json.dumps(k) + ': ' + ('[\n' + ',\n'.join(json.dumps(r) for r in v) + '\n]' if isinstance(v, list) else json.dumps(v)) for k, v in data.items()) + '\n}\n')


main()
