"""t. Identities, tampered with: envelopes, sealed files, signatures, bundles, key stores."""
import base64
import contextlib
import json
import os
import shutil

from cases.t_pki import read, two_people, write
from roundtrip.harness import case, equal, tree_of


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
        place = lab.random.randrange(len(text))
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
        code = lab.ours.run('pki', 'verify', 'text', 'spoilt', cwd=lab.root, code=None, environment=bert.variables()).code
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
