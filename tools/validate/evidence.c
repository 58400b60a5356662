// SPDX-License-Identifier: MIT
/* Writes the folder of --evidence: inputs, results, description, hashes. */
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build.h"
#include "lib/app.h"
#include "lib/command.h"
#include "lib/stream.h"

enum { HASH_DIGITS = 64 };

static const char description[] =
	"Evidence of perfctr validate: which counters of a campaign can be trusted, and why\n"
	"\n"
	"Inputs\n"
	"  campaign.json   documented rule and acceptance of each event (expected results,\n"
	"                  pass criteria; a \"guess\": in no document), benchmarks (test\n"
	"                  procedures)\n"
	"  *.lst           the programs of the benchmarks\n"
	"  readings.json   all readings with run and order (test results); \"raw\": the value\n"
	"                  before counts of interrupts were subtracted; if measured by perfctr,\n"
	"                  the configuration of the measured item: device, kernel, versions\n"
	"  measured        the file of --measured as it was, if the readings are from one\n"
	"  from.json       result of an earlier product whose findings were tested, if any\n"
	"Results\n"
	"  result.json     verdict, reasoning, rules left, next benchmark of each event; kernel\n"
	"                  and machine are those of the analysis\n"
	"  report.txt, report.html   the same to read: tables, plots, open questions\n"
	"  SHA256SUMS      hashes of all files; to check them: sha256sum -c SHA256SUMS\n"
	"  review.txt      to be filled in by the reviewer; not among the hashes, it names theirs\n"
	"\n"
	"Verdicts, for a safety case (ISO 26262, AMC 20-193 / CAST-32A)\n"
	"  TRUSTED, EXPLAINED    the event monitor may be used for evidence on timing and\n"
	"                        interference, EXPLAINED ones by the printed definition\n"
	"  QUARANTINED           open question: several definitions fit\n"
	"  UNTRUSTED             anomaly: the event monitor must not be used, if the author's\n"
	"                        numbers are right\n"
	"  MEASURED, SELECTED    no evidence for or against the event monitor; report.txt has\n"
	"                        the reason\n"
	"A verdict is of the rules in the stated space (\"candidates\", \"max_weight\") and of\n"
	"the author's numbers (\"quantities\", \"taken\", \"accept\"): if one of these is wrong,\n"
	"so is the verdict. Mnemonics that \"amounts\" takes together are taken to count alike.\n"
	"Counters step/ are single steps of the program: they test these numbers, and are no\n"
	"event monitors.\n"
	"perfctr is no qualified tool: check its conclusions by the readings and listings,\n"
	"which are all here. Its authors had no copy of ISO 26262 and AMC 20-193: look up what is\n"
	"said of them.\n";

static const char review_form[] =
	"Prepared by           name:                       date:\n"
	"Reviewer              name:                       organisation:\n"
	"Independence          of the author (ISO 26262-2 I0 to I3; AMC 20-193: as DO-178C):\n"
	"\n"
	"To be answered yes or no, with a remark:\n"
	"  [ ] sha256sum -c SHA256SUMS finds all files, and the command of README.txt gives\n"
	"      the same verdicts\n"
	"  [ ] documented rules and acceptance in campaign.json are those of the manual and of\n"
	"      the requirements\n"
	"  [ ] the listings are of the released programs, and the numbers of their branches\n"
	"      (\"taken\") follow from the source\n"
	"  [ ] the configuration in readings.json is that of the target: board, clock, firmware,\n"
	"      what else ran\n"
	"  [ ] mnemonics that \"amounts\" takes together may be taken together\n"
	"  [ ] each event that is QUARANTINED, UNTRUSTED or not measured is not relied on\n"
	"\n"
	"Findings\n"
	"\n"
	"Decision              accepted / accepted with restrictions / rejected\n"
	"Signature             name:                       date:\n";

static FILE *create(const char *folder, const char *name, struct arena *arena,
		    struct failure *failure)
{
	const char *path = arena_printf(arena, "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	FILE *out = fd < 0 ? NULL : stream_new(fd, true);

	if (out)
		return out;
	fail(failure, "%s: %s", path, app_reason(errno));
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int finish(FILE *out, const char *folder, const char *name, struct failure *failure)
{
	int error = -app_flush(out);

	if (fclose(out) && !error)
		error = errno;
	return error ? fail(failure, "%s/%s: %s", folder, name, app_reason(error)) : 0;
}

static int put_text(const char *folder, const char *name, const char *text, size_t length,
		    struct arena *arena, struct failure *failure)
{
	FILE *out = create(folder, name, arena, failure);

	if (!out)
		return -1;
	/* a copy is the same */
	stream_is_binary(out);
	fwrite(text, 1, length, out);
	return finish(out, folder, name, failure);
}

static int put_listings(const struct analysis *a, const char *folder)
{
	const struct campaign *c = a->campaign;

	for (size_t b = 0; b < c->benchmark_count; b++) {
		const struct benchmark *one = &c->benchmarks[b];
		bool again = false;

		for (size_t i = 0; i < b && one->listing; i++)
			again |= c->benchmarks[i].listing &&
				 !strcmp(c->benchmarks[i].listing_name, one->listing_name);
		/* constructed ones are part of the readings */
		if (!one->listing || one->constructed || again)
			continue;
		if (put_text(folder, one->listing_name, one->listing_file,
			     strlen(one->listing_file), a->arena, a->failure) < 0)
			return -1;
	}
	return 0;
}

/* Whether a pack has its own file of that name, or sha256sum would not take the name as it is. */
static bool is_reserved(const char *name)
{
	static const char *const own[] = {
		"campaign.json", "readings.json", "measured",	    "from.json",
		"result.json",	 "report.txt",	  "report.html",    "README.txt",
		"SHA256SUMS",	 "review.txt",	  "SHA256SUMS.new",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(name, own[i]))
			return true;
	return *name == '.' || *name == '-' || strpbrk(name, "/\\\n\r");
}

int evidence_begin(const struct campaign *c, const char *folder, struct failure *failure)
{
	for (size_t b = 0; b < c->benchmark_count; b++)
		if (c->benchmarks[b].listing && is_reserved(c->benchmarks[b].listing_name))
			return fail(failure,
				    "listing %s: evidence needs listings in the campaign's folder, "
				    "not named as files of its own (SHA256SUMS), nor with . or - "
				    "at the beginning, or with a backslash: rename it",
				    c->benchmarks[b].listing_name);
	if (mkdir(folder, 0777) < 0)
		return fail(failure, "%s: %s; give the name of a new folder", folder,
			    strerror(errno));
	return 0;
}

static int put_copy(const char *folder, const char *name, const char *path,
		    const struct analysis *a)
{
	size_t length;
	const char *text = read_file(a->arena, path, &length, a->failure);

	return text ? put_text(folder, name, text, length, a->arena, a->failure) : -1;
}

int evidence_inputs(const struct study *study, const char *measured, const char *from,
		    const char *folder)
{
	const struct analysis *a = &study->analysis;
	FILE *out;

	if (put_text(folder, "campaign.json", a->campaign->source, strlen(a->campaign->source),
		     a->arena, a->failure) < 0 ||
	    put_listings(a, folder) < 0)
		return -1;
	out = create(folder, "readings.json", a->arena, a->failure);
	if (!out)
		return -1;
	validate_readings(study, out);
	if (finish(out, folder, "readings.json", a->failure) < 0)
		return -1;
	if (measured && put_copy(folder, "measured", measured, a) < 0)
		return -1;
	return from ? put_copy(folder, "from.json", from, a) : 0;
}

/* as sha256sum prints them, so that it can check them */
static int put_hashes(const char *folder, struct failure *failure)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		child_restore_files();
		if (!chdir(folder))
			execlp("sh", "sh", "-c",
			       "LC_ALL=C sha256sum -- * >SHA256SUMS.new &&"
			       "exec mv SHA256SUMS.new SHA256SUMS",
			       NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		return fail(failure, "%s/SHA256SUMS: sha256sum failed", folder);
	return 0;
}

/* the hash of the file of hashes, or NULL */
static const char *hash_of(const char *folder, struct arena *arena)
{
	char *text = arena_alloc(arena, HASH_DIGITS + 1);
	int ends[2], status;
	size_t got = 0;
	ssize_t more;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	pid = fork();
	if (!pid) {
		child_restore_files();
		if (dup2(ends[1], STDOUT_FILENO) >= 0 && !chdir(folder))
			execlp("sha256sum", "sha256sum", "SHA256SUMS", NULL);
		_exit(127);
	}
	close(ends[1]);
	while (got < HASH_DIGITS && (more = read(ends[0], text + got, HASH_DIGITS - got)) > 0)
		got += (size_t)more;
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status || got < HASH_DIGITS)
		return NULL;
	return text;
}

/* "a, b": what the campaign's events are required for */
static const char *requirements(const struct report *report)
{
	const char *text = "", *id;

	for (size_t n = 0; (id = report_requirement(&report->studies[0], n)); n++)
		text = arena_printf(report->arena, "%s%s%s", text, n ? ", " : "", id);
	return *text ? text : "the campaign names none";
}

/* A form: what is reviewed, which is fixed by the hash of the hashes, and what a person decides. */
static int put_review(const struct report *report, const char *folder, struct failure *failure)
{
	const struct campaign *c = report->studies[0].analysis.campaign;
	const char *sum = hash_of(folder, report->arena), *text;

	if (!sum)
		return fail(failure, "%s/review.txt: sha256sum failed", folder);
	text = arena_printf(report->arena,
			    "Review of the evidence in this folder\n"
			    "\n"
			    "SHA256SUMS (sha256)   %s\n"
			    "Campaign              %s %s\n"
			    "Tool                  perfctr validate %s, build %s\n"
			    "Written               %s\n"
			    "Requirements          %s\n"
			    "\n%s",
			    sum, c->name, c->title, PERFCTR_VERSION, build_id(report->arena),
			    report->time, requirements(report), review_form);
	return put_text(folder, "review.txt", text, strlen(text), report->arena, failure);
}

/* What was compared with the listings before it was counted. */
static const char *compared(const struct report *report)
{
	static const char mark[] = "program ";
	const struct measured *m = &report->studies[0].analysis.measured;
	const char *text = "";

	for (size_t i = 0; i < m->configuration_count; i++)
		if (!strncmp(m->configuration[2 * i], mark, sizeof(mark) - 1))
			text = arena_printf(report->arena, "%s%s%s", text, *text ? ", " : "",
					    m->configuration[2 * i] + sizeof(mark) - 1);
	if (!*text)
		return "Nothing was compared with the listings: that they are of the program that "
		       "ran is\nfor the reviewer to show.\n";
	return arena_printf(report->arena,
			    "Before it was counted, the program was compared with its listing: "
			    "%s.\n",
			    text);
}

int evidence_results(const struct report *report, const char *folder, struct failure *failure)
{
	static const struct {
		const char *name;
		void (*write)(const struct report *report, FILE *out);
	} files[] = {
		{ "result.json", validate_json },
		{ "report.txt", validate_text },
		{ "report.html", validate_html },
	};
	const char *from = report->studies[0].carried ? " --from from.json" : "";
	const char *text = arena_printf(
		report->arena,
		"%s%sThe same verdicts follow from these files by (in bash, with jq):\n"
		"\n"
		"  diff <(jq .campaigns result.json) <(perfctr validate -j -m readings.json%s \\\n"
		"      ./campaign.json | jq .campaigns)\n",
		description, compared(report), from);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		FILE *out = create(folder, files[i].name, report->arena, failure);

		if (!out)
			return -1;
		files[i].write(report, out);
		if (finish(out, folder, files[i].name, failure) < 0)
			return -1;
	}
	if (put_text(folder, "README.txt", text, strlen(text), report->arena, failure) < 0 ||
	    put_hashes(folder, failure) < 0)
		return -1;
	return put_review(report, folder, failure);
}

/* The text of a file of the folder, or NULL. */
static const char *text_of(const char *folder, const char *name, struct arena *arena)
{
	struct failure ignored = { "" };
	size_t length;

	return read_file(arena, arena_printf(arena, "%s/%s", folder, name), &length, &ignored);
}

/* What a reviewer adds: the form as it is signed or edited, and what keeps versions. */
static bool is_of_review(const char *name)
{
	/* the command in README.txt of earlier packs wrote again.json */
	return *name == '.' || !strncmp(name, "review.txt", strlen("review.txt")) ||
	       !strncmp(name, "SHA256SUMS", strlen("SHA256SUMS")) || !strcmp(name, "again.json");
}

/* Anything else without a hash was added by somebody. */
static int check_names(const char *folder, struct arena *arena, struct failure *failure)
{
	DIR *dir = opendir(folder);
	int error = dir ? evidence_has(folder, "README.txt", arena, failure) :
			  fail(failure, "%s: %s", folder, strerror(errno));
	struct dirent *entry;

	while (!error && (entry = readdir(dir))) {
		if (!is_of_review(entry->d_name))
			error = evidence_has(folder, entry->d_name, arena, failure);
	}
	if (dir)
		closedir(dir);
	return error;
}

int evidence_check(const char *folder, struct arena *arena, struct failure *failure)
{
	static const char mark[] = "SHA256SUMS (sha256)";
	const char *readme, *sum, *review, *named;
	int status;
	pid_t pid = fork();

	if (!pid) {
		child_restore_files();
		/* messages of sha256sum name the files; its output is not the report */
		if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && !chdir(folder))
			execlp("sha256sum", "sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS",
			       NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		return fail(failure,
			    "%s: its files are not those that its SHA256SUMS names, so nothing is "
			    "concluded from them",
			    folder);
	readme = text_of(folder, "README.txt", arena);
	review = text_of(folder, "review.txt", arena);
	/* packs of version 0.1 have no review.txt */
	if (!review && readme && strstr(readme, "review.txt"))
		return fail(failure,
			    "%s/review.txt: README.txt names it, and it is not there or cannot be "
			    "read: the pack is not complete",
			    folder);
	named = review ? strstr(review, mark) : NULL;
	named += named ? sizeof(mark) - 1 : 0;
	sum = hash_of(folder, arena);
	if (review &&
	    (!named || !sum || strncmp(named + strspn(named, " \t"), sum, HASH_DIGITS) != 0))
		return fail(failure,
			    "%s/review.txt: it is a review of another SHA256SUMS; the one here has "
			    "the hash %s",
			    folder, sum ? sum : "that sha256sum could not compute");
	return check_names(folder, arena, failure);
}

int evidence_has(const char *folder, const char *name, struct arena *arena, struct failure *failure)
{
	const char *line = text_of(folder, "SHA256SUMS", arena);
	const size_t length = strlen(name);

	for (; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const size_t end = strcspn(line, "\r\n");

		/* the hash, a blank, and a blank or * before the name */
		if (end == HASH_DIGITS + 2 + length &&
		    !strncmp(line + HASH_DIGITS + 2, name, length))
			return 0;
	}
	return fail(failure, "%s/%s: it has no hash in SHA256SUMS, so nothing is concluded from it",
		    folder, name);
}

void evidence_discard(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(folder);
}
