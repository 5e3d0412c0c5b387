"""Identities: making keys, signing, verifying, encrypting and decrypting, beside the reference, openssl and age.

vaultctl works on a key pair of its own making and on the reference's: the passphrase of the first is hashed 600,000
times, that of the second 2,048 times. openssl signs with the same encrypted key as vaultctl.
"""
import json
import os
import subprocess

from tools import Age

OWN, FOREIGN = 'vaultctl', "vaultctl, sgit's key pair"
SIZES = {'1 KB': 1000, '50 MB': 50_000_000}
PHRASE = 'correct horse battery staple'


class Identities:
    def __init__(self, lab):
        self.lab = lab
        self.place = lab.fresh('memory', 'identities', make=True)
        self.rounds = 3 if lab.options.quick else 10
        self.keys = 10 if lab.options.quick else 50
        self.slow = lab.options.slow_rounds

    def run(self):
        homes = {tool: self.path(name) for tool, name in ((OWN, 'own'), ('sgit', 'foreign'))}
        for home in homes.values():
            os.makedirs(home)
        self.extra = {tool: dict(HOME=home, SG_SEND_PASSPHRASE=PHRASE) for tool, home in homes.items()}
        self.extra[FOREIGN] = self.extra['sgit']
        self.lab.run((self.lab.vaultctl, 'pki', 'keygen', '-q'), extra=self.extra[OWN])
        self.lab.run((self.lab.sgit, 'pki', 'keygen'), extra=self.extra['sgit'])
        self.names = {tool: self.fingerprint(tool) for tool in (OWN, FOREIGN)}
        self.names['sgit'] = self.names[FOREIGN]
        self.keygen()
        for size, count in SIZES.items():
            self.files(size, count)

    def path(self, *parts):
        return os.path.join(self.place, *parts)

    def fingerprint(self, tool):
        out = subprocess.run([self.lab.vaultctl, 'pki', 'list', '--json'], check=True, capture_output=True,
                             env={**self.lab.environment, **self.extra[tool]}).stdout
        return json.loads(out)['keys'][0]['fingerprint']

    # ------------------------------------------------------------ keys

    def keygen(self):
        """Each run makes another key, and how long that takes is chance: hence many runs, and means."""
        store = self.path('made')
        for number in range(self.keys):
            commands = {OWN: ((self.lab.vaultctl, 'pki', 'keygen', '-q', '--home', store), self.extra[OWN]),
                        'openssl': (('openssl', 'genrsa', '-out', self.path('rsa.pem'), '4096'), None)}
            if number < self.slow:
                commands['sgit'] = ((self.lab.sgit, 'pki', 'keygen'), self.extra['sgit'] | dict(HOME=self.path('many')))
            os.makedirs(self.path('many'), exist_ok=True)
            self.turn('pki keygen', commands, number)

    # ------------------------------------------------------------ files

    def files(self, size, count):
        self.lab.big(self.path('f'), count)
        own = self.path('own', '.sg-send', 'keys', self.names[OWN].replace(':', '_'))
        secret, public = os.path.join(own, 'signing_private.pem'), os.path.join(own, 'signing_public.pem')
        for number in range(self.rounds):
            self.turn(f'pki sign {size}', {
                **self.ours('sign', '--force', '-o', '{tool}.sig', 'f'),
                'sgit': ((self.lab.sgit, 'pki', 'sign', 'f', '--fingerprint', self.names['sgit']), self.extra['sgit']),
                'openssl': (('openssl', 'dgst', '-sha256', '-sign', secret, '-passin', 'env:SG_SEND_PASSPHRASE', '-out',
                             'openssl.sig', 'f'), self.extra[OWN])}, number)
            self.turn(f'pki verify {size}', {
                **self.ours('verify', 'f', '{tool}.sig'),
                'sgit': ((self.lab.sgit, 'pki', 'verify', 'f', 'f.sig'), self.extra['sgit']),
                'openssl': (('openssl', 'dgst', '-sha256', '-verify', public, '-signature', 'openssl.sig', 'f'), None)}, number)
            age, key = self.age()
            self.turn(f'pki encrypt {size}', {
                **self.ours('encrypt', '--recipient', '{name}', '--force', '-o', '{tool}.enc', 'f'),
                'sgit': ((self.lab.sgit, 'pki', 'encrypt', 'f', '--recipient', self.names['sgit']), self.extra['sgit']),
                **({'age': (('age', '-r', age, '-o', 'f.age', 'f'), None)} if age else {})}, number)
            self.turn(f'pki decrypt {size}', {
                **self.ours('decrypt', '--force', '-o', '{tool}.out', '{tool}.enc'),
                'sgit': ((self.lab.sgit, 'pki', 'decrypt', 'f.enc', '--fingerprint', self.names['sgit'], '-o', 'sgit.out'),
                         self.extra['sgit']),
                **({'age': (('age', '-d', '-i', key, '-o', 'age.out', 'f.age'), None)} if age else {})}, number)
        for tool, name in ((OWN, 'own.out'), (FOREIGN, 'foreign.out'), ('sgit', 'sgit.out')):
            subprocess.run(['cmp', 'f', name], cwd=self.place, check=True)

    def ours(self, *words):
        """The same command on both key pairs; each has files of its own."""
        found = {}
        for tool, short in ((OWN, 'own'), (FOREIGN, 'foreign')):
            filled = [word.replace('{tool}', short).replace('{name}', self.names[tool]) for word in words]
            found[tool] = ((self.lab.vaultctl, 'pki', '-q', *filled), self.extra[tool])
        return found

    def age(self):
        """Recipient and key file of age; None where it is not installed."""
        if Age.missing():
            return None, None
        key = self.path('age.key')
        if not os.path.exists(key):
            subprocess.run(['age-keygen', '-o', key], check=True, capture_output=True)
        return subprocess.run(['age-keygen', '-y', key], check=True, capture_output=True, text=True).stdout.strip(), key

    def turn(self, case, commands, number):
        """Each program once; who begins changes, and slow ones take part in the first rounds."""
        names = [name for name in commands if name != 'sgit' or number < self.slow]
        for name in names[number % len(names):] + names[:number % len(names)]:
            command, extra = commands[name]
            self.lab.time(case, 'memory', name, command, cwd=self.place, extra=extra)
