// SPDX-License-Identifier: GPL-2.0-or-later
// Collects garbage once for each byte that it reads, and says how often its runtime has counted a collection since the last
// one.
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

public class Collects {
    static long count() {
        long count = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans())
            count += collector.getCollectionCount();
        return count;
    }

    public static void main(String[] args) throws Exception {
        Thread.currentThread().setName("collects");
        count();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            long before = count();
            System.gc();
            System.out.println("{\"collections\": " + (count() - before) + "}");
        }
    }
}
