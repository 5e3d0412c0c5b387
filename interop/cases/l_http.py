"""l. Both tools on one server over HTTP: the stand-in, with and without an object store, and `vaultctl serve`."""
import shutil
import socket
import subprocess
import time

from roundtrip.harness import Skipped, case, equal
from roundtrip.served import certificate, push_at_once
from roundtrip.stand_in import own, stand_in

SERVERS = {
    'stand_in': lambda lab: stand_in(lab),
    'object_store': lambda lab: stand_in(lab, '--presigned'),
    'serve': lambda lab: own(lab),
}


def made_by_reference(lab, server):
    """A vault of the reference on the server; gives its key."""
    key = lab.key()
    lab.reference.init(lab.path('sgit'), key, server, lab.root)
    lab.some_files('sgit')
    lab.reference.commit(lab.path('sgit'), 'first')
    lab.reference.run('push', cwd=lab.path('sgit'))
    return key


def both_tools(lab, server):
    """The reference writes, vaultctl reads and writes, the reference reads, in turn; then a fresh clone by each."""
    with SERVERS[server](lab) as url:
        key = made_by_reference(lab, url)
        lab.ours.clone(key, 'ours', url, cwd=lab.root)
        lab.same_files('sgit', 'ours')
        for turn in range(3):
            lab.put('ours', f'ours/{turn}.txt', lab.text())
            lab.ours.commit(lab.path('ours'), f'ours {turn}')
            equal(lab.ours.push(lab.path('ours'))['result'], 'pushed', 'push')
            lab.reference.pull(lab.path('sgit'))
            lab.put('sgit', f'sgit/{turn}.txt', lab.text())
            lab.reference.commit(lab.path('sgit'), f'sgit {turn}')
            lab.reference.run('push', cwd=lab.path('sgit'))
            lab.ours.pull(lab.path('ours'))
            lab.same_files('sgit', 'ours')
        lab.reference.clone(key, lab.path('again'), url, lab.root)
        lab.ours.clone(key, 'afresh', url, cwd=lab.root)
        lab.same_files('sgit', 'again')
        lab.same_files('sgit', 'afresh')
        lab.both_agree('ours')


def made_by_vaultctl(lab, server):
    """`init --push` makes a vault that the reference clones, writes to and that vaultctl pulls."""
    with SERVERS[server](lab) as url:
        lab.ours.json('init', 'ours', '--server', url, '--push', cwd=lab.root)
        with open(lab.path('ours', '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
            key = file.read()
        lab.some_files('ours')
        lab.ours.commit(lab.path('ours'), 'first')
        lab.ours.push(lab.path('ours'))
        lab.reference.clone(key, lab.path('sgit'), url, lab.root)
        lab.same_files('ours', 'sgit')
        lab.put('sgit', 'theirs.txt', lab.text())
        lab.reference.commit(lab.path('sgit'), 'theirs')
        lab.reference.run('push', cwd=lab.path('sgit'))
        lab.ours.pull(lab.path('ours'))
        lab.same_files('ours', 'sgit')
        lab.both_agree('ours', commits=3)


def large(lab, server):
    """Large files travel by the way that the server has."""
    with SERVERS[server](lab) as url:
        key = made_by_reference(lab, url)
        lab.put('sgit', 'theirs.bin', lab.bytes(13 << 20))
        lab.reference.commit(lab.path('sgit'), 'theirs')
        lab.reference.run('push', cwd=lab.path('sgit'))
        lab.ours.clone(key, 'ours', url, cwd=lab.root)
        lab.same_files('sgit', 'ours')
        lab.put('ours', 'ours.bin', lab.bytes(23 << 20))
        lab.ours.commit(lab.path('ours'), 'ours')
        lab.ours.push(lab.path('ours'))
        lab.reference.pull(lab.path('sgit'))
        lab.same_files('sgit', 'ours')
        lab.both_agree('ours')


def concurrent_pushes(lab, server):
    """Both tools push at the same moment, round after round: nothing is lost."""
    with SERVERS[server](lab) as url:
        key = made_by_reference(lab, url)
        lab.ours.clone(key, 'ours', url, cwd=lab.root)
        push_at_once(lab, 10)


for name in SERVERS:
    case(f'l.both_tools.{name}', server=name)(both_tools)
    case(f'l.made_by_vaultctl.{name}', server=name)(made_by_vaultctl)
    case(f'l.large.{name}', server=name)(large)
    case(f'l.concurrent_pushes.{name}', server=name)(concurrent_pushes)


@case('l.http2')
def http2(lab):
    """Behind a proxy that offers HTTP/2 over TLS every request goes that way; a server nobody vouches for gets none."""
    if not shutil.which('nghttpx'):
        raise Skipped('nghttpx is not installed')
    chain, key, _ = certificate(lab)
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    log = lab.path('access.log')
    with stand_in(lab) as url:
        proxy = subprocess.Popen(['nghttpx', f'-f127.0.0.1,{port}', f'-b127.0.0.1,{url.rsplit(":", 1)[1]}',
                                  f'--accesslog-file={log}', '--single-process', key, chain],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 20
            while socket.socket().connect_ex(('127.0.0.1', port)) != 0 and time.monotonic() < deadline:
                time.sleep(0.05)
            server = f'https://127.0.0.1:{port}'
            lab.ours.json('init', 'ours', '--server', server, cwd=lab.root)
            lab.some_files('ours')
            lab.ours.commit(lab.path('ours'), 'first')
            lab.ours.refused('push', code=7, error='tls_failed', cwd=lab.path('ours'))
            lab.ours.push(lab.path('ours'), '--insecure-tls')
            with open(lab.path('ours', '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
                lab.ours.clone(file.read(), 'again', server, '--insecure-tls', cwd=lab.root)
            lab.same_files('ours', 'again')
        finally:
            proxy.terminate()
            proxy.wait()
    with open(log, encoding='utf-8') as file:
        lines = file.read().splitlines()
    equal({line.split('"')[1].split()[-1] for line in lines}, {'HTTP/2'}, 'versions')
