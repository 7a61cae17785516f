//! Apache httpd with its prefork module: <https://httpd.apache.org/docs/2.4/mod/prefork.html>.

use std::path::{Path, PathBuf};

use plimsoll_model::experiment::ApacheService;
use plimsoll_model::frame::Failure;

use super::{About, CONFIGURATION, FILE, Program, Recipe, Site};
use crate::other;
use crate::sandbox::Kind;

/// Where distributions put httpd's modules: Debian, Fedora, Arch.
const MODULES: [&str; 3] = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/lib/httpd/modules"];
/// The modules that serving files needs, beside those that every httpd needs.
const NEEDED: [&str; 3] = ["mpm_prefork", "authz_core", "dir"];
/// Compiled in by some distributions, modules of their own for others.
const OFTEN_COMPILED_IN: [&str; 1] = ["unixd"];

/// The facts about Apache.
const ABOUT: About = About {
    programs: &["apache2", "httpd"],
    package: "apache2",
    args: &["-f", CONFIGURATION, "-DFOREGROUND"],
    file: FILE,
    version: (&["apache2", "httpd"], "-v"),
    kind: Kind::Server,
};

impl Program for ApacheService {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn recipe(&self, place: &Site<'_>) -> Result<Recipe, Failure> {
        let ApacheService { workers, start, min_spare, max_spare, connections_per_process, backlog, .. } =
            *self;
        let root = place.root(self.root.as_deref(), self.document)?;
        let modules = load_modules()?;
        let keep_alive = if self.keep_alive { "On" } else { "Off" };
        let (folder, listen) = (place.path(), place.listen);
        let configuration = format!(
            "ServerRoot {folder}
ServerName plimsoll
{modules}DefaultRuntimeDir {folder}
PidFile {folder}/pid
ErrorLog /dev/stderr
LogLevel error
Listen {listen}
ListenBackLog {backlog}
ServerLimit {workers}
MaxRequestWorkers {workers}
StartServers {start}
MinSpareServers {min_spare}
MaxSpareServers {max_spare}
MaxConnectionsPerChild {connections_per_process}
KeepAlive {keep_alive}
MaxKeepAliveRequests 0
DocumentRoot {root}
DirectoryIndex index.html
"
        );
        Ok(Recipe { configuration, writable: None, visible: self.root.as_ref().map(PathBuf::from) })
    }
}

/// The lines that load the modules. Where httpd is not installed there is nothing to load, and the program is missed later, by name.
fn load_modules() -> Result<String, Failure> {
    let Some(folder) = MODULES.iter().map(Path::new).find(|folder| folder.is_dir()) else {
        return Ok(String::new());
    };
    let file = |name: &str| folder.join(format!("mod_{name}.so"));
    if let Some(missing) = NEEDED.iter().find(|name| !file(name).exists()) {
        return Err(other("start httpd", format!("it has no module {}", file(missing).display())));
    }
    let there = OFTEN_COMPILED_IN.iter().filter(|name| file(name).exists());
    let line = |name: &&str| format!("LoadModule {name}_module {}\n", file(name).display());
    Ok(NEEDED.iter().chain(there).map(line).collect())
}
