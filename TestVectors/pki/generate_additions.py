#!/usr/bin/env python3
"""generate_additions.py: what docs/pki-format.md adds to the reference's formats, made from its text with other code.

Reads identities.json beside it and writes additions.json. Needs the Python package `cryptography`. Keys, IVs and
signatures are random, so every run gives other bytes of the same meaning.
"""
import base64
import hashlib
import hmac
import json
import os
import struct

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

HERE = os.path.dirname(os.path.abspath(__file__))
MESSAGE = 'Treffen um acht, am Ende der Straße.\n'.encode()


def b64(data):
    return base64.b64encode(data).decode()


def fields(label, *parts):
    return label.encode() + b'\0' + b''.join(struct.pack('>Q', len(part)) + part for part in parts)


class Identity:
    def __init__(self, record):
        load = lambda text: serialization.load_pem_private_key(text.encode(), None)
        self.encryption = load(record['encryption']['private_pkcs8_pem'])
        self.signing = load(record['signing']['private_pkcs8_pem'])
        self.signer = record['signing']['fingerprint']
        self.key_infos = [bytes.fromhex(record[half]['spki_der_hex']) for half in ('encryption', 'signing')]
        self.label = record['label']

    def wrap(self, key):
        oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
        return self.encryption.public_key().encrypt(key, oaep)

    def key_hash(self):
        return hashlib.sha256(self.key_infos[0]).digest()

    def sign(self, data, digest):
        r, s = utils.decode_dss_signature(self.signing.sign(data, ec.ECDSA(digest)))
        return r.to_bytes(32, 'big') + s.to_bytes(32, 'big')


def text(value):
    return b64(json.dumps(value).encode())


def envelope(version, recipient, signer):
    key, iv = os.urandom(32), os.urandom(12)
    c, w = AESGCM(key).encrypt(iv, MESSAGE, None), recipient.wrap(key)
    knowledge = HKDF(hashes.SHA256(), 32, None, b'vaultctl/envelope-signer/1').derive(key)
    whole = fields('vaultctl/envelope-signature/1', bytes([version]), recipient.key_hash(), w, iv,
                   hashlib.sha256(c).digest(), knowledge, signer.signer.encode())
    return text({'v': version, 'w': b64(w), 'i': b64(iv), 'c': b64(c), 's': b64(signer.sign(c, hashes.SHA256())),
                 'f': signer.signer, 'sf': b64(signer.sign(whole, hashes.SHA384()))})


def sealed(recipients, signer):
    key, iv = os.urandom(32), os.urandom(12)
    derive = lambda info: HKDF(hashes.SHA256(), 32, None, info.encode()).derive(key)
    c = AESGCM(derive('vaultctl/sealed-payload/1')).encrypt(iv, MESSAGE, None)
    name = signer.signer.encode() if signer else b''
    wrapped = [(recipient.key_hash(), recipient.wrap(key)) for recipient in recipients]
    head = [struct.pack('>H', len(wrapped))] + [part for pair in wrapped for part in pair]
    code = hmac.new(derive('vaultctl/sealed-header/1'), fields('vaultctl/sealed-header/1', *head, iv, name), 'sha256').digest()
    value = {'sealed': 1, 'r': [{'k': k.hex(), 'w': b64(w)} for k, w in wrapped], 'i': b64(iv), 'c': b64(c), 'h': b64(code)}
    if signer:
        covered = fields('vaultctl/sealed-signature/1', *head, iv, hashlib.sha256(c).digest(), code, name)
        value |= {'f': signer.signer, 'sf': b64(signer.sign(covered, hashes.SHA384()))}
    return text(value)


def link(identity, signs):
    url = lambda data: base64.urlsafe_b64encode(data).rstrip(b'=').decode()
    encryption, signing = identity.key_infos
    line = 'vaultctl-id:1.' + '.'.join([url(encryption), url(signing if signs else b''), url(identity.label.encode())])
    return line + '.' + url(hashlib.sha256(line.encode()).digest()[:6])


def main():
    with open(os.path.join(HERE, 'identities.json'), encoding='utf-8') as file:
        alice, bob, carol = (Identity(record) for record in json.load(file)['identities'])
    cases = {
        'message_hex': MESSAGE.hex(),
        'envelopes': [
            {'id': 'v2-whole', 'recipients': ['alice'], 'signer': 'bob', 'envelope': envelope(2, alice, bob)},
            {'id': 'v1-whole', 'recipients': ['carol'], 'signer': 'alice', 'envelope': envelope(1, carol, alice)},
            {'id': 'sealed-three', 'recipients': ['alice', 'bob', 'carol'], 'signer': 'bob',
             'envelope': sealed([alice, bob, carol], bob)},
            {'id': 'sealed-one', 'recipients': ['bob'], 'signer': 'carol', 'envelope': sealed([bob], carol)},
            {'id': 'sealed-unsigned', 'recipients': ['carol', 'alice'], 'signer': None, 'envelope': sealed([carol, alice], None)},
        ],
        'links': [{'identity': 'alice', 'signs': True, 'link': link(alice, True)},
                  {'identity': 'carol', 'signs': True, 'link': link(carol, True)},
                  {'identity': 'bob', 'signs': False, 'link': link(bob, False)}],
    }
    with open(os.path.join(HERE, 'additions.json'), 'w', encoding='utf-8') as file:
        json.dump(cases, file, indent=1)
        file.write('\n')


if __name__ == '__main__':
    main()
