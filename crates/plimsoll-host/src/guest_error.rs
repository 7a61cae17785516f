//! Errors of guests: their kernels, and their boot.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Reason for a missing kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The file is not there, or cannot be read.
    #[error("kernel {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is something else.
    #[error("kernel {}: this is no bzImage: it has no `HdrS` at 0x202 (Documentation/arch/x86/boot.rst)", path.display())]
    NoImage {
        /// The file.
        path: PathBuf,
    },
    /// The package holds no kernel.
    #[error("kernel {package}: the package has no /boot/vmlinuz-*")]
    NoKernelInPackage {
        /// Its file, or its name.
        package: String,
    },
    /// A package could not be found, fetched or unpacked.
    #[error(transparent)]
    Package(#[from] PackageError),
}

impl KernelError {
    /// Advice for the user, if there is any.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            Self::NoImage { .. } => Some(
                "name what the build made: arch/x86/boot/bzImage, a /boot/vmlinuz-*, or a .deb of a kernel",
            ),
            Self::Package(error) => error.advice(),
            Self::Read { .. } | Self::NoKernelInPackage { .. } => None,
        }
    }
}

/// Reason for a missing package.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A program of the system's cannot be run.
    #[error("kernel {kernel}: cannot run `{program}`: {source}")]
    NoProgram {
        /// The requested kernel.
        kernel: String,
        /// The program.
        program: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A program of the system's failed.
    #[error("kernel {kernel}: `{command}` failed: {last_line}")]
    Failed {
        /// The requested kernel.
        kernel: String,
        /// The program and its arguments.
        command: String,
        /// Last line of its output.
        last_line: String,
    },
    /// apt knows no such kernel.
    #[error("kernel debian:{version}: apt knows no package `{pattern}`; it knows {known}")]
    Unknown {
        /// The requested version.
        version: String,
        /// Pattern of the package's name.
        pattern: String,
        /// The available versions.
        known: String,
    },
    /// The folder for kernels cannot be used.
    #[error("kernel {kernel}: {}: {source}", path.display())]
    Folder {
        /// The requested kernel.
        kernel: String,
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl PackageError {
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            Self::NoProgram { .. } => Some(
                "`debian:` and .deb files need the programs of a Debian system (apt, dpkg); elsewhere name an image, such as /boot/vmlinuz-*",
            ),
            Self::Unknown { .. } => Some("`apt-get update` lets apt know the newest packages"),
            Self::Failed { .. } | Self::Folder { .. } => None,
        }
    }
}

/// Reason why a guest did not boot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BootFailure {
    /// The guest took too long.
    #[error("its agent did not run within {within_s} s")]
    TooLong {
        /// Elapsed seconds of the wait.
        within_s: u64,
    },
    /// The kernel ended: by a panic, or by the end of its init.
    #[error("its kernel ended before its agent ran")]
    KernelEnded,
    /// KVM could not go on, in QEMU's words.
    #[error("KVM gave up: {0}")]
    Kvm(String),
    /// QEMU could not run it.
    #[error("QEMU ended before its agent ran ({0})")]
    QemuEnded(String),
    /// Its init could not go on.
    #[error("{0}")]
    Init(String),
    /// An operation on the machine failed.
    #[error("{operation}: {error}")]
    Machine {
        /// The operation that failed.
        operation: String,
        /// The system's error.
        error: String,
    },
}
