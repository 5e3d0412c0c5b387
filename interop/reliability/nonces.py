"""Builds the library that watches nonces, makes the program run under it, and judges what it noted."""
import os
import shutil
import stat
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = struct.Struct('<16s12s16sQ')


class NonceWatch:
    """A stand-in for the program, `binary`, that runs it under watch."""

    def __init__(self, vaultctl, folder):
        self.log = os.path.join(folder, 'nonces.log')
        self.binary = os.path.join(folder, 'vaultctl')
        library = os.path.join(folder, 'nonce_watch.so')
        compiler = shutil.which('clang') or shutil.which('cc')
        subprocess.run([compiler, '-O2', '-shared', '-fPIC', '-o', library, os.path.join(HERE, 'nonce_watch.c'), '-ldl'],
                       check=True)
        with open(self.binary, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nexport NONCE_LOG="{self.log}" LD_PRELOAD="{library}"\nexec "{vaultctl}" "$@"\n')
        os.chmod(self.binary, os.stat(self.binary).st_mode | stat.S_IXUSR)

    def judge(self):
        """Messages, keys, nonces used twice for the same content, and those used for different content."""
        contents, keys, messages, again, broken = {}, set(), 0, 0, 0
        with open(self.log, 'rb') as file:
            for key, nonce, content, length in RECORD.iter_unpack(file.read()):
                messages += 1
                keys.add(key)
                known = contents.get((key, nonce))
                if known is None:
                    contents[(key, nonce)] = (content, length)
                elif known == (content, length):
                    again += 1
                else:
                    broken += 1
        return messages, len(keys), again, broken
