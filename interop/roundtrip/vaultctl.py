"""Runs the vaultctl binary and reads its JSON."""
import json
import os
import subprocess


class VaultctlFailed(AssertionError):
    pass


class Answer:
    def __init__(self, arguments, code, out, err):
        self.arguments, self.code, self.out, self.err = arguments, code, out, err

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError as error:
            raise VaultctlFailed(f'stdout is not one JSON document ({error}):\n{self}') from None

    def __str__(self):
        out = self.out[:4000].decode('utf-8', 'replace')
        return f'vaultctl {" ".join(map(str, self.arguments))}: exit {self.code}\n{out}{self.err[:4000]}'


class Vaultctl:
    def __init__(self, binary, home):
        self.binary, self.calls = binary, 0
        # The C locale on purpose: names are bytes, and nothing may depend on it.
        self.environment = dict(PATH=os.environ.get('PATH', ''), HOME=home, LC_ALL='C', TZ='UTC')

    def run(self, *arguments, cwd=None, stdin=b'', code=0, timeout=300, environment=None):
        """One command; it must exit with `code` (None: any). `environment` is added to the usual one."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        self.calls += 1
        done = subprocess.run([self.binary, *arguments], cwd=cwd, input=stdin, capture_output=True, timeout=timeout,
                              env={**self.environment, **(environment or {})})
        answer = Answer(arguments, done.returncode, done.stdout, done.stderr.decode('utf-8', 'replace'))
        if code is not None and answer.code != code:
            raise VaultctlFailed(f'expected exit {code}\n{answer}')
        return answer

    def json(self, *arguments, cwd=None, stdin=b'', code=0, environment=None):
        answer = self.run(*arguments, '--json', cwd=cwd, stdin=stdin, code=code, environment=environment)
        document = answer.json()
        if document.get('ok') is not (answer.code == 0):
            raise VaultctlFailed(f'"ok" does not tell the exit code\n{answer}')
        return document

    def refused(self, *arguments, code, error, cwd=None, stdin=b'', environment=None):
        """A command that must fail with this exit code and this error name."""
        document = self.json(*arguments, cwd=cwd, stdin=stdin, code=code, environment=environment)
        if document['error']['code'] != error:
            raise VaultctlFailed(f'expected error {error}: {document}')
        return document

    # ------------------------------------------------------------ the verbs of a round trip

    def clone(self, key, directory, server, *options, cwd):
        return self.json('clone', '-', directory, '--server', server, *options, cwd=cwd, stdin=key + '\n')

    def commit(self, directory, message, *options, code=0):
        return self.json('commit', '-m', message, *options, cwd=directory, code=code)

    def push(self, directory, *options):
        return self.json('push', *options, cwd=directory)

    def pull(self, directory, *options):
        return self.json('pull', *options, cwd=directory)

    def log(self, directory, *options):
        return self.json('log', *options, cwd=directory)['commits']

    def status_is_clean(self, directory):
        found = self.json('status', cwd=directory)
        if not found['clean']:
            raise VaultctlFailed(f'status is not clean: {found}')
        return found

    def fsck(self, directory):
        found = self.json('fsck', cwd=directory)
        if found['missing'] or found['corrupt'] or found['signatures']['bad']:
            raise VaultctlFailed(f'fsck found something: {found}')
        return found
