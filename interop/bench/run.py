#!/usr/bin/env python3
"""vaultctl beside the reference (sgit) and git: the same work, one command at a time, interleaved.

    interop/bench/run.py [--runs N] [--only PATTERN]... [--dir FOLDER] [--json FILE]

Run it through `make bench`. Wall time, CPU time of the whole process tree and peak memory of each command; the table
gives medians and minima, and how many times longer the other tools took (medians, 2.0 = twice as long as vaultctl).
git does not encrypt and compresses everything: it is a yardstick, not a rival. Peak memory below about 15 MB is that
of the process that starts the commands. Nothing here passes or fails.
"""
import argparse
import fnmatch
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KEY = 'benchpassphrase0000000001:bench001'
SETS = {'1000 x 4 KB': (1000, 4096), '10000 x 1 KB': (10000, 1024), '1 x 100 MB': (1, 100 * 1000 * 1000)}


class Bench:
    def __init__(self, options):
        self.options = options
        self.work = tempfile.mkdtemp(prefix='vaultctl-bench-', dir=options.dir)
        self.rows = []
        home = os.path.join(self.work, 'home')
        os.makedirs(home)
        self.environment = dict(
            PATH=os.environ['PATH'], HOME=home, LC_ALL='C.UTF-8', GIT_AUTHOR_NAME='b', GIT_AUTHOR_EMAIL='b@example.org',
            GIT_COMMITTER_NAME='b', GIT_COMMITTER_EMAIL='b@example.org', GIT_CONFIG_NOSYSTEM='1', GIT_CONFIG_COUNT='1',
            GIT_CONFIG_KEY_0='gc.auto', GIT_CONFIG_VALUE_0='0')
        self.vaultctl = options.vaultctl
        self.python = sys.executable
        self.sgit = os.path.join(os.path.dirname(sys.executable), 'sgit')

    def path(self, *parts):
        return os.path.join(self.work, *parts)

    def fresh(self, name, make=False):
        shutil.rmtree(self.path(name), ignore_errors=True)
        if make:
            os.makedirs(self.path(name))
        return self.path(name)

    def time(self, tool, case, *command, cwd=None, stdin=b'', record=True):
        """Runs one command; a command that fails ends the benchmark."""
        log = open(self.path('log'), 'w+b')
        with tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            start = time.perf_counter()
            process = subprocess.Popen(command, cwd=cwd, stdin=source, stdout=log, stderr=log, env=self.environment)
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            log.seek(0)
            raise SystemExit(f'{" ".join(command)}: exit {process.returncode}\n{log.read()[-2000:].decode()}')
        if record:
            self.rows.append(dict(tool=tool, case=case, seconds=wall, cpu=usage.ru_utime + usage.ru_stime,
                                  peak_kb=usage.ru_maxrss))

    def fill(self, folder, count, size, seed=1):
        source = random.Random(seed)
        for number in range(count):
            below = os.path.join(folder, f'd{number % 100:02}') if count > 1 else folder
            os.makedirs(below, exist_ok=True)
            self.write(os.path.join(below, f'f{number:05}.bin'), size, source)

    def change_one(self, folder, count, size, seed):
        below = os.path.join(folder, 'd00') if count > 1 else folder
        self.write(os.path.join(below, 'f00000.bin'), size, random.Random(seed))

    def write(self, path, size, source):
        # In pieces: a command's peak memory begins with that of this process, so this process stays small.
        with open(path, 'wb') as file:
            for start in range(0, size, 1 << 20):
                file.write(source.randbytes(min(1 << 20, size - start)))

    # ------------------------------------------------------------ the three tools

    def vaultctl_init(self, clone, host):
        self.time('vaultctl', 'init', self.vaultctl, 'init', '--server', host, '--key-fd', '0', clone,
                  stdin=KEY.encode(), record=False)

    def verbs(self, tool, clone, host, copy):
        """Case → command and working directory."""
        if tool == 'vaultctl':
            return {'commit': ([self.vaultctl, 'commit', '-q', '-m', 'c'], clone),
                    'status': ([self.vaultctl, 'status'], clone),
                    'push': ([self.vaultctl, 'push', '-q'], clone),
                    'clone': ([self.vaultctl, 'clone', '-q', '--server', host, '-', copy], None)}
        if tool == 'sgit':
            return {'commit': ([self.sgit, 'commit', '-m', 'c'], clone),
                    'status': ([self.sgit, 'status'], clone),
                    'push': ([self.python, os.path.join(HERE, 'push_reference.py'), clone, host], None),
                    'clone': ([self.sgit, 'clone', '--base-url', host, '-', copy], None)}
        return {'commit': (['sh', '-c', 'git add -A && git commit -q -m c'], clone),
                'status': (['git', 'status'], clone),
                'push': (['git', 'push', '-q', 'file://' + host, 'HEAD:main'], clone),
                'clone': (['git', 'clone', '-q', '-b', 'main', 'file://' + host, copy], None)}

    def start(self, tool, clone, host):
        if tool == 'vaultctl':
            self.vaultctl_init(clone, host)
        elif tool == 'sgit':
            self.time('sgit', 'init', self.sgit, 'init', '--base-url', host, '--vault-key', KEY, clone, record=False)
        else:
            self.time('git', 'init', 'git', 'init', '-q', clone, record=False)
            self.time('git', 'init', 'git', 'init', '-q', '--bare', host, record=False)

    def measure(self, size_name):
        count, size = SETS[size_name]
        names = {'commit all': 'commit', 'push to a folder': 'push', 'clone from a folder': 'clone',
                 'status, nothing changed': 'status', 'commit one changed file': 'commit', 'push that': 'push'}
        wanted = [case for case in names
                  if any(fnmatch.fnmatchcase(f'{size_name}: {case}', pattern) for pattern in self.options.only)]
        if not wanted:
            return
        tools = ['vaultctl', 'sgit', 'git']
        for run in range(self.options.runs):
            for tool in tools[run % 3:] + tools[:run % 3]:              # nobody always goes first
                clone, host, copy = self.fresh(f'{tool}-clone'), self.fresh(f'{tool}-host', True), self.fresh(f'{tool}-copy')
                self.start(tool, clone, host)
                self.fill(clone, count, size)
                verbs = self.verbs(tool, clone, host, copy)
                for case, verb in names.items():
                    if case == 'status, nothing changed':
                        time.sleep(2.2)                                 # the caches believe files older than 2 s
                        self.time(tool, '', *verbs[verb][0], cwd=verbs[verb][1], record=False)
                    if case == 'commit one changed file':
                        self.change_one(clone, count, size, 50 + run)
                    command, cwd = verbs[verb]
                    stdin = KEY.encode() + b'\n' if verb == 'clone' else b''
                    self.time(tool, f'{size_name}: {case}', *command, cwd=cwd, stdin=stdin, record=case in wanted)
            for tool in tools:
                self.fresh(f'{tool}-clone'), self.fresh(f'{tool}-host'), self.fresh(f'{tool}-copy')

    def start_up(self):
        if any(fnmatch.fnmatchcase('start: version', pattern) for pattern in self.options.only):
            for _ in range(5 * self.options.runs):
                self.time('vaultctl', 'start: version', self.vaultctl, 'version')
                self.time('sgit', 'start: version', self.sgit, 'version')
                self.time('git', 'start: version', 'git', '--version')


def report(rows):
    cases = list(dict.fromkeys(row['case'] for row in rows))
    print(f'{"case":42} {"vaultctl median":>15} {"min":>8} {"MB":>5} {"sgit":>8} {"times":>7} {"git":>8} {"times":>7}')
    for case in cases:
        found = {tool: [row for row in rows if row['case'] == case and row['tool'] == tool]
                 for tool in ('vaultctl', 'sgit', 'git')}
        median = {tool: statistics.median(row['seconds'] for row in runs) for tool, runs in found.items() if runs}
        ours = found['vaultctl']
        line = f'{case:42} {median["vaultctl"]:13.3f} s {min(row["seconds"] for row in ours):7.3f}s ' \
               f'{max(row["peak_kb"] for row in ours) // 1024:5}'
        for tool in ('sgit', 'git'):
            line += f' {median[tool]:7.3f}s {median[tool] / median["vaultctl"]:6.1f}x' if tool in median else ' ' * 16
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--only', action='append', default=[], metavar='PATTERN', help='e.g. "1000 x*" or "*: status*"')
    parser.add_argument('--dir', default='/dev/shm' if os.path.isdir('/dev/shm') else None,
                        help='where to work; memory by default, so that the disk is not what is measured')
    parser.add_argument('--json', default=os.path.join(ROOT, 'build', 'bench.json'), help='where every run is written')
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(ROOT, 'build', 'vaultctl')))
    options = parser.parse_args()
    options.only = options.only or ['*']
    bench = Bench(options)
    try:
        bench.start_up()
        for size_name in SETS:
            bench.measure(size_name)
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    if not bench.rows:
        raise SystemExit('no case matches')
    report(bench.rows)
    os.makedirs(os.path.dirname(options.json), exist_ok=True)
    with open(options.json, 'w', encoding='utf-8') as file:
        json.dump(dict(load=os.getloadavg()[0], runs=bench.rows), file, indent=1)
    print(f'every run: {os.path.relpath(options.json)}; load average {os.getloadavg()[0]:.1f}')


if __name__ == '__main__':
    main()
