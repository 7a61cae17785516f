//! The `plimsoll` program.

#[global_allocator]
static MEMORY: plimsoll_host::Allocator = plimsoll_host::Allocator;

fn main() -> std::process::ExitCode {
    plimsoll::main()
}
