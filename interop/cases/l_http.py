"""l. Both tools on one server over HTTP: the stand-in, with and without an object store, and `vaultctl serve`."""
import contextlib
import copy
import random
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


def free_port():
    """A port that nobody listens on, below those that the system gives to whoever asks for any."""
    while True:
        port = '127.0.0.1', random.randrange(12000, 32000)
        with contextlib.suppress(OSError), socket.create_server(port) as free:
            return free.getsockname()[1]


@contextlib.contextmanager
def behind_http2(lab, port, behind, chain, key):
    """A proxy on `port` that offers HTTP/2 over TLS in front of a server; in the end every request must have used it."""
    log = lab.path('access.log')
    # A configuration of the system's would add a port of its own.
    proxy = subprocess.Popen(['nghttpx', '--conf=/dev/null', '--no-ocsp', f'-f127.0.0.1,{port}', f'-b127.0.0.1,{behind}',
                              f'--accesslog-file={log}', '--single-process', key, chain],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while socket.socket().connect_ex(('127.0.0.1', port)) != 0:
            equal(proxy.poll() is None and time.monotonic() < deadline, True, 'the proxy listens')
            time.sleep(0.05)
        yield f'https://127.0.0.1:{port}'
    finally:
        proxy.terminate()
        proxy.wait()
    with open(log, encoding='utf-8') as file:
        lines = [line.split('"')[1] for line in file]
    equal({line.split()[-1] for line in lines}, {'HTTP/2'}, 'versions')


def needs_nghttpx():
    if not shutil.which('nghttpx'):
        raise Skipped('nghttpx is not installed')


@case('l.http2.stand_in')
def http2(lab):
    """Behind a proxy that offers HTTP/2 over TLS every request goes that way; a server nobody vouches for gets none."""
    needs_nghttpx()
    chain, key, _ = certificate(lab)
    with stand_in(lab) as url, behind_http2(lab, free_port(), url.rsplit(':', 1)[1], chain, key) as server:
        lab.ours.json('init', 'ours', '--server', server, cwd=lab.root)
        lab.some_files('ours')
        lab.ours.commit(lab.path('ours'), 'first')
        lab.ours.refused('push', code=7, error='tls_failed', cwd=lab.path('ours'))
        lab.ours.push(lab.path('ours'), '--insecure-tls')
        with open(lab.path('ours', '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
            lab.ours.clone(file.read(), 'again', server, '--insecure-tls', cwd=lab.root)
        lab.same_files('ours', 'again')


@case('l.http2.serve')
def http2_serve(lab):
    """The same in front of `vaultctl serve`, whose certificate SSL_CERT_FILE names: push, clone, pull, a large file."""
    needs_nghttpx()
    chain, key, _ = certificate(lab)
    port, behind, ours = free_port(), free_port(), copy.copy(lab.ours)
    ours.environment = dict(ours.environment, SSL_CERT_FILE=chain)
    with own(lab, '--port', str(behind), '--public-url', f'https://127.0.0.1:{port}', '--access-log', 'log'), \
            behind_http2(lab, port, behind, chain, key) as server:
        ours.json('init', 'ours', '--server', server, cwd=lab.root)
        lab.some_files('ours')
        ours.commit(lab.path('ours'), 'first')
        lab.ours.refused('push', code=7, error='tls_failed', cwd=lab.path('ours'))
        ours.push(lab.path('ours'))
        with open(lab.path('ours', '.sg_vault', 'local', 'vault_key'), encoding='ascii') as file:
            ours.clone(file.read(), 'again', server, cwd=lab.root)
        lab.same_files('ours', 'again')
        lab.put('again', 'large.bin', lab.bytes(23 << 20))
        ours.commit(lab.path('again'), 'large')
        ours.push(lab.path('again'))
        ours.pull(lab.path('ours'))
        lab.same_files('ours', 'again')
        lab.both_agree('ours')
    with open(lab.path('log'), encoding='utf-8') as file, open(lab.path('access.log'), encoding='utf-8') as through:
        lines = file.readlines()
        equal(len(lines), len(through.readlines()), 'requests that the server saw, and those that came through the proxy')
    equal(any('/transfer/part/' in line for line in lines), True, 'parts sent')
