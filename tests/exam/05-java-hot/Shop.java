// SPDX-License-Identifier: GPL-2.0-or-later
// Shop PORT: a web server with one hot method; prints that method's share of the time.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

public class Shop {
    static final AtomicLong spentNs = new AtomicLong();

    static double applyDiscounts(int items) {
        double total = 0;
        for (int item = 0; item < items; item++)
            for (int rule = 0; rule < 500; rule++)
                total += item * rule % 7 == 3 ? Math.log(item + rule + 1) : Math.sqrt(item + rule);
        return total;
    }

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 50);
        server.createContext("/", exchange -> {
            long start = System.nanoTime();
            byte[] body = ("" + applyDiscounts(4000)).getBytes();
            spentNs.addAndGet(System.nanoTime() - start);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
        for (;;) {
            long before = spentNs.get();
            Thread.sleep(1000);
            System.out.println((spentNs.get() - before) / 10_000_000 + " % of the time in applyDiscounts");
        }
    }
}
