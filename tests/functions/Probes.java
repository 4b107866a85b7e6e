/* SPDX-License-Identifier: GPL-2.0-or-later */

/** Collects garbage five times, and starts seven threads whose names have 13 letters. */
public class Probes {
	public static void main(String[] args) throws InterruptedException {
		for (int i = 0; i < 5; i++)
			System.gc();
		for (int i = 0; i < 7; i++) {
			Thread thread = new Thread(() -> {}, "gapless-named");
			thread.start();
			thread.join();
		}
	}
}
