#!/usr/bin/env python3
"""Round trips between vaultctl and the reference.

    interop/run.py [--only PATTERN]... [--keep] [--seed N] [--rounds N]
                   [--scenarios N] [--jobs N] [--dir FOLDER] [--list] [--vaultctl PATH]

Run it through `make interop`, which builds vaultctl and installs the pinned reference first. PATTERN is a shell pattern
over case names (`a.*`). The seed decides all content; a failure prints it.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)


def memory():
    """A folder in memory with room for all cases; what is compared here does not depend on the disk."""
    try:
        return '/dev/shm' if shutil.disk_usage('/dev/shm').free > 1 << 30 and os.access('/dev/shm', os.W_OK) else None
    except OSError:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', action='append', default=[], metavar='PATTERN')
    parser.add_argument('--keep', action='store_true', help='leave the folders of the cases and print where they are')
    parser.add_argument('--seed', type=int, default=None)
    parser.add_argument('--rounds', type=int, default=4, help='how many of each random case (d.ignore, h.random)')
    parser.add_argument('--scenarios', type=int, default=10, help='how many random scenarios of two clones (q.scenario)')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='cases at once')
    parser.add_argument('--dir', default=memory(), help='where the cases work; in memory when there is room')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(ROOT, 'build', 'vaultctl')))
    options = parser.parse_args()

    home = tempfile.TemporaryDirectory(prefix='vaultctl-interop-home-')
    os.environ['HOME'] = home.name                        # neither tool may see or change the user's own files
    for name in [name for name in os.environ if name.startswith(('SGIT_', 'SG_SEND', 'VAULTCTL_'))]:
        del os.environ[name]

    from roundtrip import harness, reference
    from roundtrip.vaultctl import Vaultctl
    import cases

    cases.register(options.rounds, options.scenarios)

    if options.list:
        print('\n'.join(sorted(name for name, _, _ in harness.CASES)))
        return 0
    if not os.access(options.vaultctl, os.X_OK):
        print(f'interop: no vaultctl at {options.vaultctl}: run `make build` or set VAULTCTL', file=sys.stderr)
        return 2
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    ours = Vaultctl(os.path.abspath(options.vaultctl), home.name)
    print(f'interop: sgit {reference.version()} and {ours.run("version").out.decode().strip()}, seed {seed}', flush=True)
    started = time.monotonic()
    run = harness.Run(ours, reference, seed, os.path.join(ROOT, 'TestVectors', 'vault', 'vaults'), folder=options.dir,
                      keep=options.keep, jobs=options.jobs)
    counts, calls = run.all(options.only, lambda line: print(line, flush=True))
    print(f'interop: {counts["passed"]} passed, {counts["failed"]} failed, {counts["skipped"]} skipped in '
          f'{time.monotonic() - started:.0f} s ({calls} vaultctl commands, seed {seed})', flush=True)
    home.cleanup()
    return 1 if counts['failed'] or not counts['passed'] else 0


if __name__ == '__main__':
    sys.exit(main())
