"""A disk on which to measure: a file system of its own where that may be made, otherwise a folder."""
import os
import shutil
import subprocess
import tempfile


def file_system(path):
    out = subprocess.run(['df', '--output=fstype', path], check=True, capture_output=True, text=True).stdout
    return out.split()[-1]


class Disk:
    """A fresh file system has two virtues: syncing it waits for nobody else's files, and it has none that were just
    deleted (ext4 looks long for an inode where many were deleted in the last minutes)."""
    SIZE = 6 << 30

    def __init__(self, folder):
        self.folder = tempfile.mkdtemp(prefix='bench-', dir=folder)
        self.image, self.mount = os.path.join(self.folder, 'image'), os.path.join(self.folder, 'mount')
        self.mounted, self.rounds = False, 0
        self.kind = file_system(folder)
        os.mkdir(self.mount)
        if os.getuid() == 0 and shutil.which('mkfs.ext4') and self.kind not in ('tmpfs', 'ramfs'):
            try:
                self.fresh()
                self.kind = f'a new ext4 on {self.kind}'
            except subprocess.CalledProcessError:
                self.mounted = None

    def fresh(self):
        """An empty folder for one round."""
        self.rounds += 1
        if self.mounted is None or (not self.mounted and self.rounds > 1):
            # Nothing is deleted before the end.
            return tempfile.mkdtemp(prefix='round-', dir=self.folder)
        self.release()
        with open(self.image, 'wb') as file:
            file.truncate(self.SIZE)
        self.call('mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0', self.image)
        self.call('mount', '-o', 'loop', self.image, self.mount)
        self.mounted = True
        return self.mount

    def call(self, *command):
        subprocess.run(command, check=True, capture_output=True)

    def release(self):
        if self.mounted:
            self.call('umount', self.mount)
            self.mounted = False

    def close(self):
        self.release()
        shutil.rmtree(self.folder, ignore_errors=True)
