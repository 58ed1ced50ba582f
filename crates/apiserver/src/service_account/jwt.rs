//! JSON Web Tokens in their compact form, as [`SigningKey::token`](kubewright_net::signing::SigningKey::token) makes them, taken apart.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kubewright_net::signing::PublicKey;
use serde_json::Value;

/// A token whose signature is not checked yet: none of what it says is to be believed.
pub(super) struct Parsed<'a> {
    header: Value,
    pub(super) claims: Value,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> Parsed<'a> {
    /// Takes a token apart; `None` for what is none.
    pub(super) fn read(token: &'a str) -> Option<Self> {
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let json = |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok();
        Some(Self {
            header: json(header)?,
            claims: json(claims).filter(Value::is_object)?,
            signed,
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
        })
    }

    /// Who it says has issued it.
    pub(super) fn issuer(&self) -> Option<&str> {
        self.claims["iss"].as_str()
    }

    /// Whether one of `keys` has signed it: the one that it names, or any where it names none.
    ///
    /// # Errors
    /// When none has.
    pub(super) fn verify(&self, keys: &[PublicKey]) -> Result<(), String> {
        let id = self.header["kid"].as_str().unwrap_or_default();
        let mut named = keys
            .iter()
            .filter(|key| id.is_empty() || key.id() == id)
            .peekable();
        if named.peek().is_none() {
            return Err("invalid signature, no keys found".to_owned());
        }
        // The kind of signature is the key's; what the token says of it only has to agree.
        let holds = |key: &PublicKey| {
            self.header["alg"] == key.algorithm() && key.verifies(self.signed.as_bytes(), &self.signature)
        };
        match named.any(holds) {
            true => Ok(()),
            false => Err("go-jose/go-jose: error in cryptographic primitive".to_owned()),
        }
    }
}

/// Longer texts are no tokens; headers of requests are shorter.
const MAX_TOKEN_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use kubewright_net::signing::SigningKey;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_signed_holds() {
        let key = SigningKey::generate().unwrap();
        let other = SigningKey::generate().unwrap();
        let claims = json!({"iss": "a", "sub": "b"});
        let token = key.token(&claims).unwrap();
        let parsed = Parsed::read(&token).unwrap();
        assert_eq!(parsed.issuer(), Some("a"));
        assert_eq!(parsed.claims, claims);
        let keys = [other.public().clone(), key.public().clone()];
        assert_eq!(parsed.verify(&keys), Ok(()));
        assert_eq!(
            parsed.verify(&keys[..1]),
            Err("invalid signature, no keys found".to_owned())
        );
        // Another's claims under this signature.
        let forged = other.token(&json!({"iss": "a", "sub": "c"})).unwrap();
        let (head, signature) = (
            token.split('.').next().unwrap(),
            token.rsplit('.').next().unwrap(),
        );
        let middle = forged.split('.').nth(1).unwrap();
        let forged = format!("{head}.{middle}.{signature}");
        assert!(Parsed::read(&forged).unwrap().verify(&keys).is_err());
        // No signature at all, by the name of the algorithm `none`.
        let none = URL_SAFE_NO_PAD.encode(json!({"alg": "none"}).to_string());
        let unsigned = format!("{none}.{middle}.");
        assert!(Parsed::read(&unsigned).unwrap().verify(&keys).is_err());
    }

    #[test]
    fn what_is_no_token() {
        for text in ["", "a", "a.b", "a.b.c", "....", "e30.e30", "e30.W10.", "{}.{}.{}"] {
            assert!(Parsed::read(text).is_none(), "{text}");
        }
        assert!(Parsed::read("e30.e30.").is_some());
        assert!(Parsed::read(&format!("e30.{}.", "e".repeat(MAX_TOKEN_BYTES))).is_none());
    }
}
