#!/usr/bin/env python3
"""vaultctl beside the reference (sgit), git, restic, borg and age: the same work, in turns.

    interop/bench/run.py [--quick] [--cases LIST] [--save]

Run it through `make bench` or `make bench QUICK=1`. Each command is measured by a small launcher: wall time, CPU time
of its process tree, peak memory. Bars come from the same run: other programs, and what the machine's cipher, hash and
file system allow. A missed bar is told and does not fail: times depend on what else the machine does. What must not
change unnoticed is counted by counts.py.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from cases import Cases
from disk import file_system
from lab import ROOT, Lab, compiler
from report import bars_text, save, table
from tools import Age, Borg, Git, Restic

ALL = ('start', 'small', 'disk', 'large', 'big', 'fsck', 'signatures', 'history', 'http', 'pki')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true', help='fewer rounds, no large case: about eight minutes')
    parser.add_argument('--cases', default=','.join(ALL), help='of ' + ', '.join(ALL))
    parser.add_argument('--rounds', type=int, help='rounds of the fast programs (7, quick 3)')
    parser.add_argument('--slow-rounds', type=int, help='rounds of the slow programs (3, quick 1)')
    parser.add_argument('--files', type=int, default=10000)
    parser.add_argument('--large-files', type=int, default=100000)
    parser.add_argument('--big-bytes', type=int, default=10 ** 9)
    parser.add_argument('--commits', type=int, default=1000)
    parser.add_argument('--memory', default='/dev/shm' if os.path.isdir('/dev/shm') else None,
                        help='a folder on a tmpfs')
    parser.add_argument('--disk', help='a folder on a disk; build/ by default')
    parser.add_argument('--json', default=os.path.join(ROOT, 'build', 'bench.json'))
    parser.add_argument('--save', action='store_true',
                        help='also writes docs/performance/<version>.json and docs/performance.md')
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(ROOT, 'build', 'vaultctl')))
    parser.add_argument('-v', '--verbose', action='store_true')
    options = parser.parse_args()
    options.cases = options.cases.split(',')
    if not set(options.cases) <= set(ALL):
        parser.error(f'no such cases: {", ".join(sorted(set(options.cases) - set(ALL)))}')
    if options.save and set(options.cases) != set(ALL):
        parser.error('only the figures of all cases are kept')
    options.rounds = options.rounds or (3 if options.quick else 7)
    options.slow_rounds = options.slow_rounds or (1 if options.quick else 3)
    if options.quick:
        options.large_files = 0
    if options.disk is None:
        options.disk = os.path.join(ROOT, 'build')
        os.makedirs(options.disk, exist_ok=True)
    if file_system(options.disk) in ('tmpfs', 'ramfs'):
        options.disk = None
    return options


def machine(options, disk):
    """The class of the machine: no names, no paths."""
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        text = file.read()
    with open('/proc/meminfo', encoding='ascii') as file:
        memory = int(file.readline().split()[1]) / (1 << 20)
    flags = set(re.search(r'^(?:flags|Features)\s*:(.*)$', text, re.M).group(1).split())
    model = re.search(r'^model name\s*:\s*(.*)$', text, re.M)
    return dict(cores=os.cpu_count(), cpu=model.group(1) if model else os.uname().machine, memory_gb=round(memory),
                crypto=sorted(flags & {'aes', 'vaes', 'sha_ni', 'pclmulqdq', 'vpclmulqdq', 'sha2', 'pmull'}),
                kernel='.'.join(os.uname().release.split('.')[:2]), virtual='hypervisor' in flags,
                memory_fs=file_system(options.memory or tempfile.gettempdir()),
                disk_fs=disk.kind if disk else None)


def versions(lab):
    """What took part, program → version."""
    found = {'sgit': lab.sgit, 'git': 'git', 'restic': 'restic', 'borg': 'borg', 'age': 'age', 'openssl': 'openssl'}
    result = {}
    for name, program in found.items():
        if shutil.which(program):
            flag = 'version' if name in ('restic', 'openssl', 'sgit') else '--version'
            out = subprocess.run([program, flag], capture_output=True, text=True, check=False).stdout
            number = re.search(r'\d+(?:\.\d+)+\w*', out)
            result[name] = number.group(0) if number else 'unknown'
    return result


def main():
    options = arguments()
    if compiler() is None:
        raise SystemExit('make bench needs a C compiler (cc, clang or gcc) for its launcher')
    for program in (Git, Restic, Borg, Age):
        if program.missing():
            print(f'skipped: {program.program} is not installed')
    lab = Lab(options)
    load = [os.getloadavg()[0]]
    try:
        out = subprocess.run([lab.vaultctl, 'version'], check=True, capture_output=True, text=True).stdout
        version = out.split()[1]
        Cases(lab).run()
        load.append(os.getloadavg()[0])
        cores = lab.measured_wall * os.cpu_count()
        data = dict(
            format='vaultctl-bench/1', version=version, form='quick' if options.quick else 'full',
            machine=machine(options, lab.disk), programs=versions(lab), binary_bytes=os.path.getsize(lab.vaultctl),
            files=options.files, large_files=options.large_files, big_bytes=options.big_bytes, commits=options.commits,
            load=[round(value, 1) for value in load], others=round(lab.other_cpu / cores, 2) if cores else 0,
            notes=lab.notes, limits=lab.limits,
            samples=[{key: round(value, 6) if isinstance(value, float) else value for key, value in sample.items()}
                     for sample in lab.samples])
    finally:
        lab.close()
    print('\n'.join(table(data) + [''] + bars_text(data)))
    os.makedirs(os.path.dirname(options.json), exist_ok=True)
    with open(options.json, 'w', encoding='utf-8') as file:
        json.dump(data, file, indent=1)
    print(f'every sample: {os.path.relpath(options.json)}')
    if options.save:
        print('\n'.join(save(data, os.path.join(ROOT, 'docs'))))


if __name__ == '__main__':
    sys.exit(main())
