"""Linearisability of one register with reads and compare-and-swap: the search of Wing and Gong, with remembered states.

An operation has a `kind`, `read` or `swap`. The result of a read is `value`, which is in `new`; of a swap `ok`, or
`conflict`: it did not happen, and what the answer told to be held instead is in `held`. `unknown` is a result of both:
the operation may have happened at any time from its start on, or never.
"""


class Operation:
    """One call of one client; times are numbers of one clock."""

    def __init__(self, client, kind, start, end, result, expected=None, new=None, held=None):
        self.client, self.kind, self.start, self.result = client, kind, start, result
        self.end = float('inf') if result == 'unknown' else end
        self.expected, self.new, self.held = expected, new, held

    def __str__(self):
        text = f'read -> {self.new}' if self.kind == 'read' else f'swap {self.expected} -> {self.new}'
        told = f', held {self.held}' if self.result == 'conflict' else ''
        return f'{self.start:.6f}..{self.end:.6f} client {self.client}: {text}: {self.result}{told}'


UNTOLD = object()                                           # a conflict that does not say what was held


def apply(operation, state):
    """The states that the register can be in after the operation in `state`; none when it can not have been so."""
    if operation.kind == 'read':
        return (state,) if operation.result == 'unknown' or operation.new == state else ()
    if operation.result == 'ok':
        return (operation.new,) if state == operation.expected else ()
    if operation.result == 'conflict':
        was_told = operation.held is UNTOLD or operation.held == state
        return (state,) if state != operation.expected and was_told else ()
    # Without its answer: it happened, or it met another state.
    return (operation.new,) if state == operation.expected else (state,)


def is_linearizable(history, first):
    """Whether some order of the operations that respects their times explains every answer; `first` is held before."""
    operations = sorted(history, key=lambda operation: operation.start)
    needed = sum(1 << number for number, operation in enumerate(operations) if operation.result != 'unknown')
    seen, todo = set(), [(0, first)]
    while todo:
        done, state = todo.pop()
        if done & needed == needed:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        # Whoever ended first among those that are left: nobody who started later can come before.
        limit = min(operation.end for number, operation in enumerate(operations) if not done >> number & 1)
        for number, operation in enumerate(operations):
            if operation.start > limit:
                break
            if not done >> number & 1:
                todo.extend((done | 1 << number, after) for after in apply(operation, state))
    return False


# ---------------------------------------------------------------- the checker, checked

def swap(client, start, end, expected, new, result, held=UNTOLD):
    return Operation(client, 'swap', start, end, result, expected, new, held)


def read(client, start, end, value):
    return Operation(client, 'read', start, end, 'value', new=value)


RIGHT = {
    'nothing': [],
    'one after another': [swap(1, 0, 1, 'a', 'b', 'ok'), read(2, 2, 3, 'b')],
    'one of two at once': [swap(1, 0, 3, 'a', 'b', 'ok'), swap(2, 1, 2, 'a', 'c', 'conflict', 'b')],
    'a read during a swap, old': [swap(1, 0, 3, 'a', 'b', 'ok'), read(2, 1, 2, 'a')],
    'a read during a swap, new': [swap(1, 0, 3, 'a', 'b', 'ok'), read(2, 1, 2, 'b')],
    'lost answer, happened': [swap(1, 0, 1, 'a', 'b', 'unknown'), read(2, 2, 3, 'b')],
    'lost answer, never happened': [swap(1, 0, 1, 'a', 'b', 'unknown'), read(2, 2, 3, 'a'), read(2, 8, 9, 'a')],
    'lost answer, happened later': [swap(1, 0, 1, 'a', 'b', 'unknown'), read(2, 2, 3, 'a'), read(2, 4, 5, 'b')],
    'lost answer, its own result': [swap(1, 0, 1, 'a', 'b', 'unknown'), swap(1, 2, 3, 'a', 'b', 'conflict', 'b')],
    'there and back': [swap(1, 0, 1, 'a', 'b', 'ok'), swap(2, 2, 3, 'b', 'a', 'ok'), read(1, 4, 5, 'a')],
}
WRONG = {
    'an update is lost': [swap(1, 0, 1, 'a', 'b', 'ok'), swap(2, 2, 3, 'a', 'c', 'ok')],
    'an update is lost at once': [swap(1, 0, 3, 'a', 'b', 'ok'), swap(2, 1, 2, 'a', 'c', 'ok')],
    'a stale read': [swap(1, 0, 1, 'a', 'b', 'ok'), read(2, 2, 3, 'a')],
    'a read before its swap': [read(2, 0, 1, 'b'), swap(1, 2, 3, 'a', 'b', 'ok')],
    'a read of what nobody wrote': [read(1, 0, 1, 'x')],
    'a read that goes back': [swap(1, 0, 9, 'a', 'b', 'ok'), read(2, 1, 2, 'b'), read(2, 3, 4, 'a')],
    'two readers disagree': [swap(1, 0, 9, 'a', 'b', 'ok'), read(2, 1, 2, 'b'), read(3, 3, 4, 'a')],
    'a conflict with what was expected': [swap(1, 0, 1, 'a', 'b', 'conflict', 'a')],
    'a conflict without another': [swap(1, 0, 1, 'a', 'b', 'conflict')],
    'a conflict that is told and happened': [swap(1, 0, 1, 'a', 'b', 'conflict', 'x'), read(1, 2, 3, 'b')],
    'a lost answer happens twice': [swap(1, 0, 1, 'a', 'b', 'unknown'), swap(2, 2, 3, 'b', 'a', 'ok'),
                                    read(2, 4, 5, 'a'), read(2, 6, 7, 'b')],
    'a lost answer comes before its call': [read(2, 0, 1, 'b'), swap(1, 2, 3, 'a', 'b', 'unknown')],
}


def check_checker():
    """How many histories of each sort were judged; raises when one was judged wrongly."""
    for expected, histories in ((True, RIGHT), (False, WRONG)):
        for name, history in histories.items():
            if is_linearizable(history, 'a') is not expected:
                raise AssertionError(f'the checker takes "{name}" for {"wrong" if expected else "right"}')
    return len(RIGHT), len(WRONG)
