/* completion.h - completion scripts for bash, zsh and fish, written from the tables of commands and options. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the script for a shell; false: no such shell. */
bool completion_write(const char *shell, FILE *stream);

#endif
