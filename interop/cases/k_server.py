"""k. `vaultctl serve`, used by the reference over HTTP and by vaultctl through the same files."""
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import zipfile

from roundtrip.harness import Skipped, case, equal
from roundtrip.served import certificate, push_at_once, serve, vaults


def sgit_vault(lab, server, clone='sgit'):
    """A vault of the reference on the server; gives key and id."""
    key = lab.key()
    lab.reference.init(lab.path(clone), key, server.url, lab.root)
    lab.some_files(clone)
    lab.reference.commit(lab.path(clone), 'first')
    lab.reference.run('push', cwd=lab.path(clone))
    return key, key.split(':')[1]


@case('k.both_tools')
def both_tools(lab):
    """The reference over HTTP, vaultctl in the served folder, in turn; then a fresh clone by each."""
    with serve(lab) as server:
        key, vault = sgit_vault(lab, server)
        equal(vaults(lab), [vault], 'vaults')
        folder = lab.path('served', vault)
        lab.ours.clone(key, 'ours', folder, cwd=lab.root)
        lab.same_files('sgit', 'ours')
        for turn in range(3):
            lab.put('ours', f'ours/{turn}.txt', lab.text())
            lab.ours.commit(lab.path('ours'), f'ours {turn}')
            lab.ours.push(lab.path('ours'))
            lab.reference.pull(lab.path('sgit'))
            lab.put('sgit', f'sgit/{turn}.txt', lab.text())
            lab.reference.commit(lab.path('sgit'), f'sgit {turn}')
            lab.reference.run('push', cwd=lab.path('sgit'))
            lab.ours.pull(lab.path('ours'))
            lab.same_files('sgit', 'ours')
        lab.reference.clone(key, lab.path('again'), server.url, lab.root)
        lab.same_files('sgit', 'again')
        lab.both_agree('ours')


@case('k.concurrent_pushes')
def concurrent_pushes(lab):
    """Both tools push at the same moment, round after round: one of them wins, nothing is lost."""
    with serve(lab) as server:
        key, vault = sgit_vault(lab, server)
        lab.ours.clone(key, 'ours', lab.path('served', vault), cwd=lab.root)
        push_at_once(lab, 8)


@case('k.large_blobs')
def large_blobs(lab):
    """A file of several parts goes through the signed addresses; nothing is left in the folder of uploads."""
    with serve(lab, '--access-log', 'log') as server:
        key, vault = sgit_vault(lab, server)
        lab.reference.clone(key, lab.path('again'), server.url, lab.root)
        lab.put('sgit', 'large.bin', lab.bytes(23_000_001))
        lab.reference.commit(lab.path('sgit'), 'large')
        lab.reference.run('push', cwd=lab.path('sgit'))
        lab.reference.pull(lab.path('again'))
        lab.same_files('sgit', 'again')
        equal(os.listdir(lab.path('served', vault, '.vaultctl', 'uploads')), [], 'uploads')
    with open(lab.path('log'), encoding='utf-8') as log:
        lines = [json.loads(line) for line in log]
    equal(len([line for line in lines if '/transfer/part/' in line['path'] and line['status'] == 200]), 3, 'parts sent')
    equal(any('/transfer/file/' in line['path'] and line['status'] == 206 for line in lines), True, 'ranges read')


@case('k.destroyed')
def destroyed(lab):
    """A vault that was deleted on the server stays deleted, for both tools."""
    with serve(lab) as server:
        _, vault = sgit_vault(lab, server)
        lab.reference.run('vault', 'delete-on-remote', '--yes', cwd=lab.path('sgit'))
        lab.put('sgit', 'more.txt', 'more')
        lab.reference.commit(lab.path('sgit'), 'more')
        refused = lab.reference.run('push', cwd=lab.path('sgit'), ok=False)
        equal(refused.code != 0, True, 'a push to a deleted vault is refused')
        equal(server.request('GET', f'/api/vault/list/{vault}')[1],
              f'{{"vault_id":"{vault}","prefix":"","files":[]}}'.encode(), 'list')
        equal(os.listdir(lab.path('served', vault)), ['.vaultctl'], 'what is left')


@case('k.tokens_tls_signals')
def tokens_tls_signals(lab):
    """TLS, a token taken away by SIGHUP, the log rotated, and a graceful stop in the middle of a request."""
    if shutil.which('openssl') is None:
        raise Skipped('openssl is needed to make a certificate')
    chain, key, trust = certificate(lab)
    token = lab.ours.json('serve', 'token', 'laptop')
    with open(lab.path('tokens'), 'w', encoding='utf-8') as file:
        file.write(f'# who may write\n{token["line"]}\n')
    os.chmod(lab.path('tokens'), 0o600)
    with serve(lab, '--tokens', 'tokens', '--tls-cert', chain, '--tls-key', key, '--access-log', 'log') as server:
        server.trust = trust
        equal(server.put('bare/x', b'1')[0], 401, 'without token')
        equal(server.put('bare/x', b'1', token=token['token'])[0], 200, 'with token')
        equal(server.put('bare/large', lab.bytes(3_000_000), token=token['token'])[0], 200, 'a larger body')
        equal(len(server.get('bare/large')[1]), 3_000_000, 'read over TLS')
        url = json.loads(server.request('GET', '/api/vault/presigned/read-url/vault0001/bare/x')[1])['url']
        equal(url.startswith(f'https://127.0.0.1:{server.port}/transfer/'), True, f'signed address {url}')
        os.rename(lab.path('log'), lab.path('log.1'))
        other = lab.ours.json('serve', 'token', 'other')
        with open(lab.path('tokens'), 'w', encoding='utf-8') as file:
            file.write(other['line'] + '\n')
        server.signal(signal.SIGHUP)
        deadline = time.monotonic() + 10
        while server.put('bare/x', b'2', token=token['token'])[0] != 401:
            equal(time.monotonic() < deadline, True, 'the old token is refused after SIGHUP')
            time.sleep(0.05)
        equal(server.put('bare/x', b'3', token=other['token'])[0], 200, 'with the new token')
    with open(lab.path('log.1'), encoding='utf-8') as first, open(lab.path('log'), encoding='utf-8') as second:
        text = first.read() + second.read()
    for secret in (token['token'], other['token'], 'a' * 64, 'signature'):
        equal(secret in text, False, 'a secret in the log')
    equal('"token":"laptop"' in text and '"token":"other"' in text, True, 'names in the log')


@case('k.graceful_stop')
def graceful_stop(lab):
    """A request under way when SIGTERM comes is answered; the server then ends with 0."""
    with serve(lab, stops=False) as server:
        connection = socket.create_connection(('127.0.0.1', server.port), timeout=20)
        connection.sendall(b'PUT /api/vault/write/vault0001/bare/x HTTP/1.1\r\nHost: x\r\nx-sgraph-vault-write-key: k\r\n'
                           b'Content-Length: 4\r\n\r\nab')
        time.sleep(0.5)
        server.signal(signal.SIGTERM)
        time.sleep(0.5)
        connection.sendall(b'cd')
        answer = connection.recv(65536)
        equal(answer.startswith(b'HTTP/1.1 200'), True, f'answer {answer!r}')
        equal(server.process.wait(timeout=20), 0, 'exit code')


@case('k.refusals')
def refusals(lab):
    """What `serve` does not start with, and the exit codes that say so."""
    root = lab.path('served')
    lab.ours.refused('serve', '--root', root, '--bind', '0.0.0.0', '--port', '0', code=9, error='refused')
    lab.ours.refused('serve', '--root', root, '--bind', 'localhost', '--port', '0', code=2, error='usage')
    lab.ours.refused('serve', '--root', root, '--port', '70000', code=2, error='usage')
    lab.ours.refused('serve', '--port', '0', code=2, error='usage')
    lab.ours.refused('serve', '--root', root, '--port', '0', '--tokens', lab.path('none'), code=12, error='io_error')
    with serve(lab) as server:
        lab.ours.refused('serve', '--root', root, '--port', str(server.port), code=12, error='io_error')
    with serve(lab, '--read-only') as server:
        equal(server.put('bare/x', b'1')[0], 403, 'a write to a read-only server')


@case('k.full_disk')
def full_disk(lab):
    """A full disk is 507, harms nothing, and is over when there is room again."""
    os.makedirs(lab.path('served'))
    if os.geteuid() != 0:
        raise Skipped('only root can mount a small file system')
    mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=40m', 'tmpfs', lab.path('served')], capture_output=True)
    if mounted.returncode != 0:
        raise Skipped('a small file system can not be mounted here')
    try:
        with serve(lab) as server:
            equal(server.put('bare/x', b'1')[0], 200, 'a small write')
            equal(server.put('bare/large', bytes(30 << 20))[0], 507, 'a write that leaves too little room')
            with open(lab.path('served', 'fill'), 'wb') as fill:
                try:
                    while True:
                        fill.write(bytes(1 << 20))
                except OSError:
                    pass
            body = json.dumps(dict(operations=[
                dict(op='write', file_id=f'bare/data/{number}', data='A' * 400_000) for number in range(10)]))
            equal(server.request('POST', '/api/vault/batch/vault0001', body)[0], 507, 'a batch on the full disk')
            equal(server.get('bare/x'), (200, b'1'), 'what was there')
            os.remove(lab.path('served', 'fill'))
            equal(server.request('POST', '/api/vault/batch/vault0001', body)[0], 200, 'the batch when there is room')
    finally:
        subprocess.run(['umount', lab.path('served')], check=True)


@case('k.backup')
def backup(lab):
    """Copies taken while the vault is written: each is whole, and can be cloned."""
    with serve(lab) as server:
        key, vault = sgit_vault(lab, server)
        lab.ours.clone(key, 'ours', lab.path('served', vault), cwd=lab.root)
        stop = threading.Event()

        def write():
            turn = 0
            while not stop.is_set():
                turn += 1
                lab.put('ours', 'counter.txt', str(turn))
                lab.ours.commit(lab.path('ours'), f'turn {turn}')
                lab.ours.push(lab.path('ours'))

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(4):
                copied = lab.ours.json('serve', 'backup', '--root', lab.path('served'), lab.path(f'copy{number}'))
                equal([entry['vault_id'] for entry in copied['vaults']], [vault], 'vaults copied')
        finally:
            stop.set()
            writer.join()
        for number in range(4):
            lab.ours.clone(key, f'from{number}', lab.path(f'copy{number}', vault), cwd=lab.root)
            lab.ours.fsck(lab.path(f'from{number}'))
        partial = lab.ours.json('serve', 'backup', '--root', lab.path('served'), lab.path('copy0'), code=10)
        equal(partial['failed'][0]['code'], 'directory_not_empty', 'a copy never falls on another')
        write_key = lab.ours.json('keys', 'derive', '--show-secrets', '-y', cwd=lab.path('ours'))['write_key']
        status, body = server.request('GET', f'/api/vault/zip/{vault}', write_key=write_key)
        equal(status, 200, 'zip')
        with open(lab.path('vault.zip'), 'wb') as file:
            file.write(body)
        with zipfile.ZipFile(lab.path('vault.zip')) as archive:
            equal(archive.testzip(), None, 'damaged member')
            archive.extractall(lab.path('unzipped'))
        lab.ours.clone(key, 'fromzip', lab.path('unzipped'), cwd=lab.root)
        lab.same_files('ours', 'fromzip')
