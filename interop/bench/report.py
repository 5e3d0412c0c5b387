"""Tables from the samples of a run: for the terminal, and docs/performance.md."""
import json
import os


from bars import Bars, Run

ORDER = ['vaultctl', 'vaultctl, not durable', 'vaultctl, one core', "vaultctl, sgit's key pair", 'sgit', 'git', 'git, loose objects',
         'git, core.fsync=all', 'restic', 'borg', 'age', 'openssl', 'cp -r', 'curl']
PLACES = {'memory': '', 'disk': ', on disk', 'serve': ', vaultctl serve', 'stand-in': ', stand-in'}


def titles(data):
    """Case → what a reader is told, in the order of the report."""
    files, large, commits = (f'{data[name]:,}' for name in ('files', 'large_files', 'commits'))
    big = f'{data["big_bytes"] / 1e9:g} GB'
    few, half = f'{data["files"] // 10:,}', f'{data["big_bytes"] / 2e6:g} MB'
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
        'log': f'`log`, {commits} commits', 'log, signatures': f'`log --show-signature`, {commits} commits',
        'history: log': '`log`, 5,000 commits', 'history: diff': '`diff HEAD~100`, 5,000 commits',
        'history: merge base': 'merge base of two branches of 10,000 commits each',
        'history: merge': f'`merge` of two branches of {files} files, 100 changes each',
        'history: switch': f'`switch`, 200 of {files} files differ',
        'history: switch all': f'`switch`, all of {files} files differ',
        'http few: push': f'HTTP: first push of {few} × 4 KB', 'http few: clone': f'HTTP: clone of {few} × 4 KB',
        'http many: push': f'HTTP: first push of {files} × 1 KB', 'http many: clone': f'HTTP: clone of {files} × 1 KB',
        'http many: push one': f'HTTP: push 1 of {files} files',
        'http many: pull one': f'HTTP: pull 1 of {files} files',
        'http many: pull none': f'HTTP: pull, nothing new, {files} files',
        'http big: push': f'HTTP: first push of one file of {half}',
        'http big: clone': f'HTTP: clone of one file of {half}',
        'http reads': 'HTTP: small reads of `vaultctl serve`', 'pki keygen': '`pki keygen`',
        **{f'pki {verb} {size}': f'`pki {verb}`, {size}' for verb in ('sign', 'verify', 'encrypt', 'decrypt')
           for size in ('1 KB', '50 MB')}}


def rows(data):
    """(title, [(program, runs, median, min, cpu, megabytes, times as long as vaultctl, requests and bytes)])"""
    run = Run(data)
    for case, title in titles(data).items():
        for place in PLACES:
            found = []
            ours = run.get(case, place=place)
            for tool in ORDER:
                samples = run.found.get((case, place, tool))
                if samples:
                    median = run.get(case, tool, place)
                    found.append((tool, len(samples), median, run.get(case, tool, place, how=min),
                                  run.get(case, tool, place, 'cpu'), run.get(case, tool, place, 'peak_kb', max) / 1024,
                                  median / ours if ours else 0, wire(samples)))
            if found:
                yield title + PLACES[place], found


def wire(samples):
    """Requests and bytes of bodies both ways, where they were counted."""
    requests, received, sent = (max(sample.get(name, 0) for sample in samples)
                                for name in ('requests', 'received', 'sent'))
    return (f'{requests:,}', size(received), size(sent)) if requests else None


def size(value):
    return f'{value / 1e6:.1f} MB' if value >= 1e6 else f'{value / 1e3:.1f} KB'


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
    if run.limit('reads'):
        yield (f'`vaultctl serve`: {run.limit("reads"):,.0f} reads of 1 KB per second '
               f'(most {run.limit("reads", max):,.0f})')


def table(data):
    lines = list(about(data)) + list(limits(data)) + ['']
    lines.append(f'{"case":<54} {"program":<22} {"runs":>4} {"median":>10} {"min":>10} {"cpu":>10} {"MB":>6} '
                 f'{"ratio":>7}')
    for title, found in rows(data):
        for number, (tool, runs, median, least, cpu, peak, times, moved) in enumerate(found):
            name = title.replace('`', '') if number == 0 else ''
            lines.append(f'{name:<54} {tool:<22} {runs:>4} {seconds(median):>10} {seconds(least):>10} '
                         f'{seconds(cpu):>10} {peak:>6.0f} ' + (f'{times:>6.2f}×' if number and times else ' ' * 7)
                         + ('  {} requests, {} up, {} down'.format(*moved) if moved else ''))
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

{wires}## What is compared

{notes}

## Repeat it

    make bench              every case, about three quarters of an hour
    make bench QUICK=1      fewer rounds, no large case, about eight minutes
    make bench SAVE=1       also rewrites this page and its JSON
    make bench CASES=big    only some: start, small, disk, large, big, fsck, signatures, http, pki
    make counts             the gates: system calls, syncs, bytes, objects and allocations of each verb

Missing programs (git, restic, borgbackup, age, curl, wrk) are installed on Debian when the target runs as root, and
left out with a line otherwise. Times fail nothing; the counts do (`interop/bench/thresholds.json`).
"""

WIRES = """### Over HTTP

Requests that the server answered, and bytes of their bodies, as its log tells; the most of all runs. `vaultctl serve`
leaves out what its client broke off, the stand-in counts it.

| Case | Program | Requests | Up | Down |
|---|---|---|---|---|
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
* A checkout of one file is the `pull` of a commit that was fetched before. Like `cat -o` it checks the object on the way
  and names the file when all of it was sound.
* The disk is a new file system each round where the bench may mount one (as root): syncing it waits for nobody else's
  files, and ext4 does not look for inodes among those deleted in the rounds before.
* Over HTTP: a new server on loopback each round, its files in memory; both clients use it in turns, each with a vault
  of its own. The server's own time is not in the figures of CPU and memory. The stand-in is the server of the round
  trips, a Python program that is itself the bottleneck; it offers an object store for large files, as `vaultctl serve`
  does.
* Both servers write their access logs meanwhile: one line per request. Small reads are measured without it.
* Bars of requests are the least that the protocol needs: the index and the ref in one request, 50 objects per request,
  one request per level of changed folders, one check of a push, and for a large file its parts of 10 MiB up and ranges
  of 8 MiB down.
* `curl -T` sends the same file to the plain route of objects of the same server. Its times down are those of
  `curl -o f` and `openssl dgst -sha256 f`; a clone also decrypts the file and writes it once more.
* Identities: a key pair of vaultctl's own making, whose passphrase is hashed 600,000 times, and one that the reference
  made, with 2,048. openssl signs with the key file of the first, so it hashes as often. `openssl genrsa` makes the RSA
  key alone, without a passphrase; `pki keygen` also makes the other key and encrypts both. How long a key takes is
  chance, so that case compares means.
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
    lines, wires = [], []
    for title, found in rows(data):
        for number, (tool, runs, median, least, cpu, peak, times, moved) in enumerate(found):
            name = title if number == 0 else ''
            lines.append(f'| {name} | {tool} | {runs} | {seconds(median)} | {seconds(least)} | {seconds(cpu)} | '
                         f'{peak:.0f} | {f"{times:.2f} ×" if number and times else ""} |')
            if moved:
                wires.append(f'| {name} | {tool} | ' + ' | '.join(moved) + ' |')
    form = 'The short form (`QUICK=1`): few rounds.' if data['form'] == 'quick' else 'The full form.'
    head = [form, *about(data), *limits(data)]
    return HEAD.format(version=data['version'], about='\n'.join(f'* {line}' for line in head), bars=bars,
                       rows='\n'.join(lines), wires=WIRES + '\n'.join(wires) + '\n\n' if wires else '', notes=NOTES)
