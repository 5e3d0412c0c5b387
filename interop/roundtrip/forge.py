"""A vault in a folder whose contents can be forged: valid encryption around whatever a test wants to say.

Everything is sealed with the reference's own cryptography, so what vaultctl meets is authentic ciphertext with a hostile,
damaged or absurd meaning, as somebody who holds the read key could publish it.
"""
import json
import os

from roundtrip.reference import CRYPTO, keys_of


class Forge:
    """A vault made by the reference and published in the lab's folder, with one file `kept.txt` in `folder/`."""

    def __init__(self, lab, key=None):
        self.lab, self.key = lab, key or lab.key()
        keys = keys_of(self.key)
        self.read_key, self.vault_id, self.hex_key = keys['read_key_bytes'], keys['vault_id'], keys['read_key']
        self.ref = 'bare/refs/' + keys['ref_file_id']
        self.index = 'bare/indexes/' + keys['branch_index_file_id']
        lab.reference.init('source', self.key, lab.host, lab.root)
        lab.put('source', 'folder/kept.txt', b'kept\n')
        lab.reference.commit(lab.path('source'), 'honest')
        lab.reference.push(lab.path('source'), lab.host)
        self.view = lab.reference.View(lab.path('source'))
        self.head = self.view.head()
        self.honest = self.read(self.ref)

    # ------------------------------------------------------------ files of the folder

    def path(self, file_id):
        return os.path.join(self.lab.host, file_id)

    def read(self, file_id):
        with open(self.path(file_id), 'rb') as file:
            return file.read()

    def write(self, file_id, data):
        os.makedirs(os.path.dirname(self.path(file_id)), exist_ok=True)
        with open(self.path(file_id), 'wb') as file:
            file.write(data)

    # ------------------------------------------------------------ forging

    def seal(self, plaintext):
        """A random-IV envelope over text or over what JSON makes of a value."""
        if not isinstance(plaintext, (bytes, str)):
            plaintext = json.dumps(plaintext)
        return CRYPTO.encrypt(self.read_key, plaintext.encode() if isinstance(plaintext, str) else plaintext)

    def object(self, plaintext):
        """Stores an object and returns its id."""
        sealed = self.seal(plaintext)
        object_id = CRYPTO.compute_object_id(sealed)
        self.write('bare/data/' + object_id, sealed)
        return object_id

    def text(self, value):
        return CRYPTO.encrypt_metadata_deterministic(self.read_key, value)

    def file_entry(self, name, blob=None, **changed):
        blob = blob or self.object(b'forged\n')
        return dict(dict(blob_id=blob, tree_id=None, name_enc=self.text(name), size_enc=self.text('7'),
                         content_hash_enc=self.text(CRYPTO.content_hash(b'forged\n')),
                         content_type_enc=self.text('text/plain'), large=False), **changed)

    def folder_entry(self, name, tree):
        return dict(blob_id=None, tree_id=tree, name_enc=self.text(name), size_enc=None, content_hash_enc=None,
                    content_type_enc=None, large=False)

    def tree(self, *entries):
        return self.object(dict(schema='tree_v1', entries=list(entries)))

    def commit(self, tree, parents=None, **changed):
        return self.object(dict(dict(
            schema='commit_v1', tree_id=tree, message_enc=None, branch_id='', signature=None, author_key_id=None,
            author_signature=None, parents=[self.head] if parents is None else parents, timestamp_ms=1767225600000,
            attestations=[]), **changed))

    def publish(self, commit):
        """Points `current` at a commit."""
        self.write(self.ref, self.seal(dict(commit_id=commit)))

    def publish_tree(self, *entries):
        self.publish(self.commit(self.tree(*entries)))

    def restore(self):
        self.write(self.ref, self.honest)

    def index_value(self):
        return json.loads(CRYPTO.decrypt(self.read_key, self.read(self.index)))
