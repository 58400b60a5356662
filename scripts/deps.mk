# SPDX-License-Identifier: MIT
# Includes $(DEPS), the *.d files of the compiler. A source that was moved is no error: its object
# is only out of date.
NOTED := $(sort $(filter %.c,$(if $(DEPS),$(shell cat $(DEPS)))))
$(filter-out $(wildcard $(NOTED)),$(NOTED)): ;
-include $(DEPS)
