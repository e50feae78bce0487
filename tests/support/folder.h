/* folder.h - a temporary working folder for tests that write files. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

/* Setup and teardown of cmocka, of a test or of a group: *state is the path of the folder, which is the working folder
 * in between. */
int folder_enter(void **state);
int folder_leave(void **state);

/* The number of entries of a folder, without those that begin with a dot; -1 when there is no such folder. */
int folder_count(const char *folder);
/* Fails the test unless the file holds exactly this text. */
void folder_expect(const char *path, const char *text);

#endif
