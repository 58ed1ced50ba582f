//! What serde's attributes say about how a type is written. What does not matter here is passed over: serde itself
//! complains about what it does not know.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, LitStr, Path, Result, Type};

use crate::case::Case;

/// Serde's attributes of a struct or an enum.
#[derive(Default)]
pub(crate) struct Container {
    pub(crate) rename_all: Option<Case>,
    pub(crate) rename_all_fields: Option<Case>,
    pub(crate) default: bool,
    pub(crate) tag: Option<String>,
    pub(crate) content: Option<String>,
    pub(crate) untagged: bool,
    pub(crate) transparent: bool,
    /// What the type is converted into to be written, or else what it is read from.
    pub(crate) proxy: Option<Type>,
}

/// Serde's attributes of a field.
#[derive(Default)]
pub(crate) struct Field {
    pub(crate) rename: Option<String>,
    pub(crate) default: Option<DefaultFn>,
    pub(crate) skip: bool,
    pub(crate) flatten: bool,
}

/// Where serde takes the value of an absent field from.
pub(crate) enum DefaultFn {
    Trait,
    Path(Path),
}

/// Serde's attributes of a variant.
#[derive(Default)]
pub(crate) struct Variant {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<Case>,
    pub(crate) skip: bool,
    pub(crate) other: bool,
    pub(crate) untagged: bool,
}

impl Container {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut this = Self::default();
        let mut from = None;
        each(attributes, |meta| {
            if meta.path.is_ident("rename_all") {
                this.rename_all = case(meta)?;
            } else if meta.path.is_ident("rename_all_fields") {
                this.rename_all_fields = case(meta)?;
            } else if meta.path.is_ident("default") {
                this.default = true;
                pass_over(meta)?;
            } else if meta.path.is_ident("tag") {
                this.tag = Some(text(meta)?);
            } else if meta.path.is_ident("content") {
                this.content = Some(text(meta)?);
            } else if meta.path.is_ident("untagged") {
                this.untagged = true;
            } else if meta.path.is_ident("transparent") {
                this.transparent = true;
            } else if meta.path.is_ident("into") {
                this.proxy = Some(meta.value()?.parse::<LitStr>()?.parse()?);
            } else if meta.path.is_ident("from") || meta.path.is_ident("try_from") {
                from = Some(meta.value()?.parse::<LitStr>()?.parse()?);
            } else {
                pass_over(meta)?;
            }
            Ok(())
        })?;
        this.proxy = this.proxy.or(from);
        Ok(this)
    }
}

impl Field {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut this = Self::default();
        let (mut skip_in, mut skip_out) = (false, false);
        each(attributes, |meta| {
            if meta.path.is_ident("rename") {
                this.rename = name(meta)?.or_else(|| this.rename.take());
            } else if meta.path.is_ident("default") {
                this.default = Some(if meta.input.peek(syn::Token![=]) {
                    DefaultFn::Path(meta.value()?.parse::<LitStr>()?.parse()?)
                } else {
                    DefaultFn::Trait
                });
            } else if meta.path.is_ident("skip") {
                this.skip = true;
            } else if meta.path.is_ident("skip_deserializing") {
                skip_in = true;
            } else if meta.path.is_ident("skip_serializing") {
                skip_out = true;
            } else if meta.path.is_ident("flatten") {
                this.flatten = true;
            } else {
                pass_over(meta)?;
            }
            Ok(())
        })?;
        this.skip |= skip_in && skip_out;
        Ok(this)
    }
}

impl Variant {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut this = Self::default();
        each(attributes, |meta| {
            if meta.path.is_ident("rename") {
                this.rename = name(meta)?.or_else(|| this.rename.take());
            } else if meta.path.is_ident("rename_all") {
                this.rename_all = case(meta)?;
            } else if meta.path.is_ident("skip") {
                this.skip = true;
            } else if meta.path.is_ident("other") {
                this.other = true;
            } else if meta.path.is_ident("untagged") {
                this.untagged = true;
            } else {
                pass_over(meta)?;
            }
            Ok(())
        })?;
        Ok(this)
    }
}

fn each(attributes: &[Attribute], mut read: impl FnMut(&ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("serde"))
    {
        attribute.parse_nested_meta(|meta| read(&meta))?;
    }
    Ok(())
}

fn text(meta: &ParseNestedMeta<'_>) -> Result<String> {
    Ok(meta.value()?.parse::<LitStr>()?.value())
}

/// `x = ".."` or `x(serialize = "..", deserialize = "..")`: what is written counts.
fn name(meta: &ParseNestedMeta<'_>) -> Result<Option<String>> {
    if meta.input.peek(syn::Token![=]) {
        return text(meta).map(Some);
    }
    let mut written = None;
    meta.parse_nested_meta(|meta| {
        let value = text(&meta)?;
        if meta.path.is_ident("serialize") {
            written = Some(value);
        }
        Ok(())
    })?;
    Ok(written)
}

fn case(meta: &ParseNestedMeta<'_>) -> Result<Option<Case>> {
    Ok(name(meta)?.and_then(|name| Case::parse(&name)))
}

fn pass_over(meta: &ParseNestedMeta<'_>) -> Result<()> {
    if meta.input.peek(syn::Token![=]) {
        meta.value()?.parse::<Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        meta.parse_nested_meta(|meta| pass_over(&meta))?;
    }
    Ok(())
}
