#!/bin/bash
# SPDX-License-Identifier: MIT
# The installed library: what a program of somebody else needs is there and works.
# shellcheck disable=SC2317 # functions are run by check()
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)
build=${BUILD:-$top/build}
cc=${CC:-cc}
root=$(mktemp -d) || exit
trap 'rm -rf "$root"' EXIT
home=$root/opt
export PKG_CONFIG_PATH=$home/lib/pkgconfig
count=0 bad=0

# check NAME COMMAND...: one test
check() {
	local name=$1 output
	shift
	count=$((count + 1))
	if output=$("$@" 2>&1); then
		echo "ok $count - $name"
	else
		bad=1
		[ -z "$output" ] || echo "# ${output//$'\n'/$'\n'# }"
		echo "not ok $count - $name"
	fi
}

flags() {
	pkg-config "$@" perfctr
}

# What a package builder does: the paths in the files are those without DESTDIR.
install_staged() {
	make -s -C "$top/libperfctr" install BUILD="$build" DESTDIR="$root/stage" PREFIX=/usr \
		LIBDIR=/usr/lib/test &&
		grep -qx 'prefix=/usr' "$root/stage/usr/lib/test/pkgconfig/perfctr.pc" &&
		[ -e "$root/stage/usr/lib/test/libperfctr.so.0" ] && ! grep -r "$root" "$root/stage"
}

compile() {
	# shellcheck disable=SC2046 # flags are words
	"$@" -Wall -Wextra -Wpedantic -Werror $(flags --cflags)
}

link_shared() {
	# shellcheck disable=SC2046
	"$cc" -std=c11 $(flags --cflags) "$top/libperfctr/examples/sample.c" -o "$root/sample" \
		-Werror $(flags --libs)
}

run_database() {
	# shellcheck disable=SC2046
	g++ -std=c++17 $(flags --cflags) "$top/libperfctr/examples/database.cpp" -o "$root/db" \
		-Werror $(flags --libs) &&
		LD_LIBRARY_PATH=$home/lib "$root/db" >"$root/list" &&
		grep -q '^vsoc_csf.shader.fragments \[fragments\]' "$root/list"
}

link_static() {
	# shellcheck disable=SC2046
	"$cc" -std=c11 $(flags --cflags) "$top/libperfctr/examples/sample.c" -o "$root/static" \
		-Werror "$home/lib/libperfctr.a" -lm && ! ldd "$root/static" | grep perfctr
}

# Without a device the example says so and fails; with one it counts.
sample_answers() {
	LD_LIBRARY_PATH=$home/lib "$root/sample" 2>"$root/err" && return 0
	grep -qE 'DRM devices offers performance counters|CAP_PERFMON|group' "$root/err"
}

# Declared functions are exported, and nothing else is.
exported_is_declared() {
	nm -D --defined-only "$home/lib/libperfctr.so" | awk '$2 == "T" { print $3 }' |
		sed 's/@.*//' | sort >"$root/exported"
	cat "$home"/include/perfctr/*.h | sed 's|^ \*.*||' | grep -v '^static inline' |
		grep -oE '\bperfctr_[a-z0-9_]+\(' | tr -d '(' | sort -u |
		grep -vxE 'perfctr_block_(value|running)' >"$root/declared"
	diff "$root/declared" "$root/exported"
}

soname() {
	readelf -d "$home/lib/libperfctr.so" | grep -q 'SONAME.*libperfctr\.so\.0'
}

# The decoder needs nothing but what every C compiler brings.
decoder_stands_alone() {
	"$cc" -std=c11 -O2 -Wall -Wextra -Werror -I"$top/libperfctr/include" -I"$top/libperfctr/src" \
		-c "$top/libperfctr/src/decode.c" -o "$root/decode.o" &&
		! nm -u "$root/decode.o" | grep -vE '_GLOBAL_OFFSET_TABLE_|memcpy|__stack_chk_fail'
}


echo "1..13"
check 'make install' make -s -C "$top/libperfctr" install BUILD="$build" DESTDIR= PREFIX="$home"
check 'make install with DESTDIR' install_staged
check 'pkg-config knows it' pkg-config --exists perfctr
check 'the header is C11' compile "$cc" -std=c11 -x c -fsyntax-only "$home/include/perfctr/perfctr.h"
check 'the header is C++11' compile g++ -std=c++11 -x c++ -fsyntax-only \
	"$home/include/perfctr/perfctr.h"
check 'the decoder'"'"'s header stands alone' "$cc" -std=c11 -x c -fsyntax-only -Wall -Werror \
	"$home/include/perfctr/decode.h"
check 'the example links' link_shared
check 'the example answers' sample_answers
check 'the example for C++ lists the database' run_database
check 'the static library links' link_static
check 'what is declared is exported' exported_is_declared
check 'the SONAME is libperfctr.so.0' soname
check 'the decoder needs no library' decoder_stands_alone
exit "$bad"
