import java.util.*;
public class Sort {
    public static void main(String[] a) {
        Random r = new Random(7); long s = 0;
        int[] x = new int[1500000];
        for (int k = 0; k < 5; k++) { for (int i = 0; i < x.length; i++) x[i] = r.nextInt(); Arrays.sort(x); s += x[k * 1000]; }
        TreeMap<Integer,Integer> t = new TreeMap<>();
        for (int i = 0; i < 150000; i++) t.merge(r.nextInt(40000), 1, Integer::sum);
        System.out.println(s + " " + t.size());
    }
}
