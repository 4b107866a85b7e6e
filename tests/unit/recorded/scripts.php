<?php
# SPDX-License-Identifier: GPL-2.0-or-later
# Calls itself in many ways, prints the chain of calls as PHP itself says, and waits.
# record_scripts.c records what gapless reads of it.
namespace Srv;

class Shop
{
    const CLOSURE_LINE = __LINE__ + 4;

    static function sell($items)
    {
        return array_map(function ($item) {
            return (new self)->price($item);
        }, $items);
    }

    function price($item)
    {
        usort($item, [$this, 'compare']);
        return $item;
    }

    function compare($a, $b)
    {
        return eval("\n\nreturn \\Srv\\chain();");
    }

    function __call($name, $arguments)
    {
        foreach (steps() as $step) {
            return $step;
        }
    }

    static function größe()
    {
        show();
    }
}

function chain()
{
    return (new Shop)->missing(

        1
    );
}

function steps()
{
    yield call_user_func('Srv\Shop::größe');
}

# Prints a line for each function in the list, from the innermost one on: whether it is written in
# PHP, its line, its first line, its file, and its name.
function show()
{
    tell('sleep', 0, 0, '');
    $line = __LINE__ + 6;
    $file = __FILE__;
    foreach (debug_backtrace() as $frame) {
        tell(name_of($frame), $line, first_line_of($frame), $file);
        [$line, $file] = [$frame['line'] ?? 0, $frame['file'] ?? ''];
    }
    tell('{main}', $line, 1, $file) || sleep(600);
}

function tell($name, $line, $first_line, $file)
{
    echo 'frame ', $line ? 1 : 0, " $line ", $line ? $first_line : 0, ' ', $file ?: '-', "|$name\n";
    flush();
}

function name_of($frame)
{
    return (isset($frame['class']) ? $frame['class'] . '::' : '') . $frame['function'];
}

function first_line_of($frame)
{
    if ($frame['function'] == 'eval')
        return 1;
    if (strpos($frame['function'], '{closure') !== false)
        return Shop::CLOSURE_LINE;
    if (isset($frame['class']))
        return (new \ReflectionMethod($frame['class'], $frame['function']))->getStartLine();
    return (new \ReflectionFunction($frame['function']))->getStartLine();
}

Shop::sell([[2, 1]]);
