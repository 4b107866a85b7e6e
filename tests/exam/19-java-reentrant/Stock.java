// SPDX-License-Identifier: GPL-2.0-or-later
// Stock: 8 orders at a time that need the same lock for 3 ms of work each.
import java.util.concurrent.locks.ReentrantLock;

public class Stock {
    static final ReentrantLock stockLock = new ReentrantLock();
    static volatile double stock;

    static void recount() {
        long end = System.nanoTime() + 3_000_000;
        while (System.nanoTime() < end)
            stock = Math.sqrt(stock + 1);
    }

    static void reserve() {
        stockLock.lock();
        try {
            recount();
        } finally {
            stockLock.unlock();
        }
    }

    static void order() {
        try {
            for (;;) {
                reserve();
                Thread.sleep(1);
            }
        } catch (InterruptedException e) {
            return;
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 8; i++)
            new Thread(Stock::order, "order-" + i).start();
        for (;;) {
            Thread.sleep(1000);
            System.out.println(stockLock.getQueueLength() + " orders wait");
        }
    }
}
