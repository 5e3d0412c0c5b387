#!/usr/bin/env bash
# linkage.sh BINARY UNSTRIPPED: what the release binary needs at run time, how large it is, what is inside.
set -euo pipefail
binary=$1 unstripped=$2 largest=$((20 * 1000 * 1000))
failed=0
bad() { echo "linkage: $1"; failed=1; }

needed=$(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort)
loaded=$(ldd "$binary" | awk '{ print $1 }')
unwanted='Foundation|icu|libswift|libcurl|libmicrohttpd|gnutls'
for library in $needed $loaded; do
    [[ ! $library =~ $unwanted ]] || bad "needs $library"
done
for library in $needed; do
    case $library in
    libc.so.6 | libm.so.6 | libgcc_s.so.1 | ld-linux-x86-64.so.2 | ld-linux-aarch64.so.1) ;;
    libcrypto.so.3 | libsodium.so.23 | libz.so.1) ;;
    libstdc++.so.6) ;;
    *) bad "needs $library, which nobody decided on" ;;
    esac
done

# Linked statically, Foundation would not show above: look for its symbols (and ICU's) instead.
symbols=$(nm "$unstripped" 2>/dev/null | grep -cE ' [A-Za-z] (\$s10Foundation|\$s20FoundationEssentials|\$s13FoundationInt|u_charType|ucol_open)' || true)
[ "$symbols" = 0 ] || bad "$symbols symbols of Foundation or ICU are linked in"

size=$(stat -c %s "$binary")
[ "$size" -le $largest ] || bad "$size bytes; $largest are allowed"

[ $failed = 0 ] && echo "linkage: $size bytes, needs $(tr '\n' ' ' <<<"$needed")"
exit $failed
