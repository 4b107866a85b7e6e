# Any text as a C string, a line at a time.
s/[\\"]/\\&/g
s/.*/"&\\n"/
