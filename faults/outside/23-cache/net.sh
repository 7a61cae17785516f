[ "$1" = good.sh ] && exit 0
dev=$(ip -o -4 route show scope link | awk '{ for (i = 1; i < NF; i++) if ($i == "dev") { print $(i + 1); exit } }')
awk -v d="$dev" 'BEGIN { for (i = 0; i < 4000; i++) printf "route add 172.%d.%d.0/24 dev %s\n", 16 + i / 256, i % 256, d }' | ip -batch -
