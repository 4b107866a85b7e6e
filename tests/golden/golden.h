/* What an output is held against: files in expected/. GAPLESS_GOLDEN_UPDATE=1 rewrites them. */
#pragma once

/* Fails the test if `text` is not what the file `name` has, to the byte. */
void golden__expect(const char *name, const char *text);
