//! What can be done about the usual mistakes.

use std::error::Error as StdError;
use std::io;

use kubewright_net::TransportError;
use rustls::CertificateError;

use crate::error::Error;

impl Error {
    /// What the user can do about it, where that can be told: a wrong context, an expired token, an unknown authority, missing rights, a kind
    /// that is not installed.
    pub fn hint(&self) -> Option<String> {
        match self.own() {
            Self::Transport { source, .. } => of_transport(source),
            Self::Timeout { .. } => Some(
                "the server answers too slowly, or not at all: ask for less with a limit, or give the client a longer timeout"
                    .to_owned(),
            ),
            Self::TooLarge { .. } => Some("ask for less, with a limit or a selector".to_owned()),
            Self::Credentials { .. } => Some(
                "log in again; `kubectl config view --minify` shows where the credentials of this context come from".to_owned(),
            ),
            Self::NoMatch { .. } => Some(
                "`kubectl api-resources` lists what the server has; a custom resource needs its definition installed".to_owned(),
            ),
            Self::Ambiguous { .. } => Some("name the group and the version too, as in the list".to_owned()),
            Self::Api { .. } => self.of_answer(),
            Self::Decode { .. } | Self::Invalid { .. } | Self::Shared(_) => None,
        }
    }

    fn of_answer(&self) -> Option<String> {
        let call = self.call()?;
        if self.is_unauthorized() {
            return Some(
                "the server does not accept these credentials: a token or certificate that has expired or is of another cluster; log in \
                 again, or look at `kubectl config current-context`"
                    .to_owned(),
            );
        }
        if self.is_forbidden() && !self.is_namespace_terminating() {
            return Some(
                "`kubectl auth whoami` tells who the server takes one for, `kubectl auth can-i --list` what that one may do; a role and its \
                 binding give the right"
                    .to_owned(),
            );
        }
        // A missing object is told of with its kind, a missing kind is not.
        let names_nothing = |status: &kubewright_core::Status| {
            status
                .details
                .as_ref()
                .is_none_or(|details| details.name.is_empty())
        };
        if self.is_not_found() && self.status().is_some_and(names_nothing) {
            return Some(format!(
                "the server has no {}: is its definition installed, in this version? `kubectl api-resources` lists what there is",
                call.path()
            ));
        }
        if self.is_conflict() && call.verb() == "update" {
            return Some(
                "somebody changed the object in between: read it again, and make the change anew".to_owned(),
            );
        }
        if self.is_conflict() && call.verb() == "apply" {
            return Some(
                "another field manager owns a field: leave it out, or force the apply to take it over"
                    .to_owned(),
            );
        }
        if self.is_expired() {
            return Some(
                "the version is older than what the server keeps: list anew without a version".to_owned(),
            );
        }
        None
    }
}

fn of_transport(error: &TransportError) -> Option<String> {
    let hint = match error {
        _ if error.is_connection_refused() => {
            "nothing listens there: is the server running, and is it the right context (`kubectl config current-context`)?"
        }
        TransportError::Connect { .. } => {
            "is this the right context (`kubectl config current-context`), and can the host be reached from here?"
        }
        TransportError::Tls { source, .. } => match certificate_error(source.as_ref())? {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "the server's certificate is of an authority that is not trusted here: `certificate-authority-data` of the cluster in the \
                 kubeconfig must hold it; perhaps the cluster was made anew, or this is another one"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired, or the clock of this machine is wrong"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the server's certificate is not valid yet: is the clock of this machine right?"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the server's certificate is for other names: use one of them as the address, or as `tls-server-name` of the cluster"
            }
            _ => return None,
        },
        TransportError::Proxy { .. } => {
            "`proxy-url` of the cluster, HTTPS_PROXY and NO_PROXY say where requests go"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What the TLS library said of a certificate, anywhere in a chain of errors.
fn certificate_error<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e CertificateError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(rustls::Error::InvalidCertificate(fault)) = error.downcast_ref() {
            return Some(fault);
        }
        // An I/O error gives the source of what it wraps, not that itself.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use kubewright_core::{Status, StatusReason};

    use super::*;
    use crate::call::Call;

    fn tls(fault: CertificateError) -> TransportError {
        let inner = io::Error::new(
            io::ErrorKind::InvalidData,
            rustls::Error::InvalidCertificate(fault),
        );
        TransportError::Tls {
            address: "a:1".to_owned(),
            source: inner.into(),
        }
    }

    #[test]
    fn usual_mistakes_are_known() {
        let call = |verb| Call::new(verb, "https://a:1", "/apis/example.com/v1/widgets");
        let refused = TransportError::Connect {
            address: "a:1".to_owned(),
            source: io::Error::from(io::ErrorKind::ConnectionRefused).into(),
        };
        let of = |verb, reason| call(verb).api(Status::failure(reason, "because"));
        let rows = [
            (call("get").transport(refused), Some("nothing listens there")),
            (
                call("get").transport(tls(CertificateError::UnknownIssuer)),
                Some("certificate-authority-data"),
            ),
            (
                call("get").transport(tls(CertificateError::Expired)),
                Some("has expired"),
            ),
            (
                call("get").transport(tls(CertificateError::NotValidForName)),
                Some("tls-server-name"),
            ),
            (call("get").transport(TransportError::closed("reading")), None),
            (of("get", StatusReason::Unauthorized), Some("expired")),
            (of("get", StatusReason::Forbidden), Some("can-i")),
            (
                of("list", StatusReason::NotFound),
                Some("no /apis/example.com/v1/widgets"),
            ),
            (
                call("get").api(Status::not_found(
                    &kubewright_core::GroupResource::new("", "pods"),
                    "x",
                )),
                None,
            ),
            (of("update", StatusReason::Conflict), Some("read it again")),
            (of("apply", StatusReason::Conflict), Some("force")),
            (of("create", StatusReason::Conflict), None),
            (of("watch", StatusReason::Expired), Some("list anew")),
            (call("get").invalid("x"), None),
            (Error::NoMatch { what: "x".to_owned() }, Some("api-resources")),
        ];
        for (error, expect) in rows {
            let hint = error.hint();
            assert_eq!(hint.is_some(), expect.is_some(), "{error}: {hint:?}");
            if let (Some(hint), Some(expect)) = (hint, expect) {
                assert!(hint.contains(expect), "{error}: {hint}");
            }
        }
        let error = call("get").transport(TransportError::closed("reading"));
        assert_eq!(
            error.to_string(),
            "get https://a:1/apis/example.com/v1/widgets: the server could not be reached"
        );
    }
}
