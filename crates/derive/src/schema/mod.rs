//! `#[derive(Schema)]`: structs, and what structs and enums share.

mod enums;
mod keywords;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Field, Fields, FieldsNamed, Generics, Result, Type, parse_quote};

use self::keywords::{ContainerAttributes, FieldAttributes, FieldDefault, Presence, Source};
use crate::case::Case;
use crate::serde_attributes as serde;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let ContainerAttributes { krate, calls } = ContainerAttributes::parse(&input.attrs)?;
    let container = serde::Container::parse(&input.attrs)?;
    let body = match (&container.proxy, &input.data) {
        (Some(proxy), _) => quote!(generator.schema_of::<#proxy>()),
        (None, Data::Struct(data)) => structure(&input.ident, &data.fields, &container, &krate)?,
        (None, Data::Enum(data)) => enums::node(&input.ident, data, &container, &krate)?,
        (None, Data::Union(_)) => return Err(Error::new_spanned(input, "a union has no schema")),
    };
    let name = &input.ident;
    let generics = with_bounds(input.generics.clone(), &krate);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Schema for #name #type_generics #where_clause {
            fn schema(generator: &mut #krate::Generator) -> #krate::SchemaNode {
                let _ = &generator;
                let node = #body;
                node #calls
            }
        }
    })
}

fn with_bounds(mut generics: Generics, krate: &TokenStream) -> Generics {
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#krate::Schema));
    }
    generics
}

fn structure(
    name: &syn::Ident,
    fields: &Fields,
    container: &serde::Container,
    krate: &TokenStream,
) -> Result<TokenStream> {
    match fields {
        Fields::Named(fields) if container.transparent => {
            let mut kept = Vec::new();
            for field in &fields.named {
                if !serde::Field::parse(&field.attrs)?.skip {
                    kept.push(field);
                }
            }
            match kept[..] {
                [field] => value(field, krate),
                _ => Err(Error::new_spanned(
                    name,
                    "a transparent struct has one field that is not skipped",
                )),
            }
        }
        Fields::Named(fields) => named(fields, container.rename_all, container.default, krate),
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => value(&fields.unnamed[0], krate),
        Fields::Unnamed(_) => Err(Error::new_spanned(
            name,
            "a tuple struct is written as a list of different types, which no structural schema describes: name its fields",
        )),
        Fields::Unit => Err(Error::new_spanned(
            name,
            format!(
                "a unit struct is written as null, which no structural schema describes: write `struct {name} {{}}`"
            ),
        )),
    }
}

/// An object with these fields.
fn named(
    fields: &FieldsNamed,
    rename_all: Option<Case>,
    defaults: bool,
    krate: &TokenStream,
) -> Result<TokenStream> {
    let mut steps = TokenStream::new();
    for field in &fields.named {
        steps.extend(member(field, rename_all, defaults, krate)?);
    }
    Ok(quote!({
        let node = #krate::SchemaNode::of(#krate::JsonType::Object);
        #steps
        node
    }))
}

/// The step that adds one field to `node`.
fn member(
    field: &Field,
    rename_all: Option<Case>,
    defaults: bool,
    krate: &TokenStream,
) -> Result<TokenStream> {
    let serde = serde::Field::parse(&field.attrs)?;
    if serde.skip {
        return Ok(TokenStream::new());
    }
    let attributes = FieldAttributes::parse(&field.attrs, krate)?;
    let node = source(&field.ty, &attributes, krate);
    if serde.flatten {
        return Ok(quote!(let node = node.flatten(#node);));
    }
    let Some(ident) = &field.ident else {
        return Ok(TokenStream::new());
    };
    let plain = ident.unraw().to_string();
    let name = serde
        .rename
        .clone()
        .unwrap_or_else(|| rename_all.map_or_else(|| plain.clone(), |case| case.field(&plain)));
    let calls = &attributes.calls;
    let default = default(field, &attributes, &serde, defaults);
    let by_serde = (serde.default.is_some() || defaults).then(|| quote!(.into_optional()));
    let presence = match attributes.presence {
        Some(Presence::Optional) => quote!(.into_optional()),
        Some(Presence::Required) => quote!(.into_required()),
        None => TokenStream::new(),
    };
    if !attributes.immutable {
        return Ok(quote!(let node = node.property(#name, #node #calls #default #by_serde #presence);));
    }
    let cel = cel_name(&name);
    let stays = format!("!has(oldSelf.{cel}) || has(self.{cel})");
    Ok(quote! {
        let field = #node #calls #default #by_serde #presence
            .rule(#krate::__private::serde_json::json!({"rule": "self == oldSelf", "message": "field is immutable"}));
        let node = if field.is_optional() {
            node.rule(#krate::__private::serde_json::json!({"rule": #stays, "message": "field is immutable"}))
        } else {
            node
        };
        let node = node.property(#name, field);
    })
}

/// The node of a type that is written as its only field.
fn value(field: &Field, krate: &TokenStream) -> Result<TokenStream> {
    let attributes = FieldAttributes::parse(&field.attrs, krate)?;
    let node = source(&field.ty, &attributes, krate);
    let calls = &attributes.calls;
    Ok(quote!(#node #calls))
}

fn source(ty: &Type, attributes: &FieldAttributes, krate: &TokenStream) -> TokenStream {
    // An `Option` says that the value may be absent, whatever describes the value.
    let optional = is_option(ty).then(|| quote!(.into_optional()));
    match &attributes.source {
        None => quote!(generator.schema_of::<#ty>()),
        Some(Source::With(path)) => quote!(#path(generator) #optional),
        Some(Source::Any) => quote!(#krate::SchemaNode::any() #optional),
        Some(Source::IntOrString) => quote!(#krate::SchemaNode::int_or_string() #optional),
        Some(Source::EmbeddedResource) => quote! {
            #krate::SchemaNode::of(#krate::JsonType::Object)
                .with("x-kubernetes-embedded-resource", true)
                .with("x-kubernetes-preserve-unknown-fields", true) #optional
        },
    }
}

fn default(
    field: &Field,
    attributes: &FieldAttributes,
    serde: &serde::Field,
    container: bool,
) -> TokenStream {
    let ty = &field.ty;
    match (&attributes.default, &serde.default) {
        (None, _) => TokenStream::new(),
        (Some(FieldDefault::Value(value)), _) => quote!(.with_default(&(#value))),
        (Some(FieldDefault::Serde), Some(serde::DefaultFn::Path(path))) => {
            quote!(.with_default(&{ let value: #ty = #path(); value }))
        }
        (Some(FieldDefault::Serde), None) if container && field.ident.is_some() => {
            let name = &field.ident;
            quote!(.with_default(&<Self as ::core::default::Default>::default().#name))
        }
        (Some(FieldDefault::Serde), _) => {
            quote!(.with_default(&<#ty as ::core::default::Default>::default()))
        }
    }
}

fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path
        .segments
        .last()
        .is_some_and(|last| last.ident == "Option")
}

/// A member's name as CEL reads it (KEP-2876).
fn cel_name(name: &str) -> String {
    name.replace("__", "__underscores__")
        .replace('-', "__dash__")
        .replace('.', "__dot__")
        .replace('/', "__slash__")
}
