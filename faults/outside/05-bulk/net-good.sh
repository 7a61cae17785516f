ip -4 route show | while read -r net rest; do
    case "$net $rest" in *"scope link"*) ip route replace $net $rest ;; esac
done
exit 0
