//! Any request of an administrator: method and path, content type and accepted types on a line each, then the body. It is answered,
//! and not by 500, which is what a panic becomes.
#![no_main]

use std::cell::RefCell;

use futures_util::FutureExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_net::{Body, HttpService, Identity};
use tokio::runtime::Runtime;

/// How many requests a server gets before another begins with an empty store.
const REQUESTS: u32 = 2_000;

struct Target {
    runtime: Runtime,
    server: ApiServer,
    service: HttpService,
    left: u32,
}

impl Target {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be built");
        let server = runtime
            .block_on(ApiServer::start(Options::default()))
            .expect("a server starts");
        Self {
            service: server.service(),
            runtime,
            server,
            left: REQUESTS,
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.server.shut_down();
    }
}

thread_local! {
    static TARGET: RefCell<Option<Target>> = const { RefCell::new(None) };
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.splitn(4, |byte| *byte == b'\n');
    let mut line = || lines.next().and_then(|line| std::str::from_utf8(line).ok());
    let (Some(head), Some(content_type), Some(accept)) = (line(), line(), line()) else { return };
    let body = lines.next().unwrap_or_default().to_vec();
    let (method, path) = head.split_once(' ').unwrap_or(("GET", head));
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .header("accept", accept)
        .extension(Identity::new("admin", ["system:masters"]))
        .body(Body::from(body));
    // What no HTTP library would let through.
    let Ok(request) = request else { return };
    TARGET.with_borrow_mut(|target| {
        if target.as_ref().is_none_or(|target| target.left == 0) {
            *target = Some(Target::start());
        }
        let Some(target) = target else { return };
        target.left -= 1;
        let service = target.service.clone();
        target.runtime.block_on(async {
            let response = service.send(request).await.expect("the service answers");
            let status = response.status().as_u16();
            let mut body = response.into_body();
            let mut text = Vec::new();
            // A watch goes on; what there is of it now is enough.
            while let Some(Some(Ok(frame))) = body.frame().now_or_never() {
                text.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            }
            let text = String::from_utf8_lossy(&text);
            assert!(
                status != 500 || !text.contains("panic"),
                "{method} {path}: {status} {text}"
            );
        });
    });
});
