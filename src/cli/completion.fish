# SPDX-License-Identifier: GPL-2.0-or-later
# Completion for fish, made by 'gapless completion fish'.

# The words between the command and "--".
function __gapless_before
    for word in (commandline -opc)[3..]
        test "$word" = --; and return
        echo -- $word
    end
end

# Whether the command is VERB, and there is no "--" yet.
function __gapless_is -a verb
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = "$verb"; and not contains -- -- $words
end

function __gapless_no_verb
    test (count (commandline -opc)) -eq 1
end

# Whether none of the words was given yet; the first may be a pattern.
function __gapless_without
    for word in (__gapless_before)
        string match -q -- $argv[1] $word; and return 1
        contains -- $word $argv; and return 1
    end
    return 0
end

function __gapless_words
    printf '%s\n' $argv
end

# Whether the command is VERB, and there is a "--".
function __gapless_behind -a verb
    set -l words (commandline -opc)
    test (count $words) -ge 3; and test "$words[2]" = "$verb"; and contains -- -- $words
end

# Completes the words after "--" as a command line of their own.
function __gapless_command
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words); or return
    set -e words[1..$at]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c gapless -f
