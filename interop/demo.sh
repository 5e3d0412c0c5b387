#!/usr/bin/env bash
# demo.sh BINARY: the main job on an embedded default, in a fresh folder that is removed afterwards (KEEP=1 keeps it).
# Two people, Ada and Ben, share the vault `notes` through a folder that sees only ciphertext.
set -euo pipefail
vaultctl=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/vaultctl-demo.XXXXXX")
if [ -n "${KEEP:-}" ]; then trap 'echo; echo "kept: $work"' EXIT; else trap 'rm -rf "$work"' EXIT; fi
export HOME=$work/home CI=1
unset "${!VAULTCTL_@}" 2>/dev/null || true
mkdir -p "$HOME"
cd "$work"

title() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || title() { printf '\n== %s\n' "$*"; }
run() {
    printf '%s' "$ $(basename "$1")"
    local word
    for word in "${@:2}"; do
        case $word in *[!A-Za-z0-9_./:=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$@" 2>&1 | sed 's/^/    /'
}
v() { run "$vaultctl" "$@"; }

echo "A vault is a folder with history. Everything below happens in $work."

title '1. Ada makes a vault. Its key stays in her clone; the server is a folder, for instance on a share.'
v init ada --server "$work/share/notes"

title '2. She writes two files and commits. There is no staging area: a commit is the whole folder.'
mkdir ada/plans
printf 'Buy flour.\n' >ada/todo.txt
printf 'Bake on Sunday.\n' >'ada/plans/bread & cake.md'
v -C ada status
v -C ada commit -m 'First notes'

title '3. She publishes it. The first push creates the vault in the folder.'
v -C ada push

title '   The share holds ciphertext under opaque names; neither names nor words of hers are in it:'
(cd share/notes && find bare -type f | sort | head -4 | sed 's/^/    /')
if grep -rqE 'flour|Sunday|todo|bread' share/notes || find share/notes | grep -qE 'todo|bread|plans'; then
    echo 'demo: plaintext was found in the shared folder' >&2
    exit 1
fi
echo '    (searched for "flour", "Sunday", "todo", "bread": nothing)'

title '4. Ben gets the key from Ada by a safe way, here a pipe, and clones.'
echo '$ vaultctl -C ada keys show . | vaultctl clone - ben --server share/notes'
"$vaultctl" -C ada keys show . | "$vaultctl" clone - ben --server share/notes | sed 's/^/    /'
v -C ben ls -r

title '5. Ben changes a file, commits and pushes.'
printf 'Buy flour.\nBuy yeast.\n' >ben/todo.txt
v -C ben commit -m 'Yeast as well'
v -C ben push

title '6. Ada pulls. She has his change, and the history of both.'
v -C ada pull
v -C ada cat todo.txt
v -C ada log --oneline
cmp ada/todo.txt ben/todo.txt

title '7. Both clones are whole: every object is hashed, decrypted and parsed, every signature verified.'
v -C ada fsck
v -C ben fsck

title 'That is the main job: init, commit, push, clone, change, commit, push, pull, fsck.'
