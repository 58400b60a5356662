# SPDX-License-Identifier: MIT
# The release that the sources are on the way to, and the library's binary interface.
# packaging/release-check compares them with CHANGELOG.md and debian/changelog.
PERFCTR_VERSION := 0.2.0
# raised when a symbol of libperfctr.map goes away or changes; see packaging/README.md
PERFCTR_SOVERSION := 1
