use std::fs;

use super::*;

const FULL: &str = r#"
apiVersion: v1
kind: Config
preferences: {}
current-context: dev
clusters:
- name: dev
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    extensions:
    - name: minikube
      extension: {version: v1.37.0}
users:
- name: dev
  user:
    client-certificate-data: aGVs
      bG8=
    client-key: /abs/key.pem
    tokenFile: token
    as: jane
    as-groups: [a, b]
    as-user-extra: {scopes: [x]}
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: bin/login
      args: null
      env: [{name: A, value: b}]
      provideClusterInfo: true
      interactiveMode: IfAvailable
    future-field: kept
contexts:
- name: dev
  context: {cluster: dev, user: dev, namespace: team}
extensions: null
other-tool: {a: 1}
"#;

fn parse(text: &str) -> Kubeconfig {
    Kubeconfig::parse(text, Path::new("test")).unwrap()
}

#[test]
fn reads_every_field_and_writes_it_back() {
    let config = parse(FULL);
    let user = config.user("dev").unwrap();
    assert_eq!(user.client_certificate_data.as_ref().unwrap().0, b"hello");
    assert_eq!(user.impersonate.as_deref(), Some("jane"));
    assert_eq!(user.impersonate_user_extra["scopes"], ["x"]);
    let exec = user.exec.as_ref().unwrap();
    assert_eq!(exec.interactive_mode, Some(InteractiveMode::IfAvailable));
    assert!(exec.provide_cluster_info && exec.args.is_empty());
    assert_eq!(user.unknown["future-field"], "kept");
    assert_eq!(config.unknown["other-tool"]["a"], 1);
    assert_eq!(
        config.cluster("dev").unwrap().extensions[0].extension["version"],
        "v1.37.0"
    );
    assert_eq!(config.context("dev").unwrap().namespace.as_deref(), Some("team"));
    assert_eq!(parse(&kubewright_yaml::to_string(&config).unwrap()), config);
}

#[test]
fn debug_output_shows_no_secret() {
    let config =
        parse("users: [{name: a, user: {token: s3cret, password: s3cret, client-key-data: czNjcmV0}}]");
    let text = format!("{config:?}");
    assert!(!text.contains("s3cret") && !text.contains("115, 51"), "{text}");

    for (address, expect) in [
        ("https://u:s3cret@h:1/p", "https://...@h:1/p"),
        ("u:s3cret@h:1", "...@h:1"),
        ("https://u:s3cret@s3cret@h", "https://...@h"),
        ("socks5://h:1", "socks5://h:1"),
    ] {
        let cluster = Cluster {
            server: address.to_owned(),
            proxy_url: Some(address.to_owned()),
            ..Cluster::default()
        };
        let text = format!("{cluster:?}");
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(text.matches(&format!("{expect:?}")).count(), 2, "{text}");
    }
    let exec = ExecConfig {
        command: "login".to_owned(),
        args: vec!["--token".to_owned(), "s3cret".to_owned()],
        ..ExecConfig::default()
    };
    let text = format!("{exec:?}");
    assert!(!text.contains("s3cret") && text.contains("2 arguments"), "{text}");
}

#[test]
fn paths_are_relative_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    fs::write(&path, FULL).unwrap();
    let config = Kubeconfig::read(&path).unwrap();
    let inside = |name: &str| Some(folder.path().join(name).to_str().unwrap().to_owned());
    assert_eq!(
        config.cluster("dev").unwrap().certificate_authority,
        inside("pki/ca.crt")
    );
    let user = config.user("dev").unwrap();
    assert_eq!(user.client_key.as_deref(), Some("/abs/key.pem"));
    assert_eq!(user.token_file, inside("token"));
    assert_eq!(
        Some(user.exec.as_ref().unwrap().command.clone()),
        inside("bin/login")
    );
}

#[test]
fn the_first_file_wins_by_whole_entries() {
    let first = parse("clusters: [{name: a, cluster: {server: one}}]\nusers: null\ncontexts: []");
    let second = parse(concat!(
        "current-context: b\n",
        "clusters: [{name: a, cluster: {server: two, proxy-url: p}}, {name: b, cluster: {server: three}}]\n",
    ));
    let merged = first.merge(second);
    assert_eq!(merged.cluster("a").unwrap().server, "one");
    assert_eq!(merged.cluster("a").unwrap().proxy_url, None);
    assert_eq!(merged.cluster("b").unwrap().server, "three");
    assert_eq!(merged.current_context, "b");
}

#[test]
fn missing_files_are_skipped_unless_all_are() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    let gone = folder.path().join("gone");
    fs::write(&there, "current-context: x").unwrap();
    assert_eq!(
        Kubeconfig::load(&[gone.clone(), there]).unwrap().current_context,
        "x"
    );
    let error = Kubeconfig::load(std::slice::from_ref(&gone)).unwrap_err();
    assert!(error.is_not_found() && error.hint().is_some(), "{error}");
    assert!(error.to_string().contains("gone"));
}

#[test]
fn default_paths_follow_the_variable() {
    let home = Path::new("/home/me");
    let rows: [(Option<&str>, &[&str]); 4] = [
        (None, &["/home/me/.kube/config"]),
        (Some(""), &["/home/me/.kube/config"]),
        (Some("/a:/b::/a"), &["/a", "/b"]),
        (Some("rel"), &["rel"]),
    ];
    for (list, expect) in rows {
        let found = default_paths(|_| list.map(OsString::from), Some(home));
        assert_eq!(
            found,
            expect.iter().map(PathBuf::from).collect::<Vec<_>>(),
            "{list:?}"
        );
    }
}

#[test]
fn invalid_files_say_which_and_why() {
    let rows = [
        ("clusters: 7", "is not valid"),
        ("users: [{name: a, user: {client-key-data: '*'}}]", "is not valid"),
        ("contexts: [{name: a}, {name: a}]", "names context \"a\" twice"),
    ];
    for (text, expect) in rows {
        let error = Kubeconfig::parse(text, Path::new("/x/config")).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("/x/config") && message.contains(expect),
            "{text}: {message}"
        );
        assert!(error.hint().is_some(), "{text}");
    }
    assert_eq!(parse(""), Kubeconfig::default());
}

fn entry() -> Entry {
    Entry {
        name: "kubewright".to_owned(),
        cluster: Cluster {
            server: "https://127.0.0.1:6443".to_owned(),
            ..Cluster::default()
        },
        user: AuthInfo {
            token: Some("t".to_owned()),
            ..AuthInfo::default()
        },
        namespace: None,
    }
}

#[test]
fn an_entry_comes_and_goes_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/config");
    merge_entry(&path, &entry()).unwrap();
    assert_eq!(Kubeconfig::read(&path).unwrap(), entry().into_kubeconfig());
    assert!(!folder.path().join("deep/config.lock").exists());

    fs::write(&path, FULL).unwrap();
    let before = Kubeconfig::read(&path).unwrap();
    merge_entry(&path, &entry()).unwrap();
    merge_entry(&path, &entry()).unwrap();
    let merged = Kubeconfig::read(&path).unwrap();
    assert_eq!(merged.current_context, "dev");
    assert_eq!(merged.clusters.len(), 2);
    remove_entry(&path, &entry()).unwrap();
    assert_eq!(Kubeconfig::read(&path).unwrap(), before);
}

#[test]
fn what_somebody_changed_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let mut other = entry();
    other.cluster.server = "https://elsewhere".to_owned();
    merge_entry(&path, &other).unwrap();
    remove_entry(&path, &entry()).unwrap();
    let left = Kubeconfig::read(&path).unwrap();
    assert_eq!(left.cluster("kubewright").unwrap().server, "https://elsewhere");
    assert!(left.users.is_empty() && left.contexts.is_empty() && left.current_context.is_empty());
    fs::remove_file(&path).unwrap();
    remove_entry(&path, &entry()).unwrap();
    assert!(!path.exists());
}

#[test]
fn an_entry_that_was_replaced_keeps_its_context() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let mut second = entry();
    second.cluster.server = "https://127.0.0.1:7443".to_owned();
    second.user.token = Some("u".to_owned());
    merge_entry(&path, &entry()).unwrap();
    merge_entry(&path, &second).unwrap();
    remove_entry(&path, &entry()).unwrap();
    assert_eq!(Kubeconfig::read(&path).unwrap(), second.into_kubeconfig());
}

#[test]
fn a_locked_file_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    fs::write(folder.path().join("config.lock"), "").unwrap();
    let error = merge_entry(&path, &entry()).unwrap_err();
    assert!(matches!(error, KubeconfigError::Locked { .. }) && error.hint().unwrap().contains("config.lock"));
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn the_file_is_private_and_links_stay_links() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, FULL).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    merge_entry(&link, &entry()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(Kubeconfig::read(&real).unwrap().cluster("kubewright").is_some());
}
