// SPDX-License-Identifier: GPL-2.0-or-later
/** Deep DEPTH: so many calls, and at the innermost one a loop without an end. */
class Deep {
    static volatile long sink;

    static long descend(int depth) {
        long sum = 0;
        if (depth == 0) {
            for (sink = 1; sink != 0; sink |= 1)
                sum += sum * 7 + 1;
            return sum;
        }
        sum = descend(depth - 1);
        sink += sum;
        return sum;
    }

    public static void main(String[] arguments) {
        descend(Integer.parseInt(arguments[0]));
    }
}
