/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps about 50 MB of orders alive and replaces them at random, in a heap that is hardly larger. */
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

public class Shop {
	static final List<byte[]> cache = new ArrayList<>();

	static byte[] loadOrder(Random random) {
		byte[] order = new byte[1024];
		order[0] = (byte) random.nextInt();
		return order;
	}

	static void serve() {
		Random random = new Random(2);
		while (true)
			cache.set(random.nextInt(cache.size()), loadOrder(random));
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 45000; i++)
			cache.add(new byte[1024]);
		Thread worker = new Thread(Shop::serve, "request-1");
		worker.start();
		worker.join();
	}
}
