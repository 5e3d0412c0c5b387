#!/usr/bin/env python3
"""Checks over the text of the repository: who may import whom, what may not be written, how long files may be.

Every line it prints is a violation; exit 1 when there is one. No compiler is needed.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Module → what it may import of ours and of C. Directions as in docs/architecture.md; nothing else may be imported.
LAYERS = {
    'VaultCrypto': {'COpenSSL', 'CSodium'},
    'VaultSystem': {'CSystemShim', 'Glibc'},
    'VaultFormat': {'VaultCrypto', 'CZlib'},
    'VaultCore': {'VaultFormat', 'VaultCrypto', 'VaultSystem'},
    'PKICore': {'VaultFormat', 'VaultCrypto', 'VaultSystem'},
    'VaultServer': {'VaultCore', 'VaultFormat', 'VaultCrypto', 'VaultSystem', 'CMicrohttpdShim'},
    'VaultHTTP': {'VaultCore', 'VaultFormat', 'VaultCrypto', 'VaultSystem', 'CCurlShim'},
    'VaultCLI': {'VaultHTTP', 'VaultServer', 'VaultCore', 'PKICore', 'VaultFormat', 'VaultCrypto', 'VaultSystem'},
    'vaultctl': {'VaultCLI'},
}
C_MODULES = {'COpenSSL', 'CSodium', 'CZlib', 'CSystemShim', 'CMicrohttpdShim', 'CCurlShim'}
RE_EXPORTS = {('VaultCore', 'VaultFormat')}                     # its users need the identifiers

# Where unsafe code may stand: the two modules over C and the kernel, and one file of each module that calls a library.
UNSAFE_FOLDERS = ('Sources/VaultCrypto/', 'Sources/VaultSystem/')
UNSAFE_FILES = {'VaultFormat': 1, 'VaultHTTP': 1, 'VaultServer': 1}

LONGEST, LONGEST_PARSER = 400, 600                              # lines; one file may be a long parser
TOP_LEVEL = {'Package.swift', 'Sources', 'Tests', 'TestVectors', 'interop', 'docs', 'Makefile', 'README.md', 'LICENSE', '.ci'}

IMPORT = re.compile(r'^\s*((?:@\w+(?:\([^)]*\))?\s+)*)(?:(?:public|package|internal|private|fileprivate)\s+)?'
                    r'import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)')
FORBIDDEN = [(re.compile(pattern), word) for pattern, word in [
    (r'\btry!', 'try!'), (r'\bas!', 'as!'), (r'\bfatalError\(', 'fatalError('),
    (r'\bpreconditionFailure\(', 'preconditionFailure('), (r'\bassertionFailure\(', 'assertionFailure('),
    (r'\bTO' r'DO\b', 'a to-do'), (r'\bFIX' r'ME\b', 'a fix-me'), (r'\bX{3}\b', 'a mark'),
    (r'\bunimplemented\b|\bnot implemented\b', 'an open end')]]
UNSAFE = re.compile(r'\bunsafe\b|\bUnsafe\w+|\bwithUnsafe\w+|@unchecked\s+Sendable|\bunsafeBitCast\b|\bOpaquePointer\b')
PRINT = re.compile(r'(?<![\w.])(?:print|debugPrint|dump)\(')

# Text that belongs to one machine, or names a package registry, anywhere in the repository.
MACHINE = re.compile(r'(?<![\w.~-])/(?:home|Users)/[a-z]\w*/|(?<![\w.])/[r]oot/|(?<![\w.])/[w]ork/|/tmp/[r]ef')
REGISTRY = re.compile(r'\b(?:pypi|pythonhosted)[.]org|registry[.]npmjs|proxy[.]golang|\bcrates[.]io|-[-]index-url|extra-[i]ndex-url')

problems = []


def problem(path, line, text):
    problems.append(f'{path}:{line}: {text}' if line else f'{path}: {text}')


def tracked():
    out = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], cwd=ROOT,
                         check=True, capture_output=True).stdout
    return sorted(path for path in out.decode('utf-8', 'surrogateescape').split('\0')
                  if path and os.path.isfile(os.path.join(ROOT, path)))


def lines_of(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read().split('\n')


def code_of(line):
    """A line without its comment and without the content of its strings (enough for what is looked for here)."""
    line = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
    return line.split('//', 1)[0]


def check_imports(path, module, lines):
    for number, line in enumerate(lines, 1):
        found = IMPORT.match(line)
        if not found:
            continue
        attributes, name = found.groups()
        if name.startswith('Foundation') or name in ('XCTest', 'Dispatch', 'Synchronization'):
            problem(path, number, f'imports {name}')
        elif module is not None and name not in LAYERS.get(module, set()) | {'Swift'}:
            problem(path, number, f'{module} may not import {name}')
        if '@_exported' in attributes and (module, name) not in RE_EXPORTS:
            problem(path, number, f're-exports {name}')
        if module and '@testable' in attributes:
            problem(path, number, 'a source imports with @testable')


def check_source(path, module, lines):
    in_text = False
    for number, line in enumerate(lines, 1):
        if line.count('"""') % 2:
            in_text = not in_text
            continue
        if in_text:
            continue
        for pattern, word in FORBIDDEN:
            if pattern.search(line):
                problem(path, number, f'holds {word}')
        code = code_of(line)
        if UNSAFE.search(code) and not path.startswith(UNSAFE_FOLDERS):
            unsafe_files.setdefault(module, {}).setdefault(path, number)
        if PRINT.search(code) and module not in ('VaultCLI', 'vaultctl'):
            problem(path, number, 'prints')


unsafe_files = {}


def main():
    files = tracked()
    for name in sorted({path.split('/')[0] for path in files} - TOP_LEVEL):
        if not name.startswith('.'):
            problem(name, 0, 'does not belong at the top level')
    for name in sorted(TOP_LEVEL - {path.split('/')[0] for path in files}):
        problem(name, 0, 'is missing at the top level')

    parsers = []
    for path in files:
        part = path.split('/')
        swift = path.endswith('.swift')
        try:
            lines = lines_of(path)
        except UnicodeDecodeError:
            continue
        if swift and part[0] in ('Sources', 'Tests'):
            module = part[1] if part[0] == 'Sources' else None
            if module is not None and module not in LAYERS:
                problem(path, 0, f'{module} has no place in the layers')
            check_imports(path, module, lines)
            if module is not None:
                check_source(path, module, lines)
            length = len(lines) - 1
            if length > LONGEST:
                parsers.append((length, path))
        if part[0] != 'TestVectors':
            for number, line in enumerate(lines, 1):
                if MACHINE.search(line):
                    problem(path, number, 'names a path of one machine')
                if REGISTRY.search(line):
                    problem(path, number, 'names a package registry')

    parsers.sort()
    allowed = 1 if parsers and parsers[0][0] <= LONGEST_PARSER and 'Pars' in parsers[0][1] else 0
    for length, path in parsers[allowed:]:
        problem(path, 0, f'has {length} lines; {LONGEST} are allowed')
    for module, found in unsafe_files.items():
        for path, number in sorted(found.items())[UNSAFE_FILES.get(module, 0):]:
            problem(path, number, f'holds unsafe code (files of {module} that may: {UNSAFE_FILES.get(module, 0)})')

    print('\n'.join(problems) if problems else f'sources: {len(files)} files, nothing to report')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
