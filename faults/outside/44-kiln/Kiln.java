import java.util.*;
public class Kiln {
    public static void main(String[] a) {
        HashMap<Integer, byte[]> keep = new HashMap<>();
        long s = 0; Random r = new Random(4);
        for (int i = 0; i < 700000; i++) {
            byte[] b = new byte[200 + i % 60];
            b[i % 200] = 1;
            keep.put(r.nextInt(110000), b);
            char[] t = new char[180]; t[i % 180] = 'x'; s += new String(t).hashCode();
        }
        System.out.println(s + " " + keep.size());
    }
}
