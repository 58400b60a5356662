# SPDX-License-Identifier: MIT
# fish completion of perfctr: commands and options are what --help lists

function __perfctr_options
    set -l words (commandline -opc)
    set -l text (perfctr $words[2] --help 2>/dev/null)
    string replace -rf '^ +(?:-., )?(--[a-z-]+).*?(?:   *(.*))?$' '$1\t$2' -- $text
    # those that share a line; fish shows each once
    string match -ar -- '--[a-z][a-z-]*' $text
end

function __perfctr_events
    # after the last comma
    set -l before (string match -r '.*,' -- (commandline -ct))
    perfctr list 2>/dev/null | string replace -rf '^[ +=?!] ([^ ]+) +(.*)' "$before\$1\t\$2"
end

function __perfctr_begins
    test (count (commandline -opc)) -eq 1
end

function __perfctr_follows
    set -l words (commandline -opc)
    contains -- $words[-1] $argv
end

function __perfctr_is_option
    not __perfctr_begins
    and string match -q -- '-*' (commandline -ct)
end

complete -c perfctr -n __perfctr_begins -f -a '(perfctr --help 2>/dev/null |
    string replace -rf "^  ([a-z]+)  +(.*)" "\$1\t\$2")'
complete -c perfctr -n __perfctr_is_option -f -a '(__perfctr_options)'
complete -c perfctr -n '__perfctr_follows -e --event' -f -a '(__perfctr_events)'
complete -c perfctr -n '__perfctr_follows -d --device' -f \
    -a '(printf "%s\n" local all (path basename /dev/dri/renderD* 2>/dev/null))'
complete -c perfctr -n '__perfctr_follows -f --format' -f -a 'perfetto csv json'
complete -c perfctr -n '__perfctr_follows --view' -f -a 'overview gpu memory pcie links'
