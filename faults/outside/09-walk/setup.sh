mkdir -p tree; i=0; while [ $i -lt 100 ]; do echo $i > tree/f$i; i=$((i+1)); done
