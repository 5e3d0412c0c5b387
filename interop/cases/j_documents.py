"""j. The tours of the documents, typed as they stand there: every command succeeds and prints what is shown."""
import os
import re
import subprocess
import sys

from roundtrip.harness import case, equal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOME = '/srv/ann'                                             # where the reader of the documents lives
NAMES = re.compile(r'\b[0-9a-f]{12}\b|(?<=vault )[a-z0-9]{8}\b|(?<=Vault )[a-z0-9]{8}\b|(?<=Cloned )[a-z0-9]{8}\b'
                   r'|\bsha256:[0-9a-f]{16}\b')


def tour(document, heading):
    """The commands of a section's transcript and what each is shown to print."""
    with open(os.path.join(ROOT, document), encoding='utf-8') as file:
        section = file.read().split(heading + '\n', 1)[1].split('\n## ', 1)[0]
    steps = []
    for line in section.splitlines():
        if line.startswith('    $ '):
            steps.append((line[6:], []))
        elif line.startswith('    ') and steps:
            steps[-1][1].append(line[4:])
    return steps


@case('j.readme-tour', document='README.md', heading='## Five minutes')
@case('j.identity-guide', document='docs/identities.md', heading='## In commands')
def typed(lab, document, heading):
    steps = tour(document, heading)
    equal(len(steps) > 10, True, 'commands in the tour')
    home, tools = lab.path('home'), lab.path('tools')
    os.makedirs(home)
    os.makedirs(tools)
    os.symlink(os.path.abspath(lab.ours.binary), os.path.join(tools, 'vaultctl'))
    os.symlink(os.path.join(os.path.dirname(sys.executable), 'sgit'), os.path.join(tools, 'sgit'))
    script = 'set -e\n' + ''.join(f'echo "==== {number}"\n{command}\n' for number, (command, _) in enumerate(steps))
    done = subprocess.run(['bash', '-c', script], cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=dict(PATH=f'{tools}:{os.environ["PATH"]}', HOME=home, TZ='UTC', LC_ALL='C.UTF-8'))
    equal(done.returncode, 0, f'exit of the tour; it printed\n{done.stdout}{done.stderr}')
    printed = re.split(r'^==== \d+\n', done.stdout.replace(home, HOME), flags=re.M)[1:]

    known = {}                                                # a name in the document always stands for the same here
    for (command, shown), output in zip(steps, printed):
        output = output.splitlines()
        equal([NAMES.sub('·', line) for line in output], [NAMES.sub('·', line) for line in shown], f'output of `{command}`')
        if command.startswith('ls '):
            continue
        for theirs, ours in zip(NAMES.findall('\n'.join(shown)), NAMES.findall('\n'.join(output))):
            equal(known.setdefault(theirs, ours), ours, f'{theirs} of the document, in the output of `{command}`')
