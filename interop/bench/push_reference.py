"""push_reference.py CLONE FOLDER: publishes a clone of the reference to a folder, in a process of its own.

The reference writes no folders; this is its own push algorithm over a client that puts files where a server would, with
nothing around it (no temporary names, no command line).
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from sgit_ai.core.Vault__Sync import Vault__Sync
from sgit_ai.crypto.Vault__Crypto import Vault__Crypto

from roundtrip.folder_host import FolderHost


class PlainHost(FolderHost):
    def _put(self, file_id, data):
        path = self._path(file_id)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(data)


print(Vault__Sync(crypto=Vault__Crypto(), api=PlainHost(root=sys.argv[2]).setup()).push(sys.argv[1])['status'])
