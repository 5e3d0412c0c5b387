#!/usr/bin/env python3
"""Mutation: does the suite notice deliberate defects?

    interop/reliability/mutate.py --work FOLDER [--only NAME,...] [--seconds 0] [--build-only]
    interop/reliability/mutate.py --places

A copy of the sources below FOLDER gets all defects of mutants.py, each asleep until VAULT_DEFECT names it, and is built
once. Without a defect the suites must pass; with each one some suite of its list must fail. Exit 1 when one survives.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import mutants

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
# A defect may make a command wait for what never comes.
SUITE_SECONDS = 900


def prepare(copy):
    """Copies what git tracks and puts the defects in; files keep their times so that a second build is short."""
    listed = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard', 'Sources',
                             'Tests', 'TestVectors', 'Package.swift', 'docs'], capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split('\0')):
        target = os.path.join(copy, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.exists(os.path.join(ROOT, name)):
            shutil.copy2(os.path.join(ROOT, name), target)
    for path, text in defective(copy).items():
        with open(path, 'w', encoding='utf-8') as source:
            source.write(text)


def defective(copy):
    """The sources with all defects in them, path → text; ends when the place of one is not there once."""
    texts = {}
    for name, file, old, new, _ in mutants.MUTANTS:
        path = os.path.join(copy, 'Sources', file)
        if path not in texts:
            with open(path, encoding='utf-8') as source:
                texts[path] = source.read()
        if texts[path].count(old) != 1:
            sys.exit(f'mutate: {name}: its place in {file} is there {texts[path].count(old)} times, not once')
        before, after = texts[path].split(old)
        if new.count('{') - new.count('}') > old.count('{') - old.count('}'):
            # What was put in opens a brace that the end of its line has to close.
            line, rest = after.split('\n', 1)
            after = line + ' }\n' + rest
        texts[path] = before + re.sub(r'\bON\b', f'Defect.isOn("{name}")', new) + after
        texts[os.path.join(copy, 'Sources', file.split('/')[0], 'Defect.swift')] = mutants.QUESTION
    return texts


def run(bundle, suite, defect=None):
    """How a suite ends: 'passed', 'failed', 'empty' or 'hung'; with a defect it ends at the first failure.

    Gives also the name of the test that failed first and how long it took.
    """
    environment = dict(os.environ, VAULT_SEED='1')
    if defect:
        environment['VAULT_DEFECT'] = defect
    start = time.monotonic()
    process = subprocess.Popen([bundle, '--no-parallel', '--testing-library', 'swift-testing', '--filter', suite],
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               cwd=os.path.dirname(bundle))
    hung = threading.Event()
    watch = threading.Timer(SUITE_SECONDS, lambda: (hung.set(), process.kill()))
    watch.start()
    outcome, culprit, has_run = 'passed', '', False
    for line in process.stdout:
        text = line.decode(errors='replace')
        found = re.search(r'Test (?:case passing .* to )?"?(.+?)"? recorded an issue', text)
        if found:
            outcome, culprit = 'failed', culprit or found[1]
            if defect:
                process.kill()
                break
        has_run = has_run or re.search(r'Test run with [1-9]', text) is not None
    watch.cancel()
    code = process.wait()
    if hung.is_set():
        outcome = 'hung'
    elif outcome == 'passed' and code:
        outcome, culprit = 'failed', f'exit {code}'
    elif outcome == 'passed' and not has_run:
        outcome = 'empty'
    return outcome, culprit, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument('--work', help='where the copy and its build go')
    where.add_argument('--places', action='store_true', help='only see that every defect still has its place')
    parser.add_argument('--only', help='defects, comma-separated')
    parser.add_argument('--jobs', default=None, help='of the build')
    parser.add_argument('--seconds', type=int, default=0, help='begin no further defect after so long')
    parser.add_argument('--build-only', action='store_true')
    parser.add_argument('--no-build', action='store_true')
    parser.add_argument('--sound', action='store_true', help='the suites are known to pass without a defect')
    options = parser.parse_args()
    known = {row[0] for row in mutants.MUTANTS}
    wanted = set(options.only.split(',')) if options.only else known
    if not wanted <= known:
        parser.error(f'no such defects: {", ".join(sorted(wanted - known))}')
    if options.places:
        defective(ROOT)
        print(f'mutate: {len(known)} defects have their places')
        return 0
    copy, build = os.path.join(options.work, 'copy'), os.path.join(options.work, 'build')
    if not options.no_build:
        prepare(copy)
        jobs = ['-j', options.jobs] if options.jobs else []
        subprocess.run(['swift', 'build', '-c', 'release', '--build-tests', *jobs, '--package-path', copy, '--scratch-path',
                        build, '-Xswiftc', '-enable-testing', '-Xswiftc', '-DVAULT_FAILPOINTS'], check=True)
    if options.build_only:
        return 0
    bundle = os.path.join(build, 'release', 'vaultctlPackageTests.xctest')
    chosen = [row for row in mutants.MUTANTS if row[0] in wanted]
    sound, survivors, killed, start = {}, [], 0, time.monotonic()
    for name, _, _, _, suites in chosen:
        if options.seconds and time.monotonic() - start > options.seconds:
            break
        for suite in suites:
            if suite not in sound:
                sound[suite] = 'passed' if options.sound else run(bundle, suite)[0]
                if sound[suite] != 'passed':
                    print(f'mutate: {suite} ends "{sound[suite]}" without any defect', flush=True)
            if sound[suite] != 'passed':
                continue
            outcome, culprit, seconds = run(bundle, suite, name)
            if outcome != 'passed':
                print(f'mutate: {name}: killed by {suite.split(".")[0]}: {culprit or outcome} ({seconds:.0f} s)', flush=True)
                killed += 1
                break
        else:
            print(f'mutate: {name}: SURVIVED {", ".join(suites)}', flush=True)
            survivors.append(name)
    tried = killed + len(survivors)
    print(f'mutate: {killed} of {tried} defects killed, {len(chosen) - tried} not tried; survivors: '
          f'{", ".join(survivors) or "none"} (seed 1)')
    return 1 if survivors or any(outcome != 'passed' for outcome in sound.values()) else 0


if __name__ == '__main__':
    sys.exit(main())
