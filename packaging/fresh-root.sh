# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For test scripts to source, with top, the name of the test and a suite of Debian in the variables
# top, name and suite: a fresh root that is removed at the end. Sets build, root and tap_log.
# shellcheck disable=SC2154  # those three
build=${BUILD:-$top/build}
root=$build/test/$name-$suite
# shellcheck disable=SC2034  # of scripts/tap.sh
tap_log=$build/test/$name-$suite.log
mkdir -p "$build/test"
: >"$tap_log"
trap 'rm -rf --one-file-system "$root"' EXIT

# inside COMMAND: run it in the checkout there
inside() {
	"$top/lab/vm/in-root" "$root" /sys -- env -i HOME=/root DEBIAN_FRONTEND=noninteractive \
		LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-}" \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		bash -c "cd /root/perfctr && $1" </dev/null
}

# a clone of this checkout, whose index has its files as they are, with those not yet committed
checkout() {
	local clone=$root/root/perfctr
	git clone -q --no-checkout --no-hardlinks "$top" "$clone" &&
		git -C "$clone" read-tree HEAD &&
		git --git-dir="$clone/.git" --work-tree="$top" add -A &&
		git -C "$clone" checkout-index -a
}
