"""The programs that are compared: how each does the same work."""
import os
import shutil
import subprocess

KEY = 'benchpassphrase0000000001:bench001'


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    if os.path.isfile(path):
        os.remove(path)


class Tool:
    """One program with its folders at one place.

    Each verb is a method that prepares it and returns [command, folder to run it in, its input]; None, or no such
    method, where the program has nothing of the kind.
    """
    name = ''
    program = ''
    slow = False                        # takes part in fewer rounds

    def __init__(self, lab, place, label=None, extra=None):
        self.lab, self.place, self.extra = lab, place, extra
        self.label = label or self.name
        self.serial = 0
        safe = ''.join(letter if letter.isalnum() else '-' for letter in self.label)
        self.work, self.host, self.copy = (lab.fresh(place, f'{safe}-{part}') for part in ('work', 'host', 'copy'))
        self.start()
        os.makedirs(self.work, exist_ok=True)

    @classmethod
    def missing(cls):
        return bool(cls.program) and shutil.which(cls.program) is None

    def start(self):
        """Makes whatever must be there before the first file is stored."""

    def run(self, *command, **how):
        self.lab.run(command, extra=self.extra, **how)

    def measure(self, case, verb, keep=True, before=None):
        """Measures one verb: 'commit', 'status', 'one', 'push', 'clone', 'check' or 'checkout'."""
        self.serial += 1
        remove(self.copy)
        found = getattr(self, verb, lambda: None)()
        if found is None:
            return
        command, cwd, stdin = (*found, None, None)[:3]
        if before:
            before()
        if keep:
            self.lab.time(case, self.place, self.label, command, cwd=cwd, stdin=stdin or b'', extra=self.extra)
        else:
            self.lab.run(command, cwd=cwd, stdin=stdin or b'', extra=self.extra)
        remove(self.copy)

    def remove(self):
        for path in (self.work, self.host, self.copy):
            remove(path)


class Vaultctl(Tool):
    name = 'vaultctl'

    def start(self):
        os.makedirs(self.host)
        self.run(self.lab.vaultctl, 'init', '--server', self.host, '--key-fd', '0', self.work, stdin=KEY.encode())

    def commit(self):
        return [(self.lab.vaultctl, 'commit', '-q', '-m', 'c'), self.work]

    one = commit

    def status(self):
        return [(self.lab.vaultctl, 'status'), self.work]

    def push(self):
        return [(self.lab.vaultctl, 'push', '-q'), self.work]

    def clone(self):
        return [(self.lab.vaultctl, 'clone', '-q', '--server', self.host, '-', self.copy), None, KEY.encode() + b'\n']

    def check(self):
        return [(self.lab.vaultctl, 'fsck', '-q'), self.work]


class BigVaultctl(Vaultctl):
    """With a second clone that has everything but the last commit checked out."""

    def start(self):
        super().start()
        self.second = self.host + '-second'
        remove(self.second)
        self.run(self.lab.vaultctl, 'push', '-q', cwd=self.work)
        self.run(self.lab.vaultctl, 'clone', '-q', '--server', self.host, '-', self.second, stdin=KEY.encode() + b'\n')

    def checkout(self):
        self.run(self.lab.vaultctl, 'push', '-q', cwd=self.work)
        self.run(self.lab.vaultctl, 'fetch', '-q', cwd=self.second)
        return [(self.lab.vaultctl, 'pull', '-q'), self.second]

    def cat(self):
        remove(self.second)
        return [(self.lab.vaultctl, 'cat', '-q', '-o', self.copy, 'big.bin'), self.work]

    def remove(self):
        remove(self.second)
        super().remove()


class Reference(Tool):
    name = 'sgit'
    slow = True

    def start(self):
        os.makedirs(self.host)
        self.run(self.lab.sgit, 'init', '--base-url', self.host, '--vault-key', KEY, self.work)

    def commit(self):
        return [(self.lab.sgit, 'commit', '-m', 'c'), self.work]

    one = commit

    def status(self):
        return [(self.lab.sgit, 'status'), self.work]

    def push(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'push_reference.py')
        return [(self.lab.python, script, self.work, self.host)]

    def clone(self):
        return [(self.lab.sgit, 'clone', '--base-url', self.host, '-', self.copy), None, KEY.encode() + b'\n']

    def check(self):
        return [(self.lab.sgit, 'check', 'fsck', '.'), self.work]


class Git(Tool):
    name = program = 'git'

    def start(self):
        self.run('git', 'init', '-q', self.work)
        self.run('git', 'init', '-q', '--bare', '-b', 'main', self.host)

    def commit(self):
        return [('sh', '-c', 'git add -A && git commit -q -m c'), self.work]

    one = commit

    def status(self):
        return [('git', 'status'), self.work]

    def push(self):
        return [('git', 'push', '-q', self.host, 'HEAD:main'), self.work]

    def clone(self):
        return [('git', 'clone', '-q', '--no-hardlinks', self.host, self.copy)]

    def check(self):
        return [('git', 'fsck', '--no-progress'), self.work]


DURABLE_GIT = dict(GIT_CONFIG_COUNT='2', GIT_CONFIG_KEY_1='core.fsync', GIT_CONFIG_VALUE_1='all')


class GitLoose(Tool):
    """A clone of the other git's working repository, which holds one file per object like a vault does."""
    name, program = 'git, loose objects', 'git'
    source = None

    def clone(self):
        return [('git', 'clone', '-q', '--no-hardlinks', self.source, self.copy)] if self.source else None


class Restic(Tool):
    name = program = 'restic'
    slow = True

    def start(self):
        self.run('restic', '-q', '-r', self.host, 'init')

    def commit(self):
        return [('restic', '-q', '-r', self.host, 'backup', '.'), self.work]

    one = status = commit

    def clone(self):
        return [('restic', '-q', '-r', self.host, 'restore', 'latest', '--target', self.copy)]

    checkout = clone

    def check(self):
        return [('restic', '-q', '-r', self.host, 'check', '--read-data')]


class Borg(Tool):
    name = program = 'borg'
    slow = True

    def start(self):
        self.run('borg', 'init', '-e', 'repokey', self.host)

    def commit(self):
        self.last = f'{self.host}::a{self.serial}'
        return [('borg', 'create', self.last, '.'), self.work]

    one = status = commit

    def clone(self):
        os.makedirs(self.copy, exist_ok=True)
        return [('borg', 'extract', self.last), self.copy]

    checkout = clone

    def check(self):
        return [('borg', 'check', '--verify-data', self.host)]


class Age(Tool):
    name = program = 'age'

    def start(self):
        self.key = os.path.join(self.lab.own, 'age.key')
        if not os.path.exists(self.key):
            subprocess.run(['age-keygen', '-o', self.key], check=True, capture_output=True)
        self.recipient = subprocess.run(['age-keygen', '-y', self.key], check=True, capture_output=True,
                                        text=True).stdout.strip()

    def commit(self):
        if os.path.exists(os.path.join(self.work, 'big.bin')):
            return [('age', '-r', self.recipient, '-o', self.host, 'big.bin'), self.work]
        return [('sh', '-c', f'tar c . | age -r {self.recipient} -o {self.host}'), self.work]

    def clone(self):
        os.makedirs(self.copy)
        return [('sh', '-c', f'age -d -i {self.key} {self.host} | tar x'), self.copy]

    def checkout(self):
        return [('age', '-d', '-i', self.key, '-o', self.copy, self.host)]


class Copy(Tool):
    """`cp -r` of the same files: what the file system alone costs."""
    name, program = 'cp -r', 'cp'

    def commit(self):
        remove(self.host)
        return [('cp', '-r', self.work, self.host)]

    def checkout(self):
        return [('cp', os.path.join(self.work, 'big.bin'), self.copy)]
