"""`vaultctl serve` for a case: started on a free port, stopped with its block."""
import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import threading

from roundtrip.harness import equal

WRITE_KEY = 'a' * 64


class Served:
    def __init__(self, process, document):
        self.process, self.document, self.url = process, document, document['url']
        self.secure, _, rest = self.url.partition('://')
        self.host, _, port = rest.rpartition(':')
        self.port = int(port)
        self.trust = None

    def request(self, method, target, body=None, token=None, write_key=WRITE_KEY, headers=None):
        """One request on a connection of its own; status and body."""
        host = self.host.strip('[]')
        connection = (http.client.HTTPSConnection(host, self.port, timeout=20, context=self.trust)
                      if self.secure == 'https' else http.client.HTTPConnection(host, self.port, timeout=20))
        with contextlib.closing(connection):
            all_headers = {'x-sgraph-vault-write-key': write_key, **(headers or {})}
            if token:
                all_headers['x-sgraph-access-token'] = token
            connection.request(method, target, body=body, headers=all_headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def put(self, path, data, vault='vault0001', token=None):
        return self.request('PUT', f'/api/vault/write/{vault}/{path}', data, token)

    def get(self, path, vault='vault0001'):
        return self.request('GET', f'/api/vault/read/{vault}/{path}')

    def signal(self, number):
        self.process.send_signal(number)


@contextlib.contextmanager
def serve(lab, *options, root='served', stops=True):
    """Serves a folder of the case; with `stops` it must end with 0 when it is told to."""
    arguments = [lab.ours.binary, 'serve', '--root', lab.path(root), '--port', '0', '--json', *options]
    with open(lab.path('serve.err'), 'ab') as errors:
        process = subprocess.Popen(arguments, cwd=lab.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                   env=lab.ours.environment)
    try:
        line = process.stdout.readline()
        if not line:
            with open(lab.path('serve.err'), encoding='utf-8') as errors:
                raise AssertionError(f'serve did not start: {errors.read()}')
        yield Served(process, json.loads(line))
        if stops:
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=40)
            if code != 0:
                raise AssertionError(f'serve ended with {code}')
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()


def certificate(lab):
    """A certificate for 127.0.0.1 and its key, and what a client needs to trust it."""
    files = lab.path('cert.pem'), lab.path('key.pem')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
                    '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-out', files[0], '-keyout', files[1]],
                   check=True, capture_output=True)
    return *files, ssl.create_default_context(cafile=files[0])


def vaults(lab, root='served'):
    return sorted(name for name in os.listdir(lab.path(root)) if not name.startswith('.'))


def push_at_once(lab, rounds):
    """Rounds in which the clones 'sgit' and 'ours' of one vault push at the same moment; nothing may be lost."""
    for turn in range(rounds):
        for clone, tool in (('sgit', lab.reference), ('ours', lab.ours)):
            lab.put(clone, f'{clone}{turn}.txt', lab.text())
            tool.commit(lab.path(clone), f'{clone} {turn}')
        codes = []
        other = threading.Thread(
            target=lambda: codes.append(lab.ours.run('push', cwd=lab.path('ours'), code=None).code))
        other.start()
        lab.reference.run('push', cwd=lab.path('sgit'), ok=False)
        other.join()
        if codes[0] not in (0, 5):
            raise AssertionError(f'push ended with {codes[0]}')
        # Whoever lost merges and pushes again; the reference may have merged and pushed by itself.
        lab.reference.pull(lab.path('sgit'))
        lab.reference.run('push', cwd=lab.path('sgit'), ok=False)
        lab.ours.pull(lab.path('ours'))
        lab.ours.push(lab.path('ours'))
        lab.reference.pull(lab.path('sgit'))
        lab.same_files('sgit', 'ours')
    for turn in range(rounds):
        for clone in ('sgit', 'ours'):
            equal(os.path.exists(lab.path('ours', f'{clone}{turn}.txt')), True, f'{clone}{turn}.txt is there')
    lab.both_agree('ours')
