# SPDX-License-Identifier: MIT
# perfctr: "make help" lists the targets. Each part has a Makefile of its own with the targets all,
# unit, install and clean, which finds here: TOP, BUILD (where every output goes), V, CC, CFLAGS,
# PREFIX, DESTDIR. Kernel modules are built by scripts/build-modules.

TOP := $(CURDIR)
BUILD ?= $(TOP)/build
PREFIX ?= /usr/local
DESTDIR ?=
CFLAGS ?= -O2 -g
# kernels that "make modules" builds for, and the one that shell, vm and demo boot
KVER ?= 6.12 6.1
KERNEL ?= 6.12
JOBS ?= $(shell nproc)
PYTHON ?= python3
V ?= 0
export TOP BUILD PREFIX DESTDIR CFLAGS JOBS V

ifneq ($(words $(TOP)),1)
$(error The checkout is in '$(TOP)': kernel build and QEMU cannot handle blanks in it, move it)
endif

MAKEFLAGS += --no-print-directory
Q := $(if $(filter 1,$(V)),,@)

# Parts of user space in build order.
PARTS_ALL := libperfctr tools bench igt-tests mesa
PARTS_NOW := $(patsubst %/Makefile,%,$(wildcard $(PARTS_ALL:%=%/Makefile)))

# $(call need,FILE,WHAT): fail instead of succeeding with nothing done
need = @test -e $(1) || { echo "make $@: $(2) does not exist yet ($(1))" >&2; exit 1; }

.DEFAULT_GOAL := all
.PHONY: all setup generated modules vm shell unit kunit igt mesa-test fuzz debug-test bench check \
	install dkms deb test demo clean help $(PARTS_NOW)

all: $(PARTS_NOW) modules ## build everything: library, tools, tests, modules for Debian 6.12 and 6.1

setup: ## install Debian packages and fetch the kernels under test (every target does it by itself)
	$(Q)scripts/setup

# Tables generated from the counter database, for the library and for the kernel's catalogue.
generated: | setup
	$(Q)if [ -e libperfctr/Makefile ]; then $(MAKE) -C libperfctr generated; fi

$(PARTS_NOW): generated | setup
	$(Q)$(MAKE) -C $@ all
$(filter-out libperfctr,$(PARTS_NOW)): $(filter libperfctr,$(PARTS_NOW))

modules: generated | setup ## kernel modules; KVER="6.12 6.1" (default), fast, uml, or a release
	$(Q)for k in $(KVER); do case $$k in 6.*) ;; *) vm/kernel_cache.py build $$k || exit;; esac; \
		scripts/build-modules $$k || exit; done

vm: all ## run CMD="command" in the VM; KERNEL=6.12 (default), 6.1, fast, uml, debug, uml-debug
	$(Q)$(if $(CMD),,echo 'make vm: say what to run: make vm CMD="perfctr list"' >&2; exit 2)
	$(Q)vm/run --kernel $(KERNEL) -- sh -c $(call quote,$(CMD))
quote = '$(subst ','\'',$(1))'

shell: all ## a root shell in the VM, modules loaded, tools on PATH; KERNEL=6.12
	$(Q)vm/run --kernel $(KERNEL) -- bash -i

clean: ## remove build/; the kernels in the cache stay
	$(Q)rm -rf $(BUILD)

help: ## this list
	@echo "Targets of perfctr (make V=1 shows commands):"
	@sed -n 's/^\([a-z-]*\):.*## /  \1|/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{ printf "%-13s %s\n", $$1, $$2 }'
