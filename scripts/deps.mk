# SPDX-License-Identifier: MIT
# Includes $(DEPS), the *.d files that the compiler wrote. A source that has moved since then is no
# error: its object is only out of date.
NOTED := $(sort $(filter %.c,$(if $(DEPS),$(shell cat $(DEPS)))))
$(filter-out $(wildcard $(NOTED)),$(NOTED)): ;
-include $(DEPS)
