"""t. Identities: key pairs, bundles, envelopes and signatures of either tool, used by the other; one store used by both;
everything tampered with."""
import base64
import contextlib
import json
import os
import re
import shutil
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


# ---------------------------------------------------------------- tampered with

def packed(value):
    return base64.b64encode(json.dumps(value).encode())


def unpacked(data):
    return json.loads(base64.b64decode(data))


def flipped(text, place=0):
    """Base64 of the same bytes with one bit changed."""
    data = bytearray(base64.b64decode(text))
    data[place] ^= 1
    return base64.b64encode(data).decode()


def cut(text, count):
    return base64.b64encode(base64.b64decode(text)[:-count]).decode()


@case('t.tampered-envelopes-by-ours', by='ours')
@case('t.tampered-envelopes-by-reference', by='theirs')
def tampered_envelopes(lab, by):
    """Every member of a signed envelope changed. Nothing is written unless all of it is in order; where the reference
    opens a false signature of somebody known with a remark, vaultctl refuses."""
    ann, anns, bert, berts = two_people(lab)
    data = lab.text(3)
    write(lab, 'text', data)
    if by == 'ours':
        ann.ours('encrypt', 'text', '--recipient', berts, '--sign-with', anns, '-o', 'good')
    else:
        ann.theirs('encrypt', 'text', '--recipient', berts, '--fingerprint', anns, '-o', 'good')
    good = unpacked(read(lab, 'good'))
    own = next(key['signing_fingerprint'] for key in bert.ours('list')['keys'])
    edit = lambda **members: {name: value for name, value in {**good, **members}.items() if value is not None}
    # what → envelope, exit of vaultctl, status of the signature
    cases = {'w changed': (edit(w=flipped(good['w'], 100)), 8, None), 'w cut': (edit(w=cut(good['w'], 1)), 8, None),
             'i changed': (edit(i=flipped(good['i'])), 8, None), 'i cut': (edit(i=cut(good['i'], 1)), 8, None),
             'c changed': (edit(c=flipped(good['c'])), 8, None), 'tag changed': (edit(c=flipped(good['c'], -1)), 8, None),
             'c cut': (edit(c=cut(good['c'], 1)), 8, None), 'c empty': (edit(c=''), 8, None),
             'w missing': (edit(w=None), 8, None), 'i missing': (edit(i=None), 8, None), 'c missing': (edit(c=None), 8, None),
             'c a number': (edit(c=7), 8, None), 'version 3': (edit(v=3), 13, None), 'no version': (edit(v=None), 8, None),
             's changed': (edit(s=flipped(good['s'], 40)), 8, 'false'), 's cut': (edit(s=cut(good['s'], 1)), 8, 'false'),
             's no base64': (edit(s='AAA'), 8, None), 'another known signer': (edit(f=own), 8, 'false'),
             'an unknown signer': (edit(f='sha256:0123456789abcdef'), 0, 'unknown_signer'),
             'no signature': (edit(s=None, f=None, sf=None), 0, 'unsigned'),
             'more members': (edit(extra=[1, 2]), 0, 'verified')}
    if 'sf' in good:
        cases['sf changed'] = (edit(sf=flipped(good['sf'], 40)), 8, 'false')
        cases['sf taken away'] = (edit(sf=None), 0, 'verified')
    for what, (envelope, code, status) in cases.items():
        write(lab, 'bad.enc', packed(envelope))
        for path in ('bad', 'theirs'):
            with contextlib.suppress(FileNotFoundError):
                os.remove(lab.path(path))
        answer = bert.ours('decrypt', 'bad.enc', code=code)
        equal(os.path.exists(lab.path('bad')), code == 0, f'{what}: written')
        theirs = bert.theirs('decrypt', 'bad.enc', '--fingerprint', berts, '-o', 'theirs', ok=False)
        if code == 0:
            equal(answer['signature']['status'], status, f'{what}: signature')
            equal(read(lab, 'bad'), data, f'{what}: content')
        elif status == 'false':
            equal(answer['error']['code'], 'signature_bad', f'{what}: error')
        equal(theirs.code, 0 if code == 0 or status == 'false' else 1, f'{what}: the reference, {theirs}')


@case('t.tampered-text')
def tampered_text(lab):
    """One byte of an envelope, of a sealed file, of a signature or of a bundle changed at random: refused, or the same."""
    ann, anns, bert, berts = two_people(lab)
    data = lab.text(2)
    write(lab, 'text', data)
    ann.ours('encrypt', 'text', '--recipient', berts, '--sign-with', anns, '-o', 'good.enc')
    ann.ours('seal', 'text', '--to', berts, '-o', 'good.sealed')
    ann.ours('sign', 'text', '-o', 'good.sig')
    bundle = ann.raw('export')
    write(lab, 'good.json', bundle)

    def spoilt(name):
        text = bytearray(read(lab, name))
        place, old = lab.random.randrange(len(text)), None
        old = text[place]
        text[place] = lab.random.choice([byte for byte in range(256) if byte != old])
        write(lab, 'spoilt', bytes(text))
        return place

    verdicts = dict(opened=0, refused=0)
    for verb, name in (('decrypt', 'good.enc'), ('open', 'good.sealed')):
        for _ in range(40):
            place = spoilt(name)
            answer = bert.ours(verb, 'spoilt', '-o', 'opened', '--force', code=None)
            if answer['ok']:
                equal(read(lab, 'opened'), data, f'{name}, byte {place}: content')
            equal(answer['ok'] or answer['exit'] in (8, 13), True, f'{name}, byte {place}: {answer}')
            verdicts['opened' if answer['ok'] else 'refused'] += 1
    equal(verdicts['refused'] > verdicts['opened'], True, f'{verdicts}')
    for _ in range(40):
        place = spoilt('good.sig')
        code = bert.lab.ours.run('pki', 'verify', 'text', 'spoilt', cwd=lab.root, code=None, environment=bert.variables()).code
        equal(code in (0, 1, 3, 8), True, f'good.sig, byte {place}: exit {code}')
        if code == 0:                                                # only white space may differ
            equal(json.loads(read(lab, 'spoilt')), json.loads(read(lab, 'good.sig')), f'good.sig, byte {place}')
    for _ in range(40):
        place = spoilt('good.json')
        home = lab.path('fresh')
        shutil.rmtree(home, ignore_errors=True)
        answer = lab.ours.json('pki', 'import', 'spoilt', '--home', home, cwd=lab.root, code=None)
        equal(answer['ok'] or answer['exit'] in (8, 13), True, f'good.json, byte {place}: {answer}')
        equal(os.path.exists(home), answer['ok'], f'good.json, byte {place}: stored')


@case('t.tampered-store')
def tampered_store(lab):
    """Files of a store exchanged or damaged: told, and never used for what they are not."""
    ann, anns, bert, berts = two_people(lab)
    write(lab, 'text', b'hello\n')
    folder = os.path.join(ann.store, 'keys', anns.replace(':', '_'))
    foreign = os.path.join(bert.store, 'keys', berts.replace(':', '_'))
    bert.ours('encrypt', 'text', '--recipient', anns, '-o', 'text.enc')

    def during(name, data, check):
        path = os.path.join(folder, name)
        with open(path, 'rb') as file:
            before = file.read()
        with open(path, 'wb') as file:
            file.write(data(before))
        check()
        with open(path, 'wb') as file:
            file.write(before)

    def of(name):
        with open(os.path.join(foreign, name), 'rb') as file:
            content = file.read()
        return lambda _: content

    def left_out():
        found = ann.ours('list')
        equal((len(found['keys']), len(found['warnings'])), (0, 1), 'a damaged pair')

    during('public_key.pem', of('public_key.pem'), left_out)
    during('metadata.json', lambda _: b'{"label": 7}', left_out)
    during('metadata.json', lambda old: old[:-1], left_out)
    during('private_key.pem', of('private_key.pem'),
           lambda: ann.ours('decrypt', 'text.enc', '-o', 'x', code=8, passphrase=bert.passphrase))
    during('signing_private.pem', of('signing_private.pem'),
           lambda: ann.ours('sign', 'text', '-o', 'x', code=8, passphrase=bert.passphrase))
    during('private_key.pem', lambda old: old[:1500] + (b'AAAA' if old[1500:1504] != b'AAAA' else b'BBBB') + old[1504:],
           lambda: ann.ours('decrypt', 'text.enc', '-o', 'x', code=6))
    during('private_key.pem', lambda old: old[:-100], lambda: ann.ours('decrypt', 'text.enc', '-o', 'x', code=8))
    during('signing_private.pem', lambda _: b'', lambda: ann.ours('sign', 'text', '-o', 'x', code=8))
    equal(os.path.exists(lab.path('x')), False, 'something was written')
    # a contact whose file claims another signing key: the key decides
    contact = os.path.join(bert.store, 'keyring', anns.replace(':', '_') + '.json')
    with open(contact, encoding='utf-8') as file:
        value = json.load(file)
    with open(contact, 'w', encoding='utf-8') as file:
        json.dump({**value, 'signing_fingerprint': 'sha256:0123456789abcdef'}, file)
    ann.ours('sign', 'text')
    equal(bert.ours('verify', 'text')['valid'], True, 'the computed fingerprint')
    equal(len(bert.ours('contacts')['warnings']), 1, 'the claim is told')
    with open(contact, 'w', encoding='utf-8') as file:
        json.dump({**value, 'public_key_pem': value['signing_key_pem']}, file)
    equal(bert.our_list('contacts'), {}, 'a contact without an encryption key')
    # links planted in the store are not followed
    shutil.move(folder, lab.path('elsewhere'))
    os.symlink(lab.path('elsewhere'), folder)
    before = tree_of(lab.path('elsewhere'))
    ann.ours('decrypt', 'text.enc', '-o', 'x', code=None)
    ann.ours('delete', anns, '-y', code=None)
    equal(tree_of(lab.path('elsewhere')), before, 'files behind a link')
