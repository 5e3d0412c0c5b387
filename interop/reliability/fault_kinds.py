"""The kinds of faults over HTTP: what each may end with, and how it is made to strike one request."""
import functools
import itertools

from fault_proxy import Fault, conflict_inside, swap_objects
from http_scene import control

# What a fault may end with, by its kind; from the meaning of the exit codes and of the answers (spec 10 B.3 and B.10,
# 04 section 4.3, 8 and 9.2, 05 section 6 and 9), not from what the program does. Where 0 stands, it has to be true.
NETWORK, AUTH, REJECTED, DAMAGE, REFUSED, DEFERRED = 7, 6, 5, 8, 9, 15
READS = ('pull', 'fetch', 'clone', 'large pull')
ALLOWED = {
    '401': {AUTH},
    '403': {AUTH},
    # No batch route means a host that only gives files: reading goes on there, and writing is refused or an error. No
    # route for large files means that they go another way. A file that was there before and is not found is damage.
    '404': lambda verb: {NETWORK, DAMAGE} | ({0} if verb in (*READS, 'large push') else set()) | (
        set() if verb in READS else {REFUSED}),
    '429': {0, NETWORK}, '429-soon': {0, NETWORK}, '503-soon': {0, NETWORK},
    '429-later': {DEFERRED}, '503-later': {DEFERRED},
    '500': {0, NETWORK}, '502': {0, NETWORK}, '503': {0, NETWORK}, '504': {0, NETWORK},
    'drop': {0, NETWORK}, 'reset': {0, NETWORK}, 'stall': {0, NETWORK},
    'truncate': {0, NETWORK}, 'cut-early': {0, NETWORK}, 'cut-late': {0, NETWORK},
    'garbage': {0, NETWORK, DAMAGE},
    # A cache that shows the state before the last one. Who has not seen the last one follows it, and its
    # compare-and-swap fails; who made it is shown an older one than that.
    'stale-ref': lambda verb: {0} if verb in READS else {0, REJECTED} if verb == 'push --pull' else {DAMAGE},
    # A state from before what this clone has accepted. A new clone can not know.
    # A fetch accepts nothing; it has to tell.
    'rolled-back-ref': lambda verb: {0} if verb == 'clone' else {0, DAMAGE} if verb == 'fetch' else {DAMAGE},
    'swapped-objects': {0, DAMAGE},             # or asked for once more, and then right
    'conflict-inside': {0, REJECTED, DAMAGE},   # of a ref or index; of an object with other content
    'conflict-with-own': {0},                   # our own earlier attempt, told by its bytes
}
# What the default number of attempts has to get over without anybody noticing (10 B.10).
PASSING = ('429', '429-soon', '503-soon', '502', '503', '504', 'drop', 'reset', 'truncate', 'cut-early', 'cut-late')
# A push reads the branch once more after its swap (05 section 9.5). When it can not, the swap was still told to have
# happened; when it is shown another state, that is a lost race.
CHECK, CHECK_OF_REF = {0}, {0, REJECTED}
BY_QUEUE = {'drop', 'stall', 'truncate', 'garbage'}


class Spoiler:
    """Arms one fault of a kind for the n-th request of the next command, by the server itself or by the proxy."""

    def __init__(self, kind, when, server, url, proxy):
        self.kind, self.when, self.server, self.url, self.proxy = kind, when, server, url, proxy
        self.strikes, self.by_queue, self.patience = 0, 0, 1

    def headers(self):
        # A moment as seconds and as a date, which are the two ways to say it.
        if self.kind.endswith('-soon'):
            return {'Retry-After': '1'}
        if self.kind.endswith('-later'):
            return {'Retry-After': '3000' if self.when == 'before' else 'Fri, 31 Dec 2190 23:59:59 GMT'}
        return {}

    def fault(self, scene):
        kind = self.kind.split('-')[0]
        if kind.isdigit():
            text = ''.join(f'{name}: {value}\r\n' for name, value in self.headers().items())
            return Fault(int(kind), self.when, headers=text)
        edits = {'stale-ref': functools.partial(scene.older_ref, 1),
                 'rolled-back-ref': functools.partial(scene.older_ref, 2),
                 'swapped-objects': lambda: swap_objects,
                 'conflict-inside': lambda: conflict_inside(b'somebody else'),
                 'conflict-with-own': conflict_inside}
        if self.kind in edits:
            return Fault('edit', self.when, edit=edits[self.kind]())
        shares = {'cut-early': 10, 'cut-late': 0.99, 'truncate': 0.5}
        return Fault('cut' if self.kind in shares else self.kind, self.when, seconds=1.5 * self.patience,
                     count=shares.get(self.kind, 1))

    def can_strike(self, request, scene):
        """Whether the fault has a meaning for this request."""
        names = [operation['file_id'] for operation in request.operations]
        if self.kind.endswith('-ref'):
            return not request.is_write and scene.vault in request.target and scene.ref in names
        if self.kind == 'swapped-objects':
            return not request.is_write and any('obj-cas-imm' in name for name in names)
        if self.kind.startswith('conflict'):
            return any(operation['op'] == 'write-if-match' for operation in request.operations)
        return True

    def arm(self, scene, number):
        """Strikes the request `number` of those that it can strike."""
        fault, seen, self.struck, self.is_check, was_swapped = self.fault(scene), itertools.count(), False, False, []
        queued = self.server == 'stand-in' and (self.kind in BY_QUEUE or self.kind[:3].isdigit())

        def fate(request):
            if not self.can_strike(request, scene) or next(seen) != number:
                if request.is_write and any('/ref-pid-muw-' in each['file_id'] for each in request.operations):
                    was_swapped.append(request.number)
                return None
            self.struck, self.is_check = True, bool(was_swapped) and not request.is_write
            self.strikes += 1
            self.by_queue += queued
            return None if queued else fault
        if queued:
            control(self.url, 'fault', dict(match='/api/', skip=number, when=self.when, headers=self.headers(),
                                            seconds=1.5 * self.patience,
                                            status=fault.kind if isinstance(fault.kind, int) else self.kind))
        self.proxy.set(fate)

    def disarm(self):
        self.proxy.set(lambda request: None)
        if self.server == 'stand-in':
            control(self.url, 'reset', {})
