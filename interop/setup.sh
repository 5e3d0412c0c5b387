#!/usr/bin/env bash
# Makes the virtual environment with the pinned reference and prints its interpreter.
# Where: $VAULTCTL_INTEROP_VENV, else $XDG_CACHE_HOME/vaultctl/interop-<hash> when XDG_CACHE_HOME is set, else
# build/interop-venv. Made once per content of requirements.txt.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
want=$(sha256sum "$here/requirements.txt" | cut -c1-16)

if [ -n "${VAULTCTL_INTEROP_VENV:-}" ]; then
    venv=$VAULTCTL_INTEROP_VENV
elif [ -n "${XDG_CACHE_HOME:-}" ]; then
    venv=$XDG_CACHE_HOME/vaultctl/interop-$want
else
    venv=$root/build/interop-venv
fi

if [ "$(cat "$venv/.requirements" 2>/dev/null)" != "$want" ]; then
    echo "interop: installing the reference into a virtual environment" >&2
    rm -rf "$venv"
    mkdir -p "$(dirname "$venv")"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
    printf '%s' "$want" >"$venv/.requirements"
fi
printf '%s\n' "$venv/bin/python"
