//! What happens to every request on its way, each as a tower layer over [`HttpService`](kubewright_net::HttpService)
//! that can be used alone.
//!
//! A [`Client`](crate::Client) made from a [`Config`](crate::Config) puts them in the order of client-go
//! (`transport/round_trippers.go`, `rest/request.go`), the outermost first: user agent, [`RetryLayer`], [`RateLimitLayer`],
//! [`WarningsLayer`], [`GzipLayer`], what was put in by [`Client::layer`](crate::Client::layer), [`ImpersonationLayer`], [`AuthLayer`],
//! [`DebugLayer`], connections. [`MetricsLayer`] and [`TraceLayer`] are put in by `Client::layer`, so they see each try of
//! its own and what the server answered to it; of its wait for the rate limit the metrics are told nonetheless.

mod auth;
mod debug;
pub(crate) mod gzip;
mod identity;
mod impersonation;
mod metrics;
mod rate_limit;
mod retry;
mod template;
mod trace;
mod user_agent;
mod warnings;

use http::Request;
use kubewright_net::Body;

pub use self::auth::AuthLayer;
pub(crate) use self::auth::error_from_layers;
pub use self::debug::{DebugLayer, DebugLevel};
pub use self::gzip::{Gzip, GzipLayer};
pub use self::identity::IdentityLayer;
pub use self::impersonation::{Impersonation, ImpersonationLayer};
pub use self::metrics::{MetricsLayer, RestMetrics, metric_names};
pub use self::rate_limit::{RateLimit, RateLimitLayer};
pub use self::retry::{Attempt, Deadline, MAX_RETRIES, RetryLayer};
pub use self::trace::TraceLayer;
pub use self::user_agent::UserAgentLayer;
pub use self::warnings::{MAX_REMEMBERED, WarningHandler, WarningsLayer};
use crate::config::without_user;

/// The same request once more, if its body is in memory; a stream is read once.
pub(crate) fn replay(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(Body::from(request.body().as_bytes()?.clone()));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    // The first has waited for both, and says so.
    copy.extensions_mut().remove::<rate_limit::Waited>();
    Some(copy)
}

/// True for a request whose answer is a watch: it lasts, and it is not counted against limits.
fn is_watch(request: &Request<Body>) -> bool {
    request.uri().query().is_some_and(|query| {
        query
            .split('&')
            .any(|pair| matches!(pair, "watch" | "watch=true" | "watch=1"))
    })
}

/// Host and port as metrics name them; empty for a server in this process.
fn host(request: &Request<Body>) -> String {
    let authority = request
        .uri()
        .authority()
        .map_or("", |authority| authority.as_str());
    without_user(authority).to_owned()
}
