#!/bin/bash
set -e
D=/var/tmp/c126; mkdir -p $D/app1 $D/app2; cd $D; : > pids
cat > Tally.java <<'X'
import java.util.*;
public class Tally {
  public static void main(String[] a){
    HashMap<Integer,Integer> m=new HashMap<>();
    long s=0; Random r=new Random(4);
    for(int k=0;k<340;k++){
      m.clear();
      for(int i=0;i<60000;i++) m.merge(r.nextInt(20000),1,Integer::sum);
      StringBuilder b=new StringBuilder();
      for(Map.Entry<Integer,Integer> e:m.entrySet()) b.append(e.getKey()).append('=').append(e.getValue()).append(';');
      s+=b.toString().hashCode();
    }
    System.out.println(s);
  }
}
X
javac -d app1 Tally.java
cp app1/*.class app2/
for i in $(seq 3000); do : > app2/Other$i.class; done
