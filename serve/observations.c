/* observations.c - the file of observations and the rolling error of predictions. */
#include "observations.h"
#include "problem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEVICES = 256, MAX_ROW = 1 << 16 };

/* Each observation weighs 1/20 of the error; the first ones all the same. */
static const double WEIGHT = 0.05;

typedef struct rolling {
    uint64_t count;
    double error; /* mean of |predicted / measured - 1| */
    double bias;  /* mean of predicted / measured - 1 */
} rolling;

typedef struct device_error {
    char device[64];
    uint64_t count;
    rolling time, memory;
} device_error;

struct observations {
    char path[PATH_MAX];
    int fd;
    pthread_mutex_t lock; /* of all below, and of writing */
    uint64_t size, count;
    device_error devices[MAX_DEVICES];
    uint32_t device_count;
};

static ft_status fail(ft_error *error, const char *path, const char *what) {
    return error_set(error, FT_ERR_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* --- Errors ------------------------------------------------------------------------------------------------------ */

static void roll(rolling *r, double measured, double predicted) {
    double error = predicted / measured - 1;
    if (!isfinite(error)) return;
    double weight = fmax(WEIGHT, 1.0 / (double)++r->count);
    r->error += weight * (fabs(error) - r->error);
    r->bias += weight * (error - r->bias);
}

static void count_observation(observations *o, models *m, const ft_observation *row) {
    uint32_t i = 0;
    char id[MODEL_ID_SIZE];
    while (i < o->device_count && strcmp(o->devices[i].device, row->device) != 0) i++;
    o->count++;
    snprintf(id, sizeof id, "%.64s", row->model);
    models_pin(m, id);
    if (i == MAX_DEVICES) return;
    device_error *d = &o->devices[i];
    if (i == o->device_count) {
        memcpy(d->device, row->device, sizeof d->device);
        o->device_count++;
    }
    d->count++;
    roll(&d->time, row->time_us, row->predicted_time_us);
    roll(&d->memory, row->peak_bytes, row->predicted_peak_bytes);
}

/* --- The file ---------------------------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* Reads all rows; sets `size` to the end of the last complete one. */
static ft_status replay(observations *o, models *m, FILE *file, ft_error *error) {
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, file)) > 0 && line[length - 1] == '\n';) {
        ft_observation row;
        bool is_heading = o->size == 0;
        o->size += (size_t)length;
        if (is_heading && strcmp(line, ft_observation_columns()) == 0) continue;
        if (!is_heading && ft_observation_read(line, (size_t)length, &row, error) == FT_OK) {
            count_observation(o, m, &row);
            continue;
        }
        free(line);
        return error_set(error, FT_ERR_DAMAGED, "%s: not a file of observations: move it away", o->path);
    }
    free(line);
    return ferror(file) ? fail(error, o->path, "cannot read it") : FT_OK;
}

static ft_status open_file(observations *o, models *m, ft_error *error) {
    o->fd = open(o->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    int copy = o->fd >= 0 ? dup(o->fd) : -1;
    FILE *file = copy >= 0 ? fdopen(copy, "r") : NULL;
    if (file == NULL) return fail(error, o->path, "cannot open it");
    ft_status status = replay(o, m, file, error);
    fclose(file);
    if (status != FT_OK) return status;
    if (ftruncate(o->fd, (off_t)o->size) != 0 || lseek(o->fd, (off_t)o->size, SEEK_SET) < 0)
        return fail(error, o->path, "cannot write to it");
    if (o->size > 0) return FT_OK;
    const char *heading = ft_observation_columns();
    if (!write_all(o->fd, heading, strlen(heading)) || fsync(o->fd) != 0)
        return fail(error, o->path, "cannot write to it");
    o->size = strlen(heading);
    return FT_OK;
}

static void sync_folder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

ft_status observations_open(const char *folder, models *m, observations **made, ft_error *error) {
    observations *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return error_set(error, FT_ERR_NOMEM, "out of memory");
    }
    o->fd = -1;
    pthread_mutex_init(&o->lock, NULL);
    snprintf(o->path, sizeof o->path, "%s/observations.csv", folder);
    ft_status status = open_file(o, m, error);
    if (status == FT_OK) sync_folder(folder);
    if (status == FT_OK)
        *made = o;
    else
        observations_close(o);
    return status;
}

void observations_close(observations *o) {
    if (o == NULL) return;
    if (o->fd >= 0) close(o->fd);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* A row that could not be written whole is taken back: the next one must not follow half of it. */
static bool append(observations *o, const char *row, size_t size) {
    if (write_all(o->fd, row, size) && fdatasync(o->fd) == 0) {
        o->size += size;
        return true;
    }
    int code = errno;
    if (ftruncate(o->fd, (off_t)o->size) == 0) lseek(o->fd, (off_t)o->size, SEEK_SET);
    errno = code;
    return false;
}

static void put_ratio(text *t, const char *name, double measured, double predicted) {
    text_format(t, ", \"%s\": ", name);
    text_number(t, predicted / measured - 1);
}

ft_status observations_add(observations *o, models *m, const char *row, size_t size, text *answer, ft_error *error) {
    ft_observation read;
    ft_status status = ft_observation_read(row, size, &read, error);
    if (status != FT_OK) return status;
    if (size > MAX_ROW) {
        return error_set(error, FT_ERR_LIMIT, "the observation is too long");
    }
    pthread_mutex_lock(&o->lock);
    bool is_written = append(o, row, size);
    if (is_written)
        count_observation(o, m, &read);
    else
        status = fail(error, o->path, "cannot write to it");
    uint64_t count = o->count;
    pthread_mutex_unlock(&o->lock);
    if (!is_written) return status;
    text_format(answer, "{\"observation\": %llu, \"device\": ", (unsigned long long)count);
    text_json(answer, read.device);
    text_put(answer, ", \"predicted_time_us\": ");
    text_number(answer, read.predicted_time_us);
    text_put(answer, ", \"predicted_peak_bytes\": ");
    text_number(answer, read.predicted_peak_bytes);
    put_ratio(answer, "time_error_ratio", read.time_us, read.predicted_time_us);
    put_ratio(answer, "peak_error_ratio", read.peak_bytes, read.predicted_peak_bytes);
    text_put(answer, "}\n");
    return FT_OK;
}

int observations_open_file(observations *o, uint64_t *size) {
    pthread_mutex_lock(&o->lock);
    *size = o->size;
    pthread_mutex_unlock(&o->lock);
    return open(o->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* --- Metrics ----------------------------------------------------------------------------------------------------- */

static void put_rolling(text *t, const char *metric, const char *device, const char *what, const rolling *r,
                        bool is_bias) {
    if (r->count == 0) return;
    text_format(t, "%s{device=", metric);
    text_json(t, device);
    text_format(t, ",metric=\"%s\"} %.6g\n", what, is_bias ? r->bias : r->error);
}

void observations_put_metrics(observations *o, text *t) {
    pthread_mutex_lock(&o->lock);
    text_put(t, "# HELP foretell_observations_total Observations of finished jobs.\n"
                "# TYPE foretell_observations_total counter\n");
    for (uint32_t i = 0; i < o->device_count; i++) {
        text_put(t, "foretell_observations_total{device=");
        text_json(t, o->devices[i].device);
        text_format(t, "} %llu\n", (unsigned long long)o->devices[i].count);
    }
    for (int is_bias = 0; is_bias < 2; is_bias++) {
        const char *name = is_bias ? "foretell_observation_bias_ratio" : "foretell_observation_error_ratio";
        text_format(t, "# HELP %s Rolling mean of %s over observations.\n# TYPE %s gauge\n", name,
                    is_bias ? "predicted / measured - 1" : "|predicted / measured - 1|", name);
        for (uint32_t i = 0; i < o->device_count; i++) {
            put_rolling(t, name, o->devices[i].device, "time", &o->devices[i].time, is_bias);
            put_rolling(t, name, o->devices[i].device, "peak", &o->devices[i].memory, is_bias);
        }
    }
    pthread_mutex_unlock(&o->lock);
}
