# SPDX-License-Identifier: GPL-2.0-or-later
# Any text as a C string, a line at a time. The licence is that of our source, not of what the program writes.
/^\(#\|\/\*\) SPDX-License-Identifier:/d
s/[\\"]/\\&/g
# "??-" would be another character.
s/??/?\\?/g
s/.*/"&\\n"/
