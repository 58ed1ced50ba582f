//! Our own attributes: reading values, and errors that name what exists.

use proc_macro2::{Literal, Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::{Attribute, Error, Expr, Lit, LitStr, Path, Result, Token};

/// Where generated code finds the schema crate.
pub(crate) fn default_crate() -> TokenStream {
    quote!(::kubewright::schema)
}

/// Reads `crate = ".."`.
pub(crate) fn crate_path(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let path: Path = meta.value()?.parse::<LitStr>()?.parse()?;
    // A bare name is a crate, whatever modules are around.
    let global =
        path.leading_colon.is_none() && path.segments.first().is_some_and(|first| first.ident != "crate");
    Ok(if global { quote!(::#path) } else { quote!(#path) })
}

/// The name of an attribute's entry; `enum` and `type` are keywords, so that this is no plain identifier.
pub(crate) fn entry_name(meta: &ParseNestedMeta<'_>) -> String {
    meta.path
        .segments
        .last()
        .map(|segment| segment.ident.unraw().to_string())
        .unwrap_or_default()
}

/// The error for an entry that does not exist.
pub(crate) fn unknown(meta: &ParseNestedMeta<'_>, place: &str, valid: &[&str]) -> Error {
    let name = entry_name(meta);
    let closest = valid.iter().map(|valid| (distance(&name, valid), valid)).min();
    let hint = match closest {
        Some((distance, valid)) if distance <= 2 => format!("did you mean `{valid}`? "),
        _ => String::new(),
    };
    meta.error(format!(
        "unknown entry `{name}` on {place}: {hint}valid are {}",
        valid.join(", ")
    ))
}

pub(crate) fn text(meta: &ParseNestedMeta<'_>) -> Result<String> {
    Ok(meta.value()?.parse::<LitStr>()?.value())
}

/// Reads one of several words.
pub(crate) fn word(meta: &ParseNestedMeta<'_>, valid: &[&str]) -> Result<String> {
    let literal: LitStr = meta.value()?.parse()?;
    let text = literal.value();
    if valid.contains(&text.as_str()) {
        return Ok(text);
    }
    Err(Error::new(
        literal.span(),
        format!("`{text}` is none of {}", valid.join(", ")),
    ))
}

/// Reads a number and gives it a type, so that large ones are not taken for i32.
pub(crate) fn number(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let input = meta.value()?;
    let minus = input.parse::<Option<Token![-]>>()?;
    let literal = match input.parse::<Lit>()? {
        Lit::Int(int) => Literal::i64_suffixed(int.base10_parse()?),
        Lit::Float(float) => Literal::f64_suffixed(float.base10_parse()?),
        other => return Err(Error::new(other.span(), "expected a number")),
    };
    Ok(quote!(#minus #literal))
}

/// Reads a whole number that is not negative.
pub(crate) fn count(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let literal: syn::LitInt = meta.value()?.parse()?;
    let whole = literal.base10_parse();
    let count =
        whole.map_err(|_| Error::new(literal.span(), "expected a whole number that is not negative"))?;
    let count = Literal::u32_suffixed(count);
    Ok(quote!(#count))
}

/// Reads `name("a", 1)`.
pub(crate) fn literals(meta: &ParseNestedMeta<'_>) -> Result<Vec<Lit>> {
    let content;
    syn::parenthesized!(content in meta.input);
    let literals = content.parse_terminated(|input: ParseStream<'_>| input.parse::<Lit>(), Token![,])?;
    Ok(literals.into_iter().collect())
}

/// Doc comments as one text, without the space that begins their lines.
pub(crate) fn docs(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
    {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(text) = &literal.lit
        {
            let text = text.value();
            lines.extend(
                text.split('\n')
                    .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()),
            );
        }
    }
    lines.join("\n").trim().to_owned()
}

/// An error at the place of the macro.
pub(crate) fn error_at(span: Span, message: impl std::fmt::Display) -> Error {
    Error::new(span, message)
}

/// How many letters have to be changed, added or taken away.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures() {
        for (left, right, expect) in [
            ("", "abc", 3),
            ("minimun", "minimum", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(left, right), expect);
        }
    }
}
