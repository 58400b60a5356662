# SPDX-License-Identifier: MIT
# perfctr: "make help" lists the targets. Each part has its own Makefile with the targets all, unit,
# install and clean, which inherits TOP, BUILD (the directory of all outputs), V, CC, CFLAGS, PREFIX
# and DESTDIR. Kernel modules are built by scripts/build-modules.

TOP := $(CURDIR)
PREFIX ?= /usr/local
DESTDIR ?=
CFLAGS ?= -O2 -g
ifneq ($(words $(TOP)),1)
$(error The checkout is in '$(TOP)': kernel build and QEMU cannot handle blanks in it, move it)
endif
include scripts/paths.mk
# kernels for "make modules", and the kernel that shell, vm and demo boot
KVER ?= 6.12 6.1
KERNEL ?= 6.12
JOBS ?= $(shell nproc)
PYTHON ?= python3
V ?= 0
# for lab/vm/run and what it runs
PERFCTR_BUILD ?= $(BUILD)
export TOP BUILD PERFCTR_BUILD PREFIX DESTDIR CFLAGS JOBS V

# names of built files go to stderr, because stdout belongs to the command of "make vm"; not with -s
ifndef PRINT_BUILD
PRINT_BUILD := $(if $(findstring s,$(filter-out -%,$(firstword $(MAKEFLAGS)))),:,echo >&2)
endif
export PRINT_BUILD
include scripts/host.mk
MAKEFLAGS += --no-print-directory $(if $(filter 1,$(V)),,-s)
Q := $(if $(filter 1,$(V)),,@)

# Parts of user space in build order. The kernels under test, their virtual machine and what runs
# only in it are made on amd64.
ON_AMD64 := $(filter x86_64,$(shell uname -m))
PARTS_ALL := libperfctr tools lab/vsoc $(if $(ON_AMD64),lab/bench igt-tests mesa)
PARTS := $(patsubst %/Makefile,build-%,$(wildcard $(PARTS_ALL:%=%/Makefile)))

# a part is built with JOBS, unless make got -j itself
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

# $(call need,FILE,WHAT): fail if FILE does not exist
need = @test -e $(1) || { echo "make $@: $(2) does not exist yet ($(1))" >&2; exit 1; }

SUITES ?=
FUZZ_S ?= 60
FUZZ_KERNEL ?= 6.12
export FUZZ_S FUZZ_KERNEL

.DEFAULT_GOAL := all
.PHONY: all setup generated modules vm shell mesa-next fuzz debug-test bench check \
	next install uninstall dkms deb package-next arm64 test-arm64 demo demo-mali mesa \
	mesa-shim demo-hud clean help $(PARTS) test unit kunit igt mesa-test panthor-check \
	package-test release-suites release-test series series-check

all: $(if $(ON_AMD64),modules)
all: $(PARTS) ## build everything: library, tools, tests, modules for Debian 6.12 and 6.1

# --- what is installed ---

# Suites of the targets that run tests
SUITES_test = $(SUITES)
SUITES_release-suites := --release
SUITES_unit := 'unit*'
SUITES_kunit := 'kunit*'
SUITES_igt = $(or $(SUITES),igt-map igt-6.12 igt-6.1-all igt-uml)
SUITES_mesa-test := 'mesa*'
SUITES_panthor-check := 'panthor*' 'panfrost*'
SUITES_package-test := 'package*'
TESTS := test unit kunit igt mesa-test panthor-check package-test release-suites
GOALS := $(or $(MAKECMDGOALS),all)
# what they need, by scripts/suites: words of the targets need-WORD
NEEDS := $(sort $(foreach t,$(filter $(TESTS),$(GOALS:release-test=release-suites)),\
	$(shell scripts/suite-needs $(SUITES_$t))))

# What scripts/setup installs for a target or a need: sections of docs/dependencies.md and kernels
# of Debian. For other targets it is all of both.
IN_VM := demo unit build test
SETUP_generated := demo
SETUP_demo := demo $(or $(filter 6.12 6.12-rt 6.1,$(KERNEL)),build)
SETUP_shell := $(SETUP_demo)
SETUP_need-unit := demo unit
SETUP_check := demo build check 6.12 6.1
SETUP_series := build
SETUP_series-check := build check series 6.12
SETUP_need-check := $(SETUP_check)
SETUP_need-package := $(IN_VM) package
SETUP_all := $(if $(ON_AMD64),$(IN_VM) 6.12 6.1,demo)
EVERYTHING := $(if $(ON_AMD64),$(IN_VM) check package 6.12 6.12-rt 6.1,demo unit package)
$(foreach k,6.12 6.12-rt 6.1,$(eval SETUP_need-$k := $(IN_VM) $k))
$(foreach n,parts kernels mesa mesa-shim arm64 uml newest uml-newest,\
	$(eval SETUP_need-$n := $(IN_VM)))
SETUP_FOR := demo $(foreach g,$(filter-out $(TESTS),$(GOALS)) $(NEEDS:%=need-%),\
	$(or $(SETUP_$g),$(EVERYTHING)))
ANYWHERE := all setup generated $(PARTS) unit test deb dkms install clean help
ifneq ($(if $(ON_AMD64),,$(filter-out $(ANYWHERE),$(GOALS))$(filter-out unit,$(NEEDS))),)
$(error make $(GOALS): the virtual machine and the kernels under test need an amd64 host. Here \
	work: make, make unit, make deb, make dkms, and build/bin/perfctr stat -- sleep 1 for the \
	counters of this machine)
endif
# the outermost make does it once
SETUP := $(or $(PERFCTR_SETUP),scripts/setup $(sort $(SETUP_FOR)))
export PERFCTR_SETUP := :

setup: ## install Debian packages and fetch the kernels under test (every target does it by itself)
	$(Q)$(SETUP)

# --- what is built ---

# Tables generated from the counter database, for the library and for the kernel's catalogue.
generated: | setup
	$(Q)if [ -e libperfctr/Makefile ]; then $(MAKE) $(PARALLEL) -C libperfctr generated; fi

$(PARTS): generated | setup
	$(Q)$(MAKE) -q -C $(@:build-%=%) all >/dev/null 2>&1 || \
		{ $(PRINT_BUILD) "  BUILD   $(@:build-%=%)"; \
		$(MAKE) $(PARALLEL) -C $(@:build-%=%) all; }
$(filter-out build-libperfctr,$(PARTS)): $(filter build-libperfctr,$(PARTS))
build-lab/vsoc build-lab/bench: build-tools

modules: $(KVER:%=modules-%) ## kernel modules; KVER="6.12 6.1" (default), newest, uml, ...
	$(Q)$(if $(strip $(KVER)),,echo 'make $@: KVER is empty: use KVER="6.12 6.1"' >&2; exit 2)

modules-%: generated | setup
	$(Q)lab/vm/kernel_cache.py build $* && scripts/build-modules $*

vm: all modules-$(KERNEL) ## run CMD="command" in the VM; KERNEL=6.12 (default), 6.1, newest, uml
	$(Q)$(if $(CMD),,echo 'make vm: CMD is empty: make vm CMD="perfctr list"' >&2; exit 2)
	$(Q)lab/vm/run --out '$(BUILD)/out' --kernel $(KERNEL) -- sh -c $(call quote,$(CMD))
quote = '$(subst ','\'',$(1))'

SHELL_NEEDS = build-lab/vsoc modules-$(if $(filter mali,$(KERNEL)),uml,$(KERNEL))
MALI = uml -- lab/mali/start $(filter-out mali,$(KERNEL))
shell: $(SHELL_NEEDS) ## a root shell in the VM with modules and tools; KERNEL=6.12, mali (Mali GPU)
	$(Q)lab/vm/run --out '$(BUILD)/out' \
		--kernel $(if $(filter mali,$(KERNEL)),$(MALI),$(KERNEL) --) bash -i; status=$$?; \
		case $$status in $(VM_FAILURES)) exit $$status ;; esac
# Statuses of lab/vm/run itself: kernel complaint, timeout, no guest. A shell that ends is no error.
VM_FAILURES := 99 | 124 | 125

demo: build-lab/vsoc modules-$(KERNEL) ## counters of a virtual GPU and of kernel PMUs, live
	$(Q)lab/vm/run --kernel $(KERNEL) -- lab/vsoc/demo

demo-mali: build-lab/vsoc mesa modules-uml ## counters and GL on a model of a Mali
	$(Q)lab/vm/run --kernel uml -- lab/mali/start lab/mali/demo

demo-hud: all mesa ## a GL scene with the counters in the Gallium HUD, as pictures
	$(Q)mesa/demo-hud

# --- tests: the suites are listed in scripts/suites ---

# phony, so that the pattern for kernels does not match them
.PHONY: $(addprefix need-,check unit parts package kernels mesa mesa-shim arm64)
need-check: generated
# objects that two suites build
need-unit: build-libperfctr build-tools build-lab/vsoc
	$(Q)$(MAKE) $(PARALLEL) -s -C libperfctr test-objects
need-parts need-package need-kernels: $(PARTS)
need-mesa need-mesa-shim: need-%: $(PARTS) %
need-arm64: $(PARTS) arm64
# a kernel
need-%: $(PARTS) modules-%
	@:

test: ## all tests, or SUITES="igt-6.12 check"
unit: ## native unit tests with sanitizers; they need no kernel
kunit: ## KUnit tests under User-mode Linux
igt: ## IGT tests in the VM on 6.12 and 6.1; SUITES="igt-6.12"
mesa-test: ## Mesa provider: piglit, HUD and GL client in the VM
panthor-check: ## apply the series for panthor and panfrost to 6.12, build them
package-test: ## dkms on 6.12 and 6.1; packages installed, upgraded and removed in a fresh root
$(TESTS): $(NEEDS:%=need-%) | setup
	$(Q)scripts/run-suites $(RESUME) $(SUITES_$@)

# each part runs, also after one that failed; what passed on the same inputs does not run again
MAKEFLAGS += $(if $(filter release-test,$(GOALS)),-k)
RESUME = $(if $(filter release-test,$(GOALS)),--resume)
release-test: release-suites debug-test test-arm64 series-check ## what "make test" leaves out

series: | setup ## write build/series, patches for the kernel; EXTERNAL=DIR: another kernel tree
	$(Q)scripts/series

series-check: | setup ## apply, build and judge these patches
	$(Q)scripts/series-check

next: all ## test another kernel: KERNEL=release, *.deb or source tree (default: Debian's newest)
	$(Q)scripts/next $(if $(filter file,$(origin KERNEL)),,$(KERNEL))

check: generated | setup ## static checks of all committed sources; prints their lines by part
	$(Q)scripts/check

mesa: build-mesa # programs that draw
mesa: generated | setup ## Mesa's software driver with our counters; the first time it compiles Mesa
	$(Q)mesa/build 25.0.7

# the suites of Mesa 25.0.7, whose names have no version; see mesa/build for panfrost of 26
WITHOUT_PANFROST = $(if $(shell grep '^2[0-5]' '$(MESA)/VERSION'),,/run -g/d;)
mesa-next: all modules-uml ## another version of Mesa, built and tested: MESA=SOURCE-TREE
	$(Q)$(if $(wildcard $(MESA)/VERSION),,echo 'make $@: use MESA=SOURCE-TREE' >&2; exit 2)
	$(Q)mesa/build '$(MESA)'
	$(Q)mkdir -p $(BUILD)/test && sed -n -e ':a; /\\$$/ { N; ba }' \
		-e '/^mesa-/ { /run -m/d; $(WITHOUT_PANFROST) s/mesa\/run /&-m next /p }' \
		scripts/suites >$(BUILD)/test/mesa-next
	$(Q)scripts/run-suites -f $(BUILD)/test/mesa-next

mesa-shim: generated | setup
	$(Q)mesa/build 22.3.6

fuzz: modules-$(FUZZ_KERNEL)
fuzz: all ## fuzzers, free-running; FUZZ_S=seconds for each (60), FUZZ_KERNEL=6.12, FUZZ_SEED
	$(call need,kernel/tests/Makefile,the kernel fuzzers)
	$(call need,libperfctr/Makefile,the library fuzzers)
	$(Q)case '$(FUZZ_S)' in ''|0*|*[!0-9]*) \
		echo "make $@: FUZZ_S='$(FUZZ_S)': use whole seconds, 1 or more" >&2; exit 2 ;; esac
	$(Q)$(MAKE) -C libperfctr fuzz
	$(Q)$(MAKE) -C kernel/tests fuzz

debug-test: modules-uml-debug modules-debug modules-kcsan
debug-test: all mesa ## tests on kernels with KASAN, KCSAN, lockdep, UBSAN, kmemleak; SUITES=
	$(Q)SUITE_LIMIT_S=4500 scripts/run-suites -f scripts/suites-debug $(RESUME) $(SUITES)

bench: all ## ratios measured in one run
	$(call need,lab/bench/Makefile,the benchmarks)
	$(Q)$(MAKE) -C lab/bench run

install: ## library, tools, headers and man pages below $(DESTDIR)$(PREFIX)
	$(call need,libperfctr/Makefile,the library)
	$(call need,tools/Makefile,the tools)
	$(Q)for part in libperfctr tools; do $(MAKE) -C $$part install || exit; done

uninstall: ## remove what install with the same variables wrote, but no changed configuration
	$(Q)staged=$$(mktemp -d) && trap 'rm -rf "$$staged"' EXIT && \
		$(MAKE) -s install DESTDIR="$$staged" >/dev/null && \
		scripts/uninstall "$$staged" "$(DESTDIR)"

# the sources as installed below /usr/src
DKMS_TREE := $(BUILD)/dkms/perfctr-$(shell sed -n 's/^PERFCTR_VERSION := //p' version.mk)
dkms: ## sources of the modules for DKMS, and how to install them
	$(Q)packaging/dkms-tree $(DKMS_TREE)
	@echo "$(DKMS_TREE): copy it to /usr/src, then run:" \
		"dkms install $(subst perfctr-,perfctr/,$(notdir $(DKMS_TREE)))"

deb: ## Debian packages in build/deb, judged by lintian; on any Debian
	$(Q)scripts/setup package
	$(Q)packaging/build-deb

# arm64 is cross-built with the packages that lab/vm/arm64.py fetches
arm64: generated | setup ## cross-build everything for arm64 into build/arm64
	$(Q)lab/vm/arm64.py fetch >/dev/null
	$(Q)$(PRINT_BUILD) "  BUILD   arm64: library, commands, tests, modules"
	$(Q)scripts/build-arm64

# each suite, then the same on the newest kernel
test-arm64: arm64 ## all tests that run on arm64: Debian's 6.12 and newest kernel, emulated
	$(Q)lab/vm/kernel_cache.py build arm64-newest && scripts/build-arm64 arm64-newest
	$(Q)mkdir -p $(BUILD)/test && sed -n -e ':a; /\\$$/ { N; ba }' -e '/^#/d; p' \
		-e 's/^[a-z0-9-]*/&-new/; s/--kernel arm64/&-newest/' \
		-e 's,test/igt-arm64,&-newest,; p' scripts/suites-arm64 >$(BUILD)/test/suites-arm64
	$(Q)scripts/run-suites -f $(BUILD)/test/suites-arm64 $(RESUME) $(SUITES)

package-next: | setup ## packages in a fresh Debian 13, counting on its newest kernel
	$(Q)packaging/test-deb trixie

clean: ## remove build/; the kernels in the cache stay
	$(Q)for part in '$(BUILD)'/*; do [ ! -e "$$part" ] || [ -e '$(BUILD)/generated' ] || \
		[ '$(BUILD)' = '$(TOP)/build' ] || { echo >&2 "make $@: BUILD is" \
		"'$(BUILD)', which has no build: remove it yourself"; exit 1; }; done
	$(Q)rm -rf '$(BUILD)'

help: ## this list
	@echo "Targets of perfctr (V=1 shows commands; each target installs what it needs):"
	@sed -n 's/^\([a-z0-9 -]*\):.*## /\1|/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{ printf "  %-12s %s\n", $$1, $$2 }'
