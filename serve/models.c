/* models.c - the store of uploads, and paths in allowed folders.
 *
 * An upload is the file ID.model, where ID is the SHA-256 of its bytes; a name is a file NAME.name with an id in it.
 * Both appear by link and rename, so what a crash leaves is complete or absent. */
#include "models.h"
#include "problem.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct upload {
    char id[MODEL_ID_SIZE];
    uint64_t size;
    uint64_t used; /* counts up with every use */
    bool is_pinned;
} upload;

typedef struct named {
    char *name;
    char id[MODEL_ID_SIZE];
} named;

typedef struct folder {
    char path[PATH_MAX]; /* without links */
    int fd;
} folder;

struct models {
    char store[PATH_MAX]; /* "": there is none */
    int store_fd;
    uint64_t max_bytes;
    folder folders[SERVE_MAX_NAMES];
    uint32_t folder_count;
    pthread_mutex_t lock; /* of all below */
    upload *uploads;
    size_t upload_count, upload_room;
    named *names;
    size_t name_count, name_room;
    uint64_t bytes, clock;
};

static bool is_id(const char *text) {
    return strlen(text) == MODEL_ID_SIZE - 1 && strspn(text, "0123456789abcdef") == MODEL_ID_SIZE - 1;
}

bool models_is_name(const char *name) {
    size_t length = strlen(name);
    return length > 0 && length <= MODEL_NAME_MAX && !is_id(name) && isalnum((unsigned char)name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

bool models_has_store(const models *m) {
    return m->store[0] != '\0';
}

/* --- The index of uploads; the lock is held --------------------------------------------------------------------- */

static upload *find_upload(models *m, const char *id) {
    for (size_t i = 0; i < m->upload_count; i++)
        if (memcmp(m->uploads[i].id, id, MODEL_ID_SIZE) == 0) return &m->uploads[i];
    return NULL;
}

static named *find_name(models *m, const char *name) {
    for (size_t i = 0; i < m->name_count; i++)
        if (strcmp(m->names[i].name, name) == 0) return &m->names[i];
    return NULL;
}

/* By id or name. */
static upload *find_text(models *m, const char *text) {
    if (is_id(text)) return find_upload(m, text);
    const named *n = find_name(m, text);
    return n != NULL ? find_upload(m, n->id) : NULL;
}

static bool add_upload(models *m, const char *id, uint64_t size, uint64_t used) {
    if (m->upload_count == m->upload_room) {
        size_t room = m->upload_room > 0 ? 2 * m->upload_room : 64;
        upload *larger = realloc(m->uploads, room * sizeof *larger);
        if (larger == NULL) return false;
        m->uploads = larger;
        m->upload_room = room;
    }
    upload *u = &m->uploads[m->upload_count++];
    *u = (upload){.size = size, .used = used};
    memcpy(u->id, id, MODEL_ID_SIZE);
    m->bytes += size;
    return true;
}

static bool add_name(models *m, const char *name, const char *id) {
    named *old = find_name(m, name);
    if (old == NULL) {
        if (m->name_count == m->name_room) {
            size_t room = m->name_room > 0 ? 2 * m->name_room : 64;
            named *larger = realloc(m->names, room * sizeof *larger);
            if (larger == NULL) return false;
            m->names = larger;
            m->name_room = room;
        }
        old = &m->names[m->name_count];
        old->name = strdup(name);
        if (old->name == NULL) return false;
        m->name_count++;
    }
    memcpy(old->id, id, MODEL_ID_SIZE);
    return true;
}

static void forget_upload(models *m, upload *u) {
    char path[MODEL_NAME_MAX + 16];
    snprintf(path, sizeof path, "%s.model", u->id);
    unlinkat(m->store_fd, path, 0);
    for (size_t i = m->name_count; i-- > 0;) {
        if (memcmp(m->names[i].id, u->id, MODEL_ID_SIZE) != 0) continue;
        snprintf(path, sizeof path, "%s.name", m->names[i].name);
        unlinkat(m->store_fd, path, 0);
        free(m->names[i].name);
        m->names[i] = m->names[--m->name_count];
    }
    m->bytes -= u->size;
    *u = m->uploads[--m->upload_count];
}

/* --- Opening ---------------------------------------------------------------------------------------------------- */

static ft_status fail(ft_error *error, const char *path, const char *what) {
    return error_set(error, FT_ERR_IO, "%s: %s: %s", path, what, strerror(errno));
}

static void load_name(models *m, const char *file) {
    char name[MODEL_NAME_MAX + 16], id[MODEL_ID_SIZE] = "";
    snprintf(name, sizeof name, "%.*s", (int)strlen(file) - 5, file);
    int fd = openat(m->store_fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    ssize_t got = read(fd, id, sizeof id - 1);
    close(fd);
    if (got == MODEL_ID_SIZE - 1 && is_id(id) && models_is_name(name)) add_name(m, name, id);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

static void load_entry(models *m, const char *file) {
    char id[MODEL_ID_SIZE] = "";
    struct stat info;
    if (strlen(file) > MODEL_NAME_MAX + 8) return;
    if (ends_with(file, ".name")) load_name(m, file);
    if (!ends_with(file, ".model")) return;
    snprintf(id, sizeof id, "%.*s", (int)strlen(file) - 6, file);
    if (is_id(id) && fstatat(m->store_fd, file, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
        add_upload(m, id, (uint64_t)info.st_size, (uint64_t)info.st_mtime);
}

static ft_status open_store(models *m, const char *path, ft_error *error) {
    if (mkdir(path, 0750) != 0 && errno != EEXIST) return fail(error, path, "cannot make the folder");
    if (realpath(path, m->store) == NULL) return fail(error, path, "cannot open the folder");
    m->store_fd = open(m->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m->store_fd < 0) return fail(error, path, "cannot open the folder");
    if (faccessat(m->store_fd, ".", W_OK, 0) != 0) return fail(error, path, "cannot write to the folder");
    int copy = dup(m->store_fd);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (dir == NULL) return fail(error, path, "cannot list the folder");
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) load_entry(m, entry->d_name);
    closedir(dir);
    m->clock = (uint64_t)time(NULL); /* later uses are newer than the times of all files */
    return FT_OK;
}

static ft_status open_folder(models *m, const char *path, ft_error *error) {
    folder *f = &m->folders[m->folder_count];
    if (realpath(path, f->path) == NULL) return fail(error, path, "cannot open the folder");
    f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd < 0) return fail(error, path, "cannot open the folder");
    m->folder_count++;
    return FT_OK;
}

ft_status models_open(const serve_options *options, models **made, ft_error *error) {
    models *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return error_set(error, FT_ERR_NOMEM, "out of memory");
    }
    m->store_fd = -1;
    m->max_bytes = options->max_models;
    pthread_mutex_init(&m->lock, NULL);
    ft_status status = options->models != NULL ? open_store(m, options->models, error) : FT_OK;
    for (uint32_t i = 0; i < options->folder_count && status == FT_OK; i++)
        status = open_folder(m, options->folders[i], error);
    if (status == FT_OK)
        *made = m;
    else
        models_close(m);
    return status;
}

void models_close(models *m) {
    if (m == NULL) return;
    for (size_t i = 0; i < m->name_count; i++) free(m->names[i].name);
    for (uint32_t i = 0; i < m->folder_count; i++) close(m->folders[i].fd);
    if (m->store_fd >= 0) close(m->store_fd);
    pthread_mutex_destroy(&m->lock);
    free(m->uploads);
    free(m->names);
    free(m);
}

/* --- Paths ------------------------------------------------------------------------------------------------------- */

/* The path behind an allowed folder; NULL: it is not in it. */
static const char *path_inside(const folder *f, const char *text) {
    size_t length = strlen(f->path);
    if (text[0] != '/') return text;
    if (length == 1) return text + 1;
    return strncmp(text, f->path, length) == 0 && text[length] == '/' ? text + length + 1 : NULL;
}

/* The kernel refuses "..", links and what is outside; -1 then. */
static int open_inside(const folder *f, const char *path) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, f->fd, path, &how, sizeof how);
}

/* Equal keys have equal contents: of a file by its identity and time. What is in a folder may change unseen. */
static char *make_key(const char *path, const struct stat *info) {
    char *key = NULL;
    struct timespec now = {0};
    if (S_ISDIR(info->st_mode)) clock_gettime(CLOCK_MONOTONIC, &now);
    int size = asprintf(&key, "%s|%llu|%llu|%lld|%lld.%ld|%lld.%ld|%lld.%ld", path, (unsigned long long)info->st_dev,
                        (unsigned long long)info->st_ino, (long long)info->st_size, (long long)info->st_mtim.tv_sec,
                        info->st_mtim.tv_nsec, (long long)info->st_ctim.tv_sec, info->st_ctim.tv_nsec,
                        (long long)now.tv_sec, now.tv_nsec);
    return size >= 0 ? key : NULL;
}

/* False: there is no such file in an allowed folder. */
static bool find_path(const models *m, const char *text, model_ref *ref) {
    struct stat info;
    for (uint32_t i = 0; i < m->folder_count; i++) {
        const char *inside = path_inside(&m->folders[i], text);
        int fd = inside != NULL && inside[0] != '\0' ? open_inside(&m->folders[i], inside) : -1;
        if (fd < 0) continue;
        bool is_file = fstat(fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
        close(fd);
        if (!is_file) continue;
        if (asprintf(&ref->path, "%s/%s", m->folders[i].path, inside) < 0) ref->path = NULL;
        ref->key = ref->path != NULL ? make_key(ref->path, &info) : NULL;
        ref->kind = MODEL_PATH;
        return true;
    }
    return false;
}

/* --- Finding ----------------------------------------------------------------------------------------------------- */

static bool find_stored(models *m, const char *text, model_ref *ref) {
    pthread_mutex_lock(&m->lock);
    upload *u = find_text(m, text);
    if (u != NULL) {
        u->used = ++m->clock;
        ref->kind = MODEL_BYTES;
        ref->key = strdup(u->id);
        if (asprintf(&ref->path, "%s/%s.model", m->store, u->id) < 0) ref->path = NULL;
    }
    pthread_mutex_unlock(&m->lock);
    return u != NULL;
}

/* A model of the library. */
static bool find_bundled(const char *text, model_ref *ref) {
    uint32_t index = ft_model_find(text);
    if (index == FT_NONE) return false;
    ref->kind = MODEL_BUNDLED;
    ref->path = strdup(ft_model_name(index));
    if (asprintf(&ref->key, "bundled|%s", ft_model_name(index)) < 0) ref->key = NULL;
    return true;
}

static void explain(const models *m, const char *text, model_ref *ref) {
    const char *where = m->folder_count > 0 ? ", and no file in the allowed folders" : "; files are not allowed here";
    ref->kind = MODEL_PROBLEM;
    ref->http_status = 404;
    ref->key = strdup("");
    ref->path = strdup("");
    if (asprintf(&ref->name, "model '%.200s': no upload of this id or name, no bundled model%s", text, where) < 0)
        ref->name = NULL;
}

bool models_find(models *m, const char *text, const char *name, model_ref *ref) {
    *ref = (model_ref){0};
    if (find_stored(m, text, ref) || find_path(m, text, ref) || find_bundled(text, ref))
        ref->name = strdup(name != NULL ? name : text);
    else
        explain(m, text, ref);
    if (ref->key != NULL && ref->path != NULL && ref->name != NULL) return true;
    model_ref_free(ref);
    return false;
}

bool models_is_current(models *m, const char *text, const char *key) {
    model_ref ref;
    pthread_mutex_lock(&m->lock);
    upload *u = find_text(m, text);
    if (u != NULL) u->used = ++m->clock;
    bool is_same = u != NULL && strcmp(u->id, key) == 0;
    pthread_mutex_unlock(&m->lock);
    if (u != NULL) return is_same;
    if (!models_find(m, text, NULL, &ref)) return false;
    is_same = ref.kind != MODEL_PROBLEM && strcmp(ref.key, key) == 0;
    model_ref_free(&ref);
    return is_same;
}

/* --- Keeping ----------------------------------------------------------------------------------------------------- */

int models_new_file(const models *m) {
    if (!models_has_store(m)) return memfd_create("model", MFD_CLOEXEC);
    return openat(m->store_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0640);
}

static bool link_file(const models *m, int fd, const char *id) {
    char from[64], to[MODEL_ID_SIZE + 8];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    snprintf(to, sizeof to, "%s.model", id);
    return fdatasync(fd) == 0 && (linkat(AT_FDCWD, from, m->store_fd, to, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST);
}

static bool write_name(const models *m, const char *name, const char *id) {
    char temporary[] = ".name-tmp", path[MODEL_NAME_MAX + 8];
    snprintf(path, sizeof path, "%s.name", name);
    int fd = openat(m->store_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0) return false;
    bool is_written = write(fd, id, MODEL_ID_SIZE - 1) == MODEL_ID_SIZE - 1;
    is_written = fsync(fd) == 0 && is_written;
    is_written = close(fd) == 0 && is_written;
    return is_written && renameat(m->store_fd, temporary, m->store_fd, path) == 0;
}

/* False: what is left is pinned, or the upload is larger than all may be. */
static bool make_room(models *m, uint64_t size) {
    while (m->bytes + size > m->max_bytes) {
        upload *oldest = NULL;
        for (size_t i = 0; i < m->upload_count; i++)
            if (!m->uploads[i].is_pinned && (oldest == NULL || m->uploads[i].used < oldest->used))
                oldest = &m->uploads[i];
        if (oldest == NULL) return false;
        forget_upload(m, oldest);
    }
    return true;
}

unsigned models_keep(models *m, int fd, const char *id, const char *name, uint64_t size) {
    unsigned status = 507;
    pthread_mutex_lock(&m->lock);
    upload *u = find_upload(m, id);
    if (u != NULL) {
        u->used = ++m->clock;
        status = 200;
    } else if (size <= m->max_bytes && make_room(m, size) && link_file(m, fd, id) &&
               add_upload(m, id, size, ++m->clock)) {
        status = 201;
    }
    if (status != 507 && name != NULL && !(write_name(m, name, id) && add_name(m, name, id))) status = 507;
    if (status != 507) fsync(m->store_fd);
    pthread_mutex_unlock(&m->lock);
    return status;
}

void models_pin(models *m, const char *id) {
    if (!is_id(id)) return;
    pthread_mutex_lock(&m->lock);
    upload *u = find_upload(m, id);
    if (u != NULL) u->is_pinned = true;
    pthread_mutex_unlock(&m->lock);
}

int models_open_file(models *m, const char *text, uint64_t *size) {
    int fd = -1;
    pthread_mutex_lock(&m->lock);
    const upload *u = find_text(m, text);
    if (u != NULL) {
        char path[MODEL_ID_SIZE + 8];
        snprintf(path, sizeof path, "%s.model", u->id);
        *size = u->size;
        fd = openat(m->store_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    }
    pthread_mutex_unlock(&m->lock);
    return fd;
}

unsigned models_remove(models *m, const char *text) {
    pthread_mutex_lock(&m->lock);
    upload *u = find_text(m, text);
    unsigned status = u == NULL ? 404 : u->is_pinned ? 409 : 204;
    if (status == 204) forget_upload(m, u);
    pthread_mutex_unlock(&m->lock);
    return status;
}

/* --- Lists ------------------------------------------------------------------------------------------------------- */

void models_put_list(models *m, text *t) {
    pthread_mutex_lock(&m->lock);
    text_put(t, "{\"models\": [");
    for (size_t i = 0; i < m->upload_count; i++) {
        const upload *u = &m->uploads[i];
        bool has_names = false;
        text_format(t, "%s\n  {\"id\": \"%s\", \"bytes\": %llu, \"has_observations\": %s, \"names\": [",
                    i > 0 ? "," : "", u->id, (unsigned long long)u->size, u->is_pinned ? "true" : "false");
        for (size_t n = 0; n < m->name_count; n++) {
            if (memcmp(m->names[n].id, u->id, MODEL_ID_SIZE) != 0) continue;
            if (has_names) text_put(t, ", ");
            text_json(t, m->names[n].name);
            has_names = true;
        }
        text_put(t, "]}");
    }
    text_put(t, m->upload_count > 0 ? "\n]}\n" : "]}\n");
    pthread_mutex_unlock(&m->lock);
}

void models_get_totals(models *m, uint64_t *count, uint64_t *bytes) {
    pthread_mutex_lock(&m->lock);
    *count = m->upload_count;
    *bytes = m->bytes;
    pthread_mutex_unlock(&m->lock);
}
