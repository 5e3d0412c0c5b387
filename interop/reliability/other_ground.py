#!/usr/bin/env python3
"""Other ground: the main verbs on a FUSE file system, which has neither files without a name nor exclusive renames.

    interop/reliability/other_ground.py [--vaultctl PATH]

Needs root and bindfs, otherwise it says so and exits 0. Exit 1 when a verb does not do there what it does elsewhere.
"""
import argparse
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


def large_zip():
    """One that is too large to be looked into in memory."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w') as archive:
        archive.writestr('content', random.Random(1).randbytes(9 << 20))
    return buffer.getvalue()


class Ground:
    def __init__(self, vaultctl, folder, place):
        self.vaultctl, self.folder, self.place = vaultctl, folder, place
        self.key = os.path.join(folder, 'key')
        with open(os.open(self.key, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='ascii') as file:
            file.write('other ground:ground11')

    def call(self, *words, stdin=b''):
        result = subprocess.run([self.vaultctl, '--json', *words], input=stdin, capture_output=True, cwd=self.place,
                                env={'HOME': self.folder, 'PATH': os.environ['PATH']}, check=False)
        if result.returncode:
            sys.exit(f'other ground: {" ".join(words)}: exit {result.returncode}: {result.stdout + result.stderr}')
        return json.loads(result.stdout)

    def put(self, name, text):
        path = os.path.join(self.place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def files(self, clone):
        found = {}
        for folder, names, leaves in os.walk(os.path.join(self.place, clone)):
            names[:] = [name for name in names if name != '.sg_vault']
            for leaf in leaves:
                path = os.path.join(folder, leaf)
                with open(path, 'rb') as file:
                    found[os.path.relpath(path, os.path.join(self.place, clone))] = file.read()
        return found

    def run(self):
        server = os.path.join(self.place, 'remote')
        self.call('init', '--key-file', self.key, '--server', server, 'a')
        for name in ('one', 'two', 'd/three', 'd/e/four'):
            self.put(f'a/{name}', name)
        self.call('-C', 'a', 'commit', '-m', 'first')
        self.call('-C', 'a', 'push')
        self.call('clone', '--key-file', self.key, '--server', server, 'ground11', 'b')
        self.put('a/one', 'changed')
        os.remove(os.path.join(self.place, 'a/d/e/four'))
        self.call('-C', 'a', 'commit', '-m', 'second')
        archive = large_zip()
        self.call('-C', 'a', 'write', 'archive.zip', stdin=archive)
        self.call('-C', 'a', 'push')
        self.call('-C', 'b', 'write', 'from-b', stdin=b'b')
        self.call('-C', 'b', 'pull')
        self.call('-C', 'b', 'push')
        self.call('-C', 'a', 'pull')
        wanted = {'one': b'changed', 'two': b'two', 'd/three': b'd/three', 'archive.zip': archive, 'from-b': b'b'}
        for clone in ('a', 'b'):
            self.call('-C', clone, 'fsck')
            left = os.listdir(os.path.join(self.place, clone, '.sg_vault/local/vaultctl/tmp'))
            if self.files(clone) != wanted or left:
                sys.exit(f'other ground: {clone} holds {sorted(self.files(clone))}, left {left}')
        checks = {check['name']: check['status'] for check in self.call('-C', 'a', 'doctor')['checks']}
        if checks['file_system'] != 'warn':
            sys.exit('other ground: doctor tells nothing of the file system')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(ROOT, 'build', 'vaultctl')))
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which('bindfs') or not os.path.exists('/dev/fuse'):
        print('other ground: SKIPPED, it needs root, /dev/fuse and bindfs')
        return 0
    with tempfile.TemporaryDirectory(prefix='vaultctl-ground-') as folder:
        real, place = os.path.join(folder, 'real'), os.path.join(folder, 'mounted')
        os.makedirs(real)
        os.makedirs(place)
        if subprocess.run(['bindfs', real, place], check=False).returncode:
            print('other ground: SKIPPED, this machine mounts no FUSE file system')
            return 0
        try:
            Ground(os.path.abspath(options.vaultctl), folder, place).run()
        finally:
            subprocess.run(['umount', '-l', place], check=False)
    print('other ground: the main verbs do on FUSE what they do elsewhere')
    return 0


if __name__ == '__main__':
    sys.exit(main())
