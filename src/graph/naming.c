#include "graph/naming.h"

#include <string.h>

name_kind tensor_name_kind(const ft_graph *graph, const ft_tensor *tensor) {
    const char *name = tensor->name;
    if (graph->format != FT_FORMAT_ONNX) return NAME_PLAIN;
    if (name[0] == '/') return strncmp(strrchr(name, '/'), "/Constant", 9) == 0 ? NAME_LITERAL : NAME_COMPUTED;
    return strchr(name, '.') != NULL && strstr(name, "::") == NULL ? NAME_MEMBER : NAME_PLAIN;
}

const char *name_kind_example(name_kind kind) {
    switch (kind) {
    case NAME_PLAIN:
        break;
    case NAME_MEMBER:
        return "module.member";
    case NAME_COMPUTED:
        return "/computed";
    case NAME_LITERAL:
        return "/Constant";
    }
    return "";
}
