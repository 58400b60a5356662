/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Host bridges of the modelled root complexes, so that PCI tools see their root ports.
 */
#ifndef _VSOC_PCI_H_
#define _VSOC_PCI_H_

#include <linux/err.h>
#include <linux/kconfig.h>

struct device;
struct vsoc_pci;

#if IS_ENABLED(CONFIG_PCI) && defined(CONFIG_X86)
/* Process context. Returns an error pointer if a bridge cannot be added. */
struct vsoc_pci *vsoc_pci_add(struct device *parent);
void vsoc_pci_remove(struct vsoc_pci *pci);
#else
static inline struct vsoc_pci *vsoc_pci_add(struct device *parent)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void vsoc_pci_remove(struct vsoc_pci *pci) { }
#endif

#endif /* _VSOC_PCI_H_ */
