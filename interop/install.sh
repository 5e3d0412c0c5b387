#!/usr/bin/env bash
# install.sh install|uninstall BINARY PREFIX DESTDIR
# Installs the binary, one manual page per verb and the completions of three shells, and keeps the list of what it
# installed; uninstall removes what that list names and the list, nothing else.
set -euo pipefail
what=$1 binary=$2 prefix=${3%/} destdir=${4%/}
root=$destdir$prefix
list=$root/share/vaultctl/installed-files

remove() {
    [ -f "$list" ] || return 0
    while IFS= read -r name; do
        case $name in
        '' | /* | *..*) continue ;;
        esac
        rm -f -- "$root/$name"
    done <"$list"
    rm -f -- "$list"
    rmdir -- "$(dirname "$list")" 2>/dev/null || true
}

if [ "$what" = uninstall ]; then
    [ -f "$list" ] || { echo "nothing installed below $root" >&2; exit 1; }
    remove
    echo "uninstalled from $root"
    exit 0
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
put() { # put NAME: standard input becomes that file
    mkdir -p "$stage/$(dirname "$1")"
    cat >"$stage/$1"
    printf '%s\n' "$1" >>"$stage.list"
}
: >"$stage.list"
trap 'rm -rf "$stage" "$stage.list"' EXIT

put bin/vaultctl <"$binary"
"$binary" help --man | put share/man/man1/vaultctl.1
"$binary" help --json | grep -oE '"name": ?"[a-z -]+", ?"group"' | cut -d'"' -f4 | while IFS= read -r verb; do
    # shellcheck disable=SC2086  # a verb may be two words
    "$binary" help --man $verb | put "share/man/man1/vaultctl-${verb// /-}.1"
done
"$binary" completion bash | put share/bash-completion/completions/vaultctl
"$binary" completion zsh | put share/zsh/site-functions/_vaultctl
"$binary" completion fish | put share/fish/vendor_completions.d/vaultctl.fish

remove # an older installation may have had other pages
while IFS= read -r name; do
    mode=644
    [ "$name" = bin/vaultctl ] && mode=755
    install -D -m $mode "$stage/$name" "$root/$name"
done <"$stage.list"
install -D -m 644 "$stage.list" "$list"
echo "installed $(wc -l <"$list") files below $root"
