#!/usr/bin/env python3
"""Fuzzes every reader of foreign bytes and reports executions and findings.

    interop/fuzz/run.py --fuzzer PATH [--runs 500000] [--seconds 60] [--only NAME,...] [--seed 1] [--keep]

Each reader starts from its corpus in Tests/FuzzTests/Corpus (one input per line, base64) and the test vectors. `--keep`
writes the inputs that reach most code back there, small ones only. A finding's input is printed as base64; it belongs
into Tests/FuzzTests/Corpus/<reader>.txt too, where every test run reads it. Exit 1 when there was one.
"""
import argparse
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import seeds

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, '..', '..', 'Tests', 'FuzzTests', 'Corpus')
KEPT_LENGTH, KEPT_COUNT = 1500, 120
COMMON = ['-timeout=10', '-rss_limit_mb=2048', '-max_len=8192', '-print_final_stats=1']


def read_corpus(name):
    path = os.path.join(CORPUS, name + '.txt')
    if not os.path.exists(path):
        return []
    with open(path, encoding='ascii') as file:
        return [base64.b64decode(line) for line in file.read().split('\n')[:-1]]


def write_corpus(name, inputs):
    lines = sorted({base64.b64encode(data).decode() for data in inputs}, key=lambda line: (len(line), line))
    with open(os.path.join(CORPUS, name + '.txt'), 'w', encoding='ascii') as file:
        file.writelines(line + '\n' for line in lines)


def put(folder, inputs):
    os.makedirs(folder)
    for number, data in enumerate(inputs):
        with open(os.path.join(folder, f'seed-{number:04}'), 'wb') as file:
            file.write(data)


def contents(folder):
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), 'rb') as file:
            yield file.read()


def fuzz(fuzzer, name, first, folder, options):
    """Runs one reader; gives executions, covered edges and the inputs of findings."""
    environment = dict(os.environ, VAULT_FUZZ_TARGET=name, ASAN_OPTIONS='detect_leaks=1:allocator_may_return_null=1')
    corpus, found = os.path.join(folder, 'corpus'), os.path.join(folder, 'found') + '/'
    put(corpus, first)
    os.makedirs(found)
    command = [fuzzer, *COMMON, f'-seed={options.seed}', f'-runs={options.runs}', f'-artifact_prefix={found}', corpus]
    if options.seconds:
        command.insert(1, f'-max_total_time={options.seconds}')
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = result.stdout.decode(errors='replace')
    numbers = re.findall(r'number_of_executed_units: (\d+)', text) or re.findall(r'^#(\d+)', text, re.M) or ['0']
    edges = re.findall(r'cov: (\d+)', text) or ['0']
    findings = list(contents(found))
    if result.returncode and not findings:
        findings = [b'']
    if findings:
        print(text[-3000:], file=sys.stderr)
    if options.keep and not findings:
        merged = os.path.join(folder, 'merged')
        os.makedirs(merged)
        subprocess.run([fuzzer, '-merge=1', merged, corpus], env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        small = sorted((data for data in contents(merged) if len(data) <= KEPT_LENGTH), key=len)
        # A spread over all lengths: the short ones alone would be those that are refused at once.
        step = max(1, len(small) / KEPT_COUNT)
        write_corpus(name, [small[int(place * step)] for place in range(min(KEPT_COUNT, len(small)))])
    return int(numbers[-1]), int(edges[-1]), findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--fuzzer', required=True)
    parser.add_argument('--runs', type=int, default=500_000, help='executions per reader')
    parser.add_argument('--seconds', type=int, default=0, help='time limit per reader')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', help='readers, comma-separated')
    parser.add_argument('--keep', action='store_true', help='write the corpora back')
    parser.add_argument('--json', help='where the figures go')
    options = parser.parse_args()
    rows, total, bad = [], 0, 0
    for name, first in seeds.seeds().items():
        if options.only and name not in options.only.split(','):
            continue
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix='vaultctl-fuzz-') as folder:
            runs, edges, findings = fuzz(options.fuzzer, name, first + read_corpus(name), folder, options)
        seconds = time.monotonic() - start
        total += runs
        bad += len(findings)
        rows.append({'reader': name, 'executions': runs, 'edges': edges, 'findings': len(findings)})
        print(f'fuzz: {name}: {runs:,} executions in {seconds:.0f} s, {edges} edges, {len(findings)} findings', flush=True)
        for data in findings:
            print(f'fuzz: {name}: FOUND {base64.b64encode(data).decode()}', flush=True)
    print(f'fuzz: {total:,} executions of {len(rows)} readers, {bad} findings (seed {options.seed})')
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump({'seed': options.seed, 'executions': total, 'findings': bad, 'readers': rows}, file, indent=1)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
