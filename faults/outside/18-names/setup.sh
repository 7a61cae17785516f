{ echo 127.0.0.1 localhost; i=0; while [ $i -lt 60 ]; do echo "10.1.0.$i node$i.cluster.test node$i"; i=$((i+1)); done; } > hosts.one
{ awk 'BEGIN { for (i = 0; i < 40000; i++) printf "0.0.0.0 ads%d.tracker.test\n", i }'; cat hosts.one; } > hosts.two
