# SPDX-License-Identifier: MIT
# Includes $(DEPS), the compiler's *.d files. The object of a moved source is out of date, no error.
NOTED := $(sort $(filter %.c,$(if $(DEPS),$(shell cat $(DEPS)))))
$(filter-out $(wildcard $(NOTED)),$(NOTED)): ;
-include $(DEPS)
