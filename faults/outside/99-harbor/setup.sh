#!/bin/bash
set -e
D=/var/tmp/c99; mkdir -p $D/app $D/opt/billing/lib; cd $D; : > pids
body() { cat <<X
import java.util.*;
public class $1 {
  static long work(int seed) {
    long h = seed; int[] a = new int[4096];
    for (int r = 0; r < 900; r++) {
      for (int i = 0; i < a.length; i++) { h = h * 6364136223846793005L + 1442695040888963407L; a[i] = (int)(h >>> 33); }
      for (int i = 1; i < a.length; i++) a[i] ^= a[i-1] % 31;
      h += a[a.length - 1];
    }
    return h;
  }
  public static void main(String[] v) throws Exception {
    int idle = Integer.getInteger("idle", 0); boolean log = Boolean.getBoolean("log");
    List<java.net.ServerSocket> l = new ArrayList<>();
    var q = new java.util.concurrent.LinkedBlockingQueue<Integer>();
    for (int i = 0; i < idle; i++) { Thread t = new Thread(new Runnable() { public void run() { try { q.take(); } catch (InterruptedException e) {} } }, "pool-" + i); t.setDaemon(true); t.start(); }
    for (int i = 0; i < Integer.getInteger("socks", 0); i++) l.add(new java.net.ServerSocket(0, 5, java.net.InetAddress.getLoopbackAddress()));
    long s = 0;
    for (int i = 0; i < 30; i++) { s ^= work(i); if (log) System.out.println("step " + i + " done"); }
    System.out.println(s);
  }
}
X
}
body Calc > Calc.java; body Invoice > Invoice.java
javac -XDstringConcat=inline -d k1 Calc.java; javac -XDstringConcat=inline -d k2 Invoice.java
jar cfe app/calc.jar Calc -C k1 .
jar cfe opt/billing/lib/invoice-2.4.1.jar Invoice -C k2 .
