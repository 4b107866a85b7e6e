// SPDX-License-Identifier: GPL-2.0-or-later
// As stacks.py: every tenth call goes through the virtual machine, and another tenth through java.util. The thread has a
// name of its own. Runs until it is killed.
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.locks.LockSupport;

public class Stacks {
    static final int DEPTH = 60;
    static final Object TAKEN = new Object();
    static long total;
    static Method through;
    static Socket line;

    static class Step implements Comparator<Object> {
        public int compare(Object a, Object b) {
            down((Integer) ((Object[]) a)[0], (Integer) ((Object[]) a)[1]);
            return 0;
        }
    }

    public static void through(int depth, int bottom) {
        down(depth, bottom);
    }

    static void burn() {
        long until = System.nanoTime() + 4000000;
        while (System.nanoTime() < until)
            for (int i = 0; i < 100; i++)
                total += i ^ total & 7;
    }

    static void nap() throws Exception {
        Thread.sleep(1);
    }

    static void park() {
        LockSupport.parkNanos(1000000);
    }

    static void want() {
        synchronized (TAKEN) {
            total++;
        }
    }

    static void ask() throws Exception {
        line.getOutputStream().write(1);
        line.getInputStream().read();
    }

    static void bottom(int which) throws Exception {
        switch (which) {
        case 0: burn(); break;
        case 1: nap(); break;
        case 2: park(); break;
        case 3: want(); break;
        default: ask();
        }
    }

    static void down(int depth, int which) {
        try {
            if (depth == 0)
                bottom(which);
            else if (depth % 10 == 0)
                through.invoke(null, depth - 1, which);
            else if (depth % 10 == 5)
                Arrays.sort(new Object[][] {{depth - 1, which}, {depth - 1, which}}, new Step());
            else
                down(depth - 1, which);
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    static void top() {
        for (;;)
            for (int which = 0; which < 5; which++)
                down(DEPTH, which);
    }

    static void hold() {
        for (;;) {
            synchronized (TAKEN) {
                LockSupport.parkNanos(2000000);
            }
            LockSupport.parkNanos(1000000);
        }
    }

    static void answer(ServerSocket server) {
        try {
            Socket end = server.accept();
            InputStream in = end.getInputStream();
            OutputStream out = end.getOutputStream();
            for (;;)
                out.write(in.read());
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    static void start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        through = Stacks.class.getMethod("through", int.class, int.class);
        start("answer", () -> answer(server));
        line = new Socket(server.getInetAddress(), server.getLocalPort());
        line.setTcpNoDelay(true);
        start("hold", Stacks::hold);
        start("walk", Stacks::top);
        Thread.sleep(Long.getLong("warm", 500));
        System.out.println("ready");
        Thread.sleep(600000);
    }
}
