//! Making certificates and reading them back.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_net::{CertificateAndKey, CertificateAuthority, CertificateInfo, TlsError, Validity, tls};

const NOW: i64 = 1_800_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn an_hour() -> Validity {
    Validity::starting(at(NOW), Duration::from_secs(3600))
}

fn authority() -> CertificateAuthority {
    CertificateAuthority::new("kubewright-ca", an_hour()).unwrap()
}

#[test]
fn a_server_certificate_names_hosts_and_addresses() {
    let server = authority()
        .issue_server(&["kubernetes.default.svc", "10.96.0.1", "::1"], an_hour())
        .unwrap();
    let info = CertificateInfo::parse(&server.chain()[0]).unwrap();
    assert_eq!(info.common_name, "kubernetes.default.svc");
    assert_eq!(info.dns_names, ["kubernetes.default.svc"]);
    assert_eq!(
        info.addresses,
        [
            "10.96.0.1".parse::<std::net::IpAddr>().unwrap(),
            "::1".parse().unwrap()
        ]
    );
    assert_eq!(info.validity, an_hour());
    assert!(!info.is_authority);
    assert!(authority().issue_server(&["not ascii: ü"], an_hour()).is_err());
}

#[test]
fn a_client_certificate_names_user_and_groups() {
    let long = "g".repeat(300);
    let many: Vec<String> = (0..40).map(|number| format!("group-{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let rows: [&[&str]; 5] = [&[], &["system:masters"], &["b", "a", "b"], &["x", &long], &many];
    let authority = authority();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        tls::ClientCertificateVerifier::new(authority.certificate_pem().as_bytes(), &provider).unwrap();
    for groups in rows {
        let client = authority.issue_client("jane@example", groups, an_hour()).unwrap();
        let info = CertificateInfo::parse(&client.chain()[0]).unwrap();
        assert_eq!(info.common_name, "jane@example");
        assert_eq!(info.organizations, groups);
        // The signature still fits although the subject was replaced.
        verifier.verify(client.chain(), at(NOW)).unwrap();
    }
}

#[test]
fn client_chains_are_verified_at_a_time() {
    let (ours, theirs) = (authority(), authority());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ours.issue_client("jane", &["dev"], an_hour()).unwrap();
    let server = ours.issue_server(&["localhost"], an_hour()).unwrap();
    let stranger = theirs.issue_client("jane", &["dev"], an_hour()).unwrap();
    let by_ca = tls::ClientCertificateVerifier::new(ours.certificate_pem().as_bytes(), &provider).unwrap();
    let by_leaf =
        tls::ClientCertificateVerifier::new(stranger.certificate_pem().as_bytes(), &provider).unwrap();
    let rows = [
        ("issued by the authority", &by_ca, &client, NOW, true),
        ("expired", &by_ca, &client, NOW + 3601, false),
        ("not yet valid", &by_ca, &client, NOW - 301, false),
        ("a server's certificate", &by_ca, &server, NOW, false),
        (
            "another authority of the same name",
            &by_ca,
            &stranger,
            NOW,
            false,
        ),
        ("listed itself", &by_leaf, &stranger, NOW, true),
        ("listed itself, expired", &by_leaf, &stranger, NOW + 3601, false),
        ("not listed", &by_leaf, &client, NOW, false),
    ];
    for (name, verifier, certificate, now, accepted) in rows {
        let result = verifier.verify(certificate.chain(), at(now));
        assert_eq!(result.is_ok(), accepted, "{name}: {result:?}");
    }
    assert!(matches!(
        by_ca.verify(&[], at(NOW)),
        Err(TlsError::NoCertificate { .. })
    ));
}

#[test]
fn pem_goes_in_as_it_came_out() {
    let authority = authority();
    let again = CertificateAuthority::from_pem(&authority.certificate_pem(), &authority.key_pem()).unwrap();
    assert_eq!(again.certificate(), authority.certificate());
    let client = again.issue_client("jane", &["dev"], an_hour()).unwrap();
    let pem = CertificateAndKey::from_pem(client.certificate_pem().as_bytes(), client.key_pem().as_bytes())
        .unwrap();
    assert_eq!(pem, client);
    assert!(client.key_pem().starts_with("-----BEGIN PRIVATE KEY-----\n"));
    let info = CertificateInfo::parse_pem(authority.certificate_pem().as_bytes()).unwrap();
    assert_eq!(
        (info[0].common_name.as_str(), info[0].is_authority),
        ("kubewright-ca", true)
    );
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        tls::ClientCertificateVerifier::new(authority.certificate_pem().as_bytes(), &provider).unwrap();
    verifier.verify(client.chain(), at(NOW)).unwrap();
}

#[test]
fn what_is_no_certificate_is_refused() {
    for text in [
        "",
        "hello",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        assert!(CertificateInfo::parse_pem(text.as_bytes()).is_err(), "{text:?}");
        assert!(CertificateAuthority::from_pem(text, text).is_err(), "{text:?}");
        assert!(
            CertificateAndKey::from_pem(text.as_bytes(), text.as_bytes()).is_err(),
            "{text:?}"
        );
    }
}

proptest::proptest! {
    #[test]
    fn reading_any_bytes_never_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400)) {
        let _ = CertificateInfo::parse(&bytes);
        let _ = CertificateInfo::parse_pem(&bytes);
    }
}
