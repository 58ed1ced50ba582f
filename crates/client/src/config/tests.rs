use std::fs;
use std::path::Path;

use kubewright_net::kubeconfig::Kubeconfig;
use kubewright_net::{Loopback, ServerVerification};

use super::infer::Surroundings;
use super::*;

fn parse(text: &str) -> Kubeconfig {
    Kubeconfig::parse(text, Path::new("test")).unwrap()
}

const TWO: &str = r#"
current-context: one
clusters:
- {name: a, cluster: {server: "https://a:6443/prefix", tls-server-name: kube, insecure-skip-tls-verify: true}}
- {name: b, cluster: {server: "b:8080", proxy-url: "http://proxy:1"}}
users:
- {name: u, user: {token: secret, as: jane, as-groups: [g]}}
- {name: v, user: {username: me, password: secret}}
contexts:
- {name: one, context: {cluster: a, user: u, namespace: team}}
- {name: two, context: {cluster: b, user: v}}
- {name: lost, context: {cluster: c, user: u}}
- {name: nobody, context: {cluster: a, user: w}}
"#;

#[test]
fn the_context_chooses_cluster_user_and_namespace() {
    let config = Config::from_kubeconfig(&parse(TWO), &Overrides::default()).unwrap();
    assert_eq!(config.server.to_string(), "https://a:6443/prefix");
    assert_eq!(config.default_namespace, "team");
    assert_eq!(config.verification, ServerVerification::InsecureSkipVerify);
    assert_eq!(config.server_name.as_deref(), Some("kube"));
    assert_eq!(config.credentials.token.as_deref(), Some("secret"));
    assert_eq!(config.impersonation.as_ref().unwrap().groups, ["g"]);
    assert!(!format!("{config:?}").contains("secret"));

    let two = Overrides {
        context: Some("two".to_owned()),
        ..Overrides::default()
    };
    let config = Config::from_kubeconfig(&parse(TWO), &two).unwrap();
    assert_eq!(config.server.to_string(), "http://b:8080/");
    assert_eq!(config.default_namespace, "default");
    assert!(config.credentials.is_empty(), "nothing is sent without TLS");
    assert_eq!(config.proxy.loopback, Loopback::Proxied);

    let mixed = Overrides {
        user: Some("v".to_owned()),
        namespace: Some("other".to_owned()),
        ..Overrides::default()
    };
    let config = Config::from_kubeconfig(&parse(TWO), &mixed).unwrap();
    assert_eq!(
        (
            config.default_namespace.as_str(),
            config.credentials.token.clone()
        ),
        ("other", None)
    );
    assert_eq!(
        config.credentials.basic,
        Some(("me".to_owned(), "secret".to_owned()))
    );
}

#[test]
fn what_is_wrong_is_named() {
    let cluster = |settings: &str| format!("clusters: [{{name: a, cluster: {{{settings}}}}}]");
    let user = |settings: &str| {
        format!(
            "current-context: a\nclusters: [{{name: a, cluster: {{server: 'http://a'}}}}]\n\
             users: [{{name: a, user: {{{settings}}}}}]\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]"
        )
    };
    let context = |name: &str| Overrides {
        context: Some(name.to_owned()),
        ..Overrides::default()
    };
    let of_cluster = || Overrides {
        cluster: Some("a".to_owned()),
        ..Overrides::default()
    };
    let rows = [
        (TWO.to_owned(), context("lost"), "kubeconfig has no cluster \"c\""),
        (TWO.to_owned(), context("nobody"), "kubeconfig has no user \"w\""),
        (
            TWO.to_owned(),
            context("none"),
            "kubeconfig has no context \"none\"",
        ),
        (
            String::new(),
            Overrides::default(),
            "kubeconfig has no current context",
        ),
        (
            cluster("server: 'ftp://a'"),
            of_cluster(),
            "server is not valid: \"ftp://a\"",
        ),
        (cluster("server: ''"), of_cluster(), "server is not valid: \"\""),
        (
            cluster("server: 'https://a', certificate-authority: /no/such/file"),
            of_cluster(),
            "certificate authority /no/such/file cannot be read",
        ),
        (
            cluster("server: 'https://a', certificate-authority-data: YQ==, insecure-skip-tls-verify: true"),
            of_cluster(),
            "certificate-authority and insecure-skip-tls-verify cannot be used together",
        ),
        (
            user("auth-provider: {name: gcp}"),
            Overrides::default(),
            "auth-provider \"gcp\"",
        ),
        (
            user("client-key-data: YQ=="),
            Overrides::default(),
            "credentials cannot be used",
        ),
        (user("as-groups: [a]"), Overrides::default(), "as is not valid"),
        (
            user("token: a, username: b"),
            Overrides::default(),
            "a user name with password and a bearer token cannot be used together",
        ),
        (
            cluster("server: 'https://a', proxy-url: 'u:secret@proxy:1'"),
            of_cluster(),
            "proxy-url is not valid: \"proxy:1\"",
        ),
        (
            user("exec: {command: a, apiVersion: client.authentication.k8s.io/v1}"),
            Overrides::default(),
            "interactiveMode of the exec plugin is not valid",
        ),
    ];
    for (text, overrides, expect) in rows {
        let error = Config::from_kubeconfig(&parse(&text), &overrides).unwrap_err();
        assert!(error.to_string().starts_with(expect), "{error}");
    }
    let hint = |text: &str, overrides: &Overrides| {
        let error = Config::from_kubeconfig(&parse(text), overrides).unwrap_err();
        error.hint().unwrap()
    };
    assert_eq!(hint(TWO, &context("none")), "there are: one, two, lost, nobody");
    let unset = TWO.replace("current-context: one", "");
    assert!(hint(&unset, &Overrides::default()).ends_with("NAME`: one, two, lost, nobody"));

    let mut config = Config::new("https://a".parse().unwrap());
    config.credentials.token = Some("a".to_owned());
    config.credentials.basic = Some(("b".to_owned(), String::new()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    assert!(matches!(
        config.into_service(provider),
        Err(ConfigError::Conflict { .. })
    ));
}

#[test]
fn a_pod_finds_its_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir().unwrap();
    let variable = |name: &str| match name {
        "KUBERNETES_SERVICE_HOST" => Some("fd00::1".into()),
        "KUBERNETES_SERVICE_PORT" => Some("443".into()),
        _ => None,
    };
    let pod = Surroundings {
        variable: &variable,
        home: Some(home.path()),
        service_account: folder.path(),
    };
    assert!(matches!(
        pod.infer(&Overrides::default()),
        Err(ConfigError::File { .. })
    ));
    for (name, text) in [("token", "t"), ("ca.crt", "pem"), ("namespace", "operators\n")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let elsewhere = Overrides {
        namespace: Some("team".to_owned()),
        request_timeout: Some(Duration::ZERO),
        ..Overrides::default()
    };
    let config = pod.infer(&elsewhere).unwrap();
    assert_eq!((&*config.default_namespace, config.timeout), ("team", None));
    let as_somebody = Overrides {
        impersonate: Some("weak".to_owned()),
        ..Overrides::default()
    };
    assert!(matches!(
        pod.infer(&as_somebody),
        Err(ConfigError::Unsupported { .. })
    ));
    let server = Overrides {
        server: Some("https://other:6443".to_owned()),
        ..as_somebody
    };
    let config = pod.infer(&server).unwrap();
    assert_eq!(config.server.host(), Some("other"));
    assert_eq!(config.impersonation.unwrap().user, "weak");
    let config = pod.infer(&Overrides::default()).unwrap();
    assert_eq!(config.server.to_string(), "https://[fd00::1]:443/");
    assert_eq!(config.default_namespace, "operators");
    assert_eq!(config.credentials.token_file, Some(folder.path().join("token")));
    assert_eq!(config.verification, ServerVerification::Bundle(b"pem".to_vec()));

    // A kubeconfig wins; an empty one does not.
    fs::create_dir(home.path().join(".kube")).unwrap();
    let file = home.path().join(".kube/config");
    fs::write(&file, "kind: Config").unwrap();
    assert_eq!(
        pod.infer(&Overrides::default()).unwrap().default_namespace,
        "operators"
    );
    fs::write(&file, TWO).unwrap();
    assert_eq!(
        pod.infer(&Overrides::default()).unwrap().default_namespace,
        "team"
    );
    fs::write(&file, "clusters: 1").unwrap();
    assert!(matches!(
        pod.infer(&Overrides::default()),
        Err(ConfigError::Kubeconfig(_))
    ));
}

#[test]
fn nowhere_is_said_with_what_was_tried() {
    let nothing = |_: &str| None;
    let lost = Surroundings {
        variable: &nothing,
        home: Some(Path::new("/nowhere")),
        service_account: Path::new("/no"),
    };
    let error = lost.infer(&Overrides::default()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("/nowhere/.kube/config"), "{source}");
    assert!(error.hint().is_some());
}

#[test]
fn debug_output_shows_no_secret() {
    let mut config = Config::new("https://u:s3cret@h:1/p".parse().unwrap());
    config.credentials.token = Some("s3cret".to_owned());
    config.proxy = ProxySettings::all("http://u:s3cret@proxy");
    let overrides = Overrides {
        server: Some("https://u:s3cret@h:1/p".to_owned()),
        token: Some("s3cret".to_owned()),
        ..Overrides::default()
    };
    for text in [format!("{config:?}"), format!("{overrides:?}")] {
        assert!(!text.contains("s3cret") && text.contains("\"h:1/p\""), "{text}");
    }
}
