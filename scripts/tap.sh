# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For test scripts to source: check TEXT COMMAND... is one TAP test; shows the output of a failure.
tap_number=0
# skip TEXT REASON is a test that cannot run.
# the exit status of the script
export tap_failed=0

skip() {
	tap_number=$((tap_number + 1))
	echo "ok $tap_number - $1 # SKIP $2"
}

check() {
	local text=$1 output status
	shift
	tap_number=$((tap_number + 1))
	if output=$("$@" 2>&1); then
		echo "ok $tap_number - $text"
	else
		status=$?
		echo "not ok $tap_number - $text"
		output=${output:-exit status $status, no output}
		echo "${output//$'\n'/$'\n# '}" | sed '1s/^/# /' | tail -n 30
		tap_failed=1
	fi
	[ -z "${tap_log-}" ] || printf '== %s\n%s\n' "$text" "$output" >>"$tap_log"
}
