#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: tools/tests/test-commands.sh
# Every subcommand of perfctr has help that fits a screen and names its exit statuses, --json, a man
# page with all options, completion, and status 2 for unknown options. Prints TAP; needs no device.
# shellcheck disable=SC2317,SC2016  # functions are called by name
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top/scripts/tap.sh"
build=${BUILD:-$top/build}
perfctr=$build/bin/perfctr
lines=45 columns=90

help_fits() {
	"$perfctr" "$1" --help | awk -v lines="$lines" -v columns="$columns" '
		length() > columns { print "line of " length() " columns: " $0; bad = 1 }
		END { if (NR > lines) { print NR " lines"; bad = 1 } exit bad }'
}

says_exit_status() {
	"$perfctr" "$1" --help | tr '\n' ' ' |
		grep -Eq 'Exit: .*0 .*2 usage|Exit: the command.s own +status.*2 usage'
}

has_json() {
	"$perfctr" "$1" --help | grep -q -e --json
}

# pages have the date of the release
man_is_well_formed() {
	! mandoc -T lint -W warning "$build"/man/man1/*.1 | grep -v 'missing date'
}

completes() {
	local words
	# shellcheck disable=SC2034 # bash's own variables of completion
	words=$(COMP_WORDBREAKS=: PATH=$build/bin:$PATH bash -c '
		complete() { :; }; compopt() { :; }
		. "$0"; COMP_WORDS=(perfctr ""); COMP_CWORD=1; _perfctr; echo "${COMPREPLY[@]}"
		COMP_WORDS=(perfctr '"$1"' --); COMP_CWORD=2; _perfctr; echo "${COMPREPLY[@]}"' \
		"$top/tools/completions/perfctr") || return
	grep -qw "$1" <<<"$(head -n 1 <<<"$words")" || { echo "the command: $words"; return 1; }
	grep -q -e --json <<<"$(tail -n 1 <<<"$words")" || { echo "its options: $words"; return 1; }
}

# Each option of a command's help is offered, also one that shares its line.
offers_all() {
	local option
	for option in $("$perfctr" "$1" --help | grep -o -e '--[a-z][a-z-]*' | sort -u); do
		grep -q -e "^$option\([:	].*\)\{0,1\}\$" <<<"$2" && continue
		echo "no $option"
		return 1
	done
}

# @1: a shell; @2: a command. What zsh's and fish's completions offer.
completes_in() {
	local words
	case $1 in
	zsh) words=$(PATH=$build/bin:$PATH zsh -f -c '
		_describe() { print -l -- ${(P)@[-1]}; }; words=(perfctr ""); CURRENT=2
		. "$0"; words=(perfctr '"$2"' --); CURRENT=3; _perfctr
		fpath=(${0%/*} $fpath); autoload -Uz compinit; compinit -u -D
		[[ $_comps[perfctr] == _perfctr ]] || print -l "compinit does not find it"' \
		"$top/tools/completions/_perfctr") ;;
	fish) words=$(PATH=$build/bin:$PATH HOME=$build/test fish --no-config -c "
		source $top/tools/completions/perfctr.fish; complete -C 'perfctr $2'
		complete -C 'perfctr $2 --'") ;;
	esac 2>&1
	if grep -q "^$2[:	]" <<<"$words" && grep -q '^--json[:	]..' <<<"$words" &&
		! grep -q 'does not find' <<<"$words" && offers_all "$2" "$words"; then
		return
	fi
	echo "$1: $words"
	return 1
}

# check, where a shell is installed: packages are built without it
in_shell() {
	if command -v "$1" >/dev/null; then
		check "${@:2}"
	else
		skip "$2" "no $1"
	fi
}

# The events of the machine, after a comma too.
completes_events() {
	local words
	words=$(PATH=$build/bin:$PATH HOME=$build/test fish --no-config -c "
		source $top/tools/completions/perfctr.fish
		complete -C 'perfctr stat -e cycles,page-f'; complete -C 'perfctr stat -d lo'
		complete -C 'perfctr export -f pe'")
	for wanted in cycles,software/page-faults/ local perfetto; do
		grep -q "^$wanted" <<<"$words" || { echo "no $wanted: $words"; return 1; }
	done
}

# A name of the machine is no program of the shell.
completes_as_text() {
	local words stub=$build/test/completion
	rm -rf "$stub"
	mkdir -p "$stub"
	printf '#!/bin/sh\necho "  a/\$(>%s/ran)/ text"; echo "  ab/ text"\n' "$stub" \
		>"$stub/perfctr"
	chmod +x "$stub/perfctr"
	# shellcheck disable=SC2034 # bash's own variables of completion
	words=$(COMP_WORDBREAKS=: PATH=$stub:$PATH bash -c '
		complete() { :; }; compopt() { :; }
		. "$0"; COMP_WORDS=(perfctr stat -e x,a); COMP_CWORD=3; _perfctr
		printf "%s\n" "${COMPREPLY[@]}"' "$top/tools/completions/perfctr")
	if [ -e "$stub/ran" ] || [ "$words" != "x,a/\$(>$stub/ran)/"$'\n'x,ab/ ]; then
		echo "$words"
		return 1
	fi
}

rejects_nonsense() {
	local text wanted="perfctr $1: unknown or incomplete option --no-such-option"
	text=$("$perfctr" "$1" --no-such-option </dev/null 2>&1)
	[ "$? $text" = "2 $wanted; see perfctr $1 --help" ] || { echo "$text"; return 1; }
}

# a misspelt command names the one that was meant, others none
names_nearest() {
	local pair text
	for pair in stta:stat exprot:export recrod:record lst:list chekc:check; do
		text=$("$perfctr" "${pair%:*}" 2>&1)
		if [ $? != 2 ] || [ "$text" != "perfctr: there is no command '${pair%:*}': $(
			)did you mean ${pair#*:}?; perfctr help lists them" ]; then
			echo "$text"
			return 1
		fi
	done
	[ "$("$perfctr" zzz 2>&1 | head -n 1)" = \
		"perfctr: there is no command 'zzz'; perfctr help lists them" ]
}

# a vendor's specification becomes pages without a mistake, with their names, units and GPUs
imports_specification() {
	local folder PATH=${perfctr%/*}:$PATH
	folder=$(mktemp -d) || return
	mkdir "$folder/hardwarelayout" "$folder/counterinfo"
	cat >"$folder/Mali-ProductInfo.xml" <<-END
		<L><ProductInfo><Id>0xa004</Id><DatabaseKey>Mali-A</DatabaseKey></ProductInfo>
		<ProductInfo><Id>0x10000</Id><DatabaseKey>Mali B</DatabaseKey></ProductInfo></L>
	END
	cat >"$folder/hardwarelayout/a.xml" <<-END
		<HardwareLayout gpu="Mali-A"><CounterBlock type="GPU Front-end">
		<Counter name="HEADER" index="2"/><Counter name="NEW" index="9"/>
		<Counter name="GPU_IRQ_ACTIVE" index="10"/></CounterBlock>
		</HardwareLayout>
	END
	cat >"$folder/hardwarelayout/b.xml" <<-END
		<HardwareLayout gpu="Mali B"><CounterBlock type="Shader Core">
		<Counter name="OTHER" index="70" shift="2"/></CounterBlock></HardwareLayout>
	END
	cat >"$folder/counterinfo/c.xml" <<-END
		<L><CounterInfo><SourceName>NEW</SourceName><HumanName>A "new" one</HumanName>
		<Units>cycles</Units><ShortDescription>Text.</ShortDescription>
		<SupportedGPUs><GPU>Mali-A</GPU></SupportedGPUs></CounterInfo></L>
	END
	"$top/tools/perfctr-import-mali" "$folder" >"$folder/page.toml" &&
		"$perfctr" list --check "$folder/page.toml" &&
		grep -A3 GPU_IRQ_ACTIVE "$folder/page.toml" | grep -q 'unit = "cycles"' &&
		PERFCTR_COUNTERS=$folder/page.toml "$perfctr" list --all >"$folder/list" &&
		grep -q "cshw/NEW  .*A 'new' one \[cycles\]" "$folder/list" &&
		grep -q "shader of mali_v16" "$folder/list" &&
		! grep -q cshw/HEADER "$folder/list" &&
		! "$top/tools/perfctr-import-mali" "$folder/none" 2>"$folder/error" &&
		grep -q "none" "$folder/error" && rm "$folder"/hardwarelayout/* &&
		! "$top/tools/perfctr-import-mali" "$folder" 2>"$folder/error" &&
		grep -q "hardwarelayout/ has no XML file" "$folder/error" &&
		sed -i 's/0xa004/61443/' "$folder/Mali-ProductInfo.xml" &&
		! "$top/tools/perfctr-import-mali" "$folder" 2>"$folder/error" &&
		grep -q "ProductInfo.xml: Id '61443' is no product's" "$folder/error"
	local status=$?
	rm -r "$folder"
	return "$status"
}

# names of products and parts of them come before those of counters
finds_products() {
	"$perfctr" list -a g1 | grep -q "G1-Ultra" && ! "$perfctr" list -a g1 | grep -q "v10" &&
		"$perfctr" list --all -j Mali-G610 | grep -q '"G310, G510, G610, G710"' &&
		"$perfctr" list -d local G610 2>&1 | grep -q "perfctr list --all G610"
}

# each default of GPUs is in the database and counts a GPU, not the PMU of a SoC, and each product
# of GPUs has two at least
defaults_exist() {
	"$perfctr" list --all --json | python3 -c '
import collections, json, re, sys
source = re.search(r"gpu_events\[\] = \{(.*?)\n\};", open(sys.argv[1]).read(), re.S).group(1)
database = json.load(sys.stdin)
known = collections.defaultdict(set)
for row in database["events"] + database["metrics"]:
    name, block = row["name"], row["block"]
    for text in (["metric:" + name, "metric:" + block + "." + name] if "metric" in row
                 else [name, block + "/" + name]):
        known[text].add(row["product"])
defaults = re.findall(r"\"(.*?)\"", source)
count = collections.Counter(product for name in defaults for product in known[name])
not_gpu = {"tegra410", "tegra241", "perf_pmu"}
wrong = [name for name in defaults if not known[name] or known[name] & not_gpu]
wrong += [product for product in {p for of in known.values() for p in of}
          - not_gpu if count[product] < 2]
sys.exit(", ".join(wrong) or 0)' "$top/tools/perfctr/lib/defaults.c"
}

# a command that cannot be executed leaves the last capture alone, and no new file
keeps_old_capture() {
	local folder status
	folder=$(mktemp -d) || return
	echo old >"$folder/old"
	"$perfctr" record -d local -e page-faults -o "$folder/old" /nonexistent/program
	[ $? = 127 ] && "$perfctr" record -d local -e page-faults -o "$folder/new" /nonexistent
	[ $? = 127 ] && [ "$(cat "$folder"/*)" = old ]
	status=$?
	rm -r "$folder"
	return "$status"
}

# perf's -p is a process, this one's a period
refuses_pid() {
	"$perfctr" stat -d local -e page-faults -p $$ -- true 2>&1 | grep -q "unit.*--pid $$;"
	[ "${PIPESTATUS[*]}" = "2 0" ] &&
		"$perfctr" stat -p abc -- true 2>&1 | grep -q "such as 100ms,"
}

says_what_gpus_need() {
	"$perfctr" stat -d local -e GPU_ACTIVE -- true 2>&1 | grep -q "need a DRM .*perfctr check"
	[ "${PIPESTATUS[*]}" = "2 0" ]
}

# HTTP and TLS are the exporter's only, and no library is under the GPL
loads_no_foreign_stack() {
	local heavy='gnutls|microhttpd|libssl|libcrypto' libraries
	libraries=$(ldd "$perfctr") && grep -q libjson-c <<<"$libraries" &&
		! grep -E "$heavy|libgsl" <<<"$libraries" &&
		ldd "$build/bin/perfctr-exporter" | grep -Eq "$heavy"
}

# subcommands that are programs of their own are found where they are installed, and missed
finds_programs() {
	local folder status
	folder=$(mktemp -d) || return
	make -s -C "$top/tools" install BUILD="$build" DESTDIR="$folder" PREFIX=/usr >/dev/null &&
		"$folder/usr/bin/perfctr" exporter --help | grep -q '^usage: perfctr exporter' &&
		"$folder/usr/bin/perfctr" validate --help | grep -q '^usage: perfctr validate' &&
		rm -r "$folder/usr/libexec" &&
		"$folder/usr/bin/perfctr" exporter 2>&1 | grep -q "libexec/perfctr/perfctr-exporter"
	status="${PIPESTATUS[*]}"
	rm -r "$folder"
	[ "$status" = "1 0" ]
}

mapfile -t commands < <("$perfctr" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ ${#commands[@]} -gt 5 ] || { echo "Bail out! commands: ${commands[*]}"; exit 1; }
echo "1..$((${#commands[@]} * 7 + 13))"
for command in "${commands[@]}"; do
	check "$command: help fits a screen" help_fits "$command"
	check "$command: help lists the exit statuses" says_exit_status "$command"
	check "$command: --json" has_json "$command"
	check "$command: completion knows it and its options" completes "$command"
	for shell in zsh fish; do
		in_shell "$shell" "$command: completion in $shell" completes_in "$shell" "$command"
	done
	check "$command: an unknown option is status 2" rejects_nonsense "$command"
done
check "completion in bash: events as text" completes_as_text
in_shell fish "completion in fish: events, devices, formats" completes_events
check "the manual pages are well-formed" man_is_well_formed
check "the overview fits a screen too" sh -c "[ \$('$perfctr' --help | wc -l) -le $lines ]"
check "perfctr-import-mali makes pages" imports_specification
check "list: products by a part of their name" finds_products
check "the defaults exist, on all products" defaults_exist
keeps="record: a command that cannot run leaves the old capture alone"
# as qemu-user; any other failure is one of the test
if "$perfctr" stat -d local -e page-faults -- true 2>&1 | grep -q 'kernel has no perf events'; then
	skip "$keeps" "this kernel has no perf events"
else
	check "$keeps" keeps_old_capture
fi
check "stat: -p with the number of a process, and with no time" refuses_pid
check "an unknown command names the nearest one" names_nearest
check "stat: a counter of GPUs on the local device" says_what_gpus_need
check "perfctr loads no HTTP or TLS stack, and nothing under the GPL" loads_no_foreign_stack
check "programs of their own are found where they are installed" finds_programs
exit "$tap_failed"
