// SPDX-License-Identifier: GPL-2.0-or-later
// Counter: 8 workers that need the same monitor for 2 ms of work each.
public class Counter {
    static final Object LOCK = new Object();
    static volatile long counted;

    static void critical() {
        synchronized (LOCK) {
            long end = System.nanoTime() + 2_000_000;
            while (System.nanoTime() < end)
                counted++;
        }
    }

    static void work() {
        try {
            for (;;) {
                critical();
                Thread.sleep(1);
            }
        } catch (InterruptedException e) {
            return;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Thread[] workers = new Thread[8];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(Counter::work, "worker-" + i);
            workers[i].start();
        }
        for (;;) {
            Thread.sleep(1000);
            int blocked = 0;
            for (Thread worker : workers)
                blocked += worker.getState() == Thread.State.BLOCKED ? 1 : 0;
            System.out.println(blocked + " of 8 workers are blocked");
        }
    }
}
