/* SPDX-License-Identifier: MIT */
/* The subcommands of perfctr, each in a folder of its name. */
#pragma once

#include "lib/app.h"

int info_run(struct app *app, int argc, char **argv);
int list_run(struct app *app, int argc, char **argv);
int stat_run(struct app *app, int argc, char **argv);
int perfkit_run(struct app *app, int argc, char **argv);
int top_run(struct app *app, int argc, char **argv);
int check_run(struct app *app, int argc, char **argv);
int record_run(struct app *app, int argc, char **argv);
int mark_run(struct app *app, int argc, char **argv);
int report_run(struct app *app, int argc, char **argv);
int export_run(struct app *app, int argc, char **argv);
int diff_run(struct app *app, int argc, char **argv);
int serve_run(struct app *app, int argc, char **argv);
int guard_run(struct app *app, int argc, char **argv);
