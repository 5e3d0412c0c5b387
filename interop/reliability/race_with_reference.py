#!/usr/bin/env python3
"""Races with the reference writing in the same clone, which takes no lock and renames its ref blindly.

    interop/reliability/race_with_reference.py [--vaultctl PATH] [--rounds 300] [--seed 1]

A process with the reference commits, while two processes of vaultctl write, all in one clone. That one tool's commit may
take the place of another's is the reference's way; the bar is that nothing is corrupt, that every success of ours can
be reached by the reflog, and that `status` reports it when our last one is no longer in the history.
Run by the interpreter that `interop/setup.sh` prints. Exit 1 when the bar was missed.
"""
import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
KEY = 'race with reference:racewith1'


def reference_commits(clone, seed, count, pipe):
    """Edits and commits with the reference; tells which ids it was given, or how it failed."""
    from roundtrip import reference
    choices = random.Random(seed)
    told = []
    for number in range(count):
        os.makedirs(os.path.join(clone, 'theirs'), exist_ok=True)
        with open(os.path.join(clone, 'theirs', f'{choices.randrange(5)}.txt'), 'w', encoding='utf-8') as file:
            file.write(f'{seed} {number}\n' * choices.randrange(1, 200))
        try:
            reference.commit(clone, f'theirs {seed} {number}')
            told.append('done')
        except (reference.ReferenceFailed, Exception) as error:  # whatever stops the reference is its own affair
            told.append(f'failed: {str(error)[:200]}')
    pipe.send(told)
    pipe.close()


def our_writes(vaultctl, clone, seed, count, pipe):
    told = []
    for number in range(count):
        result = subprocess.run([vaultctl, '--json', '-C', clone, '--lock-timeout', '60', 'write', f'ours/{seed}-{number}'],
                                input=f'{seed} {number}'.encode(), capture_output=True, check=False)
        told.append((result.returncode, json.loads(result.stdout).get('commit_id') if result.returncode == 0 else
                     (result.stdout + result.stderr).decode(errors='replace')[:300]))
    pipe.send(told)
    pipe.close()


def call(vaultctl, *words, ok=True):
    result = subprocess.run([vaultctl, '--json', *words], capture_output=True, check=False)
    if ok and result.returncode:
        raise AssertionError(f'{" ".join(words)}: exit {result.returncode}: {result.stdout + result.stderr}')
    return json.loads(result.stdout)


def history(vaultctl, clone):
    return [entry['id'] for entry in call(vaultctl, '-C', clone, 'log', '-n', '100000')['commits']]


def one_round(vaultctl, clone, choices, counts, failures):
    """All three at once; then what must hold."""
    jobs = [(reference_commits, (clone, choices.getrandbits(32), 2))]
    jobs += [(our_writes, (vaultctl, clone, choices.getrandbits(32), 2)) for _ in range(2)]
    running = []
    for work, arguments in jobs:
        mine, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=work, args=(*arguments, theirs))
        process.start()
        running.append((process, mine))
    told = [pipe.recv() for _, pipe in running]
    for process, _ in running:
        process.join()
    counts['their commits'] += sum(text == 'done' for text in told[0])
    failures.update(text for text in told[0] if text != 'done')
    ours = [answer for part in told[1:] for answer in part]
    successes = [answer for code, answer in ours if code == 0]
    counts['our commits'] += len(successes)
    for code, answer in ours:
        # A head that moved under a command is told as such (5); nothing else may go wrong.
        if code == 5:
            counts['noticed at once'] += 1
        elif code:
            raise AssertionError(f'write: exit {code}: {answer}')
    report = subprocess.run([vaultctl, '-C', clone, 'fsck'], capture_output=True, check=False)
    if report.returncode:
        raise AssertionError(f'fsck: {report.stdout + report.stderr}')
    with open(os.path.join(clone, '.sg_vault', 'local', 'reflog.jsonl'), encoding='utf-8') as file:
        moves = {json.loads(line)['new_commit'] for line in file if line.strip()}
    head = set(history(vaultctl, clone))
    lost = [commit for commit in successes if commit not in head]
    counts['overwritten by the reference'] += len(lost)
    for commit in successes:
        if commit not in moves:
            raise AssertionError(f'{commit} is not in the reflog')
        call(vaultctl, '-C', clone, 'show', commit)
    with open(os.path.join(clone, '.sg_vault', 'local', 'vaultctl', 'own-head.json'), encoding='utf-8') as file:
        last = json.load(file)['commit_id']
    status = subprocess.run([vaultctl, '-C', clone, 'status'], capture_output=True, check=True)
    is_told = last.encode() in status.stdout + status.stderr
    if last not in head and not is_told:
        raise AssertionError(f'{last} was replaced and status does not tell: {status.stdout + status.stderr}')
    counts['reported by status'] += last not in head


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(HERE))
    parser.add_argument('--vaultctl', default=os.environ.get('VAULTCTL', os.path.join(root, 'build', 'vaultctl')))
    parser.add_argument('--rounds', type=int, default=300)
    parser.add_argument('--seconds', type=int, default=0)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    from roundtrip import reference  # loaded once; the processes of all rounds inherit it
    assert reference
    import time
    end = time.monotonic() + options.seconds if options.seconds else float('inf')
    choices = random.Random(options.seed)
    names = ('rounds', 'our commits', 'their commits', 'noticed at once', 'overwritten by the reference',
             'reported by status', 'violations')
    counts = {name: 0 for name in names}
    failures = set()
    with tempfile.TemporaryDirectory(prefix='vaultctl-race-') as folder:
        os.environ.update(HOME=folder, LANG='C.UTF-8')
        key = os.path.join(folder, 'key')
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='ascii') as file:
            file.write(KEY)
        clone = None
        while counts['rounds'] < options.rounds and time.monotonic() < end:
            if counts['rounds'] % 20 == 0:
                clone = os.path.join(folder, f'clone-{counts["rounds"]}')
                call(options.vaultctl, 'init', '--key-file', key, '--server', os.path.join(folder, 'remote'), clone)
            try:
                one_round(options.vaultctl, clone, choices, counts, failures)
            except AssertionError as error:
                counts['violations'] += 1
                print(f'race with the reference: round {counts["rounds"]}: {error}', flush=True)
                if counts['violations'] >= 8:
                    break
            counts['rounds'] += 1
    print('race with the reference: ' + ', '.join(f'{count} {name}' for name, count in counts.items())
          + f' (seed {options.seed})')
    # A race that one side did not run in shows nothing.
    for side in ('our commits', 'their commits'):
        if not counts[side]:
            print(f'race with the reference: no {side}; {"; ".join(sorted(failures)[:3])}')
            return 1
    return 1 if counts['violations'] else 0


if __name__ == '__main__':
    sys.exit(main())
