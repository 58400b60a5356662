// SPDX-License-Identifier: MIT
/* Reads the note of ELF files that names their build. */
#include "build.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include <perfctr/perfctr.h>

static size_t aligned(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

/* the id in a segment of notes, or NULL */
static const char *find_note(struct arena *arena, const char *notes, size_t length)
{
	Elf64_Nhdr note;

	for (size_t at = 0; at + sizeof(note) <= length;) {
		const char *name = notes + at + sizeof(note), *text = "";

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		if (note.n_namesz > length - at || note.n_descsz > length - at - note.n_namesz ||
		    aligned(note.n_namesz) > length - at)
			return NULL;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(name, "GNU", 4) != 0) {
			at += aligned(note.n_namesz) + aligned(note.n_descsz);
			continue;
		}
		at += aligned(note.n_namesz);
		for (size_t i = 0; i < note.n_descsz && at + i < length; i++)
			text = arena_printf(arena, "%s%02x", text, (unsigned char)notes[at + i]);
		return text;
	}
	return NULL;
}

const char *build_id_of(struct arena *arena, const char *path)
{
	struct failure ignored = { "" };
	const char *file, *found = NULL;
	Elf64_Ehdr header;
	size_t length;

	file = read_file(arena, path, &length, &ignored);
	if (!file || length < sizeof(header))
		return NULL;
	memcpy(&header, file, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phoff > length)
		return NULL;
	for (size_t i = 0; i < header.e_phnum && !found; i++) {
		const size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr segment;

		if (at + sizeof(segment) > length)
			return NULL;
		memcpy(&segment, file + at, sizeof(segment));
		if (segment.p_type == PT_NOTE && segment.p_offset <= length &&
		    segment.p_filesz <= length - segment.p_offset)
			found = find_note(arena, file + segment.p_offset, segment.p_filesz);
	}
	return found;
}

const char *build_id(struct arena *arena)
{
	const char *own = build_id_of(arena, "/proc/self/exe"), *library = NULL;
	Dl_info info;

	/* of a static library the address is in this program */
	if (dladdr((const void *)(uintptr_t)perfctr_device_open, &info) && info.dli_fname &&
	    strstr(info.dli_fname, "libperfctr"))
		library = build_id_of(arena, info.dli_fname);
	return arena_printf(arena, "%s%s%s", own ? own : "not known: linked without one",
			    library ? ", libperfctr " : "", library ? library : "");
}
