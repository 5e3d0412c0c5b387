"""What is measured. Each case runs in rounds; within a round the programs take turns, and who begins changes."""
import os
import shutil
import subprocess
import time

from history import History
from identities import Identities
from tools import DURABLE_GIT, KEY, Age, BigVaultctl, Borg, Copy, Git, GitLoose, Reference, Restic, Vaultctl
from web import Web

NO_SYNC = 'vaultctl, not durable'
ONE_CORE = 'vaultctl, one core'


def turns(items, number):
    """The items, beginning with another one each round."""
    items = list(items)
    return items[number % len(items):] + items[:number % len(items)] if items else items


class Cases:
    def __init__(self, lab):
        self.lab, self.options = lab, lab.options
        self.rounds, self.slow_rounds = self.options.rounds, self.options.slow_rounds

    def run(self):
        for name, case in (('start', self.start), ('small', self.small), ('disk', self.disk), ('large', self.large),
                           ('big', self.big), ('fsck', self.fsck), ('signatures', self.signatures),
                           ('history', History(self.lab).run), ('http', Web(self.lab).run),
                           ('pki', lambda: Identities(self.lab).run())):
            if name in self.options.cases and (name != 'large' or self.options.large_files):
                began = time.monotonic()
                self.lab.measure_cores()
                case()
                print(f'{name}: measured in {time.monotonic() - began:.0f} s', flush=True)

    def present(self, classes, number):
        """Those of the classes that are installed and take part in this round."""
        return [tool for tool in classes if not tool.missing() and not (tool.slow and number >= self.slow_rounds)]

    # ------------------------------------------------------------ processes and keys

    def start(self):
        lab = self.lab
        vault = Vaultctl(lab, 'memory')
        lab.fill(vault.work, 1)
        vault.measure('', 'commit', keep=False)
        derive = (lab.vaultctl, 'keys', 'derive', '--key-fd', '0')
        for number in range(4 * self.rounds):
            starts = {'vaultctl': (lab.vaultctl, 'version'), 'git': ('git', '--version')}
            if number < 2 * self.slow_rounds:
                starts['sgit'] = (lab.sgit, 'version')
            for name, command in turns(starts.items(), number):
                lab.time('version', 'memory', name, command)
            lab.measure_hash_limit()
            lab.time('open a key', 'memory', 'vaultctl', derive, stdin=KEY.encode())
            lab.time('open both keys', 'memory', 'vaultctl', derive + ('--show-secrets', '-y'), stdin=KEY.encode())
            for verb in ('status', 'log', 'ls'):
                lab.time(f'{verb}, key known', 'memory', 'vaultctl', (lab.vaultctl, verb), cwd=vault.work)
            if number < self.slow_rounds:
                self.reference_keys()
        vault.remove()

    def reference_keys(self):
        """The two keys in the reference, inside its process, without its start-up."""
        code = ('import sys, time; from sgit_ai.crypto.Vault__Crypto import Vault__Crypto; c = Vault__Crypto(); '
                'a = time.perf_counter(); c.derive_read_key(*sys.argv[1:]); b = time.perf_counter(); '
                'c.derive_write_key(*sys.argv[1:]); print(b - a, time.perf_counter() - a)')
        out = subprocess.run([self.lab.python, '-c', code, *KEY.split(':')], check=True, capture_output=True, text=True)
        for case, seconds in zip(('open a key', 'open both keys'), map(float, out.stdout.split())):
            self.lab.samples.append(dict(case=case, place='memory', tool='sgit', wall=seconds, cpu=seconds, peak_kb=0))

    # ------------------------------------------------------------ many small files

    def small(self):
        self.many(self.options.files, '', (Vaultctl, Reference, Git, Restic, Borg, Age, Copy), self.rounds, True)

    def large(self):
        self.many(self.options.large_files, 'large: ', (Vaultctl, Git), max(1, self.rounds // 2), False)

    def many(self, count, prefix, classes, rounds, whole):
        lab = self.lab
        master = lab.fresh('memory', 'master', make=True)
        lab.fill(master, count)
        for number in range(rounds):
            tools = [tool(lab, 'memory') for tool in self.present(classes, number)]
            for tool in tools:
                shutil.copytree(master, tool.work, dirs_exist_ok=True, copy_function=shutil.copyfile)
            for tool in turns(tools, number):
                tool.measure(prefix + 'commit', 'commit')
            time.sleep(2.2)                                     # caches believe files that are older than 2 s
            for again in range(5):
                for tool in turns(tools, number + again):
                    if not tool.slow or again == 1:
                        tool.measure(prefix + 'status', 'status', keep=again > 0)
            for again in range(3):
                for tool in turns(tools, number + again):
                    if hasattr(tool, 'one') and not (tool.slow and again):
                        lab.change_one(tool.work, 100 * number + again)
                        tool.measure(prefix + 'commit one', 'one')
            if whole:
                self.share(tools, number)
            for tool in tools:
                tool.remove()
        shutil.rmtree(master)

    def share(self, tools, number):
        loose = GitLoose(self.lab, 'memory')
        loose.source = next((tool.work for tool in tools if isinstance(tool, Git)), None)
        for verb in ('push', 'clone', 'check'):
            for again in range(2 if verb != 'push' and not self.options.quick else 1):
                for tool in turns(tools + [loose], number + again):
                    if not tool.slow or again == 0:
                        tool.measure('fsck' if verb == 'check' else verb, verb)
        loose.remove()

    def disk(self):
        """The first commit on a disk, durable and not, beside a plain copy of the same files."""
        lab = self.lab
        if lab.disk is None:
            lab.notes.append('no disk: durability was not measured')
            return
        master = lab.fresh('memory', 'master', make=True)
        lab.fill(master, self.options.files)
        for number in range(self.rounds):
            lab.places['disk'] = lab.disk.fresh()
            tools = [tool(lab, 'disk') for tool in self.present((Vaultctl, Copy, Git), number)]
            tools.append(Vaultctl(lab, 'disk', NO_SYNC, lab.no_sync))
            if number < self.slow_rounds and not self.options.quick:
                tools.append(Git(lab, 'disk', 'git, core.fsync=all', DURABLE_GIT))
                tools += [tool(lab, 'disk') for tool in self.present((Reference, Restic, Borg), number)]
            for tool in tools:
                shutil.copytree(master, tool.work, dirs_exist_ok=True, copy_function=shutil.copyfile)
            for tool in turns(tools, number):
                subprocess.run(['sync', '-f', lab.places['disk']], check=True)
                tool.measure('commit', 'commit')
        lab.disk.release()
        shutil.rmtree(master)

    # ------------------------------------------------------------ big files

    def big(self):
        lab, size = self.lab, self.options.big_bytes
        master = lab.fresh('memory', 'big.bin')
        lab.big(master, size)
        classes = (BigVaultctl, Age, Copy, Restic) + (() if self.options.quick else (Borg, Reference))
        for number in range(max(2, self.rounds - 2)):
            lab.measure_streams()
            lab.measure_cores()
            for kind in turns(self.present(classes, number), number):
                tool = kind(lab, 'memory')
                os.link(master, os.path.join(tool.work, 'big.bin'))
                for case, verb in (('big commit', 'commit'), ('big checkout', 'checkout'), ('big cat', 'cat')):
                    if hasattr(tool, verb):
                        tool.measure(case, verb, before=lambda: lab.touch_pages('memory', size))
                tool.remove()
        os.remove(master)

    def fsck(self):
        """Checking several big files on all cores and on one."""
        lab, size = self.lab, self.options.big_bytes
        master = lab.fresh('memory', 'master', make=True)
        classes = (Vaultctl, Restic) + (() if self.options.quick else (Borg,))
        parts = [f'big{part}.bin' for part in range(4)]
        for part in parts:
            lab.big(os.path.join(master, part), size // len(parts))
        tools = [tool(lab, 'memory') for tool in self.present(classes, 0)]
        for tool in tools:
            for part in parts:
                os.link(os.path.join(master, part), os.path.join(tool.work, part))
            tool.measure('', 'commit', keep=False)
        for number in range(max(2, self.rounds - 2)):
            for tool in turns(tools, number):
                if not tool.slow or number < self.slow_rounds:
                    tool.measure('big fsck', 'check')
                if isinstance(tool, Vaultctl):
                    lab.time('big fsck', 'memory', ONE_CORE, ('taskset', '-c', '0', lab.vaultctl, 'fsck', '-q'),
                             cwd=tool.work)
        for tool in tools:
            tool.remove()
        shutil.rmtree(master)

    # ------------------------------------------------------------ signatures

    def signatures(self):
        lab = self.lab
        vault = Vaultctl(lab, 'memory', extra=lab.no_sync)
        for number in range(self.options.commits):
            with open(os.path.join(vault.work, 'file'), 'w', encoding='ascii') as file:
                file.write(f'{number}\n')
            vault.measure('', 'commit', keep=False)
        log = (lab.vaultctl, 'log', '--oneline', '-n', str(self.options.commits))
        for number in range(2 * self.rounds):
            lab.measure_verify()
            for case, command in turns((('log', log), ('log, signatures', log + ('--show-signature',))), number):
                lab.time(case, 'memory', 'vaultctl', command, cwd=vault.work)
        vault.remove()
