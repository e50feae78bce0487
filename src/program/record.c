/* record.c - records of tuning logs: reading a line of either tuner, and the canonical text of its program. */
#include "program/record.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_pull.h"
#include "program/template.h"

/* --- Reading ------------------------------------------------------------------------------------------------- */

/* A record of AutoTVM has "input" or, in its older version, an "i" that begins with the target instead of a list. */
static bool is_autotvm(const char *line, size_t length) {
    json_pull pull;
    bool first = true;
    json_text key;
    json_pull_init(&pull, line, length);
    if (json_pull_peek(&pull) != '{' || !json_pull_open(&pull, '{')) return false;
    while (json_pull_more(&pull, '}', &first) && json_pull_key(&pull, &key)) {
        if (json_text_is(&key, "input")) return true;
        if (json_text_is(&key, "i"))
            return json_pull_peek(&pull) == '[' && json_pull_open(&pull, '[') && json_pull_peek(&pull) == '"';
        if (!json_pull_skip(&pull)) return false;
    }
    return false;
}

ft_status program_record_read(const char *line, size_t length, ansor_record *record, autotvm_record *tuned,
                              bool *is_record, ft_error *error) {
    if (!is_autotvm(line, length)) return ansor_read(line, length, record, is_record, error);
    FT_TRY(autotvm_read(line, length, tuned, is_record, error));
    if (!*is_record) return FT_OK;
    ft_status status = template_apply(tuned, record, error);
    *is_record = status == FT_OK;
    return status;
}

/* --- Canonical text ------------------------------------------------------------------------------------------ */

/* Without spaces, and with padding as a number when it is the same on all sides: logs of one device have "SAME" where
 * those of another have 1. */
static bool spell_workload(const char *key, const workload *w, char spelled[static FT_PROGRAM_TASK_SIZE]) {
    size_t length = 0;
    for (; *key != '\0'; key++) {
        if (*key == ' ') continue;
        if (length + 24 > FT_PROGRAM_TASK_SIZE) return false;
        spelled[length++] = *key;
    }
    spelled[length] = '\0';
    bool has_padding = w->kernel_height > 0;
    bool is_even = w->pad_top == w->pad_left && w->pad_top == w->pad_bottom && w->pad_top == w->pad_right;
    char *list = strstr(spelled + 1, ",["), *last = list != NULL ? list : strrchr(spelled, ',');
    if (has_padding && is_even && last != NULL) snprintf(last, 24, ",%lld]", (long long)w->pad_top);
    return true;
}

/* ["conv2d_layer",1,64,...] + _add -> conv2d_layer 1 64 ... add */
static void name_task(const char *spelled, const char *fused, char task[static FT_PROGRAM_TASK_SIZE]) {
    size_t length = 0;
    for (; *spelled != '\0' && length + 32 < FT_PROGRAM_TASK_SIZE; spelled++) {
        if (*spelled == '"' || *spelled == '[' || *spelled == ']') continue;
        task[length++] = *spelled == ',' ? ' ' : *spelled;
    }
    assert(length < FT_PROGRAM_TASK_SIZE);
    snprintf(task + length, FT_PROGRAM_TASK_SIZE - length, "%s%.24s", fused[0] != '\0' ? " " : "",
             fused[0] == '_' ? fused + 1 : fused);
}

ft_status program_text(const ansor_record *record, buf *text, char task[static FT_PROGRAM_TASK_SIZE], workload *w,
                       ft_error *error) {
    char spelled[FT_PROGRAM_TASK_SIZE];
    FT_TRY(workload_parse(record->workload, record->fused, w, error));
    if (!spell_workload(record->workload, w, spelled))
        return ft_fail(error, FT_ERR_LIMIT, "the key of the workload is too long");
    name_task(spelled, record->fused, task);
    text->length = 0;
    ansor_write_program(record, spelled, text);
    return text->failed ? FT_NOMEM(error) : FT_OK;
}
