"""q. Tags, signatures and the signature policy: made by one tool, believed or refused by the other."""
import base64
import json
import os

from cases.b_made_by_vaultctl import new_vault
from roundtrip.forge import Forge
from roundtrip.harness import case, equal, files_of, same_keys
from roundtrip.reference import CRYPTO, PKI__Crypto
from roundtrip.stand_in import own, stand_in


def two_clones(lab, format='1'):
    """A vault with three commits, one clone of each tool, both registered at the server."""
    key = new_vault(lab, 'ours', '--format', format)
    lab.put('ours', 'file.txt', b'one\n')
    lab.ours.commit(lab.path('ours'), 'one')
    lab.ours.push(lab.path('ours'))
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.put('theirs', 'file.txt', b'two\n')
    lab.reference.commit(lab.path('theirs'), 'two')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.ours.pull(lab.path('ours'))
    return key, [entry['id'] for entry in lab.ours.log(lab.path('ours'))]


def our_tags(lab, clone='ours'):
    return {tag['name']: (tag['commit'], tag['message'], tag['status'], tag['time_ms'], tag['tagger_key_id'])
            for tag in lab.ours.json('tag', cwd=lab.path(clone))['tags']}


def their_tags(lab, clone='theirs'):
    return {tag['name']: (tag['commit_id'], tag['message'], tag['status'], tag['timestamp_ms'], tag['tagger_key_id'])
            for tag in lab.reference.at(lab.host, 'tag_list', lab.path(clone))}


def same_tags(lab, names):
    found = our_tags(lab)
    equal(sorted(found), sorted(names), 'tags by vaultctl')
    same_keys(found, their_tags(lab), 'tags by vaultctl and by the reference')
    equal({name: entry[2] for name, entry in found.items()}, dict.fromkeys(names, 'verified'), 'signatures')


@case('q.made-by-ours', format='1')
@case('q.made-by-ours.format2', format='2')
def made_by_ours(lab, format):
    """vaultctl tags and pushes; the reference lists, verifies, follows and deletes; the tag does not come back."""
    _, log = two_clones(lab, format)
    lab.ours.json('tag', '-m', 'first \u2713 "quoted"\nand more', 'v1', 'HEAD~1', cwd=lab.path('ours'))
    lab.ours.json('tag', 'release/2', cwd=lab.path('ours'))
    equal(their_tags(lab), {}, 'tags before the push')
    lab.reference.run('vault', 'tag', 'list', cwd=lab.path('ours'))
    pushed = lab.ours.push(lab.path('ours'))
    equal([(tag['name'], tag['change'], tag['commit']) for tag in pushed['tags']],
          [('release/2', 'added', log[0]), ('v1', 'added', log[1])], 'tags sent')
    same_tags(lab, ['release/2', 'v1'])
    for name, commit in (('v1', log[1]), ('release/2', log[0])):
        shown = lab.reference.run('vault', 'tag', 'show', name, cwd=lab.path('theirs')).out
        equal(commit in shown and 'signature verified' in shown, True, f'vault tag show {name}:\n{shown}')
    lab.reference.run('history', 'show', 'v1', cwd=lab.path('theirs'))
    lab.both_agree('theirs', commits=3)
    lab.both_agree('ours', commits=3)
    lab.reference.at(lab.host, 'tag_delete', lab.path('theirs'), 'v1')
    pulled = lab.ours.pull(lab.path('ours'))
    equal([(tag['name'], tag['change']) for tag in pulled['tags']], [('v1', 'deleted')], 'tags by the pull')
    same_tags(lab, ['release/2'])
    lab.put('ours', 'file.txt', b'three\n')
    lab.ours.commit(lab.path('ours'), 'three')
    lab.ours.push(lab.path('ours'))
    same_tags(lab, ['release/2'])


@case('q.made-by-reference', format='1')
@case('q.made-by-reference.format2', format='2')
def made_by_reference(lab, format):
    """The reference tags; vaultctl gets it by pull and by clone, verifies, follows, moves and deletes it."""
    key, log = two_clones(lab, format)
    lab.reference.at(lab.host, 'tag_create', lab.path('theirs'), 'v1', log[1], 'erste \u2713 Fassung')
    lab.reference.at(lab.host, 'tag_create', lab.path('theirs'), 'v2')
    pulled = lab.ours.pull(lab.path('ours'))
    equal([(tag['name'], tag['change'], tag['commit']) for tag in pulled['tags']],
          [('v1', 'added', log[1]), ('v2', 'added', log[0])], 'tags by the pull')
    same_tags(lab, ['v1', 'v2'])
    lab.ours.clone(key, 'third', lab.host, cwd=lab.root)
    same_keys(our_tags(lab, 'third'), our_tags(lab), 'tags of a new clone')
    equal(lab.ours.json('tag', '--verify', 'v1', cwd=lab.path('third'))['tags'][0]['message'],
          'erste \u2713 Fassung', 'message')
    equal(lab.ours.json('show', 'v1', cwd=lab.path('third'))['id'], log[1], 'commit of the tag')
    equal(len(lab.ours.log(lab.path('third'), 'v1..v2')), 1, 'commits between the tags')
    lab.ours.fsck(lab.path('third'))
    # a taken name is refused, here and after the fact
    lab.ours.refused('tag', 'v1', code=5, error='name_taken', cwd=lab.path('third'))
    lab.ours.json('tag', '-f', '-m', 'moved', 'v1', cwd=lab.path('third'))
    lab.ours.json('tag', '-d', 'v2', cwd=lab.path('third'))
    sent = lab.ours.push(lab.path('third'))['tags']
    equal([(tag['name'], tag['change']) for tag in sent], [('v1', 'moved'), ('v2', 'deleted')], 'tags sent')
    lab.ours.pull(lab.path('ours'))
    same_tags(lab, ['v1'])
    equal(their_tags(lab)['v1'][:2], (log[0], 'moved'), 'v1 as the reference sees it')
    # what the reference still had does not come back by its own writes
    lab.reference.pull(lab.path('theirs'))
    lab.put('theirs', 'file.txt', b'four\n')
    lab.reference.commit(lab.path('theirs'), 'four')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.ours.pull(lab.path('ours'))
    same_tags(lab, ['v1'])
    lab.both_agree('ours', commits=4)


@case('q.tagger-unknown')
def tagger_unknown(lab):
    """A clone of the reference that never pushed tags: its key is at the server, and the tag good, after its push."""
    key = new_vault(lab, 'ours')
    lab.ours.push(lab.path('ours'))
    lab.reference.clone(key, 'theirs', lab.host, lab.root)
    lab.reference.at(lab.host, 'tag_create', lab.path('theirs'), 'v1')
    lab.ours.pull(lab.path('ours'))
    equal(our_tags(lab)['v1'][2], 'no-key', 'signature')
    lab.ours.json('tag', '--verify', 'v1', cwd=lab.path('ours'), code=1)
    lab.ours.json('show', 'v1', cwd=lab.path('ours'), code=8)
    lab.put('theirs', 'file.txt', b'one\n')
    lab.reference.commit(lab.path('theirs'), 'one')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.ours.json('fetch', cwd=lab.path('ours'))
    same_tags(lab, ['v1'])
    lab.ours.json('tag', '--verify', 'v1', cwd=lab.path('ours'))


@case('q.both-name-one')
def both_name_one(lab):
    """Both tools take one name at once: the later push is refused until the tag is dropped or made on purpose."""
    _, log = two_clones(lab)
    lab.ours.json('tag', 'v1', 'HEAD~1', cwd=lab.path('ours'))
    lab.reference.at(lab.host, 'tag_create', lab.path('theirs'), 'v1')
    lab.ours.refused('push', code=5, error='name_taken', cwd=lab.path('ours'))
    equal(their_tags(lab)['v1'][0], log[0], 'v1 at the server')
    lab.ours.pull(lab.path('ours'))
    lab.ours.refused('push', code=5, error='name_taken', cwd=lab.path('ours'))
    equal(lab.ours.json('tag', '-d', 'v1', cwd=lab.path('ours'))['result'], 'restored', 'what became of ours')
    same_tags(lab, ['v1'])
    equal(lab.ours.push(lab.path('ours'))['result'], 'up_to_date', 'push')
    lab.ours.json('tag', '-f', 'v1', 'HEAD~1', cwd=lab.path('ours'))
    lab.ours.push(lab.path('ours'))
    same_tags(lab, ['v1'])
    equal(our_tags(lab)['v1'][0], log[1], 'v1 after the move')


@case('q.same-clone')
def same_clone(lab):
    """Both tools tag in one clone, in turns; a tag that was not pushed is not published by the reference."""
    _, log = two_clones(lab)
    clone = lab.path('ours')
    lab.ours.json('tag', 'v1', cwd=clone)
    lab.reference.at(lab.host, 'tag_create', clone, 'v2')
    lab.reference.at(lab.host, 'pull', clone)
    equal(sorted(our_tags(lab)), ['v1', 'v2'], 'tags by vaultctl')
    equal(sorted(their_tags(lab)), ['v2'], 'tags at the server')
    lab.ours.push(clone)
    same_tags(lab, ['v1', 'v2'])
    lab.ours.fsck(clone)
    lab.both_agree('theirs', commits=3)


@case('q.bad-tags')
def bad_tags(lab):
    """Tags with another name inside, without a signature, of an unknown key, changed or absent: told, never followed."""
    forge = Forge(lab)
    source = lab.path('source')
    lab.reference.at(lab.host, 'tag_create', source, 'good')
    index = forge.index_value()
    good = next(tag for tag in index['tags'] if tag['name'] == 'good')
    tag = json.loads(CRYPTO.decrypt(forge.read_key, forge.read('bare/data/' + good['tag_id'])))

    def forged(name, **changed):
        return dict(name=name, tag_id=forge.object(dict(dict(tag, name=name), **changed)), deleted=False, timestamp_ms=5)
    index['tags'] += [
        dict(good, name='other-name'), forged('changed'), forged('unsigned', signature=None),
        forged('no-key', tagger_key_id='key-rnd-imm-' + 'a' * 16), forged('no-tagger', tagger_key_id=None),
        forged('der', signature=base64.b64encode(b'\x30' * 70).decode()),
        dict(name='absent', tag_id='obj-cas-imm-' + 'a' * 12, deleted=False, timestamp_ms=5),
        dict(name='no-tag', tag_id=forge.object(b'not a tag'), deleted=False, timestamp_ms=5),
    ]
    forge.write(forge.index, forge.seal(index))
    lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)
    expected = {'good': 'verified', 'other-name': 'bad', 'changed': 'bad', 'unsigned': 'unsigned', 'no-key': 'no-key',
                'no-tagger': 'unsigned', 'der': 'bad', 'absent': 'missing', 'no-tag': 'bad'}
    found = {name: entry[2] for name, entry in our_tags(lab, 'clone').items()}
    same_keys(found, expected, 'status by vaultctl')
    theirs = {name: entry[2] for name, entry in their_tags(lab, 'source').items()}
    # what is no tag at all is "missing" for the reference
    same_keys(dict(found, **{'no-tag': 'missing'}), theirs, 'status by the reference')
    for name, status in expected.items():
        code = {'verified': 0, 'unsigned': 1, 'no-key': 1}.get(status, 8)
        lab.ours.json('tag', '--verify', name, cwd=lab.path('clone'), code=code)
        lab.ours.json('log', name, cwd=lab.path('clone'), code=0 if code == 0 else 8)
        lab.reference.run('history', 'show', name, cwd=source, ok=code == 0)
    report = lab.ours.json('fsck', cwd=lab.path('clone'), code=8)
    equal(report['tags'], dict(verified=1, bad=['changed', 'der', 'no-tag', 'other-name'], unsigned=2, no_key=1,
                               missing=1), 'tags by fsck')


@case('q.verify-commit')
def verify_commit(lab):
    """Both tools come to the same about the signatures of commits of both."""
    two_clones(lab)
    lab.put('ours', 'file.txt', b'unsigned\n')
    unsigned = lab.ours.commit(lab.path('ours'), 'unsigned', '--no-sign')['commit']['id']
    lab.ours.push(lab.path('ours'))
    lab.reference.pull(lab.path('theirs'))
    lab.put('theirs', 'other.txt', b'by the reference\n')
    lab.reference.commit(lab.path('theirs'), 'by the reference')
    lab.reference.push(lab.path('theirs'), lab.host)
    lab.ours.pull(lab.path('ours'))
    for clone in ('ours', 'theirs'):
        statuses = lab.reference.View(lab.path(clone)).signatures()
        log = {entry['id']: entry['signature'] for entry in lab.ours.log(lab.path(clone), '--show-signature')}
        same_keys(log, {commit: status for status, commits in statuses.items() for commit in commits}, 'signatures')
        answer = lab.ours.json('verify-commit', '--all', cwd=lab.path(clone), code=1)
        equal(answer['counts'], dict(verified=4, bad=0, unsigned=1, no_key=0), 'counts')
        equal([(commit['id'], commit['status']) for commit in answer['commits']], [(unsigned, 'unsigned')], 'told')
        lab.ours.json('verify-commit', cwd=lab.path(clone))
        lab.ours.json('verify-commit', 'HEAD', unsigned, cwd=lab.path(clone), code=1)


def signed(forge, commit, key, key_id):
    """A commit of `Forge.commit`'s members with a signature."""
    members = dict(commit, author_key_id=key_id)
    body = {name: value for name, value in members.items() if name != 'signature'}
    text = json.dumps(body, sort_keys=True, separators=(',', ':'), ensure_ascii=False)
    return dict(members, signature=base64.b64encode(PKI__Crypto().sign(key, text.encode())).decode())


@case('q.policy')
def policy(lab):
    """After the anchor unsigned, badly signed and unknown commits stop clone, read-only clone, pull, fetch and push;
    before it they do not."""
    forge = Forge(lab)
    source = lab.path('source')
    old = forge.commit(forge.tree(forge.file_entry('unsigned.txt')))
    forge.publish(old)
    lab.reference.pull(source)
    lab.put('source', 'anchor.txt', b'the head when the policy was switched on\n')
    lab.reference.commit(source, 'anchor')
    lab.reference.push(source, lab.host)
    lab.reference.set_format(source, lab.host, add_features=['signatures-required'])
    equal(any(feature.startswith('signed-since-') for feature in forge.index_value()['features']), True, 'an anchor')
    anchor = lab.reference.View(source).head()
    lab.ours.clone(forge.key, 'clone', lab.host, cwd=lab.root)       # an unsigned commit before the anchor is accepted
    before, good = files_of(lab.path('clone')), forge.read(forge.ref)
    template = dict(schema='commit_v1', tree_id=forge.tree(forge.file_entry('x')), message_enc=None, branch_id='',
                    signature=None, author_key_id=None, author_signature=None, parents=[anchor],
                    timestamp_ms=1767225600000, attestations=[])
    stranger, _ = PKI__Crypto().generate_signing_key_pair()
    known = lab.ours.log(lab.path('clone'))[0]['author']['key_id']
    read_key = forge.hex_key + ':' + forge.vault_id
    for name, members in (('unsigned', template), ('bad', signed(forge, template, stranger, known)),
                          ('no-key', signed(forge, template, stranger, 'key-rnd-imm-' + 'b' * 16))):
        # also below a commit that is in order
        for head in (members, None):
            commit = forge.object(members)
            if head is None:
                below = dict(template, parents=[commit])
                private = lab.reference.View(source).parts.key_manager.load_private_key_locally(
                    key_of(lab, source), source + '/.sg_vault/local')
                commit = forge.object(signed(forge, below, private, key_of(lab, source)))
            forge.publish(commit)
            what = f'{name}, {"at" if head else "below"} the head'
            for verb in ('pull', 'fetch'):
                answer = lab.ours.refused(verb, code=8, error='signature_bad', cwd=lab.path('clone'))
                equal(name in answer['error']['message'], True, f'{what}: {answer["error"]["message"]}')
            same_keys(files_of(lab.path('clone')), before, f'{what}: files')
            for options in ([], ['--read-only']):
                lab.ours.json('clone', '-', 'new', '--server', lab.host, *options, cwd=lab.root,
                              stdin=forge.key + '\n', code=8)
            equal(lab.reference.run('clone', '--base-url', lab.host, '-', f'their-{name}-{bool(head)}', cwd=lab.root,
                                    stdin=read_key + '\n', ok=False).code != 0, True, f'{what}: clone by the reference')
    forge.write(forge.ref, good)
    lab.put('clone', 'mine.txt', b'mine\n')
    # What could not be pushed is not committed.
    head = lab.reference.View(lab.path('clone')).head()
    lab.ours.refused('commit', '-m', 'mine', '--no-sign', code=9, error='refused', cwd=lab.path('clone'))
    key = lab.path('clone', '.sg_vault', 'local', key_of(lab, lab.path('clone')) + '.pem')
    os.rename(key, key + '.away')
    lab.ours.refused('commit', '-m', 'mine', code=6, error='key_missing', cwd=lab.path('clone'))
    equal(lab.reference.View(lab.path('clone')).head(), head, 'the head after refused commits')
    os.rename(key + '.away', key)
    lab.ours.commit(lab.path('clone'), 'mine')
    lab.ours.push(lab.path('clone'))
    equal(forge.read(forge.ref) != good, True, 'a signed commit is pushed')


def key_of(lab, clone):
    view = lab.reference.View(clone)
    config = view.sync._read_local_config(clone, view.parts.storage)
    return str(view.parts.branch_manager.get_branch_by_id(view.index, str(config.my_branch_id)).public_key_id)


@case('q.over-http.stand-in', server=stand_in)
@case('q.over-http.serve', server=own)
def over_http(lab, server):
    """The reference with its own commands and vaultctl make, move and delete tags on one server over HTTP."""
    with server(lab) as url:
        lab.ours.json('init', 'ours', '--server', url, '--push', cwd=lab.root)
        with open(lab.path('ours', '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
            key = file.read()
        lab.put('ours', 'file.txt', b'one\n')
        lab.ours.commit(lab.path('ours'), 'one')
        lab.ours.json('tag', '-m', 'of vaultctl', 'v1', 'HEAD~1', cwd=lab.path('ours'))
        equal([tag['name'] for tag in lab.ours.push(lab.path('ours'))['tags']], ['v1'], 'tags with a commit')
        lab.reference.clone(key, lab.path('theirs'), url, lab.root)
        theirs = lab.path('theirs')
        lab.put('theirs', 'file.txt', b'two\n')
        lab.reference.commit(theirs, 'two')
        lab.reference.run('push', cwd=theirs)
        lab.reference.run('vault', 'tag', 'create', 'v2', '-m', 'of sgit', cwd=theirs)
        equal('signature verified' in lab.reference.run('vault', 'tag', 'show', 'v1', cwd=theirs).out, True, 'v1')
        pulled = lab.ours.pull(lab.path('ours'))
        equal([(tag['name'], tag['change']) for tag in pulled['tags']], [('v2', 'added')], 'tags by the pull')
        lab.ours.json('tag', '--verify', 'v2', cwd=lab.path('ours'))
        lab.ours.json('tag', '-d', 'v1', cwd=lab.path('ours'))
        lab.ours.json('tag', '-f', 'v2', 'HEAD~1', cwd=lab.path('ours'))
        pushed = lab.ours.push(lab.path('ours'))
        equal((pushed['commits'], [(tag['name'], tag['change']) for tag in pushed['tags']]),
              (0, [('v1', 'deleted'), ('v2', 'moved')]), 'tags without a commit')
        shown = lab.reference.run('vault', 'tag', 'list', cwd=theirs).out
        equal(('v1' in shown, 'v2' in shown, '!' in shown), (False, True, False), shown)
        lab.reference.run('vault', 'tag', 'delete', 'v2', cwd=theirs)
        lab.ours.json('fetch', cwd=lab.path('ours'))
        equal(our_tags(lab), {}, 'tags after the last was deleted')
        lab.both_agree('ours', commits=3)
