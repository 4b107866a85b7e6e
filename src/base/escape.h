/* Texts of a profile in other languages. They are UTF-8 without control characters already. */
#pragma once

#include <stdio.h>

/* With quotation marks. */
void escape__json(FILE *out, const char *text);
/* For text and attributes. */
void escape__xml(FILE *out, const char *text);
