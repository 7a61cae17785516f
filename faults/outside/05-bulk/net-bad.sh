ip -4 route show | while read -r net rest; do
    case "$net $rest" in *"scope link"*) ip route replace $net $rest window 24000 ;; esac
done
exit 0
