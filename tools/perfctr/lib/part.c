// SPDX-License-Identifier: MIT
/* A new file beside the one that it will replace, with that one's mode, owner and group. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { ACL_BYTES = 4096, MODE_BITS = 07777, WRITE_BITS = 0222 };

#define ACL "system.posix_acl_access"

bool output_part_name(const char *path, unsigned int n, char *part)
{
	return snprintf(part, OUTPUT_PATH_BYTES, n ? "%s.%ld.%u.part" : "%s.%ld.part", path,
			(long)getpid(), n) < OUTPUT_PATH_BYTES;
}

int output_open_part(const char *path, char *part)
{
	int fd = -1;

	/* what has the name already is another one's, or a link to anywhere */
	for (unsigned int n = 0; fd < 0 && n < OUTPUT_PARTS; n++) {
		if (!output_part_name(path, n, part))
			return -ENAMETOOLONG;
		fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	return fd < 0 ? -EEXIST : fd;
}

int output_is_writable(const char *path)
{
	struct stat info;

	if (stat(path, &info) || !S_ISREG(info.st_mode))
		return 0;
	/* root may write what its owner protects, but hardly means to */
	if (!(info.st_mode & WRITE_BITS))
		return -EACCES;
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) ? -errno : 0;
}

/* Return: 0; a negative errno: the new file cannot have the old one's group or ACL. */
static int take_access(int fd, const char *path, const struct stat *old)
{
	char acl[ACL_BYTES];
	const ssize_t bytes = getxattr(path, ACL, acl, sizeof(acl));
	struct stat own;

	if (fstat(fd, &own))
		return -errno;
	if (own.st_uid != old->st_uid && fchown(fd, old->st_uid, (gid_t)-1) && errno != EPERM)
		return -errno;
	if (own.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid))
		return -errno;
	if (bytes < 0)
		return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
	return fsetxattr(fd, ACL, acl, (size_t)bytes, 0) ? -errno : 0;
}

int output_take_mode(int fd, const char *path)
{
	struct stat old;
	mode_t mode;

	if (stat(path, &old) || !S_ISREG(old.st_mode))
		return 0;
	mode = old.st_mode & MODE_BITS & ~(mode_t)(S_ISUID | S_ISGID);
	/* before anybody else can open it; the bits of the group are of that group only */
	if (fchmod(fd, mode & ~(mode_t)(S_IRWXG | S_IRWXO)))
		return -errno;
	if (take_access(fd, path, &old))
		mode &= ~(mode_t)S_IRWXG;
	return fchmod(fd, mode) ? -errno : 0;
}
