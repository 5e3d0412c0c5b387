#!/usr/bin/env bash
# Makes sure that what building and testing needs is there. Installs Debian packages that are missing when it may
# (as root, with apt-get), otherwise says which they are. Does nothing, and asks no network, when all is there.
#
#     needs.sh [bench | counts | interop]     also what these work with; they leave out what stays missing
set -euo pipefail

missing=()
have() { command -v "$1" >/dev/null 2>&1; }
lib() { have pkg-config && pkg-config --exists "$1"; }

have pkg-config || missing+=(pkg-config)
lib openssl || missing+=(libssl-dev)
lib libsodium || missing+=(libsodium-dev)
lib zlib || missing+=(zlib1g-dev)
lib libmicrohttpd || missing+=(libmicrohttpd-dev)
lib libcurl || missing+=(libcurl4-openssl-dev)
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
have strip || missing+=(binutils)
have git || missing+=(git)

wished=()
case "${1:-}" in
bench)
    have restic || wished+=(restic)
    have borg || wished+=(borgbackup)
    have age || wished+=(age)
    have curl || wished+=(curl)
    have wrk || wished+=(wrk)
    ;;
interop)
    have nghttpx || wished+=(nghttp2-proxy)
    ;;
counts)
    have strace || wished+=(strace)
    ;;
esac
if [ ${#wished[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && have apt-get; then
    echo "installing: ${wished[*]}"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${wished[@]}" >/dev/null; } ||
        echo "not installed: ${wished[*]}" >&2
fi

if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && have apt-get; then
        echo "installing: ${missing[*]}"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    else
        echo "missing: ${missing[*]}" >&2
        echo "as root: apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
fi

if ! have swift; then
    echo 'missing: a Swift toolchain, 6.2 or newer (6.3.1 is what is tested); see swift.org/install' >&2
    exit 1
fi
