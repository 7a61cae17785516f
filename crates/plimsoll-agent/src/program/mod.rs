//! Real programs as services: the agent writes their configuration into a folder of their own and starts them from it.
//!
//! Files that a program writes (its process id, spool folders) lie in that folder, too, so it leaves nothing elsewhere, and two instances do
//! not collide. The folder goes when the service is stopped, and at the latest with the host.

mod version;

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plimsoll_model::experiment::stands_in_configuration;
use plimsoll_model::frame::{Failure, ServiceKind, ServiceSpec};
use plimsoll_model::units::ByteSize;
use plimsoll_path::Folder;
use tempfile::TempDir;

use crate::folder::{give_to_nobody, write_certificate};
use crate::sandbox::{self, Entry, Kind, Paths, is_single_user};
use crate::{exec, other};

pub use version::program_version;

/// The environment variable that names the folder in which the host lets its services keep files.
const SCRATCH: &str = "PLIMSOLL_SCRATCH";

/// The facts about a program that do not depend on its configuration.
struct About {
    /// The names under which distributions know it.
    programs: &'static [&'static str],
    /// The Debian package that it comes with.
    package: &'static str,
    /// Its arguments; the configuration's path goes in the place of [`CONFIGURATION`].
    args: &'static [&'static str],
    /// The name of its configuration's file.
    file: &'static str,
    /// Names of the program that prints the version, and its arguments.
    version: (&'static [&'static str], &'static str),
    /// Its row in the table of the sandbox.
    kind: Kind,
}

/// Configuration and folders of a program.
struct Recipe {
    /// The text of its configuration.
    configuration: String,
    /// A folder beside its own that it writes to.
    writable: Option<PathBuf>,
    /// A folder that it reads.
    visible: Option<PathBuf>,
}

/// The operations of every program.
trait Program {
    /// The facts about the program.
    fn about(&self) -> &'static About;

    /// Configuration and folders of the program at a site.
    fn recipe(&self, place: &Site<'_>) -> Result<Recipe, Failure>;

    /// Further arguments for a configuration of the user's. They set what it leaves open: the program stays in the foreground, and keeps its files
    /// in its own folder.
    fn more_args(&self, _configuration: &str, _place: &Site<'_>) -> Vec<String> {
        Vec::new()
    }
}

macro_rules! define {
    ($($(#[$of_kind:meta])* $key:ident: $kind:ident($type:ident),)+) => {
        $(mod $key;)+

        /// Program of a service; `None` for a service of another kind.
        fn of(kind: &ServiceKind) -> Option<&dyn Program> {
            match kind {
                $(ServiceKind::$kind(it) => Some(it),)+
                _ => None,
            }
        }
    };
}

plimsoll_model::each_program!(define);

/// Stands for the path of the configuration among a program's arguments.
const CONFIGURATION: &str = "{configuration}";
/// Stands for the path of the folder that it is in.
const FOLDER: &str = "{folder}";
/// The usual name of a configuration's file.
const FILE: &str = "configuration";

/// Row of a program in the table of the sandbox; absent for a service of another kind.
pub(crate) fn kind_of(kind: &ServiceKind) -> Option<Kind> {
    of(kind).map(|program| program.about().kind)
}

/// A program that is ready to be started, and the folder that has to live as long as it does.
pub(crate) struct Prepared {
    pub(crate) entry: Entry,
    pub(crate) folder: TempDir,
}

/// Writes the configuration of a program. State that survives a restart lies in the service's folder.
pub(crate) fn prepare(spec: &ServiceSpec, listen: SocketAddr) -> Result<Prepared, Failure> {
    let folder = make_folder()?;
    let kept = spec.folder.as_deref();
    let (single_user, remains_root) = (is_single_user(), sandbox::remains_root());
    let place = Site { folder: folder.path(), kept, listen, to: &spec.to, single_user, remains_root };
    let program = of(&spec.kind)
        .ok_or_else(|| other("start the service", "it is no program with a configuration of its own"))?;
    let (about, mut recipe) = (program.about(), program.recipe(&place)?);
    let mut more_args = Vec::new();
    if let Some(template) = &spec.template {
        let filled = template.fill(listen, &spec.to, &folder.path().to_string_lossy());
        recipe.configuration =
            filled.map_err(|error| other(format!("configure {}", template.file), error))?;
        more_args = program.more_args(&recipe.configuration, &place);
    }
    let program = about.programs.iter().find_map(|name| exec::find(name)).ok_or_else(|| {
        let (program, package) = (about.programs[0].to_owned(), Some(about.package.to_owned()));
        Failure::NoProgram { program, package }
    })?;
    let path = folder.path().join(about.file);
    write(&path, recipe.configuration.as_bytes())?;
    let args = about.args.iter().map(|arg| match *arg {
        CONFIGURATION => path.clone().into_os_string(),
        FOLDER => folder.path().as_os_str().to_owned(),
        arg => OsString::from(arg),
    });
    let args = args.chain(more_args.into_iter().map(OsString::from));
    let mut writable = vec![folder.path().to_owned()];
    writable.extend(recipe.writable);
    let kind = if spec.privileged { Kind::Privileged } else { about.kind };
    let for_nobody = kind.need().becomes_nobody;
    if for_nobody {
        give_to_nobody(folder.path())?;
    }
    write_certificate(spec, folder.path(), for_nobody)?;
    let mut entry = Entry::new(kind, program, args);
    entry.paths = Paths { writable, visible: recipe.visible.into_iter().collect(), ..Paths::default() };
    Ok(Prepared { entry, folder })
}

/// Folder, addresses and user of a program.
struct Site<'p> {
    /// Its own folder.
    folder: &'p Path,
    /// A folder that outlives a restart of it.
    kept: Option<&'p Path>,
    /// Address to listen on.
    listen: SocketAddr,
    /// Targets of the connections that it forwards.
    to: &'p [SocketAddr],
    /// Whether there is but one user here: in a user namespace that an ordinary user made, nobody can become another.
    single_user: bool,
    /// Whether it has the number of root, whatever it may do.
    remains_root: bool,
}

impl Site<'_> {
    /// The folder whose files are served: the user's, or one with a document of this size at `/`.
    fn root(&self, root: Option<&str>, document: ByteSize) -> Result<String, Failure> {
        if let Some(root) = root {
            let wrong = |error: std::io::Error| other(format!("serve the files of `root`, {root}"), error);
            let full = std::path::absolute(root).map_err(wrong)?;
            Folder::open(&full).map_err(|error| wrong(error.into()))?;
            let full = full.display().to_string();
            // The folder in which the run was started is in it now.
            return match stands_in_configuration(&full) {
                true => Ok(full),
                false => Err(other(format!("serve {root}"), "its path cannot stand in a configuration file")),
            };
        }
        let folder = self.folder.join("documents");
        fs::create_dir(&folder).map_err(|error| other(format!("make {}", folder.display()), error))?;
        open_to_all(&folder)?;
        let size = usize::try_from(document.0)
            .map_err(|error| other(format!("make a document of {document}"), error))?;
        write(&folder.join("index.html"), &vec![b'x'; size])?;
        Ok(folder.display().to_string())
    }

    /// The folder's path, for a configuration.
    fn path(&self) -> std::path::Display<'_> {
        self.folder.display()
    }
}

/// The folder in which the host lets its services keep files.
pub(crate) fn scratch() -> PathBuf {
    let named = std::env::var_os(SCRATCH).map_or_else(std::env::temp_dir, PathBuf::from);
    // The user's folder for temporary files may lie behind links of his own; below it none is followed.
    named.canonicalize().unwrap_or(named)
}

/// A folder that other users may look into: some programs serve as another user than the one that starts them.
pub(crate) fn make_folder() -> Result<TempDir, Failure> {
    let base = scratch();
    let made = tempfile::Builder::new().prefix("plimsoll-service-").tempdir_in(&base);
    let folder =
        made.map_err(|error| other(format!("make a folder for the service in {}", base.display()), error))?;
    open_to_all(folder.path())?;
    Ok(folder)
}

fn open_to_all(folder: &Path) -> Result<(), Failure> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))
        .map_err(|error| other(format!("open {} to all", folder.display()), error))
}

/// Writes a file that others may read.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes)
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o644)))
        .map_err(|error| other(format!("write {}", path.display()), error))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::{
        ApacheService, HaproxyService, NginxService, PostfixService, ProxyMode,
    };

    use super::*;

    fn place<'p>(folder: &'p Path, to: &'p [SocketAddr]) -> Site<'p> {
        let listen = "0.0.0.0:8080".parse().unwrap();
        Site { folder, kept: None, listen, to, single_user: true, remains_root: false }
    }

    #[test]
    fn nginx_serves_a_document_of_the_size_that_was_asked_for() {
        let folder = make_folder().unwrap();
        let options = NginxService { document: ByteSize(3000), reuseport: true, ..NginxService::default() };
        let recipe = options.recipe(&place(folder.path(), &[])).unwrap();
        assert!(recipe.configuration.contains("listen 0.0.0.0:8080 backlog=511 reuseport;"));
        assert_eq!(fs::metadata(folder.path().join("documents/index.html")).unwrap().len(), 3000);
    }

    #[test]
    fn haproxy_passes_on_to_every_address() {
        let to = ["10.0.0.6:80".parse().unwrap(), "10.0.0.6:81".parse().unwrap()];
        let options = HaproxyService {
            to: "web".into(),
            mode: ProxyMode::Tcp,
            threads: 2,
            connections: 100,
            backlog: 64,
            tls: false,
            http2: false,
            keep_alive: true,
        };
        let recipe = options.recipe(&place(Path::new("/x"), &to)).unwrap();
        for line in ["mode tcp", "nbthread 2", "server s0 10.0.0.6:80", "server s1 10.0.0.6:81", "backlog 64"]
        {
            assert!(recipe.configuration.contains(line), "{line} in {}", recipe.configuration);
        }
        assert!(!recipe.configuration.contains("http"), "{}", recipe.configuration);
    }

    #[test]
    fn programs_that_speak_tls_are_pointed_at_what_lies_in_their_folder() {
        let folder = make_folder().unwrap();
        let nginx = NginxService { tls: true, http2: true, ..NginxService::default() };
        let text = nginx.recipe(&place(folder.path(), &[])).unwrap().configuration;
        assert!(text.contains("listen 0.0.0.0:8080 backlog=511 ssl http2;"), "{text}");
        assert!(
            text.contains(&format!("ssl_certificate_key {}/key.pem;", folder.path().display())),
            "{text}"
        );
        let haproxy = serde_json::json!({ "to": "web", "tls": true, "http2": true });
        let haproxy: HaproxyService = serde_json::from_value(haproxy).unwrap();
        let text = haproxy.recipe(&place(Path::new("/x"), &[])).unwrap().configuration;
        let bind = "bind 0.0.0.0:8080 ssl crt /x/pair.pem ssl-min-ver TLSv1.3 alpn h2,http/1.1\n";
        assert!(text.contains(bind), "{text}");
    }

    #[test]
    fn apache_is_nobody_from_the_start() {
        let folder = make_folder().unwrap();
        let options = ApacheService { workers: 40, keep_alive: false, ..ApacheService::default() };
        let recipe = options.recipe(&place(folder.path(), &[])).unwrap();
        assert!(recipe.configuration.contains("MaxRequestWorkers 40\n"));
        assert!(recipe.configuration.contains("KeepAlive Off\n"));
    }

    #[test]
    fn a_queue_that_was_there_keeps_its_mode() {
        let (folder, kept) = (make_folder().unwrap(), make_folder().unwrap());
        fs::set_permissions(kept.path(), Permissions::from_mode(0o775)).unwrap();
        let options = serde_json::json!({ "to": "s", "queue": kept.path() });
        let options: PostfixService = serde_json::from_value(options).unwrap();
        let to = ["10.0.0.6:2525".parse().unwrap()];
        options.recipe(&Site { single_user: false, ..place(folder.path(), &to) }).unwrap();
        assert_eq!(fs::metadata(kept.path()).unwrap().permissions().mode() & 0o777, 0o775);
    }

    #[test]
    fn postfix_has_everything_in_folders_of_its_own_and_needs_several_users() {
        let (folder, kept) = (make_folder().unwrap(), make_folder().unwrap());
        let to = ["10.0.0.6:2525".parse().unwrap()];
        let among_many = Site { single_user: false, kept: Some(kept.path()), ..place(folder.path(), &to) };
        let options = serde_json::json!({ "to": "s", "settings": { "in_flow_delay": "0" } });
        let options: PostfixService = serde_json::from_value(options).unwrap();
        let recipe = options.recipe(&among_many).unwrap();
        let queue = format!("queue_directory = {}", kept.path().join("queue").display());
        for line in [&queue, "relayhost = [10.0.0.6]:2525", "in_flow_delay = 0"] {
            assert!(
                recipe.configuration.lines().any(|found| found == line),
                "{line} in {}",
                recipe.configuration
            );
        }
        let master = fs::read_to_string(folder.path().join("master.cf")).unwrap();
        assert!(master.contains("0.0.0.0:8080 inet n - n - - smtpd"), "{master}");
        let Err(error) = options.recipe(&place(folder.path(), &to)) else { panic!("it was accepted") };
        assert!(error.to_string().contains("several users"), "{error}");
    }

    #[test]
    fn a_folder_of_documents_that_is_not_there_is_named() {
        let folder = make_folder().unwrap();
        let options = NginxService { root: Some("/nowhere/documents".into()), ..NginxService::default() };
        let Err(error) = options.recipe(&place(folder.path(), &[])) else {
            panic!("it was accepted");
        };
        assert!(error.to_string().contains("`root`, /nowhere/documents"), "{error}");
    }
}
