#!/bin/bash
# SPDX-License-Identifier: MIT
# The installed library has all that another program needs, and works.
# shellcheck disable=SC2317 # functions are run by check()
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)
build=${BUILD:-$top/build}
cc=${CC:-cc}
root=$(mktemp -d) || exit
trap 'rm -rf "$root"' EXIT
home=$root/opt
export PKG_CONFIG_PATH=$home/lib/pkgconfig
. "$top/scripts/tap.sh"

flags() {
	pkg-config "$@" perfctr
}

# As in a package build: the paths in the files do not contain DESTDIR.
install_staged() {
	make -s -C "$top/libperfctr" install BUILD="$build" DESTDIR="$root/stage" PREFIX=/usr \
		LIBDIR=/usr/lib/test &&
		grep -qx 'prefix=/usr' "$root/stage/usr/lib/test/pkgconfig/perfctr.pc" &&
		[ -e "$root/stage/usr/lib/test/libperfctr.so.1" ] && ! grep -r "$root" "$root/stage"
}

compile() {
	# shellcheck disable=SC2046 # flags are words
	"$@" -Wall -Wextra -Wpedantic -Werror $(flags --cflags)
}

# example FILE PROGRAM COMPILER...
example() {
	# shellcheck disable=SC2046
	"${@:3}" -Wall -Wextra -Werror $(flags --cflags) "$top/libperfctr/examples/$1" \
		-o "$root/$2" $(flags --libs)
}

run_database() {
	example database.cpp db g++ -std=c++17 &&
		LD_LIBRARY_PATH=$home/lib "$root/db" >"$root/list" &&
		grep -q '^vsoc_csf.shader.fragments \[fragments\]' "$root/list"
}

link_static() {
	# shellcheck disable=SC2046
	"$cc" -std=c11 $(flags --cflags) "$top/libperfctr/examples/sample.c" -o "$root/static" \
		-Werror "$home/lib/libperfctr.a" -lm && ! ldd "$root/static" | grep perfctr
}

# Without a device the example prints an error and fails; with one it counts.
sample_answers() {
	LD_LIBRARY_PATH=$home/lib "$root/sample" 2>"$root/err" && return 0
	grep -qE 'DRM devices offers performance counters|CAP_PERFMON|group|no perf events' \
		"$root/err" || { cat "$root/err"; return 1; }
}

# A capture of the virtual SoC: two draws of 1000 and 5 fragments.
read_capture() {
	example capture.c capture "$cc" -std=c11 &&
		tar -C "$root" -xf "$top/libperfctr/fuzz/corpus.tar.xz" --transform s,.*/,, \
			capture/vsoc-in-stream &&
		LD_LIBRARY_PATH=$home/lib "$root/capture" "$root/vsoc-in-stream" |
		grep -E '^shader +FRAGMENTS +1005 fragments$'
}

# Exactly the declared functions are exported.
exported_is_declared() {
	nm -D --defined-only "$home/lib/libperfctr.so" | awk '$2 == "T" { print $3 }' |
		sed 's/@.*//' | sort >"$root/exported"
	cat "$home"/include/perfctr/*.h | sed 's|^ \*.*||' | grep -v '^static inline' |
		grep -oE '\bperfctr_[a-z0-9_]+\(' | tr -d '(' | sort -u |
		grep -vxE 'perfctr_block_(value|running)' >"$root/declared"
	diff "$root/declared" "$root/exported"
}

soname() {
	readelf -d "$home/lib/libperfctr.so" | grep -q 'SONAME.*libperfctr\.so\.1'
}

# The decoder needs only a C compiler.
decoder_stands_alone() {
	"$cc" -std=c11 -O2 -Wall -Wextra -Werror -I"$top/libperfctr/include" \
		-I"$top/libperfctr/src" -c "$top/libperfctr/src/decode/decode.c" \
		-o "$root/decode.o" &&
		! nm -u "$root/decode.o" | grep -vE '_GLOBAL_OFFSET_TABLE_|memcpy|__stack_chk_fail'
}

# Every call has an installed page without warnings from mandoc.
man_pages() {
	local name
	while read -r name; do
		[ -e "$home/share/man/man3/$name.3" ] || { echo "no page of $name"; return 1; }
	done <"$root/exported"
	command -v mandoc >/dev/null || return 0
	mandoc -T lint -W warning "$home"/share/man/man3/*.3 | grep -v 'missing date' || return 0
	return 1
}

# The generator reports missing documentation as an error.
man_is_complete() {
	local generate=("${PYTHON:-python3}" "$top/libperfctr/man/generate.py") bad
	mkdir -p "$root/bad" "$root/pages"
	for bad in 's/^ \* @which:/ * @what:/' \
		's/^ \* Return: 0; -ENODEV no matching/ * 0; -ENODEV no matching/' \
		's/^ \* perfctr_device_fd()/ * perfctr_device_file()/'; do
		sed "$bad" "$top/libperfctr/include/perfctr/perfctr.h" >"$root/bad/perfctr.h"
		! cmp -s "$root/bad/perfctr.h" "$top/libperfctr/include/perfctr/perfctr.h" || return
		! "${generate[@]}" "$root/pages" "$root/bad/perfctr.h" 2>/dev/null ||
			{ echo "$bad"; return 1; }
	done
	(cat "$top/libperfctr/libperfctr.map"; echo '	perfctr_no_such_call;') >"$root/bad/map"
	! "${generate[@]}" --map "$root/bad/map" "$root/pages" \
		"$top"/libperfctr/include/perfctr/*.h 2>/dev/null
}

# The code in the pages compiles unchanged.
man_examples() {
	local file count=0
	mkdir -p "$root/examples"
	"${PYTHON:-python3}" "$top/libperfctr/man/generate.py" --examples "$root/examples" \
		"$root/pages" "$top"/libperfctr/include/perfctr/*.h || return
	for file in "$root"/examples/*.c; do
		count=$((count + 1))
		# shellcheck disable=SC2046
		"$cc" -std=c11 -Wall -Wextra -Wno-unused-parameter -Werror $(flags --cflags) \
			-c "$file" -o "$root/example.o" || return
	done
	[ "$count" = 3 ] || { echo "$count examples"; return 1; }
}

# of each hardware family, in C and in C++
family_headers() {
	local family
	for family in mali nv50 tegra410; do
		echo "#include <drm/perfctr_$family.h>" >"$root/family.c"
		compile "$cc" -std=c11 -x c -fsyntax-only "$root/family.c" &&
			compile g++ -std=c++11 -x c++ -fsyntax-only "$root/family.c" || return
	done
}

echo "1..18"
check 'make install' make -s -C "$top/libperfctr" install BUILD="$build" DESTDIR= PREFIX="$home"
check 'make install with DESTDIR' install_staged
check 'pkg-config knows it' pkg-config --exists perfctr
check 'the header is C11' compile "$cc" -std=c11 -x c -fsyntax-only \
	"$home/include/perfctr/perfctr.h"
check 'the header is C++11' compile g++ -std=c++11 -x c++ -fsyntax-only \
	"$home/include/perfctr/perfctr.h"
check 'headers of hardware families are installed' family_headers
check 'the decoder'"'"'s header stands alone' "$cc" -std=c11 -x c -fsyntax-only -Wall -Werror \
	"$home/include/perfctr/decode.h"
check 'the example links' example sample.c sample "$cc" -std=c11
check 'the example answers' sample_answers
check 'the example for C++ lists the database' run_database
check 'the example that reads a capture' read_capture
check 'the static library links' link_static
check 'what is declared is exported' exported_is_declared
check 'the SONAME is libperfctr.so.1' soname
check 'the decoder needs no library' decoder_stands_alone
check 'every call has a man page' man_pages
check 'man pages are complete or not made' man_is_complete
check 'examples in man pages compile' man_examples
exit "$tap_failed"
