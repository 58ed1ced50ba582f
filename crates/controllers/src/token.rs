//! Secrets that hold a token of a service account: filled, and removed with the account
//! (kubernetes `pkg/controller/serviceaccount/tokens_controller.go`).
//!
//! Such tokens hold as long as their secret and their account. Programs are given them by whoever makes a secret of the type
//! [`TYPE`] that names an account; pods get others, which end by themselves.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kubewright_cache::WatchScope;
use kubewright_client::{DeleteOptions, Preconditions, WriteOptions};
use kubewright_core::{FieldSelector, ObjectKey};
use kubewright_net::signing::SigningKey;
use kubewright_runtime::{
    Context, Controller, Error, Outcome, Reconciler, Request, Right, Verb, WatchOptions,
};
use serde_json::json;

/// The controller: it signs with `key`, and writes `root_ca`, where there is one, beside each token.
pub(crate) fn controller(key: SigningKey, root_ca: Option<&str>) -> Controller {
    let tokens = Tokens {
        key,
        root_ca: root_ca.map(|text| text.as_bytes().to_vec()).unwrap_or_default(),
    };
    let of_accounts = WatchScope {
        fields: FieldSelector::equals("type", TYPE),
        ..WatchScope::default()
    };
    Controller::new(NAME, tokens)
        .for_with::<Secret>(WatchOptions::new().scope(of_accounts))
        .watches_related::<ServiceAccount, Secret>(|account, secrets| {
            let namespace = account.namespace().unwrap_or_default();
            let all = secrets.list_namespace(namespace);
            let named = all.iter().filter(|secret| {
                let secret = secret.object();
                secret.is_ok_and(|secret| annotation(&secret, ACCOUNT) == account.name())
            });
            named.map(|secret| secret.key().clone()).collect()
        })
        .right(Right::to::<Secret>([Verb::Get, Verb::Update, Verb::Delete]))
        .right(Right::to::<ServiceAccount>([Verb::Get, Verb::Update]))
}

struct Tokens {
    key: SigningKey,
    /// Empty where there is none.
    root_ca: Vec<u8>,
}

impl Reconciler for Tokens {
    async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
        let Some(secret) = ctx.lister::<Secret>()?.get(&request.key).await? else {
            forget(ctx, &request).await?;
            return Ok(Outcome::done());
        };
        let secret = secret.object()?;
        let Some(account) = account(ctx, &request, &secret).await? else {
            return delete(ctx, &request, &secret).await;
        };
        let Some(filled) = self.filled(&secret, &account)? else {
            return Ok(Outcome::done());
        };
        let api = ctx.api::<Secret>(request.namespace());
        match api
            .replace(request.name(), &filled, &WriteOptions::default())
            .await
        {
            // Who changed it, or deleted it, is heard of.
            Err(error) if !(error.is_conflict() || error.is_not_found()) => Err(error.into()),
            _ => Ok(Outcome::done()),
        }
    }
}

impl Tokens {
    /// The secret with all that it lacks; `None` where it has everything.
    fn filled(&self, secret: &Secret, account: &ServiceAccount) -> Result<Option<Secret>, Error> {
        let present = |key: &str| {
            let data = secret.data.as_ref().and_then(|data| data.get(key));
            data.map_or(&[][..], |value| value.0.as_slice())
        };
        let namespace = account.metadata.namespace.clone().unwrap_or_default();
        let mut added = Vec::new();
        if !self.root_ca.is_empty() && present(CA) != self.root_ca {
            added.push((CA, self.root_ca.clone()));
        }
        if present(NAMESPACE).is_empty() {
            added.push((NAMESPACE, namespace.clone().into_bytes()));
        }
        let (name, uid) = (&account.metadata.name, &account.metadata.uid);
        let (name, uid) = (name.clone().unwrap_or_default(), uid.clone().unwrap_or_default());
        if present(TOKEN).is_empty() {
            // pkg/serviceaccount/legacy.go `LegacyClaims`.
            let claims = json!({
                "iss": "kubernetes/serviceaccount",
                "sub": format!("system:serviceaccount:{namespace}:{name}"),
                "kubernetes.io/serviceaccount/namespace": namespace,
                "kubernetes.io/serviceaccount/secret.name": secret.metadata.name,
                "kubernetes.io/serviceaccount/service-account.name": name,
                "kubernetes.io/serviceaccount/service-account.uid": uid,
            });
            let token = self.key.token(&claims).map_err(Error::terminal)?;
            added.push((TOKEN, token.into_bytes()));
        }
        if added.is_empty() {
            return Ok(None);
        }
        let mut filled = secret.clone();
        let added = added
            .into_iter()
            .map(|(key, value)| (key.to_owned(), ByteString(value)));
        filled.data.get_or_insert_default().extend(added);
        let annotations = filled.metadata.annotations.get_or_insert_default();
        annotations.extend([(ACCOUNT.to_owned(), name), (ACCOUNT_UID.to_owned(), uid)]);
        Ok(Some(filled))
    }
}

/// The account that a secret names, if it is there. The cache may not know it yet, so the server is asked before anything is deleted.
async fn account(ctx: &Context, request: &Request, secret: &Secret) -> Result<Option<ServiceAccount>, Error> {
    let (name, uid) = (annotation(secret, ACCOUNT), annotation(secret, ACCOUNT_UID));
    let namespace = request.namespace();
    let is_meant = |account: &ServiceAccount| uid.is_empty() || account.metadata.uid.as_deref() == Some(uid);
    let key = ObjectKey::namespaced(namespace, name);
    let known = ctx.lister::<ServiceAccount>()?.get(&key).await?;
    if let Some(known) = known {
        let known = known.object()?;
        if is_meant(&known) {
            return Ok(Some((*known).clone()));
        }
    }
    let found = ctx.api::<ServiceAccount>(namespace).get_opt(name).await?;
    Ok(found.filter(is_meant))
}

async fn delete(ctx: &Context, request: &Request, secret: &Secret) -> Result<Outcome, Error> {
    let options = DeleteOptions {
        preconditions: Some(Preconditions {
            uid: secret.metadata.uid.clone(),
            resource_version: None,
        }),
        ..DeleteOptions::default()
    };
    let api = ctx.api::<Secret>(request.namespace());
    match api.delete(request.name(), &options).await {
        Err(error) if !(error.is_conflict() || error.is_not_found()) => Err(error.into()),
        _ => Ok(Outcome::done()),
    }
}

/// Takes a secret that is gone out of the accounts that name it.
async fn forget(ctx: &Context, request: &Request) -> Result<(), Error> {
    let namespace = request.namespace();
    let names = |account: &ServiceAccount| {
        let mut secrets = account.secrets.iter().flatten();
        secrets.any(|secret| secret.name.as_deref() == Some(request.name()))
    };
    let api = ctx.api::<ServiceAccount>(namespace);
    for cached in ctx.lister::<ServiceAccount>()?.list_namespace(namespace).await? {
        if !names(&*cached.object()?) {
            continue;
        }
        let Some(mut account) = api.get_opt(cached.name()).await?.filter(names) else {
            continue;
        };
        let secrets = account.secrets.get_or_insert_default();
        secrets.retain(|secret| secret.name.as_deref() != Some(request.name()));
        match api
            .replace(cached.name(), &account, &WriteOptions::default())
            .await
        {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

fn annotation<'a>(secret: &'a Secret, key: &str) -> &'a str {
    let annotations = secret.metadata.annotations.as_ref();
    annotations
        .and_then(|annotations| annotations.get(key))
        .map_or("", String::as_str)
}

pub(crate) const NAME: &str = "serviceaccount-token-controller";
const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
const CA: &str = "ca.crt";
const NAMESPACE: &str = "namespace";
const TOKEN: &str = "token";
