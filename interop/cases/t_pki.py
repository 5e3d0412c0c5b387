"""t. Identities: key pairs, bundles, envelopes and signatures of either tool, used by the other; one store used by both."""
import contextlib
import json
import os
import re
import subprocess

from roundtrip.harness import case, equal, tree_of

WORDS = 'correct horse battery staple'
PHRASES = {'plain': WORDS, 'beyond ASCII': 'pässwörd – 鍵 🔑', 'long': 'x' * 1000, 'one letter': 'b',
           'blanks': '  leading and trailing  '}                       # the reference writes none above 1023 bytes
SIZES = (0, 1, 15, 16, 17, 1000, 70_000, 1 << 20)
LARGE = 50_000_000


@contextlib.contextmanager
def environment(**values):
    """The reference runs in this process, so its environment is this one's."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Person:
    """A home folder with a key store, which either tool uses with a passphrase."""

    def __init__(self, lab, name, passphrase=WORDS):
        self.lab, self.name, self.passphrase = lab, name, passphrase
        self.home = lab.path(name)
        self.store = os.path.join(self.home, '.sg-send')
        os.makedirs(self.home)

    def variables(self, passphrase=None):
        return dict(HOME=self.home, SG_SEND_PASSPHRASE=passphrase or self.passphrase)

    def ours(self, *arguments, passphrase=None, code=0, stdin=b''):
        return self.lab.ours.json('pki', *arguments, cwd=self.lab.root, code=code, stdin=stdin,
                                  environment=self.variables(passphrase))

    def raw(self, *arguments, passphrase=None, code=0, stdin=b''):
        """vaultctl without --json: what goes through standard output."""
        return self.lab.ours.run('pki', *arguments, cwd=self.lab.root, code=code, stdin=stdin,
                                 environment=self.variables(passphrase)).out

    def theirs(self, *arguments, passphrase=None, ok=True):
        with environment(**self.variables(passphrase)):
            return self.lab.reference.run('pki', *arguments, cwd=self.lab.root, ok=ok)

    def make(self, by, label='', passphrase=None):
        """A new key pair; its encryption fingerprint."""
        if by == 'ours':
            options = ('--label', label) if label else ()
            return self.ours('keygen', *options, passphrase=passphrase)['keys'][0]['fingerprint']
        known = set(self.their_list())
        self.theirs('keygen', *(('--label', label) if label else ()), passphrase=passphrase)
        return (set(self.their_list()) - known).pop()

    def their_list(self, verb='list'):
        """fingerprint → label, as the reference lists them."""
        out = self.theirs(verb).out
        return {found[1]: found[2] for found in re.finditer(r'^  (sha256:[0-9a-f]{16})  ?(.*?)(?:  \(RSA-OAEP 4096\))?$', out, re.M)}

    def our_list(self, verb='list'):
        return {key['fingerprint']: key['label'] for key in self.ours(verb)['keys' if verb == 'list' else 'contacts']}

    def meets(self, other, fingerprint, by):
        """Takes in the bundle of another person, exported and imported by one of the tools."""
        path = f'{other.name}-by-{by}.json'
        if by == 'ours':
            other.raw('export', fingerprint, '-o', path, '--force')
            self.ours('import', path)
        else:
            write(self.lab, path, other.theirs('export', fingerprint).bytes)
            self.theirs('import', path)


def write(lab, name, data):
    with open(lab.path(name), 'wb') as file:
        file.write(data)


def read(lab, name):
    with open(lab.path(name), 'rb') as file:
        return file.read()


def from_vectors(lab, name, vector, passphrase=None):
    """A person with the key pair of an identity of the vectors, which the reference made."""
    path = os.path.join(os.path.dirname(os.path.dirname(lab.vectors)), 'pki', 'identities.json')
    with open(path, encoding='utf-8') as file:
        identity = next(found for found in json.load(file)['identities'] if found['name'] == vector)
    person = Person(lab, name, identity['passphrase'])
    folder = os.path.join(person.store, 'keys', identity['folder'])
    os.makedirs(folder)
    for file_name, entry in identity['files'].items():
        with open(os.path.join(folder, file_name), 'w', encoding='utf-8') as file:
            file.write(entry['text'])
        os.chmod(os.path.join(folder, file_name), int(entry['mode'], 8))
    return person, identity['encryption']['fingerprint']


# ---------------------------------------------------------------- key pairs

@case('t.keys-by-ours', by='ours')
@case('t.keys-by-reference', by='theirs')
def keys(lab, by):
    """Pairs under several passphrases in one store: each tool lists, opens and uses those of the other."""
    person, made = Person(lab, 'ann'), {}
    phrases = dict(list(PHRASES.items())[:3] if by == 'ours' else PHRASES)
    for name, phrase in phrases.items():
        made[person.make(by, name, phrase)] = phrase
    labels = {fingerprint: name for fingerprint, name in zip(made, phrases)}
    equal(person.our_list(), labels, 'key pairs by vaultctl')
    equal(person.their_list(), labels, 'key pairs by the reference')
    write(lab, 'text', b'hello\n')
    for fingerprint, phrase in made.items():
        person.ours('encrypt', 'text', '--recipient', fingerprint, '-o', 'by-ours.enc', '--force')
        person.theirs('encrypt', 'text', '--recipient', fingerprint, '-o', 'by-theirs.enc')
        for envelope in ('by-ours.enc', 'by-theirs.enc'):
            equal(person.raw('decrypt', envelope, '-o', '-', '--fingerprint', fingerprint, passphrase=phrase), b'hello\n',
                  f'{envelope} by vaultctl')
            equal(person.theirs('decrypt', envelope, '-o', '-', '--fingerprint', fingerprint, passphrase=phrase).bytes,
                  b'hello\n', f'{envelope} by the reference')
        for wrong in (phrase + 'x', phrase[:-1] or 'x', phrase.upper() if phrase.upper() != phrase else 'y'):
            person.ours('sign', 'text', '--sign-with', fingerprint, '--force', passphrase=wrong, code=6)
            equal(person.theirs('sign', 'text', '--fingerprint', fingerprint, passphrase=wrong, ok=False).code, 1,
                  'a wrong passphrase in the reference')
    # private files of both tools are for the owner alone
    for folder, _, names in os.walk(os.path.join(person.store, 'keys')):
        for name in names:
            if 'private' in name:
                equal(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600, f'mode of {name}')


@case('t.one-store')
def one_store(lab):
    """One store used by both in turn: made, renamed, deleted, met."""
    ann, bert = Person(lab, 'ann'), Person(lab, 'bert')
    first, second = ann.make('ours', 'first'), ann.make('theirs', 'second')
    other = bert.make('theirs', 'Bert')
    ann.ours('rename', first, 'première')
    equal(ann.their_list(), {first: 'première', second: 'second'}, 'after a rename by vaultctl')
    ann.meets(bert, other, 'ours')
    equal(ann.their_list('contacts'), {other: 'Bert'}, 'contacts by the reference')
    ann.ours('rename', '--contact', other, 'Bert at work')
    equal(ann.their_list('contacts'), {other: 'Bert at work'}, 'after a rename of a contact')
    ann.meets(bert, other, 'theirs')
    equal(ann.our_list('contacts'), {other: 'Bert'}, 'after an import by the reference')
    ann.theirs('delete', first)
    equal(ann.our_list(), {second: 'second'}, 'after a delete by the reference')
    ann.ours('delete', second, '-y')
    ann.ours('delete', '--contact', other, '-y')
    equal((ann.their_list(), ann.their_list('contacts')), ({}, {}), 'after deletes by vaultctl')


@case('t.bundles')
def bundles(lab):
    """The same bundle and the same contact file, byte for byte, whichever tool writes them."""
    labels = ('Ann', 'Cárol «Ünïcode» 鍵 🔑', 'with "quotes" and \\ and \t')
    one, two = Person(lab, 'one'), Person(lab, 'two')
    for number, label in enumerate(labels):
        ann = Person(lab, f'ann-{number}')
        fingerprint = ann.make('ours' if number else 'theirs', label)
        equal(ann.raw('export', fingerprint), ann.theirs('export', fingerprint).bytes, f'bundle of {label}')
        one.meets(ann, fingerprint, 'ours')
        two.meets(ann, fingerprint, 'theirs')
        # and by the line of text
        link = ann.ours('id', fingerprint)['link']
        three = Person(lab, f'three-{number}')
        three.ours('import', link)
        equal(three.our_list('contacts'), {fingerprint: label}, 'from the line')
    equal(tree_of(one.store), tree_of(two.store), 'contact files')
    equal(one.our_list('contacts'), two.our_list('contacts'), 'contacts')


@case('t.adopted')
def adopted(lab):
    """A pair that openssl made, taken over by vaultctl, is one for the reference."""
    openssl = lambda *arguments: subprocess.run(['openssl', *arguments], check=True, capture_output=True, cwd=lab.root)
    openssl('genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:4096', '-out', 'enc.pem')
    openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', 'sign.pem')
    ann = Person(lab, 'ann')
    fingerprint = ann.ours('adopt', 'enc.pem', 'sign.pem', '--label', 'adopted')['keys'][0]['fingerprint']
    equal(ann.their_list(), {fingerprint: 'adopted'}, 'key pairs by the reference')
    write(lab, 'text', b'hello\n')
    ann.theirs('sign', 'text', '--fingerprint', fingerprint)
    equal(ann.ours('verify', 'text')['valid'], True, 'signature by the adopted key')
    # and openssl reads what the store holds
    openssl('dgst', '-sha256', '-sign', os.path.join(ann.store, 'keys', fingerprint.replace(':', '_'), 'signing_private.pem'),
            '-passin', 'pass:' + WORDS, '-out', 'signature', 'text')


# ---------------------------------------------------------------- envelopes and signatures

def two_people(lab):
    """Ann and Bert, who know each other: their keys are those of the vectors."""
    ann, anns = from_vectors(lab, 'ann', 'alice')
    bert, berts = from_vectors(lab, 'bert', 'carol')
    ann.meets(bert, berts, 'ours')
    bert.meets(ann, anns, 'theirs')
    return ann, anns, bert, berts


def contents(lab, large):
    yield 'text.txt', lab.text()
    yield 'no newline.txt', 'naïve – 鍵'.encode()
    for size in SIZES:
        yield f'{size}.bin', lab.bytes(size)
    if large:
        yield 'large.bin', lab.bytes(LARGE)


@case('t.envelopes-by-ours', by='ours')
@case('t.envelopes-by-reference', by='theirs')
def envelopes(lab, by):
    """0 bytes to 50 MB, text and binary, signed and not: sealed by one tool, opened by both."""
    ann, anns, bert, berts = two_people(lab)
    for name, data in contents(lab, large=True):
        write(lab, name, data)
        for signed in (False, True):
            if by == 'ours':
                signer = ('--sign-with', anns) if signed else ()
                ann.ours('encrypt', name, '--recipient', berts, *signer, '-o', 'envelope', '--force')
            else:
                signer = ('--fingerprint', anns) if signed else ()
                ann.theirs('encrypt', name, '--recipient', berts, *signer, '-o', 'envelope')
            opened = bert.ours('decrypt', 'envelope', '-o', 'opened', '--force')
            equal(read(lab, 'opened') == data, True, f'{name} opened by vaultctl')
            equal(opened['signature']['status'], 'verified' if signed else 'unsigned', f'signature of {name}')
            if signed:
                equal(opened['signature']['covers'], 'whole' if by == 'ours' else 'ciphertext', 'what it covers')
                equal(opened['signature']['signer_label'], 'Alice Example', 'signer')
            told = bert.theirs('decrypt', 'envelope', '--fingerprint', berts, '-o', 'opened').out
            equal(read(lab, 'opened') == data, True, f'{name} opened by the reference')
            equal('Signature verified' in told, signed, f'signature of {name} in the reference')


@case('t.signatures-by-ours', by='ours')
@case('t.signatures-by-reference', by='theirs')
def signatures(lab, by):
    """Detached signatures of files from 0 bytes to 50 MB, and through standard input."""
    ann, anns, bert, _ = two_people(lab)
    for name, data in contents(lab, large=True):
        write(lab, name, data)
        if by == 'ours':
            ann.ours('sign', name)
        else:
            ann.theirs('sign', name, '--fingerprint', anns)
        ours, theirs = bert.ours('verify', name), bert.theirs('verify', name, name + '.sig', '--json').json()
        for member in ('valid', 'signing_fingerprint', 'signer_label', 'signer_source'):
            equal(ours[member], theirs[member], f'{member} of {name}')
        equal(ours['valid'], True, f'signature of {name}')
        if len(data) <= 70_000:
            equal(bert.ours('verify', '-', name + '.sig', stdin=data)['valid'], True, f'{name} through standard input')
            write(lab, 'piped', data)
            write(lab, 'piped.sig', ann.raw('sign', '-', stdin=data))
            bert.theirs('verify', 'piped', 'piped.sig')
        write(lab, name, data + b'x')
        bert.ours('verify', name, code=1)
        equal(bert.theirs('verify', name, name + '.sig', ok=False).code, 1, f'{name} changed, in the reference')
    # nobody who does not know Ann takes it for hers
    stranger = Person(lab, 'stranger')
    equal(stranger.ours('verify', 'text.txt', code=3)['signer_label'], None, 'signer, for a stranger')


@case('t.sealed')
def sealed(lab):
    """A sealed file is opened by each recipient, by nobody else, and the reference says that it does not know it."""
    ann, anns, bert, berts = two_people(lab)
    cleo, cleos = from_vectors(lab, 'cleo', 'bob')
    ann.meets(cleo, cleos, 'ours')
    cleo.meets(ann, anns, 'ours')
    for name, data in contents(lab, large=False):
        write(lab, name, data)
        ann.ours('seal', name, '--to', berts, '--to', cleos, '-o', 'sealed', '--force')
        for person in (bert, cleo):
            opened = person.ours('open', 'sealed', '-o', 'opened', '--force')
            equal(read(lab, 'opened') == data, True, f'{name} opened by {person.name}')
            equal((opened['signature']['status'], opened['signature']['covers']), ('verified', 'whole'), 'signature')
    ann.ours('open', 'sealed', '-o', 'mine', code=8)
    equal(os.path.exists(lab.path('mine')), False, 'written for somebody else')
    refused = bert.theirs('decrypt', 'sealed', '--fingerprint', berts, '-o', 'theirs', ok=False)
    equal((refused.code, os.path.exists(lab.path('theirs'))), (1, False), 'the reference on a sealed file')
