#!/usr/bin/env python3
"""documentation.py BIN_PATH: fails when a public declaration of a public library has no documentation comment.

Reads the modules of a debug build (BIN_PATH is what `swift build --show-bin-path` prints) with
`swift symbolgraph-extract`; nothing is compiled.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULES = ['VaultCore', 'PKICore', 'VaultFormat']
C_MODULES = ['COpenSSL', 'CSodium', 'CZlib']

# What the compiler makes or a protocol documents.
WITNESSES = {'==(_:_:)', '<(_:_:)', '!=(_:_:)', 'hash(into:)', 'hashValue', 'description', 'encode(to:)', 'init(from:)'}


def extract(module, binaries, folder):
    command = ['swift', 'symbolgraph-extract', '-module-name', module, '-I', os.path.join(binaries, 'Modules'),
               '-minimum-access-level', 'public', '-skip-synthesized-members', '-output-dir', folder,
               '-target', target(), '-Xcc', '-I' + os.path.join(ROOT, 'Sources', 'CSystemShim', 'include')]
    for name in C_MODULES:
        command += ['-Xcc', '-fmodule-map-file=' + os.path.join(ROOT, 'Sources', name, 'module.modulemap')]
    subprocess.run(command, check=True)
    for name in os.listdir(folder):
        if name == module + '.symbols.json' or name.startswith(module + '@'):
            with open(os.path.join(folder, name), encoding='utf-8') as file:
                yield from json.load(file)['symbols']


def target():
    info = json.loads(subprocess.run(['swift', '-print-target-info'], check=True, capture_output=True).stdout)
    return info['target']['triple']


def main():
    binaries, missing, counts = sys.argv[1], [], {}
    for module in MODULES:
        with tempfile.TemporaryDirectory() as folder:
            for symbol in extract(module, binaries, folder):
                name = '.'.join(symbol['pathComponents'])
                if symbol['pathComponents'][-1] in WITNESSES or '::SYNTHESIZED::' in symbol['identifier']['precise']:
                    continue
                counts[module] = counts.get(module, 0) + 1
                if not symbol.get('docComment'):
                    place = symbol.get('location', {})
                    uri = os.path.relpath(place.get('uri', '').removeprefix('file://') or module, ROOT)
                    line = place.get('position', {}).get('line', -1) + 1
                    missing.append(f'{uri}:{line}: {symbol["kind"]["displayName"]} {module}.{name} is not documented')
    print('\n'.join(sorted(missing)) if missing else 'documentation: every public declaration has a comment ('
          + ', '.join(f'{module} {count}' for module, count in counts.items()) + ')')
    return 1 if missing else 0


if __name__ == '__main__':
    sys.exit(main())
