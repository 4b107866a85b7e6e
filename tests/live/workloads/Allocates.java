// SPDX-License-Identifier: GPL-2.0-or-later
// Threads that allocate known numbers of bytes, by the count of the virtual machine, and wait for collections of
// garbage, whose time it counts as well. Goes on with each byte of its input; says "ready" when it waits for one.
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

public class Allocates {
    static final int ALIVE = 30000;
    static final int COLLECTIONS = 60;
    static final int YOUNG_BYTES = 8000000;
    static final com.sun.management.ThreadMXBean THREADS =
        (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    static final byte[][] alive = new byte[ALIVE][];
    static volatile Object last;

    interface Body {
        void run() throws Exception;
    }

    static void await() throws Exception {
        System.out.println("ready");
        System.in.read();
    }

    static Thread start(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static long collections() {
        long count = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
            count += bean.getCollectionCount();
        return count;
    }

    static long collectionMs() {
        long ms = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
            ms += bean.getCollectionTime();
        return ms;
    }

    // What was allocated before the recording began must not be counted.
    static void collect() throws Exception {
        for (int i = 0; i < ALIVE; i++)
            alive[i] = new byte[1000];
        await();
        long id = Thread.currentThread().getId(), bytes = THREADS.getThreadAllocatedBytes(id);
        long count = collections(), ms = collectionMs();
        for (int at = 0; collections() - count < COLLECTIONS; at++)
            for (int i = 0; i < 1000; i++)
                alive[(at * 1000 + i * 7919) % ALIVE] = new byte[1000];
        ms = collectionMs() - ms;
        count = collections() - count;
        bytes = THREADS.getThreadAllocatedBytes(id) - bytes;
        Thread young = start("young", Allocates::allocateYoung);
        Thread.sleep(300);
        long youngBytes = THREADS.getThreadAllocatedBytes(young.getId());
        await();
        System.out.println("{\"bytes\": " + bytes + ", \"young_bytes\": " + youngBytes + ", \"collections\": " + count
            + ", \"collection_ms\": " + ms + "}");
        System.out.flush();
        System.exit(0);
    }

    static void allocateYoung() throws Exception {
        for (int i = 0; i < YOUNG_BYTES / 1000; i++)
            last = new byte[1000 - 16];
        Thread.sleep(600000);
    }

    public static void main(String[] args) throws Exception {
        start("allocates", Allocates::collect).join();
    }
}
