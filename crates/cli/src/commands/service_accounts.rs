//! The options of `kubewright up` about tokens of service accounts, under kube-apiserver's names.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kubewright_apiserver::ServiceAccountOptions;
use kubewright_net::signing::{PublicKey, SigningError, SigningKey};

use crate::failure::Advised;

/// Who issues tokens of service accounts, and with which keys.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Service accounts")]
pub(crate) struct ServiceAccountArguments {
    /// Who issues tokens of service accounts: the first is written into new ones, all are believed. May be given several times.
    #[arg(long = "service-account-issuer", value_name = "ISSUER")]
    issuers: Vec<String>,

    /// A file in PEM with public keys, certificates or private keys whose tokens hold. May be given several times.
    #[arg(long = "service-account-key-file", value_name = "PATH")]
    key_files: Vec<PathBuf>,

    /// A file in PEM with the private key (ECDSA or RSA) that signs tokens; by default one is made for this run.
    #[arg(long = "service-account-signing-key-file", value_name = "PATH")]
    signing_key_file: Option<PathBuf>,

    /// The longest life of a token, such as `24h`: at least an hour.
    #[arg(long = "service-account-max-token-expiration", value_name = "DURATION", value_parser = max_expiration)]
    max_token_expiration: Option<Duration>,

    /// Who this server is to tokens; the issuers by default.
    #[arg(long = "api-audiences", value_name = "LIST", value_delimiter = ',')]
    audiences: Vec<String>,
}

impl ServiceAccountArguments {
    /// Reads the files; without one, the signing key is a new one.
    pub(super) fn options(&self) -> anyhow::Result<ServiceAccountOptions> {
        let signing_key = match self.signing_key_file.as_deref() {
            Some(path) => read(path, SigningKey::from_pem)?,
            None => SigningKey::generate()?,
        };
        let mut verification_keys = Vec::new();
        for path in &self.key_files {
            verification_keys.extend(read(path, PublicKey::all_from_pem)?);
        }
        Ok(ServiceAccountOptions {
            issuers: self.issuers.clone(),
            audiences: self.audiences.clone(),
            signing_key: Some(signing_key),
            verification_keys,
            max_token_expiration: self.max_token_expiration,
        })
    }
}

fn read<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Result<T, SigningError>) -> anyhow::Result<T> {
    let what = || format!("cannot read a key from {}", path.display());
    let text = std::fs::read(path)
        .map_err(|error| Advised::new(what(), "choose a file that exists and can be read", error))?;
    let hint = "give a file in PEM with a key for RSA, or for ECDSA on P-256 or P-384";
    parse(&text).map_err(|error| Advised::new(what(), hint, error).into())
}

/// A duration as Go writes it, within kube-apiserver's limits: between an hour and 2^32 seconds; 0 for no limit.
fn max_expiration(text: &str) -> Result<Duration, String> {
    let duration = go_duration(text).ok_or("give a duration such as 24h or 1h30m")?;
    if duration.is_zero() || (MIN_EXPIRATION..=MAX_EXPIRATION).contains(&duration) {
        Ok(duration)
    } else {
        Err("the longest life of a token must be between 1 hour and 2^32 seconds".to_owned())
    }
}

/// Whole numbers of hours, minutes and seconds, in that order: `1h`, `90m`, `1h0m30s`.
fn go_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0_u64;
    for (unit, each) in [('h', 3600), ('m', 60), ('s', 1)] {
        if let Some((count, after)) = rest.split_once(unit) {
            seconds = seconds.checked_add(count.parse::<u64>().ok()?.checked_mul(each)?)?;
            rest = after;
        }
    }
    (rest.is_empty() && !text.is_empty()).then(|| Duration::from_secs(seconds))
}

const MIN_EXPIRATION: Duration = Duration::from_secs(3600);
const MAX_EXPIRATION: Duration = Duration::from_secs(1 << 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        #[track_caller]
        fn check(text: &str, expect: Option<u64>) {
            assert_eq!(
                max_expiration(text).ok().map(|duration| duration.as_secs()),
                expect,
                "{text}"
            );
        }
        check("1h", Some(3600));
        check("90m", Some(5400));
        check("24h0m30s", Some(86430));
        check("0", Some(0));
        check("59m", None);
        check("1193047h", None);
        check("1d", None);
        check("3600", None);
        check("", None);
        check("30m1h", None);
    }
}
