"""Tables from the samples of a run: for the terminal, and docs/performance.md."""
import json
import os


from bars import Bars, Run

ORDER = ['vaultctl', 'vaultctl, not durable', 'vaultctl, one core', 'sgit', 'git', 'git, loose objects',
         'git, core.fsync=all', 'restic', 'borg', 'age', 'cp -r']


def titles(data):
    """Case → what a reader is told, in the order of the report."""
    files, large, commits = (f'{data[name]:,}' for name in ('files', 'large_files', 'commits'))
    big = f'{data["big_bytes"] / 1e9:g} GB'
    return {
        'version': '`version`', 'open a key': 'open a vault key', 'open both keys': 'open both keys of a vault key',
        'status, key known': '`status` in a clone of one file', 'log, key known': '`log` in it',
        'ls, key known': '`ls` in it',
        'commit': f'commit {files} × 1 KB', 'status': f'status, nothing changed, {files} files',
        'commit one': f'commit 1 of {files} files', 'push': f'push {files} files to a folder',
        'clone': f'clone {files} files from a folder', 'fsck': f'fsck, {files} files',
        'large: commit': f'commit {large} × 1 KB', 'large: status': f'status, nothing changed, {large} files',
        'large: commit one': f'commit 1 of {large} files', 'big commit': f'commit one file of {big}',
        'big checkout': f'check out one file of {big}', 'big cat': f'`cat -o` of one file of {big}',
        'big fsck': f'fsck, {big} in 4 files',
        'log': f'`log`, {commits} commits', 'log, signatures': f'`log --show-signature`, {commits} commits'}


def rows(data):
    """(title, place, [(program, runs, median, min, cpu, megabytes, times as long as vaultctl)])"""
    run = Run(data)
    for case, title in titles(data).items():
        for place in ('memory', 'disk'):
            found = []
            ours = run.get(case, place=place)
            for tool in ORDER:
                samples = run.found.get((case, place, tool))
                if samples:
                    median = run.get(case, tool, place)
                    found.append((tool, len(samples), median, run.get(case, tool, place, how=min),
                                  run.get(case, tool, place, 'cpu'), run.get(case, tool, place, 'peak_kb', max) / 1024,
                                  median / ours if ours else 0))
            if found:
                yield title, place, found


def seconds(value):
    return f'{value * 1000:.1f} ms' if value < 0.1 else f'{value:.3f} s' if value < 10 else f'{value:.1f} s'


def about(data):
    machine = data['machine']
    crypto = ', '.join(machine['crypto'])
    yield (f'{machine["cores"]} {"virtual " if machine["virtual"] else ""}cores ({machine["cpu"]}; {crypto}), '
           f'{machine["memory_gb"]} GB, Linux {machine["kernel"]}; memory on {machine["memory_fs"]}, disk '
           f'{machine["disk_fs"] or "not measured"}')
    yield f'vaultctl {data["version"]}; ' + ', '.join(' '.join(pair) for pair in data['programs'].items())
    yield (f'Load average {data["load"][0]} before and {data["load"][-1]} after; other programs took '
           f'{data["others"]:.0%} of the processor while commands were measured'
           + ('.' if data['others'] < 0.1 else ': times are too high, compare ratios, minima and CPU time.'))
    yield from data['notes']


def limits(data):
    run = Run(data)
    if run.limit('gcm'):
        yield f'AES-256-GCM {run.limit("gcm") / 1e9:.2f} GB/s, SHA-256 {run.limit("sha256") / 1e9:.2f} GB/s per core'
    if run.limit('cores'):
        yield f'two processes at once got {run.limit("cores"):.2f} times as much done as one'
    if run.limit('pbkdf2'):
        yield f'hash limit of one key {seconds(run.limit("pbkdf2"))} (least {seconds(run.limit("pbkdf2", min))})'
    if run.limit('verify'):
        yield f'ECDSA P-256 {run.limit("verify"):,.0f} verifications/s per core'


def table(data):
    lines = list(about(data)) + list(limits(data)) + ['']
    lines.append(f'{"case":<46} {"program":<22} {"runs":>4} {"median":>10} {"min":>10} {"cpu":>10} {"MB":>6} '
                 f'{"ratio":>7}')
    for title, place, found in rows(data):
        for number, (tool, runs, median, least, cpu, peak, times) in enumerate(found):
            name = (title + (', on disk' if place == 'disk' else '')).replace('`', '') if number == 0 else ''
            lines.append(f'{name:<46} {tool:<22} {runs:>4} {seconds(median):>10} {seconds(least):>10} '
                         f'{seconds(cpu):>10} {peak:>6.0f} ' + (f'{times:>6.2f}×' if number and times else ''))
    return lines


def bars_text(data):
    names = titles(data)
    lines = [f'{"bar":<46} {"against":<52} {"measured":>10} {"bar":>12}']
    for bar in Bars(data).all:
        lines.append(f'{names[bar.case].replace("`", ""):<46} {bar.text:<52} {bar.show(bar.value):>10} '
                     f'{bar.sign() + " " + bar.show(bar.bar):>12}  {bar.verdict()}')
    bars = Bars(data).all
    unclear, passed = sum(bar.unclear for bar in bars), sum(bar.passed for bar in bars)
    return lines + [f'{passed} of {len(bars)} bars passed' + (f', {unclear} unclear' if unclear else '')]


# ---------------------------------------------------------------- docs/performance.md

HEAD = """# Performance

Generated by `make bench SAVE=1` from `performance/{version}.json`, which holds every sample.

{about}

## Bars

What each case must reach, measured against other programs and the machine in the same run. × is a quotient of times;
"times faster" is theirs divided by ours. Medians decide.

| Case | Against | Measured | Bar | |
|---|---|---|---|---|
{bars}

## Figures

Medians; CPU is user and system time of all processes, memory the peak of the largest one. "Times" is how long the other
program took in units of vaultctl.

| Case | Program | Runs | Median | Least | CPU | MB | Times |
|---|---|---|---|---|---|---|---|
{rows}

## What is compared

{notes}

## Repeat it

    make bench              every case, about half an hour
    make bench QUICK=1      fewer rounds, no large case, about four minutes
    make bench SAVE=1       also rewrites this page and its JSON
    make bench CASES=big    only some: start, small, disk, large, big, fsck, signatures
    make counts             the gates: system calls, syncs, bytes, objects and allocations of each verb

Missing programs (git, restic, borgbackup, age) are installed on Debian when the target runs as root, and left out with
a line otherwise. Times fail nothing; the counts do (`interop/bench/thresholds.json`).
"""

NOTES = """* Files are random bytes: 1 KB each over 100 folders, or one file of 1 GB. Page cache warm. Memory is a
  tmpfs, where syncing costs nothing; the disk rows show what durability costs, beside `cp -r` of the same files.
* Programs take turns within a round, and who begins changes each round. Slow ones take part in fewer rounds.
* git does not encrypt and compresses everything. Its commit is `git add -A && git commit`, its clone is
  `git clone --no-hardlinks` of the folder it pushed to, which holds one pack; "loose objects" is the same from its
  working repository, with one file per object.
* restic and borg: a first backup, the same again with nothing changed, the same with one file changed, restore or
  extract, and a check that reads all data. restic derives its key with scrypt each time.
* age encrypts one stream: `tar` for many files. It keeps no history and no names apart.
* The reference writes no folders; its first push runs its own algorithm in one process over a client that puts files
  where a server would. Opening a key is timed inside its process, without its start-up.
* vaultctl's status, log and ls know the key already, as in every clone that holds it; clone and init derive it.
* "Not durable" is the same binary with `fsync`, `fdatasync` and `syncfs` made to do nothing.
* A checkout of one file is the `pull` of a commit that was fetched before. `cat -o` looks at the whole object before it
  writes a byte.
* The disk is a new file system each round where the bench may mount one (as root): syncing it waits for nobody else's
  files, and ext4 does not look for inodes among those deleted in the rounds before.
* The limit of a big file is what cipher and hash take on two cores, at the speed `openssl speed` shows in the same
  minute, and `cp` of the same file."""


def save(data, docs):
    """Writes the JSON of this version and the page; returns what was written."""
    folder = os.path.join(docs, 'performance')
    os.makedirs(folder, exist_ok=True)
    written = [os.path.join(folder, data['version'] + '.json'), os.path.join(docs, 'performance.md')]
    with open(written[0], 'w', encoding='utf-8') as file:
        samples = ',\n'.join('  ' + json.dumps(sample, ensure_ascii=False) for sample in data['samples'])
        rest = {name: value for name, value in data.items() if name != 'samples'}
        rest = json.dumps(rest, indent=1, ensure_ascii=False)
        file.write(rest[:-2] + ',\n "samples": [\n' + samples + '\n ]\n}\n')
    with open(written[1], 'w', encoding='utf-8') as file:
        file.write(page(data))
    return [f'written: {os.path.relpath(path)}' for path in written]


def page(data):
    names = titles(data)
    bars = '\n'.join(f'| {names[bar.case]} | {bar.text} | {bar.show(bar.value)} | {bar.sign()} {bar.show(bar.bar)} | '
                     f'{bar.verdict()} |' for bar in Bars(data).all)
    lines = []
    for title, place, found in rows(data):
        for number, (tool, runs, median, least, cpu, peak, times) in enumerate(found):
            name = title + (', on disk' if place == 'disk' else '') if number == 0 else ''
            lines.append(f'| {name} | {tool} | {runs} | {seconds(median)} | {seconds(least)} | {seconds(cpu)} | '
                         f'{peak:.0f} | {f"{times:.2f} ×" if number and times else ""} |')
    form = 'The short form (`QUICK=1`): few rounds.' if data['form'] == 'quick' else 'The full form.'
    head = [form, *about(data), *limits(data)]
    return HEAD.format(version=data['version'], about='\n'.join(f'* {line}' for line in head), bars=bars,
                       rows='\n'.join(lines), notes=NOTES)
