# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Sourced by scripts: the comment at the beginning of a script is its help. --help and -h print it
# and end the script before it does anything.

usage() {
	sed -n '3,${/^#/!q;/^# shellcheck/d;s/^# \{0,1\}//p;}' "$0"
}

# Wrong arguments.
usage_error() {
	usage >&2
	exit 2
}

# no_arguments "$@": for scripts that take none
no_arguments() {
	[ $# = 0 ] || usage_error
}

# no_options "$@": for scripts whose first word is none
no_options() {
	case ${1-} in -*) usage_error ;; esac
}

case ${1-} in
--help | -h)
	usage
	exit 0
	;;
esac
