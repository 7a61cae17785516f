//! The built-in end of bulk loads.

use super::{ServicePlace, ServiceType};
use crate::experiment::load::bulk::{BLOCK, LARGEST_BUFFER};
use crate::experiment::prelude::*;

/// The built-in end of bulk loads: it takes what it is sent, over TCP and UDP, and sends what it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct BulkService {
    /// Fate of incoming bytes.
    pub take: Take,
    /// Wait this long before each read, as a reader that cannot keep up does.
    pub pause: Span,
    /// How many bytes a read takes at most (1 to 16M). Without it 128K where they are copied, since more than a CPU's cache holds
    /// makes copying slower, and 1M where they are discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<ByteSize>,
    /// The receive buffer (`SO_RCVBUF`) of connections from the handshake on, where a load does not ask for another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ByteSize>,
    /// The length of the listen queue (`listen(2)`).
    #[default = 511]
    pub backlog: u32,
}

/// Fate of incoming bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// The kernel throws them away (`MSG_TRUNC`, tcp(7)): the receiver costs as little as it can.
    #[default]
    Discard,
    /// Bytes are copied to the program, as by every ordinary one.
    Copy,
}

impl BulkService {
    /// How many bytes a read takes at most.
    pub fn read_size(&self) -> ByteSize {
        self.chunk.unwrap_or(match self.take {
            Take::Discard => ByteSize(1 << 20),
            Take::Copy => BLOCK,
        })
    }
}

impl ServiceType for BulkService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        if let Some(chunk) = self.chunk {
            in_range(chunk.0, 1, 16 << 20, at.key("chunk"))?;
        }
        in_range(u64::from(self.backlog), 1, 65_535, at.key("backlog"))?;
        self.receive_buffer
            .map_or(Ok(()), |bytes| in_range(bytes.0, 1, LARGEST_BUFFER, at.key("receive_buffer")))
    }

    fn describe(&self) -> String {
        "the other end of bulk loads".to_owned()
    }

    fn effects(&self, _: &ServicePlace<'_>) -> Vec<Effect> {
        Vec::new()
    }
}
