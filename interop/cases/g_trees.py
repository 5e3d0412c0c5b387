"""g. Trees: vaultctl rebuilds the reference's trees byte for byte, and makes the same entries from the same files."""
import os

from roundtrip.harness import case, equal, same_keys
from cases.a_made_by_reference import VECTORS, make_vault, vector


def rebuild(lab, clone):
    """Every folder's tree is changed by a commit and changed back by the next: the second commit builds each of them
    anew from the entries (same blobs), so each must get the id, that is the bytes, that the reference gave it."""
    view = lab.reference.View(lab.path(clone))
    theirs, before = view.folders(), view.entries()
    marks = [os.path.join(folder, '.mark to take away') for folder in theirs]
    for mark in marks:
        lab.put(clone, mark, b'mark\n')
    lab.ours.commit(lab.path(clone), 'mark every folder')
    changed = lab.reference.View(lab.path(clone)).folders()
    equal(sorted(changed), sorted(theirs), 'folders')
    equal([folder for folder in theirs if changed[folder] == theirs[folder]], [], 'folders the mark did not change')
    for mark in marks:
        lab.drop(clone, mark)
    lab.ours.commit(lab.path(clone), 'take the marks away')
    view = lab.reference.View(lab.path(clone))
    # In a format 2 vault a rebuilt folder gets the long id of the same bytes, which begins with the short one it had;
    # a folder above such a one then holds another id and is not the same bytes.
    ours = view.folders()
    narrow = {folder for folder in theirs if len(theirs[folder]) < len(ours[folder])}
    same = [folder for folder in theirs if not any(below.startswith(folder + '/' if folder else '')
                                                   and below != folder for below in narrow)]
    same_keys({folder: ours[folder][:len(theirs[folder])] for folder in same},
              {folder: theirs[folder] for folder in same}, 'tree ids')
    equal(sorted(ours), sorted(theirs), 'folders')
    same_keys(view.entries(), before, 'entries')
    lab.both_agree(clone)


def of_vector(lab, name):
    folder, expected = vector(lab, name)
    lab.ours.clone(expected['vault_key'], 'clone', os.path.join(folder, 'server'), cwd=lab.root)
    rebuild(lab, 'clone')


for vector_name in VECTORS:
    case(f'g.vector.{vector_name}', name=vector_name)(of_vector)


def fresh(lab, **options):
    key = make_vault(lab, **options)
    lab.ours.clone(key, 'clone', lab.host, cwd=lab.root)
    rebuild(lab, 'clone')


case('g.fresh.default')(fresh)
case('g.fresh.signed-deflate', features=['signatures-required', 'blob-deflate'])(fresh)


@case('g.same-entries')
def same_entries(lab):
    """The same files committed by each tool give the same entries but for the blob ids (blobs have random IVs)."""
    key = lab.key()
    lab.reference.init('theirs', key, lab.host, lab.root)
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.ours.json('init', 'ours', '--key-fd', '0', cwd=lab.root, stdin=key)
    extensions = ['txt', 'md', 'json', 'html', 'css', 'js', 'py', 'png', 'jpg', 'svg', 'pdf', 'zip', 'tar.gz', 'csv', 'xml',
                  'yaml', 'swift', 'mp4', 'woff2', 'unknown', '']
    for clone in ('theirs', 'ours'):
        lab.random.seed(7)
        for number, extension in enumerate(extensions):
            lab.put(clone, f'types/file{number}.{extension}', lab.bytes(number * 37))
        for power in (0, 1, 15, 16, 17, 20, 22):
            for delta in (-1, 0, 1):
                lab.put(clone, f'sizes/{power}{delta:+}', lab.bytes(max(0, (1 << power) + delta)))
    lab.reference.commit(lab.path('theirs'), 'files')
    lab.ours.commit(lab.path('ours'), 'files')
    strip = lambda clone: {path: {name: value for name, value in entry.items() if name != 'blob_id'}
                           for path, entry in lab.reference.View(lab.path(clone)).entries().items()}
    same_keys(strip('ours'), strip('theirs'), 'entries')
