dev=$(awk '$2 == "/mnt" { print $1 }' /proc/mounts | tail -n 1)
[ -n "$dev" ] || { echo "nothing is mounted" >&2; exit 1; }
echo 0 > /sys/block/${dev#/dev/}/queue/read_ahead_kb
