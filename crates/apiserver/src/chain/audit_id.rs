//! The name of a request in logs: the client's, or one that is made up (apiserver pkg/endpoints/filters/audit_init.go).

use http::{HeaderMap, HeaderName, HeaderValue, Response};

/// The name of a request.
pub(super) struct AuditId(HeaderValue);

impl AuditId {
    /// The one that the client gave, or a new one.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut id = headers.get(&AUDIT_ID).cloned().unwrap_or_else(new);
        // It never comes again, so on HTTP/2 it had better not take the place of what does in the table of known headers.
        id.set_sensitive(true);
        Self(id)
    }

    /// Tells the client.
    pub(super) fn write<B>(self, response: &mut Response<B>) {
        response.headers_mut().insert(AUDIT_ID, self.0);
    }
}

fn new() -> HeaderValue {
    HeaderValue::from_str(&crate::ids::uid()).unwrap_or(HeaderValue::from_static("unknown"))
}

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_own_or_a_new_one() {
        let told = |headers: &HeaderMap| {
            let mut response = Response::new(());
            AuditId::of(headers).write(&mut response);
            response.headers()[AUDIT_ID].clone()
        };
        let mut headers = HeaderMap::new();
        let made = told(&headers);
        assert!(made.is_sensitive());
        assert_eq!(made.len(), 36);
        assert_ne!(made, told(&headers));
        headers.insert(AUDIT_ID, HeaderValue::from_static("mine"));
        assert_eq!(told(&headers), "mine");
    }
}
