/* pickle_scalar.c - opcodes that push a number or a text, binary or (in old protocols) as lines. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "read/pickle/pickle_machine.h"

/* --- Scalars ----------------------------------------------------------------------------------------------------- */

static ft_status push_int(pickle_machine *m, pickle_kind kind, int64_t i) {
    assert(kind == PICKLE_INT || kind == PICKLE_BOOL);
    pickle_value *value = pickle_new(m->out, kind, m->error);
    if (value != NULL) value->i = i;
    return pickle_push(m, value);
}

static ft_status push_float(pickle_machine *m, double f) {
    pickle_value *value = pickle_new(m->out, PICKLE_FLOAT, m->error);
    if (value != NULL) value->f = f;
    return pickle_push(m, value);
}

static ft_status push_string(pickle_machine *m, const char *text, uint64_t length) {
    pickle_value *value = pickle_new(m->out, PICKLE_STRING, m->error);
    if (value == NULL) return FT_ERR_NOMEM;
    value->s = arena_string(&m->out->memory, text, (size_t)length);
    if (value->s == NULL) return FT_NOMEM(m->error);
    value->count = (uint32_t)length; /* at most MAX_PICKLE_BYTES */
    return pickle_push(m, value);
}

/* A string preceded by its length in `width` bytes. */
ft_status pickle_op_counted_string(pickle_machine *m, size_t width) {
    uint64_t length = 0;
    const uint8_t *bytes = NULL;
    FT_TRY(pickle_read_number(m, width, &length));
    FT_TRY(pickle_read_bytes(m, length > SIZE_MAX ? SIZE_MAX : (size_t)length, &bytes));
    return push_string(m, (const char *)bytes, length);
}

/* Two's complement, little-endian, of any length. */
ft_status pickle_op_long(pickle_machine *m, size_t width) {
    uint64_t length = 0;
    const uint8_t *bytes = NULL;
    FT_TRY(pickle_read_number(m, width, &length));
    FT_TRY(pickle_read_bytes(m, (size_t)length, &bytes));
    bool is_negative = length > 0 && bytes[length - 1] >> 7 != 0;
    if (length <= 8) {
        uint64_t bits = is_negative ? UINT64_MAX : 0;
        for (size_t i = 0; i < length; i++) bits = (bits & ~(UINT64_C(255) << 8 * i)) | (uint64_t)bytes[i] << 8 * i;
        return push_int(m, PICKLE_INT, (int64_t)bits);
    }
    double sum = 0;
    for (size_t i = (size_t)length; i > 0; i--) sum = sum * 256 + (is_negative ? (uint8_t)~bytes[i - 1] : bytes[i - 1]);
    return push_float(m, is_negative ? -(sum + 1) : sum);
}

/* "12", "12L", and 00 and 01, the booleans of protocol 1. */
ft_status pickle_op_text_int(pickle_machine *m, size_t unused) {
    (void)unused;
    const char *line = NULL;
    size_t length = 0;
    int64_t value;
    double large;
    FT_TRY(pickle_read_line(m, &line, &length));
    if (length == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return push_int(m, PICKLE_BOOL, line[1] == '1');
    if (length > 1 && line[length - 1] == 'L') length--;
    if (text_int(line, length, &value)) return push_int(m, PICKLE_INT, value);
    if (text_double(line, length, &large)) return push_float(m, large);
    return pickle_damaged(m, "an invalid integer");
}

ft_status pickle_op_text_float(pickle_machine *m, size_t unused) {
    (void)unused;
    const char *line = NULL;
    size_t length = 0;
    double value;
    FT_TRY(pickle_read_line(m, &line, &length));
    if (text_double(line, length, &value)) return push_float(m, value);
    if (length == 3 && memcmp(line, "nan", 3) == 0) return push_float(m, NAN);
    if (length == 3 && memcmp(line, "inf", 3) == 0) return push_float(m, INFINITY);
    if (length == 4 && memcmp(line, "-inf", 4) == 0) return push_float(m, -INFINITY);
    return pickle_damaged(m, "an invalid number");
}

ft_status pickle_op_binary_float(pickle_machine *m, size_t unused) {
    (void)unused;
    const uint8_t *bytes = NULL;
    FT_TRY(pickle_read_bytes(m, 8, &bytes));
    uint64_t bits = 0;
    double value;
    for (int i = 0; i < 8; i++) bits = bits << 8 | bytes[i];
    memcpy(&value, &bits, sizeof value);
    return push_float(m, value);
}

ft_status pickle_op_small_int(pickle_machine *m, size_t width) {
    assert(width <= 4);
    uint64_t number;
    FT_TRY(pickle_read_number(m, width, &number));
    return push_int(m, PICKLE_INT, width == 4 ? (int32_t)(uint32_t)number : (int64_t)number);
}

ft_status pickle_op_bool(pickle_machine *m, size_t is_true) {
    return push_int(m, PICKLE_BOOL, is_true != 0);
}

/* --- Text with escapes, protocol 0 ------------------------------------------------------------------------------- */

static ft_status push_unescaped(pickle_machine *m, const char *text, size_t length, bool is_unicode) {
    char *out = arena_alloc(&m->out->memory, 2 * length + 1);
    pickle_value *value = pickle_new(m->out, PICKLE_STRING, m->error);
    if (out == NULL || value == NULL) return FT_NOMEM(m->error);
    value->s = out;
    value->count = (uint32_t)pickle_unescape(text, length, is_unicode, out);
    return pickle_push(m, value);
}

ft_status pickle_op_text_unicode(pickle_machine *m, size_t unused) {
    (void)unused;
    const char *line = NULL;
    size_t length = 0;
    FT_TRY(pickle_read_line(m, &line, &length));
    return push_unescaped(m, line, length, true);
}

ft_status pickle_op_text_string(pickle_machine *m, size_t unused) {
    (void)unused;
    const char *line = NULL;
    size_t length = 0;
    FT_TRY(pickle_read_line(m, &line, &length));
    if (length > 0 && line[length - 1] == '\r') length--;
    bool is_quoted = length >= 2 && (line[0] == '\'' || line[0] == '"') && line[length - 1] == line[0];
    if (!is_quoted) return pickle_damaged(m, "a string without quotes");
    return push_unescaped(m, line + 1, length - 2, false);
}
