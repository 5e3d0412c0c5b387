"""h. Random work: two clones of one vault, each step made by a random tool; nothing may be lost, both always agree."""
from roundtrip.harness import case, files_of, same_keys

STEPS = 14


def random_edit(lab, clone, mine):
    """A few edits in the part of the vault that belongs to this clone, so that merges are clean."""
    names = [f'{mine}/{folder}{name}' for folder in ('', 'a/', 'a/b/', 'c d/') for name in ('x.txt', 'y.bin', 'z\u00e9')]
    present = {path.decode() for path in files_of(lab.path(clone))}
    for _ in range(lab.random.randrange(1, 5)):
        name = lab.random.choice(names)
        if name in present and lab.random.random() < 0.3:
            lab.drop(clone, name)
            present.discard(name)
        else:
            lab.put(clone, name, lab.bytes(lab.random.choice([0, 1, 100, 5000])))
            present.add(name)
    lab.put(clone, f'{mine}/always', lab.bytes(8))


def walk(lab):
    key = lab.key()
    lab.reference.init('one', key, lab.host, lab.root)
    lab.some_files('one')
    lab.reference.commit(lab.path('one'), 'start')
    lab.reference.push(lab.path('one'), lab.host)
    lab.ours.clone(key, 'two', lab.host, cwd=lab.root)
    story = []
    try:
        for _ in range(STEPS):
            clone = lab.random.choice(['one', 'two'])
            tool = lab.random.choice(['vaultctl', 'sgit'])
            action = lab.random.choice(['commit', 'commit', 'pull', 'publish'])
            story.append(f'{tool} {action} in {clone}')
            step(lab, clone, tool, action)
        for clone in ('one', 'two', 'one'):
            story.append(f'vaultctl publishes {clone}')
            step(lab, clone, 'vaultctl', 'publish')
        lab.same_files('one', 'two')
        lab.reference.clone(key, 'fresh', lab.host, lab.root)
        lab.same_files('one', 'fresh')
        lab.both_agree('fresh')
    except Exception as error:
        raise AssertionError(f'{error}\nafter: ' + ', '.join(story)) from error


def step(lab, clone, tool, action):
    directory = lab.path(clone)
    if action == 'commit':
        random_edit(lab, clone, f'of {clone}')
        lab.ours.commit(directory, 'random') if tool == 'vaultctl' else lab.reference.commit(directory, 'random')
    before = {path: digest for path, digest in files_of(directory).items() if path.startswith(f'of {clone}'.encode())}
    if action in ('pull', 'publish'):
        lab.ours.pull(directory) if tool == 'vaultctl' else lab.reference.pull(directory)
    if action == 'publish':
        lab.ours.push(directory) if tool == 'vaultctl' else lab.reference.push(directory, lab.host)
    after = {path: digest for path, digest in files_of(directory).items() if path.startswith(f'of {clone}'.encode())}
    same_keys(after, before, f'{action} changed the work of this clone')
    lab.both_agree(clone)


def register(rounds):
    for number in range(rounds):
        case(f'h.random.{number}')(walk)
