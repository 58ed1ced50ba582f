//! What keys and values of labels may be (apimachinery pkg/api/validate/content/kube.go).

/// What is wrong with the key of a label, which is also a qualified name: an optional subdomain and a slash, then a name of up to 63 bytes.
/// Empty for one that does.
pub fn label_key_faults(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut parts = key.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            faults.extend(prefix_faults(prefix).map(|fault| format!("prefix part {fault}")));
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_LABEL_BYTES {
        faults.push(format!("name part must be no more than {MAX_LABEL_BYTES} bytes"));
    }
    if !is_label_text(name) {
        faults.push(format!("name part {NAME}"));
    }
    faults
}

/// What is wrong with the value of a label. Empty for one that does, as an empty value does.
pub fn label_value_faults(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > MAX_LABEL_BYTES {
        faults.push(format!("must be no more than {MAX_LABEL_BYTES} bytes"));
    }
    if !value.is_empty() && !is_label_text(value) {
        faults.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end \
             with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    faults
}

fn prefix_faults(prefix: &str) -> impl Iterator<Item = String> {
    let is_long = prefix.len() > MAX_SUBDOMAIN_BYTES;
    let too_long = is_long.then(|| format!("must be no more than {MAX_SUBDOMAIN_BYTES} bytes"));
    let shape = match prefix {
        "" => Some("must be non-empty"),
        prefix if prefix.split('.').all(is_dns_label) => None,
        _ => Some(SUBDOMAIN),
    };
    too_long.into_iter().chain(shape.map(str::to_owned))
}

fn is_dns_label(label: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(is_inner)
}

/// Whether a text begins and ends with an alphanumeric character and has dashes, dots and underscores only between.
fn is_label_text(text: &str) -> bool {
    let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let mut bytes = text.bytes();
    is_edge(text.bytes().next()) && is_edge(text.bytes().next_back()) && bytes.all(is_inner)
}

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
                    (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const MAX_LABEL_BYTES: usize = 63;
const MAX_SUBDOMAIN_BYTES: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let long = "a".repeat(64);
        let (too_long, name) = (
            "name part must be no more than 63 bytes",
            format!("name part {NAME}"),
        );
        let non_empty = format!("name part must be non-empty; {name}");
        let prefix = format!("prefix part {SUBDOMAIN}");
        let slashes = format!(
            "a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        );
        for (key, expect) in [
            ("a", ""),
            ("A_b.C-1", ""),
            ("example.com/a", ""),
            ("", &*non_empty),
            ("x/", &*non_empty),
            ("-a", &*name),
            ("a-", &*name),
            ("a b", &*name),
            (&*long, too_long),
            ("/a", "prefix part must be non-empty"),
            ("A/a", &*prefix),
            ("a..b/a", &*prefix),
            ("a/b/c", &*slashes),
        ] {
            assert_eq!(label_key_faults(key).join("; "), expect, "{key}");
        }
        let prefix = format!("{}/a", "a".repeat(254));
        assert_eq!(
            label_key_faults(&prefix),
            ["prefix part must be no more than 253 bytes"]
        );
    }

    #[test]
    fn values() {
        for (value, expect) in [("", 0), ("a", 0), ("A_b.C-1", 0), ("-a", 1), ("a b", 1)] {
            assert_eq!(label_value_faults(value).len(), expect, "{value}");
        }
        assert_eq!(
            label_value_faults(&"a".repeat(64)),
            ["must be no more than 63 bytes"]
        );
        assert_eq!(label_value_faults(&"-".repeat(64)).len(), 2);
    }
}
