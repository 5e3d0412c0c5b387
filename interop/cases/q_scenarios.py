"""q. Scenarios: two clones of one vault, each step by a random tool, with conflicts, branches and steps back. Whatever
happened, both end with equal files, and so does a clone made afresh."""
import json
import os

from cases.h_random import random_edit
from roundtrip.harness import case, equal, files_of, same_keys

STEPS = 8
SHARED = [f'shared/{name}' for name in ('one.txt', 'two.txt', 'three.bin')]


class Scenario:
    def __init__(self, lab):
        self.lab, self.story, self.branches = lab, [], 0

    def begin(self):
        lab, key = self.lab, self.lab.key()
        lab.reference.init('one', key, lab.host, lab.root)
        lab.some_files('one')
        for path in SHARED:
            lab.put('one', path, lab.text(5))
        lab.reference.commit(lab.path('one'), 'start')
        lab.reference.push(lab.path('one'), lab.host)
        lab.ours.clone(key, 'two', lab.host, cwd=lab.root)
        return key

    def run(self):
        lab, key = self.lab, self.begin()
        try:
            for _ in range(STEPS):
                clone = lab.random.choice(['one', 'two'])
                action = lab.random.choice([self.commit, self.commit, self.change_shared, self.pull, self.publish,
                                            self.publish, self.branch, self.step_back])
                action(clone)
                lab.ours.status_is_clean(lab.path(clone))
            for clone in ('one', 'two', 'one'):
                self.publish(clone)
            lab.same_files('one', 'two')
            # A push of the reference leaves out the keys of merged branches, so signatures are not looked at.
            lab.both_agree('two', signed=False)
            lab.reference.clone(key, 'fresh', lab.host, lab.root)
            lab.same_files('one', 'fresh')
        except Exception as error:
            raise AssertionError(f'{error}\nafter: ' + ', '.join(self.story)) from error

    def tool(self, clone, what):
        """Who does the next step."""
        tool = self.lab.random.choice(['vaultctl', 'sgit'])
        self.story.append(f'{tool} {what} in {clone}')
        return tool == 'vaultctl'

    # ------------------------------------------------------------ steps

    def store(self, clone, message):
        directory = self.lab.path(clone)
        if self.tool(clone, message):
            self.lab.ours.commit(directory, message)
        else:
            self.lab.reference.commit(directory, message)

    def commit(self, clone):
        random_edit(self.lab, clone, f'of {clone}')
        self.store(clone, 'own files')

    def change_shared(self, clone):
        """What the other clone may change as well: to other bytes, to the same ones, or away."""
        for path in self.lab.random.sample(SHARED, self.lab.random.randrange(1, 3)):
            there = os.path.exists(self.lab.path(clone, path))
            if there and self.lab.random.random() < 0.25:
                self.lab.drop(clone, path)
            else:
                self.lab.put(clone, path, self.lab.random.choice([b'the same on both sides\n', self.lab.text(5)]))
        random_edit(self.lab, clone, f'of {clone}')
        self.store(clone, 'shared files')

    def own(self, clone):
        return {path: digest for path, digest in files_of(self.lab.path(clone)).items()
                if path.startswith(f'of {clone}'.encode())}

    def pull(self, clone):
        directory, before = self.lab.path(clone), self.own(clone)
        if self.tool(clone, 'pull'):
            if self.lab.ours.json('pull', cwd=directory, code=None).get('conflicts'):
                self.resolve(clone)
        else:
            self.lab.reference.pull(directory, ok=False)
            self.resolve(clone)
        same_keys(self.own(clone), before, 'a pull changed the work of this clone')

    def resolve(self, clone):
        """Either tool decides each path for either side, and either tool commits the merge."""
        directory = self.lab.path(clone)
        state = os.path.join(directory, '.sg_vault', 'local', 'merge_state.json')
        if not os.path.exists(state):
            return
        with open(state, encoding='utf-8') as file:
            paths = json.load(file)['conflict_paths']
        for path in paths:
            side = self.lab.random.choice(['--ours', '--theirs'])
            if self.tool(clone, f'resolve {side} {path}'):
                self.lab.ours.json('resolve', side, path, cwd=directory)
            else:
                self.lab.reference.run('resolve', side, path, cwd=directory)
        if self.tool(clone, 'finish the merge'):
            self.lab.ours.json('merge', '--continue', cwd=directory)
        else:
            self.lab.reference.commit(directory, 'merged')
        equal(os.path.exists(state), False, 'the state after the merge')

    def publish(self, clone):
        self.pull(clone)
        if self.tool(clone, 'push'):
            self.lab.ours.push(self.lab.path(clone))
        else:
            self.lab.reference.push(self.lab.path(clone), self.lab.host)

    def branch(self, clone):
        """Work on a branch of its own that is then merged; the branch stays here."""
        directory, self.branches = self.lab.path(clone), self.branches + 1
        name = f'b{self.branches}'
        if self.tool(clone, f'make branch {name}'):
            self.lab.ours.json('switch', '-c', name, cwd=directory)
        else:
            self.lab.reference.run('branch', 'new', name, cwd=directory)
        random_edit(self.lab, clone, f'of {clone}')
        self.store(clone, 'branch')
        with_branch = self.own(clone)
        if self.tool(clone, 'go back to current'):
            self.lab.ours.json('switch', 'current', cwd=directory)
        else:
            self.lab.reference.run('branch', 'switch', 'current', cwd=directory)
            self.resolve(clone)                               # its switch pulls as well
        self.story.append(f'vaultctl merge {name} in {clone}')
        self.lab.ours.json('merge', name, cwd=directory)
        same_keys(self.own(clone), with_branch, 'a merge of a branch lost its work')

    def step_back(self, clone):
        """A commit that is taken back before it was published."""
        directory, before = self.lab.path(clone), files_of(self.lab.path(clone))
        random_edit(self.lab, clone, f'of {clone}')
        self.store(clone, 'regretted')
        if self.tool(clone, 'take it back'):
            self.lab.ours.json('undo', cwd=directory)
        else:
            self.lab.reference.run('history', 'undo', cwd=directory)
        same_keys(files_of(directory), before, 'files after a commit was taken back')


def register(count):
    for number in range(count):
        case(f'q.scenario.{number}')(lambda lab: Scenario(lab).run())
