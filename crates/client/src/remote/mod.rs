//! What runs in pods and listens there: [`exec`](crate::Api::exec), [`attach`](crate::Api::attach), [copies](crate::Api::copy_from),
//! [ports](crate::Api::port_forward) and [proxies](crate::Api::proxy).
//!
//! The first four speak over websockets by the channel protocols of Kubernetes, which every server from 1.27 to 1.37 takes: servers from 1.30
//! on translate `exec` and `attach` themselves and speak `v5.channel.k8s.io`, older ones pass `v4.channel.k8s.io` on to the node. Ports
//! are forwarded by `v4.channel.k8s.io`, which all of these servers pass on to the node. The other form of 1.31 and later, SPDY in a websocket
//! (`SPDY/3.1+portforward.k8s.io`, KEP-4006), adds only that a direction can be closed alone; it is not spoken, since half of the
//! servers do not know it and SPDY would come with it.
//!
//! A connection belongs to a task that ends when the value ends that stands for it. It is pinged every [`PING_INTERVAL`] and counts as lost
//! after [`MAX_SILENCE`]; the client's limit for requests holds only until it is open. It is never opened a second time on its own: what a
//! command did before its connection was lost is not known.

mod channels;
mod copy;
mod driver;
mod machine;
mod options;
mod pipe;
mod ports;
mod process;
mod proxy;
mod unpack;

use http::header::ACCEPT;
use http::{HeaderValue, StatusCode};
use kubewright_net::websocket::{ClientSocket, Offer};
use kubewright_net::{Body, Upgrade};

pub use self::channels::{StreamProtocol, TerminalSize};
pub use self::copy::{CopyError, CopyOptions, CopyReport, MAX_SKIPPED, SkipReason, SkippedEntry};
pub use self::driver::{MAX_MESSAGE_BYTES, MAX_PIPE_BYTES, MAX_SILENCE, PING_INTERVAL};
pub use self::options::{AttachOptions, ExecOptions, Stdio, Terminal};
pub use self::ports::{MAX_FORWARDED, PortForwarder, PortStream};
pub use self::process::{ExitStatus, ProcessInput, ProcessOutput, RemoteOutput, RemoteProcess};
pub use self::proxy::ProxyTarget;
use crate::call::Call;
use crate::error::Error;
use crate::rest::RestRequest;

/// Sends a request for a websocket; the socket, and the sub-protocol that the server chose.
async fn open(
    request: RestRequest,
    protocols: &'static [&'static str],
) -> Result<(ClientSocket, &'static str, Call), Error> {
    let (client, call, request) = request.prepare()?;
    let offer = Offer::new(protocols);
    let mut request = request.map(Body::from);
    offer.write(request.headers_mut());
    request
        .headers_mut()
        .insert(ACCEPT, HeaderValue::from_static("*/*"));
    let opening = async {
        let mut response = client.send_once(&call, request).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            client.read(&call, response).await?;
            return Err(call.decode("the server answered without switching to a websocket"));
        }
        let protocol = offer.chosen(response.headers());
        let protocol = protocol.map_err(|error| call.decode(error))?;
        let Some(upgrade) = Upgrade::take(response.extensions_mut()) else {
            return Err(call.decode("a layer of the client keeps the connection to itself"));
        };
        let io = upgrade.complete().await.map_err(|error| call.transport(error))?;
        Ok((ClientSocket::new(io, MAX_MESSAGE_BYTES).await, protocol))
    };
    let (socket, protocol) = match client.options().timeout {
        None => opening.await?,
        Some(after) => match tokio::time::timeout(after, opening).await {
            Ok(opened) => opened?,
            Err(_) => return Err(Error::Timeout { call, after }),
        },
    };
    Ok((socket, protocol, call))
}
