// SPDX-License-Identifier: GPL-2.0-or-later
// Locks that one thread holds for 50 of 51 ms while another one wants them, and threads that wait for work.
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;

public class Locks {
    static final class Ledger {
    }

    static final Ledger MONITOR = new Ledger();
    static final Object WORK = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final LinkedBlockingQueue<Object> QUEUE = new LinkedBlockingQueue<>();

    interface Body {
        void run() throws Exception;
    }

    static void holdMonitor() throws Exception {
        synchronized (MONITOR) {
            Thread.sleep(50);
        }
        Thread.sleep(1);
    }

    static void wantMonitor() throws Exception {
        synchronized (MONITOR) {
        }
    }

    static void holdLock() throws Exception {
        LOCK.lock();
        try {
            Thread.sleep(50);
        } finally {
            LOCK.unlock();
        }
        Thread.sleep(1);
    }

    static void wantLock() throws Exception {
        LOCK.lock();
        LOCK.unlock();
    }

    static void awaitWork() throws Exception {
        synchronized (WORK) {
            WORK.wait(40);
        }
    }

    static void takeWork() throws Exception {
        QUEUE.poll(40, java.util.concurrent.TimeUnit.MILLISECONDS);
    }

    static void start(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                for (;;)
                    body.run();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        start("holds-monitor", Locks::holdMonitor);
        start("wants-monitor", Locks::wantMonitor);
        start("holds-lock", Locks::holdLock);
        start("wants-lock", Locks::wantLock);
        start("awaits-work", Locks::awaitWork);
        start("takes-work", Locks::takeWork);
        Thread.sleep(500);
        System.out.println("ready");
        Thread.sleep(600000);
    }
}
