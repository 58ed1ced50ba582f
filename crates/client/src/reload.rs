//! Connections whose certificates come from files that are replaced from time to time.
//!
//! The files are read again every [`PERIOD`] (client-go `transport/cert_rotation.go`), and at once when a handshake fails, since then
//! they are what may be out of date. What has changed is used from then on, and connections that were opened with what was
//! there before are closed, so that no watch outlives its certificate. Files that cannot be read change nothing.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, Request, Response, header};
use kubewright_net::{
    Body, BoxError, CertificateAndKey, Connections, HttpService, ServerVerification, TransportError,
};
use tokio::time::Instant;

use crate::layers::replay;

/// How often the files are read: every 5 minutes.
const PERIOD: Duration = Duration::from_secs(300);

/// Where certificates come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    /// The CA bundle.
    pub(crate) authority: Option<PathBuf>,
    /// Client certificate and key.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
}

/// What a connection is opened with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Material {
    pub(crate) verification: ServerVerification,
    pub(crate) certificate: Option<CertificateAndKey>,
}

/// Makes a service with connections of its own.
pub(crate) type Open = Arc<dyn Fn(&Material) -> Result<Opened, BoxError> + Send + Sync>;

/// A service with what closes its connections.
pub(crate) struct Opened {
    pub(crate) service: HttpService,
    pub(crate) connections: Option<Connections>,
}

impl Files {
    fn is_empty(&self) -> bool {
        self.authority.is_none() && self.certificate.is_none()
    }

    /// What the files hold now; of what is in none, what there is.
    fn read(&self, present: &Material) -> Result<Material, BoxError> {
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
        };
        let mut material = present.clone();
        if let Some(path) = &self.authority {
            material.verification = ServerVerification::Bundle(read(path)?);
        }
        if let Some((certificate, key)) = &self.certificate {
            let pair = CertificateAndKey::from_pem(&read(certificate)?, &read(key)?)?;
            material.certificate = Some(pair);
        }
        Ok(material)
    }
}

/// Closes the connections of a service, for who replaces it.
pub(crate) type Close = Arc<dyn Fn() + Send + Sync>;

/// A service that follows the files, with what closes its connections. Without files it is what `open` makes.
///
/// Fails if that cannot be made from `material`, which is what was read of the files at first.
pub(crate) fn following(
    files: Files,
    material: Material,
    open: Open,
) -> Result<(HttpService, Close), BoxError> {
    let opened = open(&material)?;
    if files.is_empty() {
        let Opened { service, connections } = opened;
        return Ok((service, Arc::new(move || close(connections.as_ref()))));
    }
    let follower = Arc::new(Follower {
        files,
        open,
        current: Mutex::new(Current {
            material,
            opened,
            read: Instant::now(),
        }),
    });
    let followed = Arc::clone(&follower);
    let service = HttpService::from_fn(move |request| {
        let follower = Arc::clone(&follower);
        async move { follower.send(request).await }
    });
    let all = move || {
        let current = followed.current.lock().unwrap_or_else(PoisonError::into_inner);
        close(current.opened.connections.as_ref());
    };
    Ok((service, Arc::new(all)))
}

fn close(connections: Option<&Connections>) {
    if let Some(connections) = connections {
        connections.close();
    }
}

struct Follower {
    files: Files,
    open: Open,
    current: Mutex<Current>,
}

struct Current {
    material: Material,
    opened: Opened,
    read: Instant,
}

impl Follower {
    async fn send(&self, request: Request<Body>) -> Result<Response<Body>, TransportError> {
        let copy = replay(&request);
        let asked = Instant::now();
        let answer = self.service().send(request).await;
        // Most often it was the handshake that failed, but a connection that was open can fail so, too: then the server may have
        // acted on the request.
        let copy = copy.filter(|copy| {
            matches!(*copy.method(), Method::GET | Method::HEAD)
                && !copy.headers().contains_key(header::UPGRADE)
        });
        match (answer, copy) {
            (Err(TransportError::Tls { .. }), Some(copy)) if self.follow(asked) => {
                self.service().send(copy).await
            }
            (Err(error @ TransportError::Tls { .. }), None) => {
                // What is sent next has the new ones.
                self.follow(asked);
                Err(error)
            }
            (answer, _) => answer,
        }
    }

    fn service(&self) -> HttpService {
        let now = Instant::now();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(current.read) >= PERIOD {
            self.look(&mut current, now);
        }
        current.opened.service.clone()
    }

    /// True if the files hold something else than what a request used that was sent then.
    fn follow(&self, asked: Instant) -> bool {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // Another request may have looked since.
        if current.read > asked {
            return true;
        }
        self.look(&mut current, Instant::now())
    }

    /// Reads the files; true if they have changed.
    fn look(&self, current: &mut Current, now: Instant) -> bool {
        current.read = now;
        let changed = self.files.read(&current.material).and_then(|material| {
            if material == current.material {
                return Ok(None);
            }
            Ok(Some(((self.open)(&material)?, material)))
        });
        match changed {
            Ok(None) => false,
            Ok(Some((opened, material))) => {
                tracing::info!("certificates were replaced, connections are opened anew");
                let before = std::mem::replace(&mut current.opened, opened);
                current.material = material;
                if let Some(connections) = before.connections {
                    connections.close();
                }
                true
            }
            Err(error) => {
                tracing::warn!(%error, "certificates could not be read again, the old ones stay in use");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn request() -> Request<Body> {
        Request::get("/x").body(Body::empty()).unwrap()
    }

    /// Answers with the bundle that it trusts, unless the server, whose authority is `signed`, would not be trusted.
    fn open(signed: &Arc<Mutex<Vec<u8>>>) -> Open {
        let signed = Arc::clone(signed);
        Arc::new(move |material: &Material| {
            let ServerVerification::Bundle(bundle) = material.verification.clone() else {
                return Err("no bundle".into());
            };
            if bundle == b"broken" {
                return Err("no certificate in it".into());
            }
            let signed = Arc::clone(&signed);
            let service = HttpService::from_fn(move |_| {
                let (bundle, signed) = (bundle.clone(), signed.lock().unwrap().clone());
                async move {
                    if !signed.is_empty() && signed != bundle {
                        return Err(TransportError::Tls {
                            address: "kube:443".to_owned(),
                            source: "unknown issuer".into(),
                        });
                    }
                    Ok(Response::new(Body::from(bundle)))
                }
            });
            Ok(Opened {
                service,
                connections: None,
            })
        })
    }

    async fn trusted(service: &HttpService) -> Result<String, TransportError> {
        let answer = service.send(request()).await?;
        let body = answer.into_body().collect_limited(99).await.unwrap();
        Ok(String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn files_are_read_again_after_a_time_and_after_a_failed_handshake() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.crt");
        let signed = Arc::new(Mutex::new(Vec::new()));
        let files = Files {
            authority: Some(path.clone()),
            certificate: None,
        };
        let material = Material {
            verification: ServerVerification::Bundle(b"one".to_vec()),
            certificate: None,
        };
        let (service, _) = following(files, material, open(&signed)).unwrap();
        fs::write(&path, "two").unwrap();
        assert_eq!(trusted(&service).await.unwrap(), "one");
        tokio::time::advance(PERIOD).await;
        assert_eq!(trusted(&service).await.unwrap(), "two");

        // What cannot be read, or cannot be used, changes nothing.
        for text in [None, Some("broken")] {
            match text {
                None => fs::remove_file(&path).unwrap(),
                Some(text) => fs::write(&path, text).unwrap(),
            }
            tokio::time::advance(PERIOD).await;
            assert_eq!(trusted(&service).await.unwrap(), "two", "{text:?}");
        }

        // The server changes its authority: the file is looked at without waiting for its time.
        *signed.lock().unwrap() = b"three".to_vec();
        assert!(trusted(&service).await.unwrap_err().is_connect());
        fs::write(&path, "three").unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(trusted(&service).await.unwrap(), "three");
    }
}
