/* What the limits of this process mean for files that it writes. */
#pragma once

/*
 * From now on a file that reaches `ulimit -f` is a write that fails with EFBIG, as on a full disk,
 * and not the end of the program.
 */
void limits__outlive(void);
/* As it was before: for a program that is executed next. */
void limits__restore(void);
