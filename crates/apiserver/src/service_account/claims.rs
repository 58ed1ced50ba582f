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

    /// Reads claims; what is not there is left out.
    ///
    /// # Errors
    /// For a claim that is there and is of another type than it has, as go-jose reads claims (jwt/claims.go): a time that cannot be
    /// read must not become a token without that limit.
    pub(super) fn from_json(claims: &Value) -> Result<Self, String> {
        let private = &claims["kubernetes.io"];
        if !private.is_null() && !private.is_object() {
            return Err(mismatch(private, "serviceaccount.kubernetes"));
        }
        Ok(Self {
            id: text(&claims["jti"])?,
            audiences: audiences(claims)?,
            issued_at: time(&claims["iat"])?,
            not_before: time(&claims["nbf"])?,
            expires: time(&claims["exp"])?,
            warn_after: time(&private["warnafter"])?,
            namespace: text(&private["namespace"])?,
            account: Reference::from_json(&private["serviceaccount"])?.unwrap_or_default(),
            pod: Reference::from_json(&private["pod"])?,
            secret: Reference::from_json(&private["secret"])?,
            node: Reference::from_json(&private["node"])?,
        })
    }

    /// The user name of the account.
    pub(super) fn subject(&self) -> String {
        self.account.username(&self.namespace)
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
        let mut identity = self.account.identity(&self.namespace);
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
    /// The user name of an account in a namespace.
    pub(super) fn username(&self, namespace: &str) -> String {
        format!("system:serviceaccount:{namespace}:{}", self.name)
    }

    /// Who acts as this account of a namespace.
    pub(super) fn identity(&self, namespace: &str) -> Identity {
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            crate::authentication::AUTHENTICATED.to_owned(),
        ];
        let mut identity = Identity::new(self.username(namespace), groups);
        identity.uid.clone_from(&self.uid);
        identity
    }

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

    fn from_json(reference: &Value) -> Result<Option<Self>, String> {
        if reference.is_null() {
            return Ok(None);
        }
        if !reference.is_object() {
            return Err(mismatch(reference, "serviceaccount.ref"));
        }
        Ok(Some(Self {
            name: text(&reference["name"])?,
            uid: text(&reference["uid"])?,
        }))
    }
}

/// Whom a token is meant for; nobody in particular where it does not say.
pub(super) fn audiences(claims: &Value) -> Result<Vec<String>, String> {
    match claims.get("aud") {
        None => Ok(Vec::new()),
        Some(Value::String(one)) => Ok(vec![one.clone()]),
        Some(Value::Array(all)) => {
            let all = all.iter().map(|one| one.as_str().map(str::to_owned));
            Ok(all.collect::<Option<_>>().ok_or(NO_AUDIENCE)?)
        }
        Some(_) => Err(NO_AUDIENCE.to_owned()),
    }
}

/// A numeric date. It may have a fraction, which is cut off.
fn time(value: &Value) -> Result<Option<i64>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Number(seconds) => {
            let whole = seconds.as_i64();
            Ok(whole.or_else(|| seconds.as_f64().map(|seconds| seconds as i64)))
        }
        _ => Err(NO_DATE.to_owned()),
    }
}

pub(super) fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        other => Err(mismatch(other, "string")),
    }
}

/// What Go's reader of JSON says of a value that does not fit.
fn mismatch(value: &Value, wanted: &str) -> String {
    let found = match value {
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Null | Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {found} into Go value of type {wanted}")
}

/// go-jose `ErrUnmarshalAudience`.
const NO_AUDIENCE: &str = "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience";
/// go-jose `ErrUnmarshalNumericDate`.
const NO_DATE: &str = "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate";

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
        assert_eq!(Claims::from_json(&json).unwrap(), claims());
    }

    #[test]
    fn claims_of_another_type_are_refused() {
        #[track_caller]
        fn check(changed: &Value, expect: Result<Claims, &str>) {
            let found = Claims::from_json(changed);
            assert_eq!(
                found.as_ref().map_err(String::as_str),
                expect.as_ref().map_err(|e| *e),
                "{changed}"
            );
        }
        check(&json!({}), Ok(Claims::default()));
        let nulls = json!({"jti": null, "exp": null, "nbf": null, "iat": null, "kubernetes.io": null});
        check(&nulls, Ok(Claims::default()));
        let expiring = |expires| Claims {
            expires: Some(expires),
            ..Claims::default()
        };
        check(&json!({"exp": 1.5}), Ok(expiring(1)));
        check(&json!({"exp": 1e30}), Ok(expiring(i64::MAX)));
        let one = Claims {
            audiences: vec!["one".to_owned()],
            ..Claims::default()
        };
        check(&json!({"aud": "one"}), Ok(one));
        for claim in ["exp", "nbf", "iat"] {
            for no_number in [json!("1700000000"), json!(""), json!(true), json!([1]), json!({})] {
                check(&json!({claim: no_number}), Err(NO_DATE));
            }
        }
        check(&json!({"kubernetes.io": {"warnafter": "1"}}), Err(NO_DATE));
        for no_audience in [json!(null), json!(1), json!({}), json!(["a", 1])] {
            check(&json!({"aud": no_audience}), Err(NO_AUDIENCE));
        }
        let number = "json: cannot unmarshal number into Go value of type string";
        check(&json!({"jti": 1}), Err(number));
        check(&json!({"kubernetes.io": {"namespace": 1}}), Err(number));
        check(&json!({"kubernetes.io": {"pod": {"name": 1}}}), Err(number));
        let array = "json: cannot unmarshal array into Go value of type serviceaccount.ref";
        check(&json!({"kubernetes.io": {"node": []}}), Err(array));
        let string = "json: cannot unmarshal string into Go value of type serviceaccount.kubernetes";
        check(&json!({"kubernetes.io": "x"}), Err(string));
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
