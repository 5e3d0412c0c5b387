"""A vault server as a plain folder, for the reference.

The reference reads a folder but never writes one. This class stands in for its network client and keeps the files of
one vault below `root` (`<root>/bare/...`), with the batch rules of a server: operations in order, and a
`write-if-match` that compares whole bytes and stops the batch when they differ.
"""
import base64
import os

from sgit_ai.network.api.Vault__API import Vault__API


class FolderHost(Vault__API):
    root: str = ''

    def setup(self):
        self.base_url = 'http://127.0.0.1:1'        # never opened
        return self

    def _path(self, file_id):
        return os.path.join(self.root, file_id)

    def _get(self, file_id):
        try:
            with open(self._path(file_id), 'rb') as file:
                return file.read()
        except FileNotFoundError:
            return None

    def _put(self, file_id, data):
        path = self._path(file_id)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + '.part', 'wb') as file:
            file.write(data)
        os.replace(path + '.part', path)

    def read(self, vault_id, file_id):
        data = self._get(file_id)
        if data is None:
            raise RuntimeError('API Error: HTTP 404 Not Found')
        return data

    def write(self, vault_id, file_id, write_key, payload):
        self._put(file_id, payload)
        return dict(file_id=file_id, vault_id=vault_id, status='completed')

    def delete(self, vault_id, file_id, write_key):
        try:
            os.remove(self._path(file_id))
        except FileNotFoundError:
            raise RuntimeError('API Error: HTTP 403 Forbidden') from None
        return dict(file_id=file_id, vault_id=vault_id, status='deleted')

    def batch(self, vault_id, write_key, operations):
        results = []
        for operation in operations:
            kind, file_id = operation.get('op', 'write'), operation['file_id']
            current = self._get(file_id)
            if kind == 'read':
                found = dict(file_id=file_id, status='not_found')
                if current is not None:
                    found = dict(file_id=file_id, status='ok', data=base64.b64encode(current).decode())
                results.append(found)
                continue
            if kind == 'delete':
                if current is not None:
                    os.remove(self._path(file_id))
                results.append(dict(op=kind, file_id=file_id, status='ok' if current is not None else 'not_found'))
                continue
            if kind == 'write-if-match':
                match = operation.get('match')
                if current != (base64.b64decode(match) if match else None):
                    shown = base64.b64encode(current).decode() if current is not None else None
                    results.append(dict(op=kind, file_id=file_id, status='conflict', current=shown))
                    break
            self._put(file_id, base64.b64decode(operation['data']))
            results.append(dict(op=kind, file_id=file_id, status='ok'))
        return dict(vault_id=vault_id, results=results)

    def batch_read(self, vault_id, file_ids, failures=None):
        found = {file_id: self._get(file_id) for file_id in file_ids}
        if failures is not None:
            for file_id in (name for name, data in found.items() if data is None):
                failures[file_id] = self._classify_per_file_status(file_id, 'not_found', {})
        return found

    def list_files(self, vault_id, prefix='', raise_at_once=()):
        names = []
        for folder, _, files in os.walk(self.root):
            names += [os.path.relpath(os.path.join(folder, name), self.root) for name in files]
        return sorted(name for name in names if name.startswith(prefix) and not name.startswith('.vaultctl/'))

    def presigned_initiate(self, *arguments, **options):
        raise RuntimeError('presigned_not_available')

    def presigned_read_url(self, *arguments, **options):
        raise RuntimeError('presigned_not_available')
