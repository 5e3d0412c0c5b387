#!/usr/bin/env bash
# Another package depends on this one by its repository and a tag, as a user of the library would: the example of
# docs/library.md is compiled in it, without any unsafe flag, and run. Needs no network: the repository is a local copy.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$root/build/embedding
mkdir -p "$work/app/Sources/app" "$work/app/Sources/leak"

# The state of the working tree, committed or not, as a tagged commit of a bare repository.
state=$(git -C "$root" stash create 2>/dev/null || true)
[ -n "$state" ] || state=$(git -C "$root" rev-parse HEAD)
tag=0.0.$(git -C "$root" rev-list --count HEAD)-check.$(date +%s)
rm -rf "$work/vaultctl.git"
git init -q --bare "$work/vaultctl.git"
git -C "$root" push -q "$work/vaultctl.git" "$state:refs/tags/$tag"

# The first Swift block of the guide is the program; every other Swift block must be a part of it.
python3 - "$root/docs/library.md" "$work/app/Sources/app/Example.swift" <<'PYTHON'
import re
import sys
guide, program = sys.argv[1:]
blocks = re.findall(r'^```swift\n(.*?)^```$', open(guide, encoding='utf-8').read(), re.M | re.S)
blocks = [block for block in blocks if '.package(' not in block]
squeeze = lambda text: [line.strip() for line in text.splitlines() if line.strip()]
whole = squeeze(blocks[0])
for block in blocks[1:]:
    missing = [line for line in squeeze(block) if line not in whole and not line.startswith('//')]
    if missing:
        sys.exit('docs/library.md: not in its example: ' + missing[0])
open(program, 'w', encoding='utf-8').write(blocks[0])
PYTHON

cat >"$work/app/Package.swift" <<SWIFT
// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "app",
    dependencies: [.package(url: "file://$work/vaultctl.git", exact: "$tag")],
    targets: ["app", "leak"].map { name in
        .executableTarget(
            name: name,
            dependencies: [.product(name: "VaultCore", package: "vaultctl"), .product(name: "PKICore", package: "vaultctl")])
    })
SWIFT

# No name of a C library reaches a user of the libraries: this program must not compile, at exactly these lines.
names=(EVP_sha256 sodium_init deflateInit2_ flock renameat2)
{
    printf 'import %s\n' VaultCore PKICore
    for name in "${names[@]}"; do echo "let found_$name: Any = $name"; done
} >"$work/app/Sources/leak/main.swift"

if ! swift build --package-path "$work/app" --scratch-path "$work/build" --cache-path "$work/cache" --product app \
    >"$work/log" 2>&1; then
    tail -40 "$work/log"
    echo 'embedding: the package does not build'
    exit 1
fi
if swift build --package-path "$work/app" --scratch-path "$work/build" --cache-path "$work/cache" --product leak \
    >"$work/log" 2>&1; then
    echo 'embedding: names of C libraries are visible to a user of the libraries'
    exit 1
fi
for name in "${names[@]}"; do
    grep -q "cannot find '$name' in scope" "$work/log" || { echo "embedding: $name is visible to a user of the libraries"; exit 1; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && HOME=$scratch "$work/build/debug/app") >"$scratch/output"
sed 's/^/embedding: /' "$scratch/output"

# What the guide says the example prints is what it prints.
python3 - "$root/docs/library.md" "$scratch/output" <<'PYTHON'
import re
import sys
guide, output = (open(name, encoding='utf-8').read() for name in sys.argv[1:])
shown = re.findall(r'^```text\n(.*?)^```$', guide, re.M | re.S)
if not shown or shown[0] != output:
    sys.exit('docs/library.md: the output it shows is not what its example prints')
PYTHON
echo 'embedding: a package that depends on this one by repository and tag builds and runs'
