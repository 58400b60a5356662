#!/bin/bash
# SPDX-License-Identifier: MIT
# The decoder reads untrusted bytes: the tests must cover nearly all of its lines and branches.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)
least=95

if ! command -v gcov >/dev/null || [ "$(basename "${CC:-cc}")" = clang ]; then
	echo "1..0 # SKIP coverage needs gcc and gcov"
	exit 0
fi
echo "1..1"
table=$(make -s -C "$top/libperfctr" coverage) ||
	{ echo "not ok 1 - coverage is measured"; exit 1; }
echo "${table//$'\n'/$'\n# '}" | sed '1s/^/# /'
if awk -v least=$least '$1 == "decode.c" { found = 1; good = $2 + 0 >= least && $3 + 0 >= least }
	END { exit !(found && good) }' <<<"$table"; then
	echo "ok 1 - the tests run at least $least % of the decoder's lines and branches"
else
	echo "not ok 1 - the tests run at least $least % of the decoder's lines and branches"
	exit 1
fi
