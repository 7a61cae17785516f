//! Addresses of a server's shared files, and of its other pages.

use super::bundle;

/// Where pages expect their style.
pub const STYLE: &str = "/assets/style.css";
/// Where pages expect the script that folds their tables, and draws their charts by the bundle.
pub const CHARTS: &str = "/assets/charts.js";
/// Where pages of causes stand; the id follows.
pub(super) const CAUSES: &str = "/causes/";

/// Where pages expect the bundle that draws.
pub fn bundle() -> String {
    format!("/assets/{}", bundle::name())
}
