/* style.h - checks of the style that a caller passes. */
#ifndef REPORT_STYLE_H
#define REPORT_STYLE_H

#include "foretell/inspect.h"

/* FT_ERR_USAGE when the style asks for no document that there is. */
ft_status style_check(const ft_style *style, ft_error *error);

#endif
