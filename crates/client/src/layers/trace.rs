//! A span around every request: [`TraceLayer`].

use kubewright_net::HttpService;
use tower_layer::Layer;
use tracing::Instrument as _;
use tracing::field::Empty;

use super::retry::Attempt;
use super::{host, template};

/// Runs every request in a span `request` of `tracing`, at level `INFO`, that ends when the head of the answer is there.
///
/// Its fields follow OpenTelemetry's conventions for HTTP clients: `otel.name`, `otel.kind`, `http.request.method`,
/// `url.template` (names left out), `server.address`, `http.request.resend_count`, `http.response.status_code` and
/// `error.type`. Neither headers, queries nor bodies are in it.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TraceLayer;

impl Layer<HttpService> for TraceLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        HttpService::from_fn(move |request| {
            let template = template::of_path(request.uri().path());
            let span = tracing::info_span!(
                "request",
                otel.name = %format_args!("{} {template}", request.method()),
                otel.kind = "client",
                http.request.method = %request.method(),
                url.template = template,
                server.address = host(&request),
                http.request.resend_count = Empty,
                http.response.status_code = Empty,
                error.type = Empty,
            );
            if let Some(Attempt(count)) = request.extensions().get() {
                span.record("http.request.resend_count", count);
            }
            // The service may do its first work in the call.
            let answer = span.in_scope(|| inner.send(request));
            let recorded = span.clone();
            async move {
                let answer = answer.await;
                match &answer {
                    Ok(answer) => {
                        let code = answer.status();
                        recorded.record("http.response.status_code", code.as_u16());
                        if code.is_client_error() || code.is_server_error() {
                            recorded.record("error.type", code.as_str());
                        }
                    }
                    Err(error) => {
                        recorded.record("error.type", kind(error));
                    }
                }
                answer
            }
            .instrument(span)
        })
    }
}

/// A few words of a fixed set: an error's own text would make every span one of its own.
fn kind(error: &kubewright_net::TransportError) -> &'static str {
    match error {
        error if error.is_timeout() => "timeout",
        error if error.is_closed() => "connection_closed",
        error if error.is_connect() => "connect",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use kubewright_net::{Body, TransportError};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// Writes down the fields of every span.
    struct Notes(Arc<Mutex<String>>);

    struct Pen<'a>(&'a mut String);

    impl Visit for Pen<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            let _ = write!(self.0, "{}={value:?} ", field.name());
        }
    }

    impl Subscriber for Notes {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, span: &Attributes<'_>) -> Id {
            span.record(&mut Pen(&mut self.0.lock().unwrap()));
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, values: &Record<'_>) {
            values.record(&mut Pen(&mut self.0.lock().unwrap()));
        }
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[tokio::test]
    async fn spans_say_what_was_asked_and_hide_secrets() {
        let notes = Arc::new(Mutex::new(String::new()));
        let _guard = tracing::subscriber::set_default(Notes(Arc::clone(&notes)));
        let server = HttpService::from_fn(|request: Request<Body>| async move {
            match request.uri().path().contains("lost") {
                true => Err(TransportError::closed("testing")),
                false => Ok(Response::builder().status(404).body(Body::empty()).unwrap()),
            }
        });
        let service = TraceLayer.layer(server);
        let request = |uri: &str| {
            let request = Request::get(uri)
                .header("authorization", "Bearer hush")
                .extension(Attempt(2));
            request.body(Body::empty()).unwrap()
        };
        service
            .send(request(
                "https://u:hush@kube:6443/api/v1/namespaces/hush/pods/hush?token=hush",
            ))
            .await
            .unwrap();
        service
            .send(request("https://kube/api/v1/nodes/lost"))
            .await
            .unwrap_err();
        let text = notes.lock().unwrap().clone();
        assert!(!text.contains("hush"), "{text}");
        for part in [
            "otel.name=GET /api/v1/namespaces/{namespace}/pods/{name} ",
            "server.address=\"kube:6443\"",
            "http.request.resend_count=2",
            "http.response.status_code=404",
            "error.type=\"404\"",
            "error.type=\"connection_closed\"",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
