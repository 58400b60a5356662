# SPDX-License-Identifier: MIT
# The folders that a user may choose. They have plain names only: make and shell split others, and
# "make clean" would remove what the parts name. A relative BUILD or DESTDIR is below TOP, in every
# Makefile.
BUILD ?= $(TOP)/build
EMPTY :=
BLANK := $(EMPTY) $(EMPTY)
HASH := \#
COMMA := ,
# what make or a shell gives a meaning
SPECIAL := ' " ` $$ ; & | < > ( ) * ? [ ] { } \ % : $(HASH)
trouble = $(if $(findstring $(BLANK),$($1))$(filter-out 0 1,$(words $($1))),a blank,$(firstword \
	$(foreach c,$(SPECIAL),$(findstring $c,$($1))) $(filter ~%,$($1))))
$(foreach v,BUILD DESTDIR PREFIX LIBDIR SYSCONFDIR UNITDIR UDEVDIR SYSUSERSDIR,$(if \
	$(call trouble,$v),$(error $v is '$($v)': make and the shell cannot handle $(call \
	trouble,$v) in it, use another folder)))
ifeq ($(strip $(BUILD)),)
$(error BUILD is empty: give it a folder, or leave it out for $(TOP)/build)
endif
override BUILD := $(abspath $(if $(filter /%,$(BUILD)),,$(TOP)/)$(BUILD))
ifneq ($(DESTDIR),)
override DESTDIR := $(abspath $(if $(filter /%,$(DESTDIR)),,$(TOP)/)$(DESTDIR))
endif
ifneq ($(filter-out /%,$(PREFIX)),)
$(error PREFIX is '$(PREFIX)': it begins with /)
endif
ifneq ($(filter $(BUILD:/=)/%,$(TOP)/),)
$(error BUILD is '$(BUILD)', where the sources are: "make clean" would remove them, use a folder \
	of its own)
endif
