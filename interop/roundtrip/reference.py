"""Runs the reference, sgit 0.26.0, inside this process: its commands through its own command-line class, its pushes and
its view of a clone through its library. Paying its start-up once is what keeps the round trips short."""
import contextlib
import io
import json
import mimetypes
import os
import re
import sys

mimetypes.knownfiles = []            # the interpreter's own table only, so that tree ids do not depend on the machine
mimetypes.init()

from sgit_ai.cli.CLI__Main import CLI__Main
from sgit_ai.cli.CLI__Vault import CLI__Vault
from sgit_ai.core.Vault__Sync import Vault__Sync
from sgit_ai.core.actions.verify.Vault__Signatures import Vault__Signatures
from sgit_ai.crypto.PKI__Crypto import PKI__Crypto
from sgit_ai.crypto.Vault__Crypto import Vault__Crypto
from sgit_ai.storage.Vault__Commit import Vault__Commit
from sgit_ai.storage.Vault__Format import Vault__Format
from sgit_ai.storage.Vault__Sub_Tree import Vault__Sub_Tree

from roundtrip.folder_host import FolderHost

CRYPTO = Vault__Crypto()


class ReferenceFailed(AssertionError):
    pass


class Outcome:
    """What a command of the reference did."""

    def __init__(self, arguments, code, out, err):
        self.arguments, self.code, self.out, self.err = arguments, code, out, err

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f'sgit {" ".join(self.arguments)}: exit {self.code}\n{self.out}{self.err}'


def version():
    return Vault__Format().client_version().lstrip('v')


def run(*arguments, cwd, stdin='', ok=True):
    """One command of the reference in `cwd`. With `ok` it must exit 0."""
    out, err = io.StringIO(), io.StringIO()
    # `cat` writes bytes through stdout.buffer
    out_bytes = io.BytesIO()
    out = io.TextIOWrapper(out_bytes, encoding='utf-8', write_through=True)
    before, stdin_before, code = os.getcwd(), sys.stdin, 0
    try:
        os.chdir(cwd)
        sys.stdin = io.StringIO(stdin)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = CLI__Main().run(list(arguments)) or 0
            except SystemExit as exit:
                code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    finally:
        os.chdir(before)
        sys.stdin = stdin_before
    out.flush()
    result = Outcome(arguments, code, out_bytes.getvalue().decode('utf-8', 'surrogateescape'), err.getvalue())
    result.bytes = out_bytes.getvalue()
    if ok and code != 0:
        raise ReferenceFailed(str(result))
    return result


# ---------------------------------------------------------------- commands, as a user types them

def init(directory, key, server, cwd):
    return run('init', '--base-url', server, '--vault-key', key, directory, cwd=cwd)


def clone(key, directory, server, cwd, *options):
    return run('clone', '--base-url', server, *options, '-', directory, cwd=cwd, stdin=key + '\n')


def commit(directory, message):
    return run('commit', '-m', message, cwd=directory)


def pull(directory, ok=True):
    return run('pull', cwd=directory, ok=ok)


def status_is_clean(directory):
    text = run('status', cwd=directory).out
    if 'Nothing to commit' in text and not re.search(r'^  [+~-] ', text, re.M):
        return True
    raise ReferenceFailed('sgit status is not clean:\n' + text)


def fsck(directory):
    """`sgit check fsck`; returns the signature counts it prints."""
    text = run('check', 'fsck', '.', cwd=directory).out
    if 'Vault OK.' not in text or re.search(r'Missing objects|Corrupt objects|Errors:', text):
        raise ReferenceFailed('sgit check fsck found something:\n' + text)
    found = re.search(r'Signatures: (\d+) verified, (\d+) bad, (\d+) unsigned, (\d+) without', text)
    return [int(number) for number in found.groups()] if found else None


def verify(directory, commits):
    """`sgit check verify` must exit 0 and find every one of `commits` commits signed."""
    run('check', 'verify', '.', cwd=directory)
    counts = fsck(directory)
    if counts != [commits, 0, 0, 0]:
        raise ReferenceFailed(f'signatures: expected {commits} verified and nothing else, found {counts}')


def log_ids(directory):
    """Ids of `sgit history log --json`, newest first."""
    log = run('history', 'log', '--json', '-n', '100000', cwd=directory).json()
    return [entry['commit_id'] for entry in reversed(log['commits'])]


# ---------------------------------------------------------------- its library

def at(host, what, directory, *arguments, **options):
    """One call of the reference's library for a clone whose server is the folder `host`."""
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        sync = Vault__Sync(crypto=Vault__Crypto(), api=FolderHost(root=host).setup())
        return getattr(sync, what)(directory, *arguments, **options)


def push(directory, host):
    """Publishes a clone to the folder `host`, with the reference's own push algorithm."""
    return at(host, 'push', directory)


def set_format(directory, host, **options):
    return at(host, 'set_format', directory, **options)


class View:
    """A clone as the reference reads it: head, commits, files."""

    def __init__(self, directory):
        self.sync = Vault__Sync(crypto=Vault__Crypto(), api=FolderHost(root=directory).setup())
        self.directory = directory
        self.parts = self.sync._init_components(directory)
        self.read_key = self.parts.read_key
        self.commits_store = Vault__Commit(
            crypto=CRYPTO, pki=PKI__Crypto(), object_store=self.parts.obj_store, ref_manager=self.parts.ref_manager)
        self.trees = Vault__Sub_Tree(crypto=CRYPTO, obj_store=self.parts.obj_store)
        self.index = self.parts.branch_manager.load_branch_index(
            directory, self.parts.branch_index_file_id, self.read_key)

    def head(self):
        config = self.sync._read_local_config(self.directory, self.parts.storage)
        mine = self.parts.branch_manager.get_branch_by_id(self.index, str(config.my_branch_id))
        return self.parts.ref_manager.read_ref(str(mine.head_ref_id), self.read_key)

    def commit(self, commit_id):
        commit = self.commits_store.load_commit(commit_id, self.read_key)
        text = CRYPTO.decrypt_metadata(self.read_key, str(commit.message_enc)) if commit.message_enc else ''
        return dict(id=commit_id, tree=str(commit.tree_id), parents=[str(parent) for parent in commit.parents],
                    message=text, time_ms=int(commit.timestamp_ms))

    def history(self, start=None):
        """Every commit reachable from the head: id → commit."""
        todo, found = [start or self.head()], {}
        while todo:
            commit_id = todo.pop()
            if commit_id not in found:
                found[commit_id] = self.commit(commit_id)
                todo.extend(found[commit_id]['parents'])
        return found

    def entries(self, commit_id=None):
        """path → blob id, size, content hash, content type, large."""
        return self.trees.flatten(self.commit(commit_id or self.head())['tree'], self.read_key)

    def folders(self, commit_id=None):
        """folder path → tree id, '' for the root."""
        return self.trees.flatten_dirs(self.commit(commit_id or self.head())['tree'], self.read_key)

    def content(self, blob_id):
        return CRYPTO.decrypt(self.read_key, self.parts.obj_store.load(blob_id))

    def signatures(self):
        return Vault__Signatures(crypto=CRYPTO).verify_chain(
            self.parts, self.read_key, self.head(), index=self.index)['by_status']


def keys_of(key):
    return CRYPTO.derive_keys_from_vault_key(key)
