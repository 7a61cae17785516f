#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT
export DIR="$2" ADDRESS="$3" PORT="$4" NUMBER="$1"
mkdir -p "$DIR/1" "$DIR/2" "$DIR/log"
for k in 1 2; do
  for f in index page about news team; do seq 200 > "$DIR/$k/$f.html"; done
done
(cd "$DIR/2" && seq 2500 | sed 's/.*/photo-&.jpg/' | xargs touch)
exec apache2 -DFOREGROUND -d "$DIR" -f "$(cd "$(dirname "$0")" && pwd)/site.conf"
