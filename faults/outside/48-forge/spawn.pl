use strict; use POSIX ();
# starts the conversion jobs one after the other; nothing of ours must stay open in them
my $max = POSIX::sysconf(POSIX::_SC_OPEN_MAX());
for my $i (1..120) {
    my $pid = fork;
    if (!$pid) {
        for my $fd (3..$max-1) { POSIX::close($fd) }
        exec 'mawk', 'BEGIN { for (i = 0; i < 25000; i++) s += i % 7; exit s < 0 }';
        exit 127;
    }
    waitpid $pid, 0; die if $?;
}
