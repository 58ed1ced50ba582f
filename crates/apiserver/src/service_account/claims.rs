//! What a token says (kubernetes pkg/serviceaccount/claims.go).

use kubewright_net::Identity;
use serde_json::{Map, Value, json};

/// The claims of a token. Times are in seconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) id: String,
    pub(crate) audiences: Vec<String>,
    pub(crate) issued_at: Option<i64>,
    pub(crate) not_before: Option<i64>,
    pub(crate) expires: Option<i64>,
    /// From when on the token counts as stale: it was given a longer life than was asked for.
    pub(crate) warn_after: Option<i64>,
    pub(crate) namespace: String,
    pub(crate) account: Reference,
    pub(crate) pod: Option<Reference>,
    pub(crate) secret: Option<Reference>,
    /// The node that the token is bound to, or with a pod the one that it runs on.
    pub(crate) node: Option<Reference>,
}

/// An object of which a token speaks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) name: String,
    /// Empty for a node that was not there.
    pub(crate) uid: String,
}

impl Claims {
    /// The claims of `issuer` in JSON.
    pub(super) fn to_json(&self, issuer: &str) -> Value {
        let mut private = Map::new();
        let mut set = |name: &str, reference: Option<&Reference>| {
            if let Some(reference) = reference {
                private.insert(name.to_owned(), reference.to_json());
            }
        };
        set("serviceaccount", Some(&self.account));
        set("pod", self.pod.as_ref());
        set("secret", self.secret.as_ref());
        set("node", self.node.as_ref());
        private.insert("namespace".to_owned(), self.namespace.as_str().into());
        if let Some(after) = self.warn_after {
            private.insert("warnafter".to_owned(), after.into());
        }
        json!({
            "iss": issuer,
            "sub": self.subject(),
            "aud": self.audiences,
            "jti": self.id,
            "iat": self.issued_at,
            "nbf": self.not_before,
            "exp": self.expires,
            "kubernetes.io": private,
        })
    }

    /// Reads claims; what is not there, or is of another type, is left out.
    pub(super) fn from_json(claims: &Value) -> Self {
        let private = &claims["kubernetes.io"];
        // A numeric date may have a fraction, which is cut off.
        let time = |value: &Value| {
            value
                .as_i64()
                .or_else(|| value.as_f64().map(|seconds| seconds as i64))
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let audiences = match &claims["aud"] {
            Value::String(one) => vec![one.clone()],
            Value::Array(all) => all.iter().map(text).collect(),
            _ => Vec::new(),
        };
        Self {
            id: text(&claims["jti"]),
            audiences,
            issued_at: time(&claims["iat"]),
            not_before: time(&claims["nbf"]),
            expires: time(&claims["exp"]),
            warn_after: time(&private["warnafter"]),
            namespace: text(&private["namespace"]),
            account: Reference::from_json(&private["serviceaccount"]).unwrap_or_default(),
            pod: Reference::from_json(&private["pod"]),
            secret: Reference::from_json(&private["secret"]),
            node: Reference::from_json(&private["node"]),
        }
    }

    /// The user name of the account.
    pub(super) fn subject(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.account.name)
    }

    /// Whether the token holds at `now`, give or take [`LEEWAY_SECONDS`].
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check_time(&self, now: i64) -> Result<(), String> {
        let is_before =
            |time: Option<i64>| time.is_some_and(|time| now.saturating_add(LEEWAY_SECONDS) < time);
        let why = if is_before(self.not_before) {
            "service account token is not valid yet"
        } else if self
            .expires
            .is_some_and(|expires| now.saturating_sub(LEEWAY_SECONDS) > expires)
        {
            "service account token has expired"
        } else if is_before(self.issued_at) {
            "service account token is issued in the future"
        } else {
            return Ok(());
        };
        Err(why.to_owned())
    }

    /// Who the token makes of its bearer (apiserver pkg/authentication/serviceaccount/util.go).
    pub(super) fn identity(&self) -> Identity {
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", self.namespace),
            crate::authentication::AUTHENTICATED.to_owned(),
        ];
        let mut identity = Identity::new(self.subject(), groups);
        identity.uid.clone_from(&self.account.uid);
        let mut add = |key: &str, value: String| {
            identity
                .extra
                .insert(format!("authentication.kubernetes.io/{key}"), vec![value]);
        };
        if let Some(pod) = &self.pod {
            add("pod-name", pod.name.clone());
            add("pod-uid", pod.uid.clone());
        }
        if !self.id.is_empty() {
            add("credential-id", format!("JTI={}", self.id));
        }
        if let Some(node) = &self.node {
            add("node-name", node.name.clone());
            if !node.uid.is_empty() {
                add("node-uid", node.uid.clone());
            }
        }
        identity
    }
}

impl Reference {
    /// The name and uid of an object.
    pub(crate) fn to(object: &Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            uid: text("uid"),
        }
    }

    fn to_json(&self) -> Value {
        match self.uid.is_empty() {
            true => json!({"name": self.name}),
            false => json!({"name": self.name, "uid": self.uid}),
        }
    }

    fn from_json(reference: &Value) -> Option<Self> {
        let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
        reference.is_object().then(|| Self {
            name: text("name"),
            uid: text("uid"),
        })
    }
}

/// How far clocks may differ (go-jose `DefaultLeeway`).
pub(super) const LEEWAY_SECONDS: i64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Claims {
        let reference = |name: &str| Reference {
            name: name.to_owned(),
            uid: format!("{name}-uid"),
        };
        Claims {
            id: "id".to_owned(),
            audiences: vec!["a".to_owned(), "b".to_owned()],
            issued_at: Some(1000),
            not_before: Some(1000),
            expires: Some(2000),
            warn_after: Some(1500),
            namespace: "ns".to_owned(),
            account: reference("sa"),
            pod: Some(reference("p")),
            secret: None,
            node: Some(Reference {
                name: "n".to_owned(),
                uid: String::new(),
            }),
        }
    }

    #[test]
    fn claims_go_there_and_back() {
        let json = claims().to_json("me");
        assert_eq!(
            json,
            json!({
                "iss": "me", "sub": "system:serviceaccount:ns:sa", "aud": ["a", "b"], "jti": "id", "iat": 1000, "nbf": 1000, "exp": 2000,
                "kubernetes.io": {
                    "namespace": "ns",
                    "serviceaccount": {"name": "sa", "uid": "sa-uid"},
                    "pod": {"name": "p", "uid": "p-uid"},
                    "node": {"name": "n"},
                    "warnafter": 1500,
                },
            })
        );
        assert_eq!(Claims::from_json(&json), claims());
        assert_eq!(
            Claims::from_json(&json!({"aud": "one", "exp": 1.5})).audiences,
            ["one"]
        );
    }

    #[test]
    fn tokens_hold_for_their_time() {
        #[track_caller]
        fn check(now: i64, expect: &str) {
            assert_eq!(claims().check_time(now).err().unwrap_or_default(), expect);
        }
        check(939, "service account token is not valid yet");
        check(940, "");
        check(2060, "");
        check(2061, "service account token has expired");
        let future = Claims {
            not_before: None,
            ..claims()
        };
        assert_eq!(
            future.check_time(1).unwrap_err(),
            "service account token is issued in the future"
        );
    }

    #[test]
    fn who_the_bearer_is() {
        let identity = claims().identity();
        assert_eq!(identity.user, "system:serviceaccount:ns:sa");
        assert_eq!(identity.uid, "sa-uid");
        assert_eq!(
            identity.groups,
            [
                "system:serviceaccounts",
                "system:serviceaccounts:ns",
                "system:authenticated"
            ]
        );
        let extra: Vec<(&str, &str)> = identity
            .extra
            .iter()
            .map(|(key, values)| (key.rsplit('/').next().unwrap(), values[0].as_str()))
            .collect();
        assert_eq!(
            extra,
            [
                ("credential-id", "JTI=id"),
                ("node-name", "n"),
                ("pod-name", "p"),
                ("pod-uid", "p-uid")
            ]
        );
    }
}
