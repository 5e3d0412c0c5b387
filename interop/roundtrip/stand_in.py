"""Servers for a case, each in a process of its own on a free port: the stand-in, and `vaultctl serve`."""
import contextlib
import os
import subprocess
import sys
import time

from roundtrip.harness import Skipped

HERE = os.path.dirname(os.path.abspath(__file__))


@contextlib.contextmanager
def stand_in(lab, *options):
    """The stand-in server; gives its URL."""
    port_file = lab.path('port')
    process = subprocess.Popen([sys.executable, os.path.join(HERE, '..', 'vault_server.py'), '0', '--port-file', port_file,
                                '--ends-with-stdin', *options], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not os.path.exists(port_file):
            if time.monotonic() > deadline or process.poll() is not None:
                raise AssertionError('the stand-in server did not start')
            time.sleep(0.02)
        with open(port_file, encoding='ascii') as file:
            yield f'http://127.0.0.1:{file.read()}'
    finally:
        process.stdin.close()
        process.wait()


@contextlib.contextmanager
def own(lab, *options):
    """`vaultctl serve`, where this build has it."""
    if lab.ours.run('serve', '--help', code=None).code != 0:
        raise Skipped('this vaultctl has no server')
    from roundtrip.served import serve
    with serve(lab, *options) as server:
        yield server.url
