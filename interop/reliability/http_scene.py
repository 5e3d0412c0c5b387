"""Vaults, clones and servers for the campaigns over HTTP. Every client reaches its server through a fault proxy."""
import contextlib
import json
import os
import random
import shutil
import sys
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from fault_proxy import FaultProxy, replace_reads  # noqa: E402
from roundtrip import served, stand_in  # noqa: E402
from roundtrip.vaultctl import Vaultctl  # noqa: E402

SERVERS = ('stand-in', 'serve')


def memory():
    """A folder in memory when there is room: no power is cut here, and syncs to a disk only take time."""
    try:
        return '/dev/shm' if shutil.disk_usage('/dev/shm').free > 1 << 30 and os.access('/dev/shm', os.W_OK) else None
    except OSError:
        return None


class Violation(Exception):
    """Something that must not be."""


class Place:
    """A folder for one server and its clones; vaultctl with settings of its own."""

    def __init__(self, binary, root, **settings):
        self.root, self.settings = root, None
        os.makedirs(self.path('home', '.config', 'vaultctl'))
        self.configure(**settings)
        self.ours = Vaultctl(binary, self.path('home'))

    def configure(self, **settings):
        """The user's settings from now on."""
        if settings != self.settings:
            with open(self.path('home', '.config', 'vaultctl', 'config.json'), 'w', encoding='ascii') as file:
                json.dump(dict(v=1, **settings), file)
            self.settings = settings

    def path(self, *parts):
        return os.path.join(self.root, *parts)


@contextlib.contextmanager
def server_of(place, name):
    """One of `SERVERS` and the proxy before it; gives both."""
    with (stand_in.stand_in if name == 'stand-in' else stand_in.own)(place) as url:
        with FaultProxy(int(url.rsplit(':', 1)[1])) as proxy:
            yield url, proxy


def control(url, what, document):
    """A command to the stand-in."""
    request = urllib.request.Request(f'{url}/_test/{what}', json.dumps(document).encode(), method='POST')
    with urllib.request.urlopen(request, timeout=20) as answer:
        answer.read()


class Scene:
    """One vault on a server: clone `a` writes it, clone `b` follows; what the history has to hold is known."""

    FILES = 53          # of one commit: with its trees more than fit into one batch

    def __init__(self, place, proxy, name, seed):
        self.place, self.ours, self.proxy, self.random = place, place.ours, proxy, random.Random(seed)
        self.name, self.turn, self.refs = name, 0, []
        os.makedirs(self.path())
        self.json('init', 'a', '--server', proxy.url, '--push')
        with open(self.path('a', '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
            self.key = file.read()
        derived = self.json('keys', 'derive', cwd='a')
        self.vault, self.ref = derived['vault_id'], 'bare/refs/' + derived['ref_file_id']
        self.remember()
        self.expected = set(self.history('a'))
        self.clone('b')

    def path(self, *parts):
        return self.place.path(self.name, *parts)

    def fresh(self, stem):
        """A name that no clone has."""
        self.turn += 1
        return f'{stem}{self.turn}'

    # ------------------------------------------------------------ commands

    def run(self, *arguments, cwd='', stdin='', patience=30):
        """Any exit; the code and the document. `patience`: seconds without a byte."""
        answer = self.ours.run(*arguments, '--json', '--timeout', str(patience), cwd=self.path(cwd), stdin=stdin,
                               code=None)
        return answer.code, answer.json()

    def json(self, *arguments, cwd='', stdin=''):
        """A command that has to succeed."""
        code, document = self.run(*arguments, cwd=cwd, stdin=stdin)
        if code:
            raise Violation(f'{" ".join(arguments)} in {cwd or "."} ended with {code}: {told(document)}')
        return document

    def clone(self, directory):
        return self.json('clone', '-', directory, '--server', self.proxy.url, stdin=self.key + '\n')

    def history(self, clone):
        """The ids of all commits, the head first."""
        return [entry['id'] for entry in self.json('log', '-n', '1000000', cwd=clone)['commits']]

    def commit(self, clone, files=3):
        """New content in some files of the clone's own folder; the commit becomes part of what is expected."""
        self.turn += 1
        os.makedirs(self.path(clone, clone, 'deep'), exist_ok=True)
        for number in range(files):
            name = f'deep/{number}' if number % 3 == 0 else str(number)
            with open(self.path(clone, clone, name), 'w', encoding='ascii') as file:
                file.write(f'{self.turn} {self.random.getrandbits(64):x}\n')
        self.expected.add(self.json('commit', '-m', f'{clone} {self.turn}', cwd=clone)['commit']['id'])

    def commit_large(self, clone, name, size=5 << 20):
        """A file above the size up to which contents travel in batches."""
        self.turn += 1
        with open(self.path(clone, name), 'wb') as file:
            file.write(self.random.randbytes(size))
        self.expected.add(self.json('commit', '-m', f'{clone} {self.turn}', cwd=clone)['commit']['id'])

    # ------------------------------------------------------------ what must hold

    def intact(self, clone, holds=None):
        """The clone is whole, clean, and its history holds `holds` (all that is expected); gives the history."""
        code, document = self.run('fsck', cwd=clone)
        if code or document['missing'] or document['corrupt'] or document['signatures']['bad']:
            raise Violation(f'fsck in {clone}: exit {code}, {told(document)}')
        if not self.json('status', cwd=clone)['clean']:
            raise Violation(f'{clone} is not clean')
        history = self.history(clone)
        if lost := set(self.expected if holds is None else holds) - set(history):
            raise Violation(f'{clone} lost {len(lost)} commits')
        return history

    def published(self, writer='a', reader='b'):
        """All that is expected is on the server and comes to the reader, and nothing else."""
        self.json('pull', cwd=reader)
        written, read = self.history(writer), self.intact(reader)
        if set(written) != self.expected:
            raise Violation(f'{writer} holds commits that nobody made')
        if written[0] != read[0] or set(read) != set(written):
            raise Violation(f'{writer} and {reader} have different histories')
        self.remember()

    def remember(self):
        """Keeps the bytes of the server's ref, to show them again later."""
        url = f'{self.proxy.url}/api/vault/read/{self.vault}/{self.ref.replace("/", "%2F")}'
        with urllib.request.urlopen(url, timeout=20) as answer:
            held = answer.read()
        if not self.refs or self.refs[-1] != held:
            self.refs.append(held)

    def older_ref(self, steps):
        """An edit of answers: the ref is the one that the server held `steps` states before."""
        return replace_reads(lambda file_id, data: self.refs[-1 - steps] if file_id == self.ref else None)

    def remove(self):
        shutil.rmtree(self.path(), ignore_errors=True)


def told(document):
    error = document.get('error')
    return f'{error["code"]}: {error["message"]}' if error else json.dumps(document)[:400]
