"""r. Terminal manners, on a pseudo-terminal: pager, colour, marks, widths, escapes, prompts."""
import os
import re
import signal

from cases.b_made_by_vaultctl import new_vault
from roundtrip.harness import case, equal
from roundtrip.terminal import Terminal, columns_of, shown

COLOUR = re.compile(rb'\x1b\[[0-9;]*m')
NO_PAGER = dict(VAULTCTL_PAGER='cat')


def vault(lab):
    new_vault(lab, 'v')
    lab.put('v', 'a.txt', b'one\ntwo\n')
    lab.put('v', 'b.txt', b'going\n')
    lab.ours.commit(lab.path('v'), 'first')
    lab.put('v', 'a.txt', b'one\nthree\n')
    lab.drop('v', 'b.txt')
    lab.put('v', 'c.txt', b'new\n')
    return lab.path('v')


def paged(lab, *arguments, **how):
    """What a command sends to its pager; None without one."""
    place = lab.path('paged')
    if os.path.exists(place):
        os.remove(place)
    out = shown(lab.ours, *arguments, cwd=lab.path('v'), **{'VAULTCTL_PAGER': f'tee {place}', **how})
    if not os.path.exists(place):
        return None
    with open(place, 'rb') as file:
        found = file.read()
    equal(found, out, 'what the pager got and what it showed')
    return found


@case('r.pager')
def pager(lab):
    """Only on a terminal, only for long texts, by VAULTCTL_PAGER, PAGER and the settings, in this order."""
    directory = vault(lab)
    lab.ours.commit(directory, 'second')
    lab.put('v', 'a.txt', b'four\n')
    for arguments in (('log',), ('show',), ('diff',), ('help', 'log')):
        equal(paged(lab, *arguments) is not None, True, f'{arguments} pages')
        equal(paged(lab, *arguments, '--no-pager'), None, f'{arguments} --no-pager')
        equal(paged(lab, *arguments, VAULTCTL_PAGER=''), None, f'{arguments} with no pager by name')
        equal(paged(lab, *arguments, VAULTCTL_PAGER='cat'), None, f'{arguments} with cat')
    equal(paged(lab, 'log', '--json'), None, 'log --json')
    for arguments in (('status',), ('ls',), ('version',), ('branch',)):
        equal(paged(lab, *arguments), None, f'{arguments} does not page')
    place = lab.path('paged')
    lab.ours.environment = {**lab.ours.environment, 'VAULTCTL_PAGER': f'tee {place}'}
    lab.ours.run('log', cwd=directory)
    del lab.ours.environment['VAULTCTL_PAGER']
    equal(os.path.exists(place), False, 'a pager in a pipe')
    equal(shown(lab.ours, 'log', '-n', '1', '--oneline', cwd=directory, VAULTCTL_PAGER='sed s/^/one:/',
                PAGER='sed s/^/two:/')[:4], b'one:', 'VAULTCTL_PAGER before PAGER')
    lab.ours.run('config', 'set', 'core.pager', 'sed s/^/three:/', cwd=directory)
    equal(shown(lab.ours, 'log', '-n', '1', '--oneline', cwd=directory, PAGER='sed s/^/two:/')[:4], b'two:',
          'PAGER before the settings')
    equal(shown(lab.ours, 'log', '-n', '1', '--oneline', cwd=directory)[:6], b'three:', 'the settings')
    lab.ours.run('config', 'set', 'core.pager', '', cwd=directory, code=None)
    # One that is left early is no error, nor one that is not there: then the text is shown all the same.
    equal(shown(lab.ours, 'log', cwd=directory, VAULTCTL_PAGER='head -n 1').count(b'\n'), 1, 'a pager left early')
    equal(b'second' in shown(lab.ours, 'log', cwd=directory, VAULTCTL_PAGER='true'), False, 'a pager that reads nothing')
    # Its own exit code stands whatever the pager does.
    shown(lab.ours, 'log', 'nothing', cwd=directory, code=3, VAULTCTL_PAGER='cat >&2')


@case('r.colour')
def colour(lab):
    """On a terminal that wants it; NO_COLOR, TERM=dumb and --color have their say; never the only carrier."""
    directory = vault(lab)
    for arguments in (('status',), ('diff',), ('log', '-p'), ('diff', '--stat')):
        coloured = shown(lab.ours, *arguments, cwd=directory, **NO_PAGER)
        equal(bool(COLOUR.search(coloured)), True, f'{arguments} in colour')
        plain = COLOUR.sub(b'', coloured)
        for how in (dict(NO_COLOR='1'), dict(TERM='dumb')):
            equal(shown(lab.ours, *arguments, cwd=directory, **how, **NO_PAGER), plain, f'{arguments} with {how}')
        equal(shown(lab.ours, *arguments, '--color', 'never', cwd=directory, **NO_PAGER), plain, f'{arguments}, never')
        equal(shown(lab.ours, *arguments, '--color', 'always', cwd=directory, NO_COLOR='1', TERM='dumb', **NO_PAGER),
              coloured, f'{arguments}, always')
        equal(shown(lab.ours, *arguments, cwd=directory, NO_COLOR='', **NO_PAGER), coloured, 'an empty NO_COLOR')
        piped = lab.ours.run(*arguments, cwd=directory).out
        equal(b'\x1b' in piped or b'\r' in piped, False, f'{arguments} in a pipe')
        equal(bool(COLOUR.search(lab.ours.run(*arguments, '--color', 'always', cwd=directory).out)), True,
              f'{arguments} in a pipe, always')
    lab.ours.run('config', 'set', 'core.color', 'never', cwd=directory)
    equal(COLOUR.search(shown(lab.ours, 'status', cwd=directory)), None, 'core.color never')
    equal(bool(COLOUR.search(shown(lab.ours, 'status', cwd=directory, CLICOLOR_FORCE='1'))), True, 'CLICOLOR_FORCE')


@case('r.marks')
def marks(lab):
    """Every mark is ASCII, and the same with and without colour."""
    directory = vault(lab)
    coloured = shown(lab.ours, 'status', '-s', cwd=directory)
    plain = lab.ours.run('status', '-s', cwd=directory).out
    equal(COLOUR.sub(b'', coloured), plain, 'status -s')
    equal(sorted(line.split()[0].decode() for line in plain.splitlines()), ['A', 'D', 'M'], 'marks of status')
    lab.ours.commit(directory, 'second')
    equal(plain.isascii(), True, 'marks')
    names = shown(lab.ours, 'diff', '--name-status', 'HEAD~1', 'HEAD', cwd=directory, **NO_PAGER)
    equal(sorted(line.split()[0].decode() for line in COLOUR.sub(b'', names).splitlines()), ['A', 'D', 'M'],
          'marks of diff')
    equal(COLOUR.sub(b'', shown(lab.ours, 'branch', cwd=directory))[:1], b'*', 'mark of the branch')


@case('r.widths')
def widths(lab):
    """The width is that of the terminal, or COLUMNS; wide characters take two columns, combining ones none."""
    directory = vault(lab)
    names = ['\u6587\u4ef6\u540d\u5b57.txt', 'e\u0301te\u0301.txt', 'plain.txt', '\U0001f600.txt', 'd/' + 'long' * 12]
    for name in names:
        lab.put('v', name, b'x\n' * 300)
    for how, width in ((dict(columns=40), 40), (dict(columns=100), 100), (dict(columns=100, COLUMNS='50'), 50),
                       (dict(columns=60, COLUMNS='many'), 60)):
        out = shown(lab.ours, 'diff', '--stat', cwd=directory, NO_COLOR='1', **how, **NO_PAGER).decode()
        rows = [line for line in out.splitlines() if '|' in line]
        equal(len(rows), len(names) + 3, 'rows')
        equal(len({columns_of(row[:row.index('|')]) for row in rows}), 1, f'one column of bars at {width}: {out}')
        equal(max(map(columns_of, rows)) <= width, True, f'no line is wider than {width}: {out}')
        equal(any('\u6587\u4ef6\u540d\u5b57.txt' in row for row in rows), True, 'the wide name is whole')
    # Progress is narrower than the terminal and taken away at its end.
    for columns in (20, 80):
        out = shown(lab.ours, 'commit', '-m', 'wide', '--progress', 'always', cwd=directory, columns=columns)
        for line in out.split(b'\r')[:-1]:
            equal(len(line) < columns, True, f'{line!r} on {columns} columns')
        lab.put('v', 'again.txt', lab.bytes(100))
    equal(b'\r' in shown(lab.ours, 'commit', '-q', '-m', 'quiet', cwd=directory), False, 'progress of a quiet commit')


@case('r.escapes')
def escapes(lab):
    """Names, contents and messages cannot drive the terminal, and are what they are in a pipe."""
    directory = vault(lab)
    evil = b'\x1b]0;title\x07\x1b[31mred\x1b[2J\xc2\x9b2J\xe2\x80\xae'
    lab.put('v', b'name\x1b[31m\nred', b'x\n')
    lab.put('v', 'content.txt', b'line ' + evil + b'\ttab\n')
    lab.put('v', '../message', b'subject ' + evil + b'\n\nbody ' + evil + b'\n')
    before = shown(lab.ours, 'status', cwd=directory, NO_COLOR='1')
    lab.ours.json('commit', '-F', lab.path('message'), cwd=directory)
    out = [before]
    for arguments in (('log',), ('log', '-p'), ('log', '--oneline', '--graph'), ('show',), ('diff', 'HEAD~1'), ('ls', '-r'),
                      ('diff', '--stat', 'HEAD~1'), ('reflog',), ('ls', '--tree', '-r')):
        out.append(shown(lab.ours, *arguments, cwd=directory, NO_COLOR='1', **NO_PAGER))
        # Nor through a pager that shows escapes, nor where there is colour: then every escape is a colour of ours.
        coloured = shown(lab.ours, *arguments, cwd=directory, **NO_PAGER)
        equal(COLOUR.sub(b'', coloured), out[-1], f'{arguments} in colour')
    for text in out:
        equal(re.search(rb'[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae', text), None,
              f'bytes that drive a terminal in {text!r}')
    equal(evil in lab.ours.run('diff', 'HEAD~1', cwd=directory).out, True, 'content in a pipe')
    equal(lab.ours.run('cat', 'content.txt', cwd=directory).out, b'line ' + evil + b'\ttab\n', 'cat in a pipe')
    error = shown(lab.ours, 'cat', 'no\x1b[31m', cwd=directory, code=3)
    equal(b'\x1b' in error, False, 'an error that repeats a name')


@case('r.prompt')
def prompt(lab):
    """A key is asked for on the terminal and not shown; the terminal is as before on every way out."""
    key = new_vault(lab, 'v')
    lab.ours.push(lab.path('v'))
    asked = ('clone', key.split(':')[1], '--server', lab.host)
    terminal = Terminal(lab.ours, *asked, 'copy', cwd=lab.root)
    terminal.read(until=b': ')
    equal(terminal.echoes(), False, 'echo while a key is typed')
    terminal.type(key.encode() + b'\n')
    equal(terminal.end(), (0, True), 'exit, and echo afterwards')
    equal(key.split(':')[0].encode() in terminal.out, False, 'the key is shown')
    for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        terminal = Terminal(lab.ours, *asked, 'stopped', cwd=lab.root)
        terminal.read(until=b': ')
        equal(terminal.echoes(), False, 'echo while a key is typed')
        terminal.kill(stop)
        equal(terminal.end(), (code, True), f'exit and echo after signal {stop}')
        equal(os.path.exists(lab.path('stopped')), False, 'what a stopped clone leaves')
    equal(lab.ours.run(*asked, 'none', cwd=lab.root, code=None).code, 14, 'without a terminal')
