//! A guest with a virtual clock, whose figures are to repeat from boot to boot.
//!
//! What comes to a guest from outside comes as an interrupt, at whichever instruction it has reached by then, and every path after it is another
//! one. So nothing comes while it runs. When its agent has answered all that it was asked, the guest writes to a port (`isa-debugcon`) whose other end is
//! a pipe, one byte more than the pipe holds: QEMU waits within the instruction that writes, until the pipe is read (QEMU, hw/char/debugcon.c), and no
//! time passes in the guest. The next frame is put into memory that both sides see (`ivshmem-plain`), the pipe is emptied, and the guest goes on and
//! reads the frame. What the guest says goes out within the instruction that says it (`ioeventfd=off`).
//!
//! To let the guest stop QEMU (`pvpanic`, `-action panic=pause`) is not as good: between the instruction and the stop QEMU may take the processor for
//! one that sleeps, and the clock leaps to the next timer.
//!
//! ```text
//! controller ─ frames ─▶ outside ─ memory ─▶ inside (the guest's init) ─ pipe ─▶ agent ─ "idle" ─▶ inside ─ port ─▶ outside
//! ```
//!
//! While a load runs there may be something that cannot wait, such as that it is to end. That comes by the virtio port, as to any
//! other guest, and what is measured from then on does not repeat exactly.

pub(super) mod inside;
pub(super) mod outside;

/// How long the memory is, in bytes: a power of two, which a PCI device's memory has to be.
pub(super) const MEMORY: u64 = 8 << 20;
/// Where in the memory it stands how many bytes the guest has to write to its port to stand still, in four bytes, the lowest first.
pub(super) const TO_WRITE: u64 = MEMORY - 4;
/// The port that the guest writes to.
pub(super) const PORT: u16 = 0xe9;
/// A message that is no frame, and announces data at the port. A frame has its length before it, and is longer.
pub(super) const GO_ON: &[u8] = b"go";
/// Where the agent tells that it has answered everything.
pub(super) const IDLE: &str = "/idle";
/// The environment variable that tells the agent where that is (`plimsoll-agent`, `outbox.rs`).
pub(super) const IDLE_VARIABLE: &str = "PLIMSOLL_IDLE";
