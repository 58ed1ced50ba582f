//! The entries of `#[schema(..)]`, as the calls that they become.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, LitStr, Path, Result};

use crate::attributes::{
    count, crate_path, docs, entry_name, error_at, literals, number, text, unknown, word,
};

/// Entries that are a keyword with a value, for a field or its items.
const VALUES: [&str; 17] = [
    "minimum",
    "maximum",
    "exclusive_minimum",
    "exclusive_maximum",
    "multiple_of",
    "min_length",
    "max_length",
    "pattern",
    "format",
    "min_items",
    "max_items",
    "unique_items",
    "min_properties",
    "max_properties",
    "enum",
    "title",
    "example",
];
/// What else a field may have.
const FIELD: [&str; 17] = [
    "description",
    "default",
    "nullable",
    "optional",
    "required",
    "immutable",
    "list_type",
    "map_key",
    "map_type",
    "items",
    "rule",
    "embedded_resource",
    "preserve_unknown_fields",
    "int_or_string",
    "schemaless",
    "schema_with",
    "crate",
];
const CONTAINER: [&str; 8] = [
    "crate",
    "title",
    "description",
    "min_properties",
    "max_properties",
    "map_type",
    "rule",
    "preserve_unknown_fields",
];
const RULE: [&str; 6] = [
    "rule",
    "message",
    "message_expression",
    "reason",
    "field_path",
    "optional_old_self",
];
const REASONS: [&str; 4] = [
    "FieldValueInvalid",
    "FieldValueForbidden",
    "FieldValueRequired",
    "FieldValueDuplicate",
];

/// The attributes of a struct or an enum.
pub(super) struct ContainerAttributes {
    pub(super) krate: TokenStream,
    /// Calls on the node, each beginning with a dot.
    pub(super) calls: TokenStream,
}

/// The attributes of a field.
#[derive(Default)]
pub(super) struct FieldAttributes {
    pub(super) calls: TokenStream,
    pub(super) default: Option<FieldDefault>,
    pub(super) presence: Option<Presence>,
    pub(super) immutable: bool,
    pub(super) source: Option<Source>,
}

/// Where the default of a field comes from.
pub(super) enum FieldDefault {
    /// From serde's.
    Serde,
    Value(Expr),
}

/// An explicit word about whether a field may be absent.
pub(super) enum Presence {
    Optional,
    Required,
}

/// What takes the place of the type's own schema.
pub(super) enum Source {
    With(Path),
    Any,
    IntOrString,
    EmbeddedResource,
}

impl ContainerAttributes {
    pub(super) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut krate = crate::attributes::default_crate();
        // Before all else, since the other calls name the crate.
        each(attributes, |meta| {
            if entry_name(meta) == "crate" {
                krate = crate_path(meta)?
            } else {
                pass_over(meta)?
            }
            Ok(())
        })?;
        let description = docs(attributes);
        let mut calls = quote!(.describe(#description));
        each(attributes, |meta| {
            let name = entry_name(meta);
            if name == "crate" {
                return pass_over(meta);
            }
            if !CONTAINER.contains(&name.as_str()) {
                return Err(unknown(meta, "a type", &CONTAINER));
            }
            calls.extend(call(&name, meta, &krate)?);
            Ok(())
        })?;
        Ok(Self { krate, calls })
    }
}

impl FieldAttributes {
    pub(super) fn parse(attributes: &[Attribute], krate: &TokenStream) -> Result<Self> {
        let description = docs(attributes);
        let mut this = Self {
            calls: quote!(.describe(#description)),
            ..Self::default()
        };
        let mut list_type = None;
        let mut map_keys: Vec<String> = Vec::new();
        each(attributes, |meta| {
            let name = entry_name(meta);
            match name.as_str() {
                "default" if meta.input.peek(syn::Token![=]) => {
                    this.default = Some(FieldDefault::Value(meta.value()?.parse()?));
                }
                "default" => this.default = Some(FieldDefault::Serde),
                "optional" => this.presence = Some(Presence::Optional),
                "required" => this.presence = Some(Presence::Required),
                "immutable" => this.immutable = true,
                "list_type" => list_type = Some((word(meta, &["atomic", "set", "map"])?, meta.input.span())),
                "map_key" => map_keys.push(text(meta)?),
                "items" => {
                    let mut inner = TokenStream::new();
                    meta.parse_nested_meta(|meta| {
                        let name = entry_name(&meta);
                        if !VALUES.contains(&name.as_str()) {
                            return Err(unknown(&meta, "items", &VALUES));
                        }
                        inner.extend(call(&name, &meta, krate)?);
                        Ok(())
                    })?;
                    this.calls.extend(quote!(.map_items(|items| items #inner)));
                }
                "schemaless" => this.source = Some(Source::Any),
                "int_or_string" => this.source = Some(Source::IntOrString),
                "embedded_resource" => this.source = Some(Source::EmbeddedResource),
                "schema_with" => this.source = Some(Source::With(meta.value()?.parse::<LitStr>()?.parse()?)),
                _ => {
                    let valid: Vec<&str> = VALUES
                        .iter()
                        .chain(&FIELD)
                        .copied()
                        .filter(|name| *name != "crate")
                        .collect();
                    if !valid.contains(&name.as_str()) {
                        return Err(unknown(meta, "a field", &valid));
                    }
                    this.calls.extend(call(&name, meta, krate)?);
                }
            }
            Ok(())
        })?;
        if let Some((list_type, span)) = list_type {
            if (list_type == "map") == map_keys.is_empty() {
                let message = "`list_type = \"map\"` goes together with one or more `map_key = \"..\"`";
                return Err(error_at(span, message));
            }
            this.calls
                .extend(quote!(.with("x-kubernetes-list-type", #list_type)));
            if !map_keys.is_empty() {
                let keys = quote!(vec![#(::std::string::String::from(#map_keys)),*]);
                this.calls
                    .extend(quote!(.with("x-kubernetes-list-map-keys", #keys)));
            }
        } else if !map_keys.is_empty() {
            return Err(error_at(
                proc_macro2::Span::call_site(),
                "`map_key` needs `list_type = \"map\"`",
            ));
        }
        Ok(this)
    }
}

/// Refuses attributes where none has a meaning.
pub(super) fn refuse(attributes: &[Attribute], place: &str) -> Result<()> {
    match attributes
        .iter()
        .find(|attribute| attribute.path().is_ident("schema"))
    {
        Some(attribute) => Err(syn::Error::new_spanned(
            attribute,
            format!("`#[schema(..)]` has no meaning on {place}; put it on the field"),
        )),
        None => Ok(()),
    }
}

fn each(attributes: &[Attribute], mut read: impl FnMut(&ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("schema"))
    {
        attribute.parse_nested_meta(|meta| read(&meta))?;
    }
    Ok(())
}

fn pass_over(meta: &ParseNestedMeta<'_>) -> Result<()> {
    if meta.input.peek(syn::Token![=]) {
        meta.value()?.parse::<Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        meta.parse_nested_meta(|meta| pass_over(&meta))?;
    }
    Ok(())
}

/// One entry as a call on the node.
fn call(name: &str, meta: &ParseNestedMeta<'_>, krate: &TokenStream) -> Result<TokenStream> {
    let keyword = keyword(name);
    Ok(match name {
        "minimum" | "maximum" | "multiple_of" => {
            let value = number(meta)?;
            quote!(.with(#keyword, #value))
        }
        "min_length" | "max_length" | "min_items" | "max_items" | "min_properties" | "max_properties" => {
            let value = count(meta)?;
            quote!(.with(#keyword, #value))
        }
        "pattern" | "format" | "title" | "description" => {
            let value = text(meta)?;
            quote!(.with(#keyword, #value))
        }
        "map_type" => {
            let value = word(meta, &["atomic", "granular"])?;
            quote!(.with(#keyword, #value))
        }
        "enum" => {
            let values = literals(meta)?;
            quote!(.with(#keyword, #krate::__private::serde_json::json!([#(#values),*])))
        }
        "example" => {
            let value: Expr = meta.value()?.parse()?;
            quote!(.with(#keyword, #krate::__private::serde_json::json!(#value)))
        }
        "rule" => {
            let rule = rule(meta, krate)?;
            quote!(.rule(#rule))
        }
        // The others are flags.
        _ => quote!(.with(#keyword, true)),
    })
}

fn keyword(name: &str) -> &str {
    match name {
        "exclusive_minimum" => "exclusiveMinimum",
        "exclusive_maximum" => "exclusiveMaximum",
        "multiple_of" => "multipleOf",
        "min_length" => "minLength",
        "max_length" => "maxLength",
        "min_items" => "minItems",
        "max_items" => "maxItems",
        "unique_items" => "uniqueItems",
        "min_properties" => "minProperties",
        "max_properties" => "maxProperties",
        "map_type" => "x-kubernetes-map-type",
        "preserve_unknown_fields" => "x-kubernetes-preserve-unknown-fields",
        other => other,
    }
}

/// `rule = ".."` alone, or `rule(rule = "..", message = "..")`.
fn rule(meta: &ParseNestedMeta<'_>, krate: &TokenStream) -> Result<TokenStream> {
    let mut members = Vec::new();
    if meta.input.peek(syn::Token![=]) {
        let value = text(meta)?;
        members.push(quote!("rule": #value));
    } else {
        let mut found = false;
        meta.parse_nested_meta(|meta| {
            let name = entry_name(&meta);
            members.push(match name.as_str() {
                "rule" => {
                    found = true;
                    let value = text(&meta)?;
                    quote!("rule": #value)
                }
                "message" => {
                    let value = text(&meta)?;
                    quote!("message": #value)
                }
                "message_expression" => {
                    let value = text(&meta)?;
                    quote!("messageExpression": #value)
                }
                "reason" => {
                    let value = word(&meta, &REASONS)?;
                    quote!("reason": #value)
                }
                "field_path" => {
                    let value = text(&meta)?;
                    quote!("fieldPath": #value)
                }
                "optional_old_self" => quote!("optionalOldSelf": true),
                _ => return Err(unknown(&meta, "a rule", &RULE)),
            });
            Ok(())
        })?;
        if !found {
            return Err(meta.error("a rule needs `rule = \"..\"`, an expression in CEL"));
        }
    }
    Ok(quote!(#krate::__private::serde_json::json!({#(#members),*})))
}
