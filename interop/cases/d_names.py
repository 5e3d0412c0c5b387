"""d. Names and sizes at the edges, in both directions; ignore rules; what is never stored."""
import os

from roundtrip.harness import case, equal, files_of, same_keys

NAMES = [
    'with space.txt', ' leading space', 'trailing space ', 'two  spaces', 'tab\there', 'new\nline', 'quote"s', "apos'trophe",
    'back\\slash', 'star*', 'question?', 'dollar$HOME', '-dash', '--option', '#hash', '~tilde', 'semi;colon', 'a&b', '(paren)',
    '\U0001f600 emoji.md', '\u65e5\u672c\u8a9e.txt', '\u0440\u0443\u0441.txt', 'caf\u00e9.txt', 'cafe\u0301.txt',
    '\u202eright-to-left', 'zero\u200bwidth', 'I\u0307', '\u0130', 'Case', 'case', '.hidden', '..two dots', '...',
    '.config/.nested/.deep', 'con', 'NUL.txt', 'trailing.', 'C:x', 'x' * 255, '\u20ac' * 85, 'noext', 'many.dots.tar.gz',
    'UPPER.PNG', 'index.HTML', '.gitignore', '.gitmodules', '.DS_Store', 'empty', 'folder name/empty/a',
]


def every_name(lab, clone):
    for number, name in enumerate(NAMES):
        lab.put(clone, name, b'' if name.endswith('empty') else f'{number} {name}\n'.encode())
    lab.put(clone, '.gitignore', b'# nothing\n')
    lab.put(clone, '/'.join(f'level {number}' for number in range(1, 41)) + '/bottom.txt', b'40 levels down\n')
    for number in range(500):
        lab.put(clone, f'five hundred/file-{number:03}.txt', f'{number}\n')
    lab.put(clone, 'large.bin', lab.bytes(20 * 1024 * 1024))
    return len(files_of(lab.path(clone)))


@case('d.names.vaultctl-to-sgit')
def ours_to_theirs(lab):
    key = lab.key()
    lab.ours.json('init', 'ours', '--server', lab.host, '--key-fd', '0', cwd=lab.root, stdin=key)
    count = every_name(lab, 'ours')
    added = lab.ours.commit(lab.path('ours'), 'names')['added']
    equal(added, count, 'files committed')
    lab.ours.push(lab.path('ours'))
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.same_files('ours', 'theirs')
    lab.both_agree('ours', commits=2)
    lab.both_agree('theirs', commits=2)


@case('d.names.sgit-to-vaultctl')
def theirs_to_ours(lab):
    key = lab.key()
    lab.reference.init('theirs', key, lab.host, lab.root)
    every_name(lab, 'theirs')
    lab.reference.commit(lab.path('theirs'), 'names')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.ours.clone(key, 'ours', lab.host, cwd=lab.root)
    lab.same_files('ours', 'theirs')
    lab.both_agree('ours', commits=2)
    for name in NAMES:
        if not name.startswith('-') and '\n' not in name:
            shown = lab.ours.run('cat', '--', name, cwd=lab.path('ours')).out
            with open(lab.path('theirs', name), 'rb') as file:
                equal(shown, file.read(), f'cat {name!r}')


IGNORE_LINES = ['*.log', '!keep.log', 'build/', '/anchored', 'docs/*.tmp', '**/cache', 'a/**/z', 'logs/**', '[ab].txt', '[!x]y',
                '\\#literal', '#comment', '  spaced.txt  ', 'foo*bar', 'sub/only/', '*.tmp', '!docs/', '?', 'a**b', 'x/y']
IGNORE_NAMES = ['x.log', 'keep.log', 'a.txt', 'b.txt', 'c.txt', 'y', 'xy', 'anchored', 'n.tmp', 'z', 'cache', '#literal',
                '#comment', 'spaced.txt', 'foobar', 'fooXbar', 'only', 'q', 'a-b', '.env', '.env.example', '.envrc', 'id_rsa',
                '.npmrc', '.DS_Store', 'plain.md']
IGNORE_FOLDERS = ['', 'build', 'docs', 'a', 'a/m', 'a/m/n', 'logs', 'logs/old', 'sub', 'sub/only', 'x', 'node_modules', '.git',
                  '.github', 'cache', 'deep/cache', '.venv', 'x/y']


def ignored(lab):
    """Random `.gitignore` files over a tree of likely names: both tools track the same paths."""
    lines = lab.random.sample(IGNORE_LINES, lab.random.randrange(1, 8))
    tracked = {}
    for clone in ('ours', 'theirs'):
        key = lab.key()
        if clone == 'ours':
            lab.ours.json('init', clone, '--key-fd', '0', cwd=lab.root, stdin=key)
        else:
            lab.reference.init(clone, key, lab.host, lab.root)
        lab.put(clone, 'docs/tracked.tmp', b'before the rules\n')
        lab.put(clone, 'build/tracked', b'before the rules\n')
        commit = lab.ours.commit if clone == 'ours' else lab.reference.commit
        commit(lab.path(clone), 'before')
        lab.put(clone, '.gitignore', '\n'.join(lines) + '\n')
        for folder in IGNORE_FOLDERS:
            os.makedirs(lab.path(clone, folder), exist_ok=True)
        for folder in IGNORE_FOLDERS:
            for name in IGNORE_NAMES:
                path = os.path.join(folder, name)
                if not os.path.isdir(lab.path(clone, path)):
                    lab.put(clone, path, b'content\n')
        commit(lab.path(clone), 'after')
        tracked[clone] = {path: entry['content_type']
                          for path, entry in lab.reference.View(lab.path(clone)).entries().items()}
    same_keys(tracked['ours'], tracked['theirs'], f'tracked paths with .gitignore {lines!r}')
    lab.ours.status_is_clean(lab.path('theirs'))
    lab.reference.status_is_clean(lab.path('ours'))


def register(rounds):
    for number in range(rounds):
        case(f'd.ignore.{number}')(ignored)


@case('d.not-stored')
def not_stored(lab):
    """Links, pipes and empty folders stay out of the vault, and out of each other's way."""
    key = lab.key()
    lab.ours.json('init', 'ours', '--server', lab.host, '--key-fd', '0', cwd=lab.root, stdin=key)
    lab.some_files('ours')
    os.symlink('README.md', lab.path('ours', 'a link'))
    os.symlink('docs', lab.path('ours', 'a folder link'))
    os.mkfifo(lab.path('ours', 'a pipe'))
    os.makedirs(lab.path('ours', 'an empty folder'))
    answer = lab.ours.commit(lab.path('ours'), 'first')
    equal(sorted(entry['path'] for entry in answer['skipped']), ['a folder link', 'a link', 'a pipe'], 'skipped')
    lab.both_agree('ours', commits=2)
    lab.ours.push(lab.path('ours'))
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    equal(sorted(files_of(lab.path('theirs'))),
          sorted(path for path, digest in files_of(lab.path('ours')).items() if len(digest) == 64), 'files')
    lab.put('ours', 'still here', b'x')                     # a link put over a tracked file is no deletion
    lab.drop('ours', 'data/random.bin')
    os.symlink('empty', lab.path('ours', 'data/random.bin'))
    lab.ours.commit(lab.path('ours'), 'second')
    equal('data/random.bin' in lab.reference.View(lab.path('ours')).entries(), True, 'a linked file keeps its entry')
