<?php
# SPDX-License-Identifier: GPL-2.0-or-later
# As stacks.py: every tenth call goes through usort(), and another tenth through array_map(). Runs until it is killed.
const DEPTH = 60;

function burn()
{
    $until = microtime(true) + 0.004;
    for ($total = 0; microtime(true) < $until;)
        for ($i = 0; $i < 100; $i++)
            $total += $i ^ ($total & 7);
}

function nap()
{
    usleep(1000);
}

function ask()
{
    static $pair;
    $pair = $pair ?: stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $read = [$pair[0]];
    $none = null;
    stream_select($read, $none, $none, 0, 1000);
}

class Order
{
    static function compare($a, $b)
    {
        down($a[0], $a[1]);
        return 0;
    }
}

function through($below)
{
    down($below[0], $below[1]);
}

function down($depth, $bottom)
{
    if ($depth == 0) {
        $bottom();
    } elseif ($depth % 10 == 0) {
        $pair = [[$depth - 1, $bottom], [$depth - 1, $bottom]];
        usort($pair, ['Order', 'compare']);
    } elseif ($depth % 10 == 5) {
        array_map('through', [[$depth - 1, $bottom]]);
    } else {
        down($depth - 1, $bottom);
    }
}

function top()
{
    while (true)
        foreach (['burn', 'nap', 'ask'] as $bottom)
            down(DEPTH, $bottom);
}

echo "ready\n";
flush();
top();
