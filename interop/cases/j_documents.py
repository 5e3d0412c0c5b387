"""j. Documents, typed as they stand: every command succeeds and prints what the document shows."""
import os
import re
import socket
import subprocess
import sys

from roundtrip.harness import case, equal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOME = '/srv/ann'                                             # where the documents' reader lives
NAMES = re.compile(r'\b[0-9a-f]{12}\b|(?<=vault )[a-z0-9]{8}\b|(?<=Vault )[a-z0-9]{8}\b|(?<=Cloned )[a-z0-9]{8}\b'
                   r'|\bsha256:[0-9a-f]{16}\b')
VARIES = re.compile(r'\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}\b|obj-cas-imm-[0-9a-f]+')
PORT = '8420'                                                 # where the documents' server listens


def commands(document, begin=None):
    """The commands of a document, or of one section, and what each is shown to print."""
    with open(os.path.join(ROOT, document), encoding='utf-8') as file:
        text = file.read()
    if begin:
        text = text.split(f'## {begin}', 1)[1].split('\n## ', 1)[0]
    steps = []
    for line in text.splitlines():
        if line.startswith('    $ '):
            steps.append((line[6:], []))
        elif line.startswith('    ') and steps:
            steps[-1][1].append(line[4:])
    return steps


def at_home(lab):
    """A home with both tools, and the environment of somebody who works there."""
    home, tools = lab.path('home'), lab.path('tools')
    os.makedirs(home)
    os.makedirs(tools)
    os.symlink(os.path.abspath(lab.ours.binary), os.path.join(tools, 'vaultctl'))
    os.symlink(os.path.join(os.path.dirname(sys.executable), 'sgit'), os.path.join(tools, 'sgit'))
    return home, dict(PATH=f'{tools}:{os.environ["PATH"]}', HOME=home, TZ='UTC', LC_ALL='C.UTF-8')


def output_of(steps, home, environment, errors_too=False):
    """What each command prints, typed in one shell."""
    script = 'set -e\n' + ('exec 2>&1\n' if errors_too else '')
    script += ''.join(f'echo "==== {number}"\n{command}\n' for number, (command, _) in enumerate(steps))
    done = subprocess.run(['bash', '-c', script], cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=environment, check=False)
    equal(done.returncode, 0, f'exit of the document; it printed\n{done.stdout}{done.stderr}')
    return [part.splitlines() for part in re.split(r'^==== \d+\n', done.stdout.replace(home, HOME), flags=re.M)[1:]]


def compare(steps, printed):
    known = {}                                                # an id of the document always stands for the same id here
    for (command, shown), output in zip(steps, printed):
        plain = [[NAMES.sub('·', VARIES.sub('·', line)) for line in lines] for lines in (output, shown)]
        equal(*plain, f'output of `{command}`')
        if command.startswith('ls '):
            continue
        for theirs, ours in zip(NAMES.findall('\n'.join(shown)), NAMES.findall('\n'.join(output))):
            equal(known.setdefault(theirs, ours), ours, f'{theirs} of the document, in the output of `{command}`')


@case('j.readme-tour')
def readme_tour(lab):
    steps = commands('README.md', 'Five minutes')
    equal(len(steps) > 10, True, 'commands in the tour')
    compare(steps, output_of(steps, *at_home(lab)))


@case('j.identity-guide')
def identity_guide(lab):
    steps = commands('docs/identities.md', 'In commands')
    equal(len(steps) > 10, True, 'commands in the guide')
    compare(steps, output_of(steps, *at_home(lab)))


@case('j.half-hour')
def half_hour(lab):
    """Two people: branch, conflict, resolve, undo, recover."""
    steps = commands('docs/half-hour.md')
    equal(len(steps) > 50, True, 'commands in the half hour')
    compare(steps, output_of(steps, *at_home(lab), errors_too=True))


@case('j.readme-server')
def readme_server(lab):
    """The README's server in one shell, both tools in another."""
    steps = commands('README.md', 'With a server')
    equal(steps[0][0], 'vaultctl serve --root ~/vaults', 'the first command')
    home, environment = at_home(lab)
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = str(free.getsockname()[1])
    server = subprocess.Popen(['bash', '-c', f'exec {steps[0][0]} --port {port}'], cwd=home, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        told = [server.stdout.readline().rstrip('\n') for _ in steps[0][1]]
        equal([line.replace(home, HOME).replace(port, PORT) for line in told], steps[0][1], 'what the server tells')
        typed = [(command.replace(PORT, port), shown) for command, shown in steps[1:]]
        printed = output_of(typed, home, environment)
        compare(steps[1:], [[line.replace(port, PORT) for line in lines] for lines in printed])
    finally:
        server.terminate()
        equal(server.wait(30), 0, 'exit of the server')
