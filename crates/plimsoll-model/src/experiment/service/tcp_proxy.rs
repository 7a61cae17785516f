//! The built-in proxy for TCP.

use super::{ServicePlace, ServiceType};
use crate::experiment::prelude::*;

/// The built-in proxy for TCP: it connects onward for each connection and passes bytes on both ways, in one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpProxyService {
    /// The service that it passes connections on to.
    pub to: String,
    /// How it passes bytes on.
    #[serde(default)]
    pub by: PassBy,
    /// How many bytes may be under way in each direction (4k to 1M).
    #[serde(default = "TcpProxyService::default_buffer")]
    pub buffer: ByteSize,
    /// The length of the listen queue (`listen(2)`).
    #[serde(default = "crate::units::number::<511>")]
    pub backlog: u32,
}

impl TcpProxyService {
    fn default_buffer() -> ByteSize {
        ByteSize(64 << 10)
    }
}

/// How a proxy passes bytes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassBy {
    /// Bytes are read and written.
    #[default]
    Copy,
    /// splice(2) through a pipe: they never leave the kernel.
    Splice,
    /// Splice with `SPLICE_F_MORE` on all that is passed on, even where nothing more follows: what does not fill a segment is held
    /// back for up to 200 ms.
    SpliceMore,
}

impl ServiceType for TcpProxyService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        declared(&self.to, &at.experiment.services, "service", at.key("to"))?;
        in_range(self.buffer.0, 4 << 10, 1 << 20, at.key("buffer"))?;
        in_range(u64::from(self.backlog), 1, 65_535, at.key("backlog"))
    }

    fn describe(&self) -> String {
        format!("proxy for TCP to {}", self.to)
    }

    fn effects(&self, _: &ServicePlace<'_>) -> Vec<Effect> {
        Vec::new()
    }

    fn onward(&self) -> Option<&str> {
        Some(&self.to)
    }

    fn passes_bytes(&self) -> bool {
        true
    }
}
