//! Tokens of service accounts: who issues them, what they say, and whether one still holds.
//!
//! A token is a JSON Web Token that names an account, and maybe a pod, a secret or a node that it lives as long as. The claims and
//! the checks are those of kubernetes pkg/serviceaccount (`claims.go`, `jwt.go`, `openidmetadata.go`).

mod bound;
mod claims;
mod discovery;
mod jwt;
mod legacy;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kubewright_net::Identity;
use kubewright_net::signing::{PublicKey, SigningKey};
use parking_lot::RwLock;

pub(crate) use bound::BoundKind;
pub(crate) use claims::{Claims, Reference};
use legacy::LegacyClaims;

use crate::storage::{Key, Storage};

/// The issuer of tokens where none is named: what kubeadm sets up.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// How service accounts get their tokens. Every value is valid.
#[derive(Debug, Default)]
pub struct ServiceAccountOptions {
    /// Who issues tokens: the first is written into new ones, all are believed (`--service-account-issuer`). Default: none, which
    /// stands for [`DEFAULT_ISSUER`].
    pub issuers: Vec<String>,
    /// Who tokens are for when a request does not say, and who this server is (`--api-audiences`). Default: none, which stands for
    /// the issuers.
    pub audiences: Vec<String>,
    /// Signs tokens (`--service-account-signing-key-file`). Default: a key that the server makes when it first needs one, and that
    /// is gone with it.
    pub signing_key: Option<SigningKey>,
    /// Keys whose signatures count besides the signing key's (`--service-account-key-file`). Default: none.
    pub verification_keys: Vec<PublicKey>,
    /// The longest life of a token (`--service-account-max-token-expiration`). Default: as long as is asked for.
    pub max_token_expiration: Option<Duration>,
}

/// Issues and checks tokens.
pub(crate) struct ServiceAccounts {
    issuers: Vec<String>,
    audiences: Vec<String>,
    max_expiration_seconds: Option<i64>,
    given: RwLock<Option<Given>>,
    /// Made at the first use: most servers never need any, and all of them start sooner.
    keys: OnceLock<Result<Keys, String>>,
    /// Claims of tokens whose signatures held, which take longer to check than most requests take in all. Whether a token still
    /// holds is found out each time.
    signed: RwLock<HashMap<String, Arc<Signed>>>,
}

/// What a token says, by its kind.
enum Signed {
    Bound(Claims),
    Legacy(LegacyClaims),
}

/// The keys that the options name.
struct Given {
    signing: Option<SigningKey>,
    verification: Vec<PublicKey>,
}

struct Keys {
    signing: SigningKey,
    /// The signing key's other half among them.
    public: Vec<PublicKey>,
}

/// Who bears a token, and for which audiences it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenBearer {
    pub(crate) identity: Identity,
    pub(crate) audiences: Vec<String>,
    /// What the bearer is to be warned of.
    pub(crate) warning: Option<&'static str>,
}

impl ServiceAccounts {
    pub(crate) fn new(options: ServiceAccountOptions) -> Self {
        let mut issuers = options.issuers;
        if issuers.is_empty() {
            issuers.push(DEFAULT_ISSUER.to_owned());
        }
        let audiences = match options.audiences {
            audiences if audiences.is_empty() => issuers.clone(),
            audiences => audiences,
        };
        let seconds = |longest: Duration| i64::try_from(longest.as_secs()).unwrap_or(i64::MAX);
        Self {
            issuers,
            audiences,
            max_expiration_seconds: options
                .max_token_expiration
                .map(seconds)
                .filter(|longest| *longest > 0),
            given: RwLock::new(Some(Given {
                signing: options.signing_key,
                verification: options.verification_keys,
            })),
            keys: OnceLock::new(),
            signed: RwLock::default(),
        }
    }

    /// The issuer that new tokens name.
    pub(crate) fn issuer(&self) -> &str {
        self.issuers.first().map_or(DEFAULT_ISSUER, String::as_str)
    }

    /// Who this server is, and who tokens are for that name nobody.
    pub(crate) fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// The longest life of a token in seconds, if there is one.
    pub(crate) fn max_expiration_seconds(&self) -> Option<i64> {
        self.max_expiration_seconds
    }

    /// Signs claims.
    ///
    /// # Errors
    /// When there is no key, or no randomness.
    pub(crate) fn issue(&self, claims: &Claims) -> Result<String, String> {
        let token = self.keys()?.signing.token(&claims.to_json(self.issuer()));
        token.map_err(|error| error.to_string())
    }

    /// Who bears a token that is meant for one of `audiences`, at `now` in seconds. `None` for what is no token of an issuer that is
    /// known here.
    ///
    /// # Errors
    /// Why the token does not hold, in upstream's words.
    pub(crate) async fn authenticate(
        &self,
        storage: &dyn Storage,
        token: &str,
        audiences: &[String],
        now: i64,
    ) -> Result<Option<TokenBearer>, String> {
        let Some(signed) = self.verified(token)? else {
            return Ok(None);
        };
        let found = match &*signed {
            Signed::Bound(claims) => &claims.audiences,
            Signed::Legacy(claims) => &claims.audiences,
        };
        let found = match found.as_slice() {
            [] => self.audiences.as_slice(),
            found => found,
        };
        let both: Vec<String> = found
            .iter()
            .filter(|audience| audiences.contains(audience))
            .cloned()
            .collect();
        if both.is_empty() {
            return Err(format!(
                "token audiences {} is invalid for the target audiences {}",
                quoted(found),
                quoted(audiences)
            ));
        }
        let claims = match &*signed {
            Signed::Bound(claims) => claims,
            Signed::Legacy(claims) => return claims.bearer(storage, token, both).await.map(Some),
        };
        claims.check_time(now)?;
        bound::check(storage, claims, now).await?;
        Ok(Some(TokenBearer {
            identity: claims.identity(),
            audiences: both,
            warning: None,
        }))
    }

    /// The claims of a token whose signature holds.
    fn verified(&self, token: &str) -> Result<Option<Arc<Signed>>, String> {
        if let Some(known) = self.signed.read().get(token) {
            return Ok(Some(known.clone()));
        }
        let Some(parsed) = jwt::Parsed::read(token) else {
            return Ok(None);
        };
        let issuer = parsed.issuer().unwrap_or_default();
        let is_legacy = issuer == legacy::ISSUER && parsed.claims["kubernetes.io"].is_null();
        if !is_legacy && !self.issuers.iter().any(|known| known == issuer) {
            return Ok(None);
        }
        parsed.verify(&self.keys()?.public)?;
        let claims = Arc::new(match is_legacy {
            true => Signed::Legacy(LegacyClaims::from_json(&parsed.claims)?),
            false => Signed::Bound(Claims::from_json(&parsed.claims)?),
        });
        let mut signed = self.signed.write();
        if signed.len() >= MAX_SIGNED {
            signed.clear();
        }
        signed.insert(token.to_owned(), claims.clone());
        Ok(Some(claims))
    }

    fn keys(&self) -> Result<&Keys, String> {
        let made = self.keys.get_or_init(|| {
            let given = self.given.write().take();
            let (signing, mut public) = match given {
                Some(given) => (given.signing, given.verification),
                None => (None, Vec::new()),
            };
            let signing = match signing {
                Some(key) => key,
                None => SigningKey::generate().map_err(|error| error.to_string())?,
            };
            if !public.contains(signing.public()) {
                public.insert(0, signing.public().clone());
            }
            Ok(Keys { signing, public })
        });
        made.as_ref().map_err(Clone::clone)
    }
}

impl std::fmt::Debug for ServiceAccounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceAccounts")
            .field("issuers", &self.issuers)
            .finish_non_exhaustive()
    }
}

/// What is stored at a key, if it is there.
async fn stored(storage: &dyn Storage, key: Key) -> Result<Option<serde_json::Value>, String> {
    let found = storage.get(key).await.map_err(|error| error.to_string())?;
    Ok(found.map(|found| found.value()))
}

/// A list of texts as Go's `%q` writes it.
fn quoted(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", quoted.join(" "))
}

/// As many tokens are remembered before all are forgotten.
const MAX_SIGNED: usize = 1024;
