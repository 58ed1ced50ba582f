//! Writing: block style, lists not indented below their key, strings quoted wherever a YAML 1.1 or 1.2 reader
//! would take them for something else.

use serde::Serialize;
use serde_saphyr::SerializerOptions;

use crate::error::{Error, ErrorKind};

/// Writes a value as one YAML document. Keys come in the order in which the value serialises them.
///
/// # Errors
///
/// When the value's own `Serialize` fails.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let mut out = String::new();
    write(&mut out, value)?;
    Ok(out)
}

/// Writes values as a stream of documents, with `---` between them.
///
/// # Errors
///
/// As [`to_string`].
pub fn to_string_multi<T: Serialize>(values: impl IntoIterator<Item = T>) -> Result<String, Error> {
    let mut out = String::new();
    for value in values {
        if !out.is_empty() {
            out.push_str("---\n");
        }
        write(&mut out, &value)?;
    }
    Ok(out)
}

fn write<T: Serialize + ?Sized>(out: &mut String, value: &T) -> Result<(), Error> {
    serde_saphyr::to_fmt_writer_with_options(out, &value, style()).map_err(|e| {
        Error::new(ErrorKind::Write {
            message: e.to_string(),
        })
    })
}

fn style() -> SerializerOptions {
    serde_saphyr::ser_options! {
        indent_step: 2,
        compact_list_indent: true,
        // Long lines stay whole: folding would hide them from `grep` and from diffs.
        folded_wrap_chars: usize::MAX,
    }
}
