awk 'BEGIN { srand(7); for (i = 0; i < 200000; i++) printf "%d %x request /page/%d served\n", rand() * 1e6, rand() * 1e9, rand() * 5000 }' > log.txt
ln -sf "$(command -v sort)" arrange; ln -sf "$(command -v gzip)" squeeze
i=0; while [ $i -lt 60 ]; do echo "export FEATURE_FLAG_$i=enabled-for-everyone-$i"; i=$((i+1)); done > flags.env
