/* record.c - see record.h. */
#include "program/record.h"

#include "base/error.h"
#include "base/json_pull.h"
#include "program/template.h"

/* AutoTVM's has "input" or, in its older version, an "i" that begins with the target and not with a list. */
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
