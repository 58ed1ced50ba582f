//! Who is asking: nobody, somebody with a token, somebody with a certificate.

use std::sync::Arc;

use kubewright_apiserver::serving::{Authority, Listening};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_net::tls::client_config;
use kubewright_net::{
    CertificateAndKey, ClientTls, ConnectOptions, HttpService, Identity, ServeLimits, ServerVerification,
    connect,
};
use rustls::crypto::{CryptoProvider, ring};
use serde_json::json;
use tokio::net::TcpListener;

use crate::harness::*;

const FORBIDDEN: &str = "User \"system:anonymous\" cannot";

#[tokio::test]
async fn nobody_sees_nothing_but_health_and_version() {
    let server = Server::start().await;
    let user = "User \"system:anonymous\"";
    for (line, why) in [
        (
            "GET /api/v1/pods",
            format!(
                "pods is forbidden: {user} cannot list resource \"pods\" in API group \"\" at the cluster scope"
            ),
        ),
        (
            "GET /api/v1/namespaces/default/pods",
            format!(
                "pods is forbidden: {user} cannot list resource \"pods\" in API group \"\" in the namespace \"default\""
            ),
        ),
        (
            "GET /api/v1/namespaces/default/pods?watch=true",
            format!(
                "pods is forbidden: {user} cannot watch resource \"pods\" in API group \"\" in the namespace \"default\""
            ),
        ),
        (
            "GET /apis/apps/v1/namespaces/default/deployments/a",
            format!(
                "deployments.apps \"a\" is forbidden: {user} cannot get resource \"deployments\" in API group \"apps\" in the namespace \
                 \"default\""
            ),
        ),
        (
            "PATCH /apis/apps/v1/namespaces/default/deployments/a/status",
            format!(
                "deployments.apps \"a\" is forbidden: {user} cannot patch resource \"deployments/status\" in API group \"apps\" in the \
                 namespace \"default\""
            ),
        ),
        (
            "POST /api/v1/namespaces/default/configmaps",
            format!(
                "configmaps is forbidden: {user} cannot create resource \"configmaps\" in API group \"\" in the namespace \"default\""
            ),
        ),
        (
            "DELETE /api/v1/namespaces/default/configmaps",
            format!(
                "configmaps is forbidden: {user} cannot deletecollection resource \"configmaps\" in API group \"\" in the namespace \
                 \"default\""
            ),
        ),
        (
            "GET /apis/absent.example.com/v1/things",
            format!(
                "things.absent.example.com is forbidden: {user} cannot list resource \"things\" in API group \"absent.example.com\" at the cluster scope"
            ),
        ),
        ("GET /api", format!("forbidden: {user} cannot get path \"/api\"")),
        (
            "GET /apis/apps/v1",
            format!("forbidden: {user} cannot get path \"/apis/apps/v1\""),
        ),
        (
            "GET /openapi/v3",
            format!("forbidden: {user} cannot get path \"/openapi/v3\""),
        ),
        (
            "GET /nonsense",
            format!("forbidden: {user} cannot get path \"/nonsense\""),
        ),
        (
            "POST /nonsense",
            format!("forbidden: {user} cannot post path \"/nonsense\""),
        ),
        ("GET /", format!("forbidden: {user} cannot get path \"/\"")),
        (
            "GET /healthz/ping",
            format!("forbidden: {user} cannot get path \"/healthz/ping\""),
        ),
    ] {
        let answer = Answer::read(server.send_as(None, line).await).await;
        assert_eq!(answer.code, 403, "{line}");
        assert_eq!(
            (text(&answer.body["reason"]), text(&answer.body["message"])),
            ("Forbidden", &*why),
            "{line}"
        );
    }
    for path in ["/healthz", "/livez", "/readyz", "/version", "/readyz?verbose"] {
        assert_eq!(
            server.send_as(None, format!("GET {path}")).await.status(),
            200,
            "{path}"
        );
    }
}

/// Lets the group `testers` list namespaces and ask for certificates.
fn for_testers() -> [Ask; 2] {
    let api = "rbac.authorization.k8s.io";
    let rules = json!([
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]},
        {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create"]},
    ]);
    let role = json!({"metadata": {"name": "testers"}, "rules": rules});
    let binding = json!({
        "metadata": {"name": "testers"},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "testers"},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": "testers"}],
    });
    [("clusterroles", role), ("clusterrolebindings", binding)]
        .map(|(plural, object)| Ask::json(format!("POST /apis/{api}/v1/{plural}"), &object))
}

#[tokio::test]
async fn tokens() {
    let me = Identity::new("me", ["testers"]);
    let options = Options {
        tokens: vec![("secret".to_owned(), me)],
        ..Options::default()
    };
    let server = Server::with(options).await;
    for ask in for_testers() {
        server.ok(ask).await;
    }
    const SPACED: &str = "299 - \"the provided Authorization header contains extra space before the bearer token, and is ignored\"";
    for (header, code, warning) in [
        ("Bearer secret", 200, None),
        ("bearer secret", 200, None),
        ("Bearer secret and more", 200, None),
        ("Bearer wrong", 401, None),
        // Whoever shows nothing that could hold is nobody in particular.
        ("Bearer  secret ", 403, Some(SPACED)),
        ("Bearer", 403, None),
        ("Bearer ", 403, None),
        ("Basic c2VjcmV0", 403, None),
        ("secret", 403, None),
        ("", 403, None),
    ] {
        let ask = Ask::new("GET /api/v1/namespaces").header("authorization", header);
        let answer = Answer::read(server.send_as(None, ask).await).await;
        assert_eq!(answer.code, code, "{header:?}");
        let found = answer.headers.get("warning").map(|value| value.to_str().unwrap());
        assert_eq!(found, warning, "{header:?}");
        if code == 401 {
            assert_eq!(
                (text(&answer.body["reason"]), text(&answer.body["message"])),
                ("Unauthorized", "Unauthorized")
            );
        }
    }
}

/// A server behind TLS.
pub(crate) struct Secure {
    pub(crate) api: ApiServer,
    pub(crate) listening: Listening,
    authority: Authority,
    provider: Arc<CryptoProvider>,
}

impl Secure {
    pub(crate) async fn start(options: Options, limits: ServeLimits) -> Self {
        let provider = Arc::new(ring::default_provider());
        let authority = Authority::new(provider.clone()).unwrap();
        let options = Options {
            client_certificates: Some(authority.verifier().unwrap()),
            ..options
        };
        let api = ApiServer::start(options).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tls = authority.server_config(&[]).unwrap();
        let listening = Listening::start(&api, listener, Some(tls), limits).unwrap();
        Self {
            api,
            listening,
            authority,
            provider,
        }
    }

    pub(crate) fn origin(&self) -> String {
        format!("https://{}", self.listening.address())
    }

    /// A client with a connection of its own that presents a certificate, or none.
    pub(crate) fn client(&self, certificate: Option<CertificateAndKey>) -> HttpService {
        let verification = ServerVerification::Bundle(self.authority.certificate_pem().into_bytes());
        let tls = client_config(
            &ClientTls {
                verification,
                certificate,
            },
            self.provider.clone(),
        )
        .unwrap();
        connect(ConnectOptions {
            tls: Some(tls),
            ..ConnectOptions::default()
        })
        .unwrap()
    }

    pub(crate) fn admin(&self) -> HttpService {
        self.client(Some(self.authority.issue_client(&admin()).unwrap()))
    }

    pub(crate) async fn ask(&self, client: &HttpService, ask: impl Into<Ask>) -> Answer {
        let request = ask.into().build(&self.origin());
        Answer::read(client.send(request).await.unwrap()).await
    }
}

#[tokio::test]
async fn certificates() {
    let options = Options {
        tokens: vec![("secret".to_owned(), Identity::new("me", ["testers"]))],
        ..Options::default()
    };
    let secure = Secure::start(options, ServeLimits::default()).await;
    for ask in for_testers() {
        assert_eq!(secure.ask(&secure.admin(), ask).await.code, 201);
    }
    let stranger = Authority::new(secure.provider.clone()).unwrap();
    let alice = Identity::new("alice", ["developers", "testers"]);
    let csr = |name: &str| {
        // The object says who made it, as the server saw them.
        let request = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";
        let object = json!({"metadata": {"name": name}, "spec": {"request": request, "signerName": "example.com/s", "usages": ["client auth"],
            "username": "somebody else"}});
        Ask::json(
            "POST /apis/certificates.k8s.io/v1/certificatesigningrequests?fieldValidation=Ignore",
            &object,
        )
    };

    let client = secure.client(Some(secure.authority.issue_client(&alice).unwrap()));
    let answer = secure.ask(&client, "GET /api/v1/namespaces").await;
    assert_eq!(answer.code, 200, "{:#}", answer.body);
    let answer = secure.ask(&client, csr("a")).await;
    if answer.code == 201 {
        assert_eq!(answer.body["spec"]["username"], "alice");
        assert_eq!(
            answer.body["spec"]["groups"],
            json!(["developers", "testers", "system:authenticated"])
        );
    } else {
        assert!(answer.code == 422, "{:#}", answer.body);
    }

    let client = secure.client(None);
    let answer = secure.ask(&client, "GET /api/v1/namespaces").await;
    assert_eq!(answer.code, 403);
    assert!(text(&answer.body["message"]).contains(FORBIDDEN));
    assert_eq!(secure.ask(&client, "GET /readyz").await.code, 200);

    // Who presents a certificate that does not hold is not anonymous but refused, unless a token holds.
    for who in [&alice, &admin()] {
        let client = secure.client(Some(stranger.issue_client(who).unwrap()));
        for path in ["/api/v1/namespaces", "/readyz"] {
            let answer = secure.ask(&client, format!("GET {path}")).await;
            assert_eq!(answer.code, 401, "{} {path}", who.user);
            assert_eq!(answer.body["message"], "Unauthorized");
        }
        for (token, code) in [("secret", 200), ("wrong", 401)] {
            let ask = Ask::new("GET /api/v1/namespaces").header("authorization", &format!("Bearer {token}"));
            assert_eq!(secure.ask(&client, ask).await.code, code, "{token}");
        }
    }

    // Whoever may, acts as another.
    let admin = secure.admin();
    let review = Ask::json(
        "POST /apis/authentication.k8s.io/v1/selfsubjectreviews",
        &json!({"metadata": {}}),
    );
    let answer = secure.ask(&admin, review.header("impersonate-user", "bob")).await;
    assert_eq!(answer.code, 201, "{:#}", answer.body);
    let user = json!({"username": "bob", "groups": ["system:authenticated"]});
    assert_eq!(answer.body["status"]["userInfo"], user);
    let anonymous = Ask::new("GET /api/v1/namespaces").header("impersonate-user", "system:anonymous");
    assert_eq!(secure.ask(&admin, anonymous).await.code, 403);
    let client = secure.client(Some(secure.authority.issue_client(&alice).unwrap()));
    let answer = secure
        .ask(
            &client,
            Ask::new("GET /api/v1/namespaces").header("impersonate-user", "bob"),
        )
        .await;
    assert_eq!(answer.code, 403);
    assert!(
        text(&answer.body["message"])
            .contains("User \"alice\" cannot impersonate-on:user-info:list resource \"namespaces\"")
    );

    // What a request says of itself is not believed.
    let client = secure.client(None);
    for (name, value) in [
        ("x-remote-user", "admin"),
        ("impersonate-user", "admin"),
        ("x-remote-group", "system:masters"),
    ] {
        let answer = secure
            .ask(&client, Ask::new("GET /api/v1/namespaces").header(name, value))
            .await;
        assert_eq!(answer.code, 403, "{name}");
    }
    assert_eq!(secure.listening.stop().await.aborted, 0);
}

/// The same service behind a socket: a few of everything.
#[tokio::test]
async fn over_tls_all_is_as_within_the_process() {
    let secure = Secure::start(Options::default(), ServeLimits::default()).await;
    let client = secure.admin();
    assert_eq!(
        secure
            .ask(&client, Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
            .await
            .code,
        201
    );
    let found = secure.ask(&client, format!("GET {MAPS}/a")).await;
    assert_eq!(found.body["data"]["key"], "1");
    assert_eq!(found.header("audit-id").len(), 36);
    assert_eq!(secure.ask(&client, format!("GET {MAPS}/b")).await.code, 404);
    let large = Ask::new(format!("POST {MAPS}")).typed("application/json", vec![b' '; (3 << 20) + 1]);
    assert_eq!(secure.ask(&client, large).await.code, 413);

    let request = Ask::new(format!("GET {MAPS}?watch=true")).build(&secure.origin());
    let mut events = Events::new(client.send(request).await.unwrap());
    assert_eq!(events.names(1).await, ["ADDED a"]);
    let patch = Ask::new(format!("PATCH {MAPS}/a"))
        .typed("application/merge-patch+json", "{\"data\":{\"key\":\"2\"}}");
    assert_eq!(secure.ask(&client, patch).await.code, 200);
    assert_eq!(events.names(1).await, ["MODIFIED a"]);
    assert_eq!(secure.ask(&client, format!("DELETE {MAPS}/a")).await.code, 200);
    assert_eq!(events.names(1).await, ["DELETED a"]);
    assert_eq!(secure.listening.stop().await.aborted, 0);
    assert_eq!(events.next().await, None, "a watch ends with its server");
}
