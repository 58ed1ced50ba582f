//! `#[derive(Schema)]` on enums: the forms of serde that are structural, and errors for those that are not.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DataEnum, Error, Fields, Ident, Result, Type};

use super::{keywords, named, value};
use crate::serde_attributes as serde;

/// A variant that is written, and the name under which it is.
struct Variant<'a> {
    syntax: &'a syn::Variant,
    serde: serde::Variant,
    name: String,
}

pub(super) fn node(
    ident: &Ident,
    data: &DataEnum,
    container: &serde::Container,
    krate: &TokenStream,
) -> Result<TokenStream> {
    let mut variants = Vec::new();
    for syntax in &data.variants {
        keywords::refuse(&syntax.attrs, "a variant")?;
        let serde = serde::Variant::parse(&syntax.attrs)?;
        if serde.skip {
            continue;
        }
        if serde.untagged {
            let message =
                "one untagged variant among tagged ones has no structural form: make the whole enum untagged";
            return Err(Error::new_spanned(syntax, message));
        }
        let plain = syntax.ident.unraw().to_string();
        let renamed = container
            .rename_all
            .map_or_else(|| plain.clone(), |case| case.variant(&plain));
        let name = serde.rename.clone().unwrap_or(renamed);
        variants.push(Variant { syntax, serde, name });
    }
    if variants.is_empty() {
        return Err(Error::new_spanned(
            ident,
            "an enum without variants has no values, and no schema",
        ));
    }
    match (&container.tag, &container.content, container.untagged) {
        (None, _, false) if variants.iter().all(|variant| is_unit(variant)) => Ok(strings(&variants, krate)),
        (None, _, false) => external(&variants, container, krate),
        (Some(tag), None, _) => internal(tag, &variants, container, krate),
        (Some(tag), Some(content), _) => adjacent(tag, content, &variants, container, krate),
        (None, _, true) => untagged(ident, &variants, container, krate),
    }
}

fn is_unit(variant: &Variant<'_>) -> bool {
    matches!(variant.syntax.fields, Fields::Unit)
}

/// Unit variants only: a string. With `#[serde(other)]` every string is read.
fn strings(variants: &[Variant<'_>], krate: &TokenStream) -> TokenStream {
    if variants.iter().any(|variant| variant.serde.other) {
        return quote!(#krate::SchemaNode::of(#krate::JsonType::String));
    }
    let names = variants.iter().map(|variant| &variant.name);
    quote!(#krate::SchemaNode::one_of([#(#names),*]))
}

/// serde's own way: an object with one member, named as the variant.
fn external(
    variants: &[Variant<'_>],
    container: &serde::Container,
    krate: &TokenStream,
) -> Result<TokenStream> {
    let mut steps = TokenStream::new();
    for variant in variants {
        let name = &variant.name;
        if is_unit(variant) {
            let ident = &variant.syntax.ident;
            return Err(Error::new_spanned(
                variant.syntax,
                format!(
                    "`{ident}` is written as a string and other variants as objects, which no structural schema \
                     describes: write `{ident} {{}}`, or tag the enum with `#[serde(tag = \"type\")]`"
                ),
            ));
        }
        let node = content(variant, container, krate)?;
        let description = crate::attributes::docs(&variant.syntax.attrs);
        steps.extend(quote!(let node = node.named_variant(#name, #node.describe(#description));));
    }
    Ok(object(&steps, krate))
}

/// `tag` only: the fields of all variants in one object.
fn internal(
    tag: &str,
    variants: &[Variant<'_>],
    container: &serde::Container,
    krate: &TokenStream,
) -> Result<TokenStream> {
    let tag_node = strings(variants, krate);
    let mut steps = quote!(let node = node.property(#tag, #tag_node););
    for variant in variants {
        let name = &variant.name;
        let node = content(variant, container, krate)?;
        steps.extend(quote!(let node = node.tagged_variant(#tag, #name, #node);));
    }
    Ok(object(&steps, krate))
}

/// `tag` and `content`: what is within `content` depends on the tag, so that all variants have to agree.
fn adjacent(
    tag: &str,
    content_name: &str,
    variants: &[Variant<'_>],
    container: &serde::Container,
    krate: &TokenStream,
) -> Result<TokenStream> {
    let tag_node = strings(variants, krate);
    let mut steps = quote!(let node = node.property(#tag, #tag_node););
    for variant in variants {
        let name = &variant.name;
        let node = if is_unit(variant) {
            object(&TokenStream::new(), krate)
        } else {
            let inner = content(variant, container, krate)?;
            object(&quote!(let node = node.property(#content_name, #inner);), krate)
        };
        steps.extend(quote!(let node = node.tagged_variant(#tag, #name, #node);));
    }
    Ok(object(&steps, krate))
}

fn untagged(
    ident: &Ident,
    variants: &[Variant<'_>],
    container: &serde::Container,
    krate: &TokenStream,
) -> Result<TokenStream> {
    if is_int_or_string(variants) {
        return Ok(quote!(#krate::SchemaNode::int_or_string()));
    }
    let mut steps = TokenStream::new();
    for variant in variants {
        if !matches!(variant.syntax.fields, Fields::Named(_)) {
            return Err(Error::new_spanned(
                variant.syntax,
                format!(
                    "an untagged enum has a structural form only if it is an integer and a string, or if all variants \
                     have named fields: name the fields, tag the enum with `#[serde(tag = \"type\")]`, or implement \
                     `Schema` for `{ident}` by hand"
                ),
            ));
        }
        let node = content(variant, container, krate)?;
        steps.extend(quote!(let node = node.untagged_variant(#node);));
    }
    Ok(object(&steps, krate))
}

fn is_int_or_string(variants: &[Variant<'_>]) -> bool {
    let kind = |variant: &Variant<'_>| {
        let Fields::Unnamed(fields) = &variant.syntax.fields else {
            return None;
        };
        let (Some(Type::Path(path)), 1) = (
            fields.unnamed.first().map(|field| &field.ty),
            fields.unnamed.len(),
        ) else {
            return None;
        };
        let name = path.path.segments.last()?.ident.to_string();
        match name.as_str() {
            "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "isize" | "usize" => {
                Some("integer")
            }
            "String" => Some("string"),
            _ => None,
        }
    };
    let mut kinds: Vec<_> = variants.iter().map(kind).collect();
    kinds.sort_unstable();
    kinds == [Some("integer"), Some("string")]
}

/// What a variant holds.
fn content(variant: &Variant<'_>, container: &serde::Container, krate: &TokenStream) -> Result<TokenStream> {
    match &variant.syntax.fields {
        Fields::Unit => Ok(object(&TokenStream::new(), krate)),
        Fields::Named(fields) => {
            let rename_all = variant.serde.rename_all.or(container.rename_all_fields);
            named(fields, rename_all, false, krate)
        }
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => value(&fields.unnamed[0], krate),
        Fields::Unnamed(_) => Err(Error::new_spanned(
            variant.syntax,
            "a variant with several unnamed fields is written as a list of different types, which no structural schema \
             describes: name its fields",
        )),
    }
}

fn object(steps: &TokenStream, krate: &TokenStream) -> TokenStream {
    quote!({
        let node = #krate::SchemaNode::of(#krate::JsonType::Object);
        #steps
        node
    })
}
