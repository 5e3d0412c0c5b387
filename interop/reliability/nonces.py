"""Builds the library that watches sealing, makes programs run under it, and judges what it noted."""
import collections
import os
import shutil
import stat
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = struct.Struct('<16s12sI16sQQ')
Message = collections.namedtuple('Message', 'key nonce process content length time')


def build_library(folder):
    """The library to be loaded before all others."""
    library = os.path.join(folder, 'nonce_watch.so')
    sources = [os.path.join(HERE, name) for name in ('nonce_watch.c', 'secret_marks.c')]
    subprocess.run([shutil.which('clang') or shutil.which('cc'), '-O2', '-shared', '-fPIC', '-o', library, *sources,
                    '-ldl'], check=True)
    return library


def messages(log):
    """Every message that was noted, in the order of their ends."""
    with open(log, 'rb') as file:
        return [Message(*fields) for fields in RECORD.iter_unpack(file.read())]


def by_nonce(noted):
    """The messages under each pair of key and nonce."""
    groups = collections.defaultdict(list)
    for message in noted:
        groups[message.key, message.nonce].append(message)
    return groups


def contents(group):
    return {(message.content, message.length) for message in group}


class NonceWatch:
    """A stand-in for the program, `binary`, that runs it under watch."""

    def __init__(self, vaultctl, folder):
        self.log = os.path.join(folder, 'nonces.log')
        self.binary = os.path.join(folder, 'vaultctl')
        library = build_library(folder)
        with open(self.binary, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nexport NONCE_LOG="{self.log}" LD_PRELOAD="{library}"\nexec "{vaultctl}" "$@"\n')
        os.chmod(self.binary, os.stat(self.binary).st_mode | stat.S_IXUSR)

    def judge(self):
        """Messages, keys, nonces used twice for the same content, and those used for different content."""
        noted = messages(self.log)
        again, broken = 0, 0
        for group in by_nonce(noted).values():
            different = len(contents(group))
            again += len(group) - different
            broken += different - 1
        return len(noted), len({message.key for message in noted}), again, broken
