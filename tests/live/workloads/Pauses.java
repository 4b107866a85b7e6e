// SPDX-License-Identifier: GPL-2.0-or-later
// Collections and stops of all threads, with the counters that HotSpot has in its file hsperfdata. Collects garbage until it is
// told to begin. With an argument, two threads run all the time, but for the stops, and allocate nothing.
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.util.Arrays;

public class Pauses {
    static final int ROUNDS = 400;
    static final String[] NAMES = {
        "sun.gc.collector.0.invocations", "sun.gc.collector.1.invocations", "sun.gc.collector.2.invocations",
        "sun.gc.collector.0.time", "sun.gc.collector.1.time", "sun.gc.collector.2.time",
        "sun.rt.safepoints", "sun.rt.safepointTime", "sun.rt.safepointSyncTime",
    };
    static volatile boolean isOver;
    static volatile long total;
    static Object[] kept = new Object[400000];
    static File file;

    // The file has 8 bytes, then words of 4: size of its entries, …, where they begin, how many there are.
    static long[] readOnce() throws Exception {
        ByteBuffer data = ByteBuffer.wrap(Files.readAllBytes(file.toPath())).order(ByteOrder.nativeOrder());
        long[] ret = new long[NAMES.length];
        int at = data.getInt(24);

        for (int left = data.getInt(28); left > 0; left--) {
            int name = at + data.getInt(at + 4), end = name;

            while (data.get(end) != 0)
                end++;
            int which = Arrays.asList(NAMES).indexOf(new String(data.array(), name, end - name, "US-ASCII"));
            if (which >= 0)
                ret[which] = data.getLong(at + data.getInt(at + 16));
            at += data.getInt(at);
        }
        return ret;
    }

    static long when;

    // Nothing stopped the threads while the counters were read.
    static long[] read() throws Exception {
        for (;;) {
            long[] one = readOnce();
            when = System.nanoTime();
            if (Arrays.equals(one, readOnce()))
                return one;
        }
    }

    static void spin() {
        long sum = 0;

        while (!isOver)
            sum++;
        total += sum;
    }

    static void awaitWord() {
        try {
            System.in.read();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Thread start(String name, Runnable body) {
        Thread thread = new Thread(body, name);

        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    // G1 ends what it does beside the program while this sleeps.
    static void allocate() throws Exception {
        for (int i = 0; i < ROUNDS; i++) {
            for (int k = 0; k < 20000; k++)
                kept[(i * 20000 + k * 7) % kept.length] = new byte[k % 64 == 0 ? 1024 : 32];
            if (i % 130 == 65)
                System.gc();
            if (i % 130 == 129)
                Thread.sleep(200);
        }
    }

    static void say(long begin, String place, String operation, long count, long ns) {
        System.out.printf("{\"begin_ns\": %d, \"end_ns\": %d, \"place\": \"%s\"%s, \"count\": %d, \"ns\": %d}%n", begin, when, place,
            operation == null ? "" : ", \"operation\": \"" + operation + "\"", count, ns);
    }

    public static void main(String[] args) throws Exception {
        file = new File("/tmp/hsperfdata_" + System.getProperty("user.name"),
            new File("/proc/self").getCanonicalFile().getName());
        Arrays.setAll(kept, i -> new byte[16]);
        System.out.println("ready");
        Thread told = start("told", Pauses::awaitWord);
        while (told.isAlive()) {
            System.gc();
            Thread.sleep(50);
        }
        for (int i = 0; args.length > 0 && i < 2; i++)
            start("stopped-" + i, Pauses::spin);
        long[] before = read();
        long begin = when;
        allocate();
        long[] then = read();
        isOver = true;
        long[] d = new long[then.length];
        for (int i = 0; i < d.length; i++)
            d[i] = then[i] - before[i];
        say(begin, "gc", "full", d[1], d[4]);
        say(begin, "gc", null, d[0] + d[1] + d[2], d[3] + d[4] + d[5]);
        say(begin, "safepoint", null, d[6], d[7] + d[8]);
        System.out.printf("{\"sync_ns\": %d}%n", d[8]);
    }
}
