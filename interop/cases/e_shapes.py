"""e. Deletes, renames, files that become folders and the reverse, in both directions and by pull."""
import os

from roundtrip.harness import case, equal


def steps(lab, clone):
    """Each step changes the working copy; its name is the commit's message."""
    def first():
        lab.some_files(clone)
        lab.put(clone, 'thing', b'a file\n')
        lab.put(clone, 'nest/one/two/three.txt', lab.text(2))
        lab.put(clone, 'swap/a', b'a\n')
        lab.put(clone, 'swap/b', b'b\n')

    def delete_one():
        lab.drop(clone, 'data/empty')

    def rename_file():
        lab.rename(clone, 'README.md', 'READ ME.md')

    def rename_folder():
        lab.rename(clone, 'docs', 'papers/docs')

    def file_to_folder():
        lab.drop(clone, 'thing')
        lab.put(clone, 'thing/inside/deep.txt', b'now a folder\n')

    def folder_to_file():
        lab.drop(clone, 'nest')
        lab.put(clone, 'nest', b'now a file\n')

    def swap():
        lab.rename(clone, 'swap/a', 'swap/c')
        lab.rename(clone, 'swap/b', 'swap/a')
        lab.rename(clone, 'swap/c', 'swap/b')

    def both_again():
        lab.drop(clone, 'thing')
        lab.put(clone, 'thing', b'a file again\n')
        lab.drop(clone, 'nest')
        lab.put(clone, 'nest/one.txt', b'a folder again\n')

    def case_only():
        lab.rename(clone, 'swap/a', 'swap/A')

    def delete_folder():
        lab.drop(clone, 'papers')

    def delete_all():
        for name in os.listdir(lab.path(clone)):
            if name != '.sg_vault':
                lab.drop(clone, name)

    def come_back():
        lab.some_files(clone)

    return [first, delete_one, rename_file, rename_folder, file_to_folder, folder_to_file, swap, both_again, case_only,
            delete_folder, delete_all, come_back]


def shapes(lab, writer):
    """The writer commits and publishes each step; a clone of the other tool pulls it."""
    key = lab.key()
    if writer == 'vaultctl':
        lab.ours.json('init', 'source', '--server', lab.host, '--key-fd', '0', cwd=lab.root, stdin=key)
    else:
        lab.reference.init('source', key, lab.host, lab.root)
    for number, step in enumerate(steps(lab, 'source')):
        step()
        message = step.__name__.replace('_', ' ')
        if writer == 'vaultctl':
            lab.ours.commit(lab.path('source'), message)
            lab.ours.push(lab.path('source'))
        else:
            lab.reference.commit(lab.path('source'), message)
            lab.reference.push(lab.path('source'), lab.host)
        if number == 0:
            if writer == 'vaultctl':
                lab.reference.clone(key, 'follower', lab.host, lab.root)
            else:
                lab.ours.clone(key, 'follower', lab.host, cwd=lab.root)
        elif writer == 'vaultctl':
            lab.reference.pull(lab.path('follower'))
        else:
            equal(lab.ours.pull(lab.path('follower'))['result'], 'fast_forward', f'pull after {message}')
        lab.same_files('source', 'follower')
        lab.both_agree('follower', commits=number + 2)
    lab.both_agree('source', commits=number + 2)
    lab.reference.clone(key, 'fresh', lab.host, lab.root)
    lab.same_files('source', 'fresh')


case('e.by-vaultctl', writer='vaultctl')(shapes)
case('e.by-sgit', writer='sgit')(shapes)
