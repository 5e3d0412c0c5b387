#!/usr/bin/env bash
# generated.sh BINARY: what is generated from the binary's own description of its verbs is up to date and well-formed.
set -euo pipefail
binary=$1 root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
bad() { echo "generated: $1"; failed=1; }

"$binary" help --markdown >"$scratch/commands.md"
diff -u "$root/docs/commands.md" "$scratch/commands.md" | head -40 || true
cmp -s "$root/docs/commands.md" "$scratch/commands.md" || bad 'docs/commands.md is not what the binary prints: run make docs'

# Every verb has a manual page that formats without a complaint, and a help text of at most 100 columns.
"$root/interop/install.sh" install "$binary" /usr "$scratch/stage" >/dev/null
pages=0
for page in "$scratch"/stage/usr/share/man/man1/*.1; do
    pages=$((pages + 1))
    if command -v groff >/dev/null; then
        complaint=$(groff -man -Tutf8 -ww -z "$page" 2>&1 || true)
        [ -z "$complaint" ] || bad "$(basename "$page"): $complaint"
    fi
done
[ $pages -gt 10 ] || bad "only $pages manual pages"
wide=$("$binary" help --json | grep -oE '"name": ?"[a-z -]+", ?"group"' | cut -d'"' -f4 | while IFS= read -r verb; do
    # shellcheck disable=SC2086  # a verb may be two words
    "$binary" help $verb | awk -v verb="$verb" 'length($0) > 100 { print verb ": " $0 }'
done)
[ -z "$wide" ] || bad "help is wider than 100 columns: $wide"

for shell in bash zsh fish; do
    "$binary" completion $shell >"$scratch/completion.$shell"
    if command -v $shell >/dev/null; then
        option=-n && [ $shell = fish ] && option=--no-execute
        $shell $option "$scratch/completion.$shell" || bad "the $shell completion does not parse"
    fi
done

# install and uninstall leave nothing behind
"$root/interop/install.sh" uninstall "$binary" /usr "$scratch/stage" >/dev/null
left=$(find "$scratch/stage" -type f)
[ -z "$left" ] || bad "uninstall left $left"

[ $failed = 0 ] && echo "generated: docs/commands.md, $pages manual pages and three completions are in order"
exit $failed
