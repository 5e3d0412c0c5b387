"""The place where commands are measured: folders, files, the launcher, the limits of the machine."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from disk import Disk

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MEGABYTE = 1 << 20


def compiler():
    return next((found for found in map(shutil.which, ('cc', 'clang', 'gcc')) if found), None)


def build_native(name, target, *flags):
    """Compiles one of native/*.c; the path of what was made."""
    source = os.path.join(HERE, 'native', name + '.c')
    subprocess.run([compiler(), '-O2', '-Wall', '-Wno-deprecated-declarations', '-o', target, source, *flags],
                   check=True)
    return target


def busy_seconds():
    """CPU time that all programs together have had, in seconds."""
    with open('/proc/stat', encoding='ascii') as file:
        user, nice, system, _, _, irq, soft, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf('SC_CLK_TCK')


class Failed(SystemExit):
    """A measured command failed; ends the benchmark where nobody takes it."""

    def __init__(self, command, code, said):
        super().__init__(f'{" ".join(map(str, command))}: exit {code}\n{said}')
        self.exit, self.said = code, said


def process_seconds(pid):
    """CPU time of a process that still runs, in seconds."""
    with open(f'/proc/{pid}/stat', encoding='ascii') as file:
        user, system = file.read().rsplit(')', 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf('SC_CLK_TCK')


class Lab:
    def __init__(self, options):
        self.options = options
        self.server = None                  # the id of a process that works for the measured commands
        self.samples, self.limits, self.notes = [], {}, []
        self.measured_cpu, self.other_cpu, self.measured_wall = 0.0, 0.0, 0.0
        self.places = {'memory': tempfile.mkdtemp(prefix='vaultctl-bench-', dir=options.memory)}
        self.disk = Disk(options.disk) if options.disk else None
        self.own = os.path.join(self.places['memory'], 'own')
        os.makedirs(os.path.join(self.own, 'home'))
        self.launcher = build_native('launch', os.path.join(self.own, 'launch'))
        self.no_sync = dict(LD_PRELOAD=build_native('nosync', os.path.join(self.own, 'nosync.so'), '-shared', '-fPIC'))
        self.hash_limit = build_native('hashlimit', os.path.join(self.own, 'hashlimit'), '-lcrypto')
        self.environment = dict(
            PATH=os.environ['PATH'], HOME=os.path.join(self.own, 'home'), LC_ALL='C.UTF-8', TMPDIR=self.own,
            GIT_AUTHOR_NAME='b', GIT_AUTHOR_EMAIL='b@example.org', GIT_COMMITTER_NAME='b',
            GIT_COMMITTER_EMAIL='b@example.org', GIT_CONFIG_NOSYSTEM='1', GIT_CONFIG_COUNT='1',
            GIT_CONFIG_KEY_0='gc.auto', GIT_CONFIG_VALUE_0='0', RESTIC_PASSWORD='bench', BORG_PASSPHRASE='bench')
        self.vaultctl = os.path.abspath(options.vaultctl)
        self.python = sys.executable
        self.sgit = os.path.join(os.path.dirname(sys.executable), 'sgit')

    def close(self):
        shutil.rmtree(self.places['memory'], ignore_errors=True)
        if self.disk:
            self.disk.close()

    # ------------------------------------------------------------ commands

    def others(self):
        return busy_seconds() - (process_seconds(self.server) if self.server else 0)

    def run(self, command, cwd=None, stdin=b'', extra=None, seconds=None):
        """Runs one command to its end; one that fails ends the benchmark. None: it was stopped after `seconds`."""
        report, output = os.path.join(self.own, 'report'), os.path.join(self.own, 'output')
        command = ('timeout', '-k', '5', str(seconds), *command) if seconds else command
        busy = self.others()
        with open(output, 'w+b') as log, tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            code = subprocess.run([self.launcher, report, *command], cwd=cwd, stdin=source, stdout=log, stderr=log,
                                  env={**self.environment, **(extra or {})}, check=False).returncode
            busy = self.others() - busy
            if code == 0:
                with open(report, encoding='ascii') as file:
                    wall, user, system, peak, code = map(int, file.read().split())
            if seconds and code in (124, 137):
                return None
            if code != 0:
                log.seek(0)
                said = log.read()[-2000:].decode(errors='replace')
                raise Failed(command, code, said)
        cpu = (user + system) / 1e6
        self.measured_cpu, self.measured_wall = self.measured_cpu + cpu, self.measured_wall + wall / 1e9
        self.other_cpu += max(0.0, busy - cpu)
        return dict(wall=wall / 1e9, cpu=cpu, peak_kb=peak)

    def time(self, case, place, tool, command, **how):
        """Runs, keeps and gives one sample. `command` None: this tool has nothing of the kind."""
        found = self.run(command, **how) if command else None
        if found is None:
            return None
        self.samples.append(dict(case=case, place=place, tool=tool, **found))
        if self.options.verbose:
            print(f'  {case} {place} {tool}: {found["wall"]:.3f} s', file=sys.stderr, flush=True)
        return self.samples[-1]

    # ------------------------------------------------------------ files

    def fresh(self, place, name, make=False):
        path = os.path.join(self.places[place], name)
        shutil.rmtree(path, ignore_errors=True)
        if os.path.isfile(path):
            os.remove(path)
        if make:
            os.makedirs(path)
        return path

    def fill(self, folder, count, size=1024, seed=1):
        """`count` files of random bytes over 100 folders (one folder per 1,000 files when there are many)."""
        source, spread = random.Random(seed), max(100, count // 1000)
        for number in range(spread if count else 0):
            os.makedirs(os.path.join(folder, f'd{number:03}'), exist_ok=True)
        for number in range(count):
            with open(os.path.join(folder, f'd{number % spread:03}', f'f{number:06}.bin'), 'wb') as file:
                file.write(source.randbytes(size))

    def change_one(self, folder, seed, size=1024):
        with open(os.path.join(folder, 'd000', 'f000000.bin'), 'wb') as file:
            file.write(random.Random(seed).randbytes(size))

    def big(self, path, size):
        """A file of random bytes, none of which repeat: some programs store a repetition once."""
        with open(path, 'wb') as file:
            while size > 0:
                size -= file.write(os.urandom(min(size, MEGABYTE)))

    def touch_pages(self, place, size):
        """Takes and gives back memory, so that the first use of it is not what is measured."""
        path, block = os.path.join(self.places[place], 'pages'), bytes(16 * MEGABYTE)
        with open(path, 'wb') as file:
            for _ in range(0, size, len(block)):
                file.write(block)
        os.remove(path)

    # ------------------------------------------------------------ limits of the machine

    def limit(self, name, value):
        self.limits.setdefault(name, []).append(value)

    def openssl(self, *algorithm):
        """The line of `openssl speed` with the result, its fields."""
        out = subprocess.run(['openssl', 'speed', '-mr', '-seconds', '1', *algorithm], check=True, capture_output=True,
                             text=True).stdout
        return re.search(r'^\+F\d*:(.*)$', out, re.M).group(1).split(':')

    def measure_streams(self):
        """Bytes per second of the cipher and of the hash, now."""
        for name, algorithm in (('gcm', 'aes-256-gcm'), ('sha256', 'sha256')):
            self.limit(name, float(self.openssl('-bytes', str(MEGABYTE), '-evp', algorithm)[-1]))

    def measure_hash_limit(self):
        out = subprocess.run([self.hash_limit], check=True, capture_output=True).stdout
        self.limit('pbkdf2', float(out.split()[0]))

    def measure_cores(self):
        """How much more two processes get done than one, now: 2 on two cores that nobody else uses."""
        times = []
        for count in (1, 2):
            began = time.monotonic()
            for process in [subprocess.Popen([self.hash_limit], stdout=subprocess.DEVNULL) for _ in range(count)]:
                process.wait()
            times.append(time.monotonic() - began)
        self.limit('cores', 2 * times[0] / times[1])

    def measure_verify(self):
        self.limit('verify', float(self.openssl('ecdsap256')[-1]))
