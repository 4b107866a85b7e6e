// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.function.IntUnaryOperator;

/** What hotspot-*.memory were recorded of: a thread that sleeps below compiled and interpreted functions. */
public class Recorded {
    static int sum;

    static void nap(int milliseconds) throws InterruptedException {
        if (milliseconds > 0)
            Thread.sleep(milliseconds);
    }

    static int leaf(int milliseconds) {
        try {
            nap(milliseconds);
        } catch (InterruptedException e) {
            sum--;
        }
        return ++sum;
    }

    static int middle(int milliseconds) {
        return leaf(milliseconds) + 1;
    }

    static synchronized int outer(int milliseconds) {
        return middle(milliseconds) + 1;
    }

    static int once(IntUnaryOperator operator, int milliseconds) {
        return operator.applyAsInt(milliseconds);
    }

    public static void main(String[] args) {
        for (int i = 0; i < 100000; i++)
            outer(0);
        once(milliseconds -> outer(milliseconds), 1000000);
    }
}
