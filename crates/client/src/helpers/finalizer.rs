//! Putting finalizers on objects and taking them off: [`Finalizer`].

use kubewright_core::{Patch, Resource, WriteOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::Api;
use crate::error::Error;

/// A finalizer: while its name is on an object, the object is deleted only in name.
///
/// All operations can be repeated, and meet other finalizers coming and going at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finalizer {
    name: String,
}

/// A finalizer could not be put on or taken off an object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinalizerError {
    /// The server refused or could not be reached.
    #[error("could not change finalizer {finalizer} of {object}")]
    Client {
        /// The finalizer.
        finalizer: String,
        /// The object's name.
        object: String,
        /// Why.
        source: Error,
    },
    /// Others changed the object each time in between.
    #[error("finalizer {finalizer} of {object} could not be changed in {attempts} attempts")]
    Contended {
        /// The finalizer.
        finalizer: String,
        /// The object's name.
        object: String,
        /// How often it was tried.
        attempts: u32,
        /// The answer to the last attempt.
        source: Error,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Add,
    Remove,
}

impl Finalizer {
    /// A finalizer. Names look like `example.com/cleanup`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is on an object.
    pub fn is_on(&self, object: &impl Resource) -> bool {
        position(object, &self.name).is_some()
    }

    /// Puts the finalizer on an object. Objects that are being deleted take none and stay as they are.
    ///
    /// # Errors
    ///
    /// [`FinalizerError`].
    pub async fn add<K>(&self, api: &Api<K>, object: &K) -> Result<(), FinalizerError>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        self.change(api, object, Change::Add).await
    }

    /// Takes the finalizer off an object. An object that is gone counts as done.
    ///
    /// # Errors
    ///
    /// [`FinalizerError`].
    pub async fn remove<K>(&self, api: &Api<K>, object: &K) -> Result<(), FinalizerError>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        self.change(api, object, Change::Remove).await
    }

    async fn change<K>(&self, api: &Api<K>, object: &K, change: Change) -> Result<(), FinalizerError>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        let failed = |source| FinalizerError::Client {
            finalizer: self.name.clone(),
            object: object.name().to_owned(),
            source,
        };
        let Some(mut patch) = self.patch(object, change) else {
            return Ok(());
        };
        let mut version = object.metadata().resource_version.clone();
        let mut attempts = 1;
        loop {
            let error = match api.patch(object.name(), &patch, &WriteOptions::default()).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_not_found() && change == Change::Remove => return Ok(()),
                // A test that does not hold is answered as invalid, a version that has passed as a conflict.
                Err(error) if error.is_conflict() || error.is_invalid() => error,
                Err(error) => return Err(failed(error)),
            };
            let newer = match api.get_opt(object.name()).await.map_err(failed)? {
                Some(newer) if newer.metadata().uid == object.metadata().uid => newer,
                _ if change == Change::Remove => return Ok(()),
                _ => return Err(failed(error)),
            };
            // Where nothing has changed, it was no test of the patch that failed: the server refuses the object.
            if error.is_invalid() && newer.metadata().resource_version == version {
                return Err(failed(error));
            }
            if attempts == MAX_ATTEMPTS {
                return Err(FinalizerError::Contended {
                    finalizer: self.name.clone(),
                    object: object.name().to_owned(),
                    attempts,
                    source: error,
                });
            }
            let Some(next) = self.patch(&newer, change) else {
                return Ok(());
            };
            patch = next;
            version.clone_from(&newer.metadata().resource_version);
            attempts += 1;
        }
    }

    /// The patch that makes the change, or `None` when there is nothing to change.
    fn patch<K: Resource>(&self, object: &K, change: Change) -> Option<Patch> {
        let metadata = object.metadata();
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        let uid = json!({"op": "test", "path": "/metadata/uid", "value": metadata.uid});
        let at = position(object, &self.name);
        let operations: Vec<Value> = match (change, at) {
            (Change::Add, Some(_)) | (Change::Remove, None) => return None,
            (Change::Add, None) if metadata.deletion_timestamp.is_some() => return None,
            // Nothing to append to, and JSON patch cannot test for that: the version guards the list.
            (Change::Add, None) if finalizers.is_empty() => {
                return Some(Patch::Merge(json!({"metadata": {
                    "uid": metadata.uid,
                    "resourceVersion": metadata.resource_version,
                    "finalizers": [self.name],
                }})));
            }
            (Change::Add, None) => vec![
                uid,
                json!({"op": "test", "path": "/metadata/finalizers/0", "value": finalizers[0]}),
                json!({"op": "add", "path": "/metadata/finalizers/-", "value": self.name}),
            ],
            (Change::Remove, Some(at)) => {
                let path = format!("/metadata/finalizers/{at}");
                vec![
                    uid,
                    json!({"op": "test", "path": path, "value": self.name}),
                    json!({"op": "remove", "path": path}),
                ]
            }
        };
        Some(Patch::Json(operations.into()))
    }
}

fn position(object: &impl Resource, name: &str) -> Option<usize> {
    let finalizers = object.metadata().finalizers.as_deref().unwrap_or_default();
    finalizers.iter().position(|finalizer| finalizer == name)
}

const MAX_ATTEMPTS: u32 = 5;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::{Method, Response, StatusCode};
    use kubewright_core::{Status, StatusReason};
    use kubewright_net::{Body, HttpService};

    use super::*;
    use crate::client::Client;

    type Answers = Vec<(Method, u16, String)>;

    fn map(version: u64, finalizers: &[&str]) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": version.to_string(),
            "finalizers": finalizers,
        }})
    }

    fn found(version: u64, finalizers: &[&str]) -> (Method, u16, String) {
        (Method::GET, 200, map(version, finalizers).to_string())
    }

    fn refusal(reason: StatusReason, message: &str) -> (Method, u16, String) {
        let status = Status::failure(reason, message);
        let body = serde_json::to_string(&status).unwrap();
        (Method::PATCH, status.code, body)
    }

    fn invalid(message: &str) -> (Method, u16, String) {
        refusal(StatusReason::Invalid, message)
    }

    /// Takes `f` off an object at version 1 and gives what became of it, with the answers nobody asked for.
    async fn remove(answers: Answers) -> (Result<(), FinalizerError>, usize) {
        let answers = Arc::new(Mutex::new(answers));
        let scripted = Arc::clone(&answers);
        let service = HttpService::from_fn(move |request| {
            let (method, code, body) = scripted.lock().unwrap().remove(0);
            assert_eq!(request.method(), method);
            async move {
                let mut response = Response::new(Body::from(body));
                *response.status_mut() = StatusCode::from_u16(code).unwrap();
                let json = http::HeaderValue::from_static("application/json");
                response.headers_mut().insert(http::header::CONTENT_TYPE, json);
                Ok(response)
            }
        });
        let client = Client::from_service(service, "n");
        let api: Api<k8s_openapi::api::core::v1::ConfigMap> = Api::namespaced(&client, "n");
        let object = serde_json::from_value(map(1, &["f"])).unwrap();
        let result = Finalizer::new("f").remove(&api, &object).await;
        let left = answers.lock().unwrap().len();
        (result, left)
    }

    #[tokio::test]
    async fn a_refusal_is_told_from_a_test_that_failed() {
        let done = || (Method::PATCH, 200, map(9, &[]).to_string());
        let stale = || (2..).flat_map(|version| [invalid("the test failed"), found(version, &["x", "f"])]);
        let rows: Vec<(&str, Answers, &str)> = vec![
            ("at once", vec![done()], ""),
            (
                "moved",
                vec![invalid("the test failed"), found(2, &["x", "f"]), done()],
                "",
            ),
            (
                "gone meanwhile",
                vec![invalid("the test failed"), found(2, &[])],
                "",
            ),
            (
                "refused",
                vec![invalid("spec.x is immutable"), found(1, &["f"])],
                "spec.x is immutable",
            ),
            (
                "refused after a move",
                vec![
                    invalid("the test failed"),
                    found(2, &["x", "f"]),
                    invalid("spec.x is immutable"),
                    found(2, &["x", "f"]),
                ],
                "spec.x is immutable",
            ),
            (
                "always in between",
                stale().take(2 * MAX_ATTEMPTS as usize).collect(),
                "the test failed",
            ),
        ];
        for (name, answers, expect) in rows {
            let (result, left) = remove(answers).await;
            let told = result.err().map(|error| {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                source.unwrap_or_default()
            });
            assert!(
                told.as_deref().unwrap_or_default().contains(expect),
                "{name}: {told:?}"
            );
            assert_eq!((told.is_some(), left), (!expect.is_empty(), 0), "{name}");
        }
    }
}
