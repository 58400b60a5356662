# SPDX-License-Identifier: MIT
# What a build in this checkout needs of the host. TOP and BUILD are set; $(NEEDS_LIBRARIES) are
# names of pkg-config, empty for none.

# Files that sudo makes in somebody's checkout stop the owner's next make.
WITHOUT_BUILDING := install uninstall setup clean help
ifneq ($(if $(SUDO_UID),$(filter $(TOP)/%,$(abspath $(BUILD)))),)
ifneq ($(filter-out $(WITHOUT_BUILDING),$(or $(MAKECMDGOALS),all)),)
CHECKOUT_OWNER := $(shell [ "$$(id -u)" != 0 ] || stat -c %u $(TOP))
ifneq ($(filter-out 0,$(CHECKOUT_OWNER)),)
$(error do not use sudo: this checkout belongs to user $(CHECKOUT_OWNER), and build/ would \
	become root's. Run "make$(MAKECMDGOALS:%= %)" as that user; it calls sudo itself if a \
	package is missing)
endif
endif
endif

ifneq ($(filter-out $(WITHOUT_BUILDING),$(or $(MAKECMDGOALS),all)),)
ifneq ($(shell [ ! -d $(BUILD) ] || [ -w $(BUILD) ] || echo no),)
$(error $(BUILD) belongs to another user, as after "sudo make": sudo chown -R "$$USER" $(BUILD))
endif
ifneq ($(if $(filter-out generated,$(or $(MAKECMDGOALS),all)),$(NEEDS_LIBRARIES)),)
MISSING_LIBRARIES := $(shell for l in $(NEEDS_LIBRARIES); do \
	pkg-config --exists $$l 2>/dev/null || echo $$l; done)
ifneq ($(MISSING_LIBRARIES),)
$(error pkg-config does not find $(MISSING_LIBRARIES): $(shell $(TOP)/scripts/setup --command))
endif
endif
endif
