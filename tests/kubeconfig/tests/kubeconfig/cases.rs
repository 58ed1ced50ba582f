//! The kubeconfig files, and how both are called with them.

use kubewright_client::Overrides;

/// Sets overrides; what is handed in with them fills in `{HTTPS}` and others.
type Change = fn(&mut Overrides, &dyn Fn(&str) -> String);

/// Whether the server is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Expect {
    Served,
    Refused,
    /// By the client, though not by kubectl; each such row says why.
    TakenByTheClient,
}

/// Files in one folder, the certificates `pki/ca.crt`, `pki/client.crt` and `pki/client.key` beside them.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Name and text; `{HTTPS}` and others in it are filled in.
    pub(crate) files: Vec<(&'static str, String)>,
    /// The files of `KUBECONFIG`.
    pub(crate) kubeconfig: Vec<&'static str>,
    /// Flags of kubectl.
    pub(crate) arguments: Vec<&'static str>,
    /// The same for the client.
    pub(crate) overrides: Change,
    pub(crate) expect: Expect,
}

impl Case {
    fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self {
            name,
            files: vec![("config", text.into())],
            kubeconfig: vec!["config"],
            arguments: Vec::new(),
            overrides: |_, _| {},
            expect: Expect::Served,
        }
    }

    fn refused(mut self) -> Self {
        self.expect = Expect::Refused;
        self
    }

    /// For `_why`, kubectl refuses what the client takes.
    fn taken(mut self, _why: &'static str) -> Self {
        self.expect = Expect::TakenByTheClient;
        self
    }

    fn file(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.files.push((name, text.into()));
        self
    }

    fn list(mut self, names: &[&'static str]) -> Self {
        self.kubeconfig = names.to_vec();
        self
    }

    fn flags(mut self, flags: &[&'static str], overrides: Change) -> Self {
        self.arguments = flags.to_vec();
        self.overrides = overrides;
        self
    }
}

const CA: &str = "certificate-authority-data: {CA}";

/// One context with these fields of its cluster and its user.
fn config(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\n\
         users: [{{name: u, user: {{{user}}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
    )
}

/// The server over TLS with these fields of the user.
fn user(user: &str) -> String {
    config(&format!("server: '{{HTTPS}}', {CA}"), user)
}

/// The server over TLS with these further fields of the cluster, and a token.
fn cluster(cluster: &str) -> String {
    config(&format!("server: '{{HTTPS}}', {CA}, {cluster}"), "token: t")
}

/// The server at this address, and a token.
fn at(server: &str) -> String {
    config(&format!("server: '{server}', {CA}"), "token: t")
}

/// A plugin that prints `status`.
fn printing(version: &str, status: &str) -> String {
    format!(
        "#!/bin/sh\necho '{{\"apiVersion\":\"client.authentication.k8s.io/{version}\",\"kind\":\"ExecCredential\",\"status\":{status}}}'\n"
    )
}

/// A plugin that makes a token of what it is told.
const TELLING: &str = "#!/bin/sh\ntoken=$(printf %s \"$KUBERNETES_EXEC_INFO\" | base64 | tr -d '\\n')\n\
    echo \"{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\",\\\"kind\\\":\\\"ExecCredential\\\",\
    \\\"status\\\":{\\\"token\\\":\\\"$token\\\"}}\"\n";

/// A user with a plugin of `v1` that never asks anything.
fn exec(fields: &str) -> String {
    user(&format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, {fields}}}"
    ))
}

pub(crate) fn all() -> Vec<Case> {
    let mut cases = addresses();
    cases.extend(clusters());
    cases.extend(credentials());
    cases.extend(plugins());
    cases.extend(files());
    cases.extend(flags());
    cases
}

fn addresses() -> Vec<Case> {
    vec![
        Case::new("address::ipv6", at("{IPV6}")),
        Case::new("address::prefix", at("{HTTPS}/k8s/clusters/c-1")),
        Case::new("address::prefix_with_slash", at("{HTTPS}/k8s/")),
        Case::new("address::prefix_with_query", at("{HTTPS}/k8s?a=b")),
        Case::new("address::slash", at("{HTTPS}/")),
        Case::new(
            "address::plain_http_carries_no_secret",
            config("server: '{HTTP}'", "token: t, as: jane"),
        ),
        Case::new("address::no_scheme", config("server: '{HTTP-HOST}'", "token: t")),
        Case::new("address::no_scheme_with_authority", at("{HTTPS-HOST}")).refused(),
        Case::new("address::name", at("https://localhost:{HTTPS-PORT}")),
        Case::new("address::upper_case", at("HTTPS://LOCALHOST:{HTTPS-PORT}")),
        Case::new("address::empty", config("server: ''", "token: t")).refused(),
        Case::new("address::other_scheme", at("ftp://127.0.0.1:{HTTPS-PORT}")).refused(),
        Case::new("address::bad_port", at("https://127.0.0.1:port")).refused(),
        Case::new("address::blank", at("https://127.0.0.1 :{HTTPS-PORT}")).refused(),
    ]
}

fn clusters() -> Vec<Case> {
    let named = |more: &str| config(&format!("server: '{{NAMED}}', {CA}{more}"), "token: t");
    vec![
        Case::new("cluster::server_name", named(", tls-server-name: kube.example")),
        Case::new("cluster::wrong_name", named("")).refused(),
        Case::new("cluster::insecure", config("server: '{NAMED}', insecure-skip-tls-verify: true", "token: t")),
        Case::new("cluster::insecure_with_authority", cluster("insecure-skip-tls-verify: true")).refused(),
        Case::new("cluster::unknown_authority", config("server: '{HTTPS}'", "token: t")).refused(),
        Case::new("cluster::authority_twice", cluster("certificate-authority: pki/ca.crt")).refused(),
        Case::new(
            "cluster::authority_is_missing",
            config("server: '{HTTPS}', certificate-authority: pki/none", "token: t"),
        )
        .refused(),
        Case::new(
            "cluster::authority_is_no_certificate",
            config("server: '{HTTPS}', certificate-authority-data: YQ==", "token: t"),
        )
        .refused(),
        Case::new(
            "cluster::authority_is_no_base64",
            config("server: '{HTTPS}', certificate-authority-data: '!'", "token: t"),
        )
        .refused(),
        Case::new(
            "cluster::authority_in_lines",
            "current-context: c\nclusters:\n- name: c\n  cluster:\n    server: '{HTTPS}'\n    certificate-authority-data: |\n      \
             {CA-WRAPPED}\nusers:\n- name: u\n  user: {token: t}\ncontexts:\n- name: c\n  context: {cluster: c, user: u}\n",
        ),
        Case::new(
            "cluster::authority_folded",
            "current-context: c\nclusters:\n- name: c\n  cluster:\n    server: '{HTTPS}'\n    certificate-authority-data: >\n      \
             {CA-WRAPPED}\nusers:\n- name: u\n  user: {token: t}\ncontexts:\n- name: c\n  context: {cluster: c, user: u}\n",
        )
        .taken("line breaks become blanks when YAML is folded, and the data are whole without them"),
        Case::new("cluster::proxy", cluster("proxy-url: 'http://{CONNECT}'")),
        Case::new("cluster::proxy_with_password", cluster("proxy-url: 'http://user:secret@{CONNECT}'")),
        Case::new("cluster::proxy_socks", cluster("proxy-url: 'socks5://{SOCKS}'")),
        Case::new("cluster::proxy_socks_with_password", cluster("proxy-url: 'socks5://user:secret@{SOCKS}'")),
        Case::new("cluster::proxy_of_other_kind", cluster("proxy-url: 'ftp://{CONNECT}'")).refused(),
        Case::new("cluster::proxy_without_scheme", cluster("proxy-url: '{CONNECT}'")).refused(),
        Case::new("cluster::proxy_is_no_url", cluster("proxy-url: 'http://a b'")).refused(),
        Case::new("cluster::unknown_fields", cluster("future: {a: [1]}, extensions: [{name: e, extension: {x: 1}}]")),
        Case::new("cluster::wrong_type", cluster("tls-server-name: [a]")).refused(),
    ]
}

fn credentials() -> Vec<Case> {
    let both = "client-certificate-data: {CERT}, client-key-data: {KEY}";
    vec![
        Case::new("user::token", user("token: secret")),
        Case::new("user::nobody", user("")).taken("kubectl asks the person in front of it for a name"),
        Case::new("user::basic", user("username: me, password: 'p:w'")),
        Case::new("user::name_without_password", user("username: me")),
        Case::new("user::password_without_name", user("password: p")).taken("as nobody"),
        Case::new(
            "user::basic_and_token",
            user("token: t, username: me, password: p"),
        )
        .refused(),
        Case::new("user::certificate", user(both)),
        Case::new("user::certificate_and_token", user(&format!("{both}, token: t"))),
        Case::new(
            "user::certificate_files",
            user("client-certificate: pki/client.crt, client-key: pki/client.key"),
        ),
        Case::new(
            "user::certificate_file_and_data",
            user("client-certificate: pki/client.crt, client-key-data: {KEY}"),
        ),
        Case::new(
            "user::certificate_twice",
            user(&format!("{both}, client-certificate: pki/client.crt")),
        )
        .refused(),
        Case::new(
            "user::key_twice",
            user(&format!("{both}, client-key: pki/client.key")),
        )
        .refused(),
        Case::new(
            "user::certificate_without_key",
            user("client-certificate-data: {CERT}"),
        )
        .refused(),
        Case::new("user::key_alone", user("client-key-data: {KEY}")).refused(),
        Case::new(
            "user::key_file_is_missing",
            user("client-certificate-data: {CERT}, client-key: pki/none"),
        )
        .refused(),
        Case::new(
            "user::key_is_no_key",
            user("client-certificate-data: {CERT}, client-key-data: YQ=="),
        )
        .refused(),
        Case::new("user::token_file", user("tokenFile: tokens/t")).file("tokens/t", "from-file"),
        Case::new("user::token_file_with_line_end", user("tokenFile: tokens/t"))
            .file("tokens/t", " from-file\n"),
        Case::new("user::token_and_file", user("token: t, tokenFile: tokens/t"))
            .file("tokens/t", "from-file\n"),
        Case::new("user::token_file_is_missing", user("tokenFile: tokens/t")).refused(),
        Case::new(
            "user::token_and_missing_file",
            user("token: t, tokenFile: tokens/t"),
        ),
        Case::new("user::token_with_line_break", user("token: \"a\\nb\"")).refused(),
        Case::new(
            "user::impersonation",
            user(
                "token: t, as: jane, as-uid: '7', as-groups: [a, 'b, c'], as-user-extra: {'example.com/team%': [x, w], z: []}",
            ),
        ),
        Case::new(
            "user::impersonation_without_user",
            user("token: t, as-groups: [a]"),
        )
        .refused(),
        Case::new("user::impersonation_beyond_ascii", user("token: t, as: 'jäne'")),
        Case::new("user::auth_provider", user("auth-provider: {name: gcp}")).refused(),
        Case::new(
            "user::null_fields",
            user("token: t, as: null, as-groups: null, as-user-extra: null, exec: null"),
        ),
    ]
}

fn plugins() -> Vec<Case> {
    let token = r#"{"token":"from-plugin"}"#;
    let v1 = |name, fields: &str| Case::new(name, exec(fields));
    let plain = |name, fields: &str| {
        Case::new(name, user(&format!("exec: {{{fields}}}"))).file("plugin", printing("v1", token))
    };
    let beta = "apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin";
    vec![
        v1("exec::token", "command: ./plugin").file("plugin", printing("v1", token)),
        v1("exec::bare_name", "command: sh, args: [-c, 'exec {DIR}/plugin']").file("plugin", printing("v1", token)),
        v1("exec::told", "command: ./plugin, provideClusterInfo: true").file("plugin", TELLING),
        v1("exec::told_without_cluster", "command: ./plugin").file("plugin", TELLING),
        Case::new(
            "exec::told_of_everything",
            config(
                "server: '{NAMED}/prefix', certificate-authority: pki/ca.crt, tls-server-name: kube.example, proxy-url: 'http://{CONNECT}', \
                 disable-compression: true, extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}]",
                "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./plugin, provideClusterInfo: true}",
            ),
        )
        .file("plugin", TELLING),
        v1("exec::environment", "command: sh, args: [-c, '{DIR}/plugin | sed s/from-plugin/$EXTRA/'], env: [{name: EXTRA, value: extra}]")
            .file("plugin", printing("v1", token)),
        v1("exec::certificate", "command: ./plugin").file(
            "plugin",
            "#!/bin/sh\njoin() { awk '{printf \"%s\\\\n\", $0}' \"$1\"; }\nprintf '%s' \"{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\",\
             \\\"kind\\\":\\\"ExecCredential\\\",\\\"status\\\":{\\\"clientCertificateData\\\":\\\"$(join {DIR}/pki/client.crt)\\\",\
             \\\"clientKeyData\\\":\\\"$(join {DIR}/pki/client.key)\\\"}}\"\n",
        ),
        v1("exec::past_expiry", "command: ./plugin")
            .file("plugin", printing("v1", r#"{"token":"old","expirationTimestamp":"2020-01-01T00:00:00Z"}"#)),
        v1("exec::beside_a_token", "command: ./plugin}, token: t, x: {a: b").file("plugin", printing("v1", token)),
        v1("exec::fails", "command: sh, args: [-c, 'exit 3']").refused(),
        v1("exec::prints_nothing", "command: 'true'").refused(),
        v1("exec::prints_no_status", "command: ./plugin").file("plugin", printing("v1", "null")).refused(),
        v1("exec::prints_no_credentials", "command: ./plugin").file("plugin", printing("v1", "{}")).refused(),
        v1("exec::prints_half_a_pair", "command: ./plugin")
            .file("plugin", printing("v1", r#"{"token":"a","clientKeyData":"k"}"#))
            .refused(),
        v1("exec::prints_another_version", "command: ./plugin").file("plugin", printing("v1beta1", token)).refused(),
        v1("exec::is_missing", "command: ./none, installHint: get it").refused(),
        v1("exec::no_command", "args: [a]").refused(),
        plain("exec::no_version", "interactiveMode: Never, command: ./plugin").refused(),
        plain("exec::version_of_old", "apiVersion: client.authentication.k8s.io/v1alpha1, interactiveMode: Never, command: ./plugin").refused(),
        plain("exec::v1_without_mode", "apiVersion: client.authentication.k8s.io/v1, command: ./plugin").refused(),
        plain("exec::unknown_mode", "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Sometimes, command: ./plugin").refused(),
        plain("exec::mode_always_without_terminal", "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always, command: ./plugin")
            .refused(),
        plain("exec::variable_without_name", "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./plugin, env: [{name: '', value: a}]")
            .refused(),
        Case::new("exec::v1beta1_without_mode", user(&format!("exec: {{{beta}}}"))).file("plugin", printing("v1beta1", token)),
        Case::new("exec::over_plain_http", config("server: '{HTTP}'", "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./plugin}"))
            .file("plugin", printing("v1", token)),
    ]
}

fn files() -> Vec<Case> {
    let here = "current-context: b\nclusters: [{name: c, cluster: {server: '{HTTPS}', certificate-authority: pki/ca.crt}}]\n";
    let there = "current-context: a\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n\
                 users: [{name: u, user: {tokenFile: token}}]\ncontexts: [{name: b, context: {cluster: c, user: u}}]\n";
    vec![
        Case::new("files::merged", here)
            .file("more/config", there)
            .file("more/token", "of-the-other-folder")
            .list(&["none", "config", "more/config"]),
        Case::new("files::the_first_wins", here)
            .file("more/config", there)
            .file("more/token", "t")
            .list(&["more/config", "config"])
            .refused(),
        Case::new("files::twice", user("token: t")).list(&["config", "config"]),
        Case::new("files::all_missing", "").list(&["none"]).refused(),
        Case::new("files::empty", "").refused(),
        Case::new("files::empty_before_another", "")
            .file("second", user("token: t"))
            .list(&["config", "second"]),
        Case::new(
            "files::null_lists",
            "clusters: null\nusers: null\ncontexts: null\npreferences: null\nextensions: null\n",
        )
        .file("second", user("token: t"))
        .list(&["config", "second"]),
        Case::new("files::no_yaml", "clusters: [")
            .file("second", user("token: t"))
            .list(&["second", "config"])
            .refused(),
        Case::new(
            "files::json",
            r#"{"current-context":"c","clusters":[{"name":"c","cluster":{"server":"{HTTPS}","certificate-authority-data":"{CA}"}}],"users":[{"name":"u","user":{"token":"t"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}"#,
        ),
        Case::new(
            "files::other_kind",
            user("token: t").replace("kind: Config", "kind: Pod"),
        )
        .refused(),
        Case::new(
            "files::other_version",
            user("token: t").replace("apiVersion: v1", "apiVersion: v2"),
        )
        .refused(),
        Case::new(
            "files::no_current_context",
            user("token: t").replace("current-context: c\n", ""),
        )
        .refused(),
        Case::new(
            "files::context_is_missing",
            user("token: t").replace("current-context: c", "current-context: d"),
        )
        .refused(),
        Case::new(
            "files::cluster_is_missing",
            user("token: t").replace("{cluster: c,", "{cluster: d,"),
        )
        .refused(),
        Case::new(
            "files::entry_twice",
            user("token: t").replace("users: [", "users: [{name: u, user: {token: s}}, "),
        )
        .refused(),
    ]
}

fn flags() -> Vec<Case> {
    let two = user("token: t, as: jane").replace("users: [", "users: [{name: v, user: {token: of-v}}, ").replace(
        "contexts: [",
        "contexts: [{name: d, context: {cluster: c, user: v}}, {name: e, context: {cluster: none, user: v}}, ",
    );
    let case = |name, flags: &[&'static str], set: Change| Case::new(name, two.clone()).flags(flags, set);
    vec![
        case("flags::context", &["--context=d"], |o, _| {
            o.context = Some("d".into())
        }),
        case("flags::context_is_missing", &["--context=x"], |o, _| {
            o.context = Some("x".into())
        })
        .refused(),
        case("flags::cluster", &["--context=e", "--cluster=c"], |o, _| {
            o.context = Some("e".into());
            o.cluster = Some("c".into());
        }),
        case("flags::user", &["--user=v"], |o, _| o.user = Some("v".into())),
        case("flags::user_is_missing", &["--user=x"], |o, _| {
            o.user = Some("x".into())
        })
        .refused(),
        case("flags::token", &["--token=other"], |o, _| {
            o.token = Some("other".into())
        }),
        case(
            "flags::impersonation",
            &["--as=joe", "--as-group=a", "--as-group=b", "--as-uid=7"],
            |o, _| {
                o.impersonate = Some("joe".into());
                o.impersonate_groups = vec!["a".into(), "b".into()];
                o.impersonate_uid = Some("7".into());
            },
        ),
        case(
            "flags::groups_for_the_user_of_the_file",
            &["--as-group=a"],
            |o, _| o.impersonate_groups = vec!["a".into()],
        ),
        case("flags::server", &["--server={HTTPS}/other"], |o, fill| {
            o.server = Some(fill("{HTTPS}/other"))
        }),
        case(
            "flags::server_and_name",
            &["--server={NAMED}", "--tls-server-name=kube.example"],
            |o, fill| {
                o.server = Some(fill("{NAMED}"));
                o.tls_server_name = Some("kube.example".into());
            },
        ),
        case(
            "flags::insecure",
            &["--server={NAMED}", "--insecure-skip-tls-verify"],
            |o, fill| {
                o.server = Some(fill("{NAMED}"));
                o.insecure_skip_tls_verify = Some(true);
            },
        ),
        case(
            "flags::authority",
            &["--certificate-authority=pki/none"],
            |o, _| o.certificate_authority = Some("pki/none".into()),
        )
        .refused(),
        case(
            "flags::basic_beside_a_token",
            &["--username=me", "--password=p"],
            |o, _| {
                o.username = Some("me".into());
                o.password = Some("p".into());
            },
        )
        .refused(),
        Case::new("flags::without_a_file", "").flags(
            &["--server={NAMED}", "--insecure-skip-tls-verify", "--token=t"],
            |o, fill| {
                o.server = Some(fill("{NAMED}"));
                o.insecure_skip_tls_verify = Some(true);
                o.token = Some("t".into());
            },
        ),
        Case::new(
            "flags::server_clears_the_name",
            config(
                &format!("server: '{{HTTPS}}', {CA}, tls-server-name: kube.example"),
                "token: t",
            ),
        )
        .flags(&["--server={HTTPS}"], |o, fill| o.server = Some(fill("{HTTPS}"))),
    ]
}
