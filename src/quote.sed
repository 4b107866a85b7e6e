# Any text as a C string, a line at a time.
s/[\\"]/\\&/g
# "??-" would be another character.
s/??/?\\?/g
s/.*/"&\\n"/
