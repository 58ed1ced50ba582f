//! The client over real sockets: TLS with client certificates, tokens, and a server path prefix.
#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use jiff::Timestamp;
use kubewright_client::{Client, Config, Error, Overrides};
use kubewright_net::kubeconfig::{AuthInfo, Cluster, Entry, Kubeconfig, merge_entry};
use kubewright_net::{
    Body, CertificateAuthority, CertificateInfo, ClientAuth, HttpService, Peer, ServeLimits, Validity, serve,
    tls,
};
use rustls::crypto::CryptoProvider;
use tokio::net::TcpListener;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn a_day() -> Validity {
    Validity::starting(Timestamp::now(), Duration::from_secs(86_400))
}

async fn start(service: HttpService, tls: Option<Arc<rustls::ServerConfig>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(
        listener,
        tls,
        service,
        ServeLimits::default(),
        std::future::pending(),
    ));
    address
}

fn whoami() -> HttpService {
    HttpService::from_fn(|request| async move {
        let certificates = &request.extensions().get::<Peer>().unwrap().certificates;
        let user = certificates
            .first()
            .map(|der| CertificateInfo::parse(der).unwrap().common_name);
        let token = request
            .headers()
            .get(header::AUTHORIZATION)
            .map(|value| value.to_str().unwrap().to_owned());
        let impersonated = request.headers().get("impersonate-user").is_some();
        Ok(Response::new(Body::from(format!(
            "{user:?} {token:?} {impersonated} {}",
            request.uri().path()
        ))))
    })
}

async fn ask(config: Config) -> Result<String, Error> {
    let client = Client::new(config, provider()).unwrap();
    let request = Request::get("/whoami").body(Vec::new()).unwrap();
    let body = client.request_bytes(request).await?;
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_kubeconfig_leads_to_a_server() {
    let authority = CertificateAuthority::new("ca", a_day()).unwrap();
    let server = authority.issue_server(&["127.0.0.1"], a_day()).unwrap();
    let certificate = authority.issue_client("jane", &["dev"], a_day()).unwrap();
    let client_auth = ClientAuth::Verified(authority.certificate_pem().into_bytes());
    let config = tls::server_config(&server, &client_auth, provider()).unwrap();
    let address = start(whoami(), Some(config)).await;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    std::fs::write(folder.path().join("client.key"), certificate.key_pem()).unwrap();
    let entry = Entry {
        name: "kubewright".to_owned(),
        cluster: Cluster {
            server: format!("https://{address}/prefix/"),
            certificate_authority_data: Some(authority.certificate_pem().into()),
            ..Cluster::default()
        },
        user: AuthInfo {
            client_certificate_data: Some(certificate.certificate_pem().into()),
            client_key: Some("client.key".to_owned()),
            token: Some("t".to_owned()),
            impersonate: Some("root".to_owned()),
            ..AuthInfo::default()
        },
        namespace: Some("team".to_owned()),
    };
    merge_entry(&path, &entry).unwrap();
    let kubeconfig = Kubeconfig::read(&path).unwrap();
    let config = Config::from_kubeconfig(&kubeconfig, &Overrides::default()).unwrap();
    assert_eq!(config.default_namespace, "team");
    assert_eq!(
        ask(config).await.unwrap(),
        r#"Some("jane") Some("Bearer t") true /prefix/whoami"#
    );

    let mut wrong = Config::from_kubeconfig(&kubeconfig, &Overrides::default()).unwrap();
    let other = CertificateAuthority::new("ca", a_day()).unwrap();
    wrong.verification = kubewright_net::ServerVerification::Bundle(other.certificate_pem().into_bytes());
    let error = ask(wrong).await.unwrap_err();
    let Error::Transport { source, .. } = &error else {
        panic!("{error:?}")
    };
    assert!(source.is_connect() && !error.is_connection_refused(), "{error:?}");
}

/// Accepts one token, which the test can change.
fn guarded(accepted: &Arc<Mutex<String>>) -> HttpService {
    let accepted = Arc::clone(accepted);
    HttpService::from_fn(move |request| {
        let expect = format!("Bearer {}", accepted.lock().unwrap());
        async move {
            let known = request
                .headers()
                .get(header::AUTHORIZATION)
                .is_some_and(|value| *value == *expect);
            let mut response = Response::new(request.into_body());
            if !known {
                *response.status_mut() = StatusCode::UNAUTHORIZED;
            }
            Ok(response)
        }
    })
}

#[tokio::test]
async fn a_token_is_read_again_when_the_server_refuses_it() {
    let accepted = Arc::new(Mutex::new("one".to_owned()));
    let address = start(guarded(&accepted), None).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "one").unwrap();
    let mut config = Config::new(format!("http://{address}").parse().unwrap());
    config.credentials.token_file = Some(path.clone());
    let client = Client::new(config, provider()).unwrap();
    let post = || Request::post("/x").body(b"body".to_vec()).unwrap();
    assert_eq!(client.request_bytes(post()).await.unwrap(), "body");
    *accepted.lock().unwrap() = "two".to_owned();
    assert!(client.request_bytes(post()).await.unwrap_err().is_unauthorized());
    std::fs::write(&path, "two").unwrap();
    assert_eq!(client.request_bytes(post()).await.unwrap(), "body");
    *accepted.lock().unwrap() = "three".to_owned();
    std::fs::write(&path, "three").unwrap();
    // Refused once with the old token, then sent again with the new one.
    assert_eq!(client.request_bytes(post()).await.unwrap(), "body");
}

#[tokio::test]
async fn missing_credentials_are_told_apart_from_a_missing_server() {
    let mut config = Config::new("http://127.0.0.1:1".parse().unwrap());
    config.credentials.token_file = Some("/no/such/token".into());
    let error = ask(config).await.unwrap_err();
    assert!(matches!(error, Error::Credentials { .. }), "{error:?}");
    let error = ask(Config::new("http://127.0.0.1:1".parse().unwrap()))
        .await
        .unwrap_err();
    assert!(error.is_connection_refused(), "{error:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_may_bring_a_client_certificate() {
    use kubewright_net::kubeconfig::ExecConfig;

    let authority = CertificateAuthority::new("ca", a_day()).unwrap();
    let server = authority.issue_server(&["127.0.0.1"], a_day()).unwrap();
    let certificate = authority.issue_client("plugin-user", &["dev"], a_day()).unwrap();
    let client_auth = ClientAuth::Verified(authority.certificate_pem().into_bytes());
    let settings = tls::server_config(&server, &client_auth, provider()).unwrap();
    let address = start(whoami(), Some(settings)).await;
    let printed = serde_json::json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {
            "clientCertificateData": certificate.certificate_pem(),
            "clientKeyData": certificate.key_pem(),
        },
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credential.json");
    std::fs::write(&file, printed.to_string()).unwrap();
    let mut config = Config::new(format!("https://{address}").parse().unwrap());
    config.verification =
        kubewright_net::ServerVerification::Bundle(authority.certificate_pem().into_bytes());
    config.credentials.exec = Some(ExecConfig {
        command: "cat".to_owned(),
        args: vec![file.to_str().unwrap().to_owned()],
        api_version: Some("client.authentication.k8s.io/v1".to_owned()),
        ..ExecConfig::default()
    });
    assert_eq!(
        ask(config).await.unwrap(),
        r#"Some("plugin-user") None false /whoami"#
    );
}

#[tokio::test]
async fn certificates_are_replaced_while_the_client_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let authorities: Vec<_> = (0..2)
        .map(|_| CertificateAuthority::new("ca", a_day()).unwrap())
        .collect();
    let server = authorities[0].issue_server(&["127.0.0.1"], a_day()).unwrap();
    let both: String = authorities
        .iter()
        .map(CertificateAuthority::certificate_pem)
        .collect();
    let client_auth = ClientAuth::Verified(both.into_bytes());
    let (rotating, config) = tls::rotating_server_config(&server, &client_auth, provider()).unwrap();
    // A session that is resumed shows no certificates.
    let mut config = rustls::ServerConfig::clone(&config);
    config.send_tls13_tickets = 0;
    let address = start(whoami(), Some(Arc::new(config))).await;
    let write = |authority: &CertificateAuthority, user: &str| {
        let pair = authority.issue_client(user, &["dev"], a_day()).unwrap();
        std::fs::write(file("ca.crt"), authority.certificate_pem()).unwrap();
        std::fs::write(file("client.crt"), pair.certificate_pem()).unwrap();
        std::fs::write(file("client.key"), pair.key_pem()).unwrap();
    };
    write(&authorities[0], "first");
    let text = format!(
        "current-context: a\nclusters: [{{name: a, cluster: {{server: 'https://{address}', certificate-authority: ca.crt}}}}]\n\
         users: [{{name: a, user: {{client-certificate: client.crt, client-key: client.key}}}}]\n\
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}]"
    );
    std::fs::write(file("config"), text).unwrap();
    let mut config = Config::from_file(&file("config"), &Overrides::default()).unwrap();
    // Each request opens a connection, as if all had been lost in between.
    config.connect.http2 = kubewright_net::Http2::Off;
    config.connect.max_idle_per_host = 0;
    let client = Client::new(config, provider()).unwrap();
    let ask = async || {
        let request = Request::get("/whoami").body(Vec::new()).unwrap();
        let body = client.request_bytes(request).await?;
        Ok::<_, Error>(String::from_utf8(body.to_vec()).unwrap())
    };
    assert!(ask().await.unwrap().contains("first"));
    rotating
        .replace(&authorities[1].issue_server(&["127.0.0.1"], a_day()).unwrap())
        .unwrap();
    let error = ask().await.unwrap_err();
    assert!(error.hint().unwrap().contains("authority"), "{error:?}");
    write(&authorities[1], "second");
    assert!(ask().await.unwrap().contains("second"));
}
