"""The bars: what each measured case is held against. All of it follows from the samples of one run."""
import statistics

# Bars that nobody can pass on one core, by how their text begins.
PARALLEL = ('opening one', '(1/GCM', 'one core', 'age, its speed')


class Run:
    """The samples of one run, asked by case, program and place."""

    def __init__(self, data):
        self.data = data
        self.found = {}
        for sample in data['samples']:
            self.found.setdefault((sample['case'], sample['place'], sample['tool']), []).append(sample)

    def get(self, case, tool='vaultctl', place='memory', what='wall', how=statistics.median):
        """The median (or `how`) of one number; None when it was not measured."""
        samples = self.found.get((case, place, tool))
        return how(sample[what] for sample in samples) if samples else None

    def limit(self, name, how=statistics.median):
        values = self.data['limits'].get(name)
        return how(values) if values else None


class Bar:
    """`value` must be at most (or, with `least`, at least) `bar`. `floor` is the same by minima, which other programs'
    load disturbs less. `doubt`: why a bar that is missed says nothing."""

    def __init__(self, case, text, value, bar, unit='×', least=False, floor=None, doubt=None):
        self.case, self.text, self.value, self.bar, self.unit, self.least = case, text, value, bar, unit, least
        self.passed, self.doubt = self.fits(value), doubt
        self.unclear = not self.passed and doubt is not None
        self.passed_by_minima = None if floor is None else self.fits(floor)

    def fits(self, value):
        return value >= self.bar if self.least else value <= self.bar

    def verdict(self):
        if self.unclear:
            return f'unclear: {self.doubt}'
        word = 'pass' if self.passed else 'MISS'
        if self.passed_by_minima is not None and self.passed_by_minima != self.passed:
            word += ' (by minima: ' + ('pass)' if self.passed_by_minima else 'MISS)')
        return word

    def sign(self):
        return '≥' if self.least else '≤'

    def show(self, value):
        if self.unit == '×':
            return f'{value:.2f} ×'
        return (f'{value:.0f} {self.unit}' if value >= 100 else f'{value:.3g} {self.unit}').rstrip()


class Bars:
    def __init__(self, data):
        self.run, self.data, self.all = Run(data), data, []
        for group in (self.start, self.small, self.disk, self.large, self.big, self.fsck, self.signatures,
                      self.history, self.http, self.pki):
            group()

    def add(self, case, text, value, bar, unit='×', least=False, floor=None, doubt=None):
        if value is not None:
            if any(text.startswith(start) for start in PARALLEL) and (self.run.limit('cores') or 2) < 1.7:
                doubt = 'others had the second core'
            self.all.append(Bar(case, text, value, bar, unit, least, floor, doubt))

    def ratio(self, case, text, bar, over, place='memory', of='vaultctl', least=False, over_case=None, over_place=None):
        """Time of `of` divided by that of `over` (the inverse with `least`)."""
        values = []
        for how in (statistics.median, min):
            ours = self.run.get(case, of, place, how=how)
            theirs = self.run.get(over_case or case, over, over_place or place, how=how)
            if not ours or not theirs:
                return
            values.append(theirs / ours if least else ours / theirs)
        self.add(case, text, values[0], bar, least=least, floor=values[1])

    def time(self, case, text, bar, unit='ms', tool='vaultctl', place='memory', scale=1000):
        value = self.run.get(case, tool, place)
        if value is not None:
            self.add(case, text, value * scale, bar, unit, floor=self.run.get(case, tool, place, how=min) * scale)

    def over_limit(self, case, text, bar, limit, best):
        """Time over what the machine allows; `limit` from medians, `best` from minima."""
        value = self.run.get(case)
        if value is not None and limit:
            self.add(case, text, value / limit, bar, floor=self.run.get(case, how=min) / best)

    def memory(self, case, bar):
        value = self.run.get(case, what='peak_kb', how=max)
        if value:
            self.add(case, 'peak memory', value / 1024, bar, 'MB')

    # ------------------------------------------------------------ the table of bars

    def start(self):
        self.time('version', 'start to end', 6)
        self.ratio('version', 'git --version', 5, 'git')
        self.add('version', 'size of the binary', self.data['binary_bytes'] / 1e6, 20, 'MB')
        limit, best = self.run.limit('pbkdf2'), self.run.limit('pbkdf2', min)
        self.over_limit('open a key', "the hash limit (1.2 million compressions)", 1.35, limit, best)
        self.ratio('open both keys', 'opening one: both in parallel', 1.35, 'vaultctl', over_case='open a key')
        for verb in ('status', 'log', 'ls'):
            self.over_limit(f'{verb}, key known', 'the hash limit: no key is derived', 0.5, limit, best)

    def small(self):
        self.ratio('commit', 'the reference, times faster', 5, 'sgit', least=True)
        for tool in ('git', 'restic', 'borg'):
            self.ratio('commit', f'{tool}, times faster', 1, tool, least=True)
        self.ratio('status', 'git status', 2.5, 'git')
        self.ratio('commit one', 'git add + commit', 3, 'git')
        self.ratio('push', "the reference's first push, times faster", 3, 'sgit', least=True)
        self.ratio('clone', 'the reference, times faster', 10, 'sgit', least=True)
        self.ratio('clone', 'git clone --no-hardlinks', 2.5, 'git')
        self.ratio('clone', 'the same of a repository with one file per object', 2.5, 'git, loose objects')
        if self.data['files'] == 10000:
            self.time('fsck', 'all of it', 0.3, 's', scale=1)

    def disk(self):
        self.ratio('commit', 'not durable, on disk', 1.3, 'vaultctl, not durable', place='disk')
        self.ratio('commit', 'durable, on disk, to cp -r of the same files', 1.5, 'cp -r', place='disk')

    def large(self):
        times = self.data['large_files'] / self.data['files']
        for case in ('commit', 'status', 'commit one'):
            large = 'large: ' + case
            text = f'the same with {self.data["files"]:,} files: no faster than their count'
            self.ratio(large, text, times, 'vaultctl', over_case=case)
            self.memory(large, 200)

    def big(self):
        for case, base, hashes in (('big commit', 'big commit', 2), ('big checkout', 'big checkout', 1),
                                   ('big cat', 'big checkout', 1)):
            limit = self.stream_limit(base, hashes, statistics.median, statistics.median)
            least = self.stream_limit(base, hashes, min, max)
            self.over_limit(case, f'(1/GCM + {hashes}/SHA-256)/2 + cp', 1 / 0.8, limit, least)
            self.ratio(case, 'age, its speed', 0.9, 'age', least=True, over_case=base)
            if hashes == 2:
                self.ratio(case, 'restic, times faster', 1, 'restic', least=True)
            self.memory(case, 64)

    def stream_limit(self, case, hashes, how, best):
        """Seconds that cipher and hash on two cores and a copy of the same file take."""
        size, copy = self.data['big_bytes'], self.run.get(case, 'cp -r', how=how)
        gcm, sha = self.run.limit('gcm', best), self.run.limit('sha256', best)
        return (size / gcm + hashes * size / sha) / 2 + copy if copy and gcm and sha else None

    def fsck(self):
        size = self.data['big_bytes'] // 4 * 4 / 1e9
        value = self.run.get('big fsck')
        if value:
            self.add('big fsck', 'speed', size / value, 0.7, 'GB/s', True, size / self.run.get('big fsck', how=min))
        self.ratio('big fsck', 'one core, times faster on two', 1.8, 'vaultctl, one core', least=True)

    def signatures(self):
        speed, best = self.run.limit('verify'), self.run.limit('verify', max)
        if speed:
            count = self.data['commits']
            self.over_limit('log, signatures', f'{count:,} × openssl speed ecdsap256', 1.5, count / speed, count / best)

    def history(self):
        self.ratio('history: log', 'the reference, times faster', 10, 'sgit', least=True)
        self.ratio('history: diff', 'git diff', 5, 'git')
        for case in ('history: merge', 'history: switch', 'history: switch all'):
            self.ratio(case, 'git', 3, 'git')
        value = self.run.get('history: merge base')
        if value:
            self.add('history: merge base', 'time of one commit, start of the program included', value / 20000 * 1e6, 25,
                     'µs', floor=self.run.get('history: merge base', how=min) / 20000 * 1e6)
        for case, commits in (('history: log', 5000), ('history: merge base', 20000)):
            peak = self.run.get(case, what='peak_kb', how=max)
            if peak:
                self.add(case, 'peak memory, 48 MB and 128 B per commit', peak / 1024, 48 + commits * 128 / (1 << 20),
                         'MB')

    def http(self):
        for case, bar in (('http many: clone', 10), ('http many: push', 3)):
            self.ratio(case, 'the reference, times faster', bar, 'sgit', 'serve', least=True)
        cpu = self.run.get('http many: push', place='serve', what='cpu')
        if cpu:
            self.add('http many: push', "the client's CPU time", cpu, 0.5, 's',
                     floor=self.run.get('http many: push', place='serve', what='cpu', how=min))
        self.ratio('http big: push', 'curl -T, its speed', 0.5, 'curl', 'serve', least=True)
        self.ratio('http big: clone', 'curl -o f, then openssl dgst -sha256 f, their speed', 0.5, 'curl', 'serve',
                   least=True)
        cases = dict.fromkeys(case for case, _, _ in self.run.found if case.startswith('http '))
        for case in cases:
            requests = self.run.get(case, place='serve', what='requests', how=max)
            if requests:
                needed = self.run.get(case, place='serve', what='least', how=max)
                self.add(case, 'requests, the least that the protocol needs', requests, needed, '')
        for case in cases:
            peaks = [self.run.get(case, place=place, what='peak_kb', how=max) for place in ('serve', 'stand-in')]
            if any(peaks):
                self.add(case, 'peak memory', max(filter(None, peaks)) / 1024, 64, 'MB')
        reads = self.run.limit('reads')
        if reads:
            self.add('http reads', 'wrk -t1 -c16, no access log', reads, 20000, 'reads/s', True,
                     self.run.limit('reads', max))

    def pki(self):
        self.keygen()
        for verb in ('sign', 'verify', 'encrypt', 'decrypt'):
            case, other = f'pki {verb} 1 KB', "vaultctl, sgit's key pair"
            self.ratio(case, 'the reference on the same key pair, times faster', 10, 'sgit', of=other, least=True)
            self.ratio(case, 'the reference, times faster (600,000 rounds to its 2,048)', 5, 'sgit', least=True)
        for verb in ('encrypt', 'decrypt'):
            self.ratio(f'pki {verb} 50 MB', 'the reference, times faster', 5, 'sgit', least=True)
            self.ratio(f'pki {verb} 50 MB', 'age', 4, 'age')
        for case in (f'pki {verb} {size}' for verb in ('sign', 'verify') for size in ('1 KB', '50 MB')):
            limit = self.run.get(case, 'openssl')
            if limit:
                self.add(case, '1.2 × openssl dgst + 15 ms', self.run.get(case) * 1000, limit * 1200 + 15, 'ms')

    def keygen(self):
        """How long a key takes is chance: means of many runs, and what they can tell apart."""
        ours, theirs = ([sample['wall'] for sample in self.run.found.get(('pki keygen', 'memory', tool), [])]
                        for tool in ('vaultctl', 'openssl'))
        if len(ours) < 2 or len(theirs) < 2:
            return
        ratio = statistics.mean(ours) / statistics.mean(theirs)
        error = ratio * sum((statistics.stdev(times) / statistics.mean(times)) ** 2 / len(times)
                            for times in (ours, theirs)) ** 0.5
        text = f'openssl genrsa, means of {len(ours)} runs'
        doubt = f'± {2 * error:.2f}, two standard errors'
        self.add('pki keygen', text, ratio, 1.1, doubt=doubt if ratio - 2 * error <= 1.1 else None)
        self.add('pki keygen', text, ratio, 0.9, least=True, doubt=doubt if ratio + 2 * error >= 0.9 else None)
