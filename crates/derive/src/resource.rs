//! `#[derive(CustomResource)]`: the root type around a spec.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::{DeriveInput, Error, LitInt, LitStr, Path, Result, Type};

use crate::attributes::{crate_path, default_crate, docs, entry_name, text, unknown, word};
use crate::case::plural;

const ENTRIES: [&str; 17] = [
    "group",
    "version",
    "kind",
    "plural",
    "singular",
    "list_kind",
    "short_name",
    "category",
    "scope",
    "status",
    "scale",
    "print_column",
    "selectable_field",
    "unserved_version",
    "deprecated_version",
    "derive",
    "crate",
];
const SCALE: [&str; 3] = ["spec_path", "status_path", "selector_path"];
const PRINT_COLUMN: [&str; 6] = ["name", "type", "json_path", "description", "format", "priority"];
const COLUMN_TYPES: [&str; 5] = ["integer", "number", "string", "boolean", "date"];

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "the spec of a custom resource cannot be generic",
        ));
    }
    let resource = Resource::parse(input)?;
    let root = resource.root_type(input);
    let impls = resource.trait_impls();
    let definition = resource.definition_impl(input);
    Ok(quote!(#root #impls #definition))
}

struct Resource {
    krate: TokenStream,
    group: String,
    version: String,
    kind: String,
    plural: String,
    singular: String,
    list_kind: String,
    short_names: Vec<String>,
    categories: Vec<String>,
    cluster: bool,
    status: Option<Type>,
    scale: Option<TokenStream>,
    print_columns: Vec<TokenStream>,
    selectable_fields: Vec<String>,
    serving: TokenStream,
    derives: Vec<Path>,
    root: syn::Ident,
    spec: syn::Ident,
}

/// The entries as read, before what is missing is filled in.
#[derive(Default)]
struct Entries {
    krate: Option<TokenStream>,
    texts: std::collections::BTreeMap<String, LitStr>,
    short_names: Vec<String>,
    categories: Vec<String>,
    cluster: bool,
    status: Option<Type>,
    scale: Option<ScaleEntries>,
    print_columns: Vec<ColumnEntries>,
    selectable_fields: Vec<String>,
    serving: Option<Serving>,
    derives: Vec<Path>,
}

enum Serving {
    Unserved,
    Deprecated(String),
}

#[derive(Default)]
struct ScaleEntries {
    spec_path: Option<String>,
    status_path: Option<String>,
    selector_path: Option<String>,
}

#[derive(Default)]
struct ColumnEntries {
    name: Option<String>,
    json_type: Option<String>,
    json_path: Option<String>,
    description: Option<String>,
    format: Option<String>,
    priority: Option<i32>,
}

impl Entries {
    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = entry_name(meta);
        match name.as_str() {
            "group" | "version" | "kind" | "plural" | "singular" | "list_kind" => {
                let literal: LitStr = meta.value()?.parse()?;
                if self.texts.insert(name.clone(), literal).is_some() {
                    return Err(meta.error(format!("`{name}` is given twice")));
                }
            }
            "short_name" => self.short_names.push(text(meta)?),
            "category" => self.categories.push(text(meta)?),
            "scope" => self.cluster = word(meta, &["Namespaced", "Cluster"])? == "Cluster",
            "status" => self.status = Some(meta.value()?.parse::<LitStr>()?.parse()?),
            "scale" => self.scale = Some(ScaleEntries::read(meta)?),
            "print_column" => self.print_columns.push(ColumnEntries::read(meta)?),
            "selectable_field" => self.selectable_fields.push(text(meta)?),
            "unserved_version" => self.serving = Some(Serving::Unserved),
            "deprecated_version" if meta.input.peek(syn::Token![=]) => {
                self.serving = Some(Serving::Deprecated(text(meta)?));
            }
            "deprecated_version" => self.serving = Some(Serving::Deprecated(String::new())),
            "derive" => {
                let content;
                syn::parenthesized!(content in meta.input);
                self.derives
                    .extend(content.parse_terminated(Path::parse_mod_style, syn::Token![,])?);
            }
            "crate" => self.krate = Some(crate_path(meta)?),
            _ => return Err(unknown(meta, "a resource", &ENTRIES)),
        }
        Ok(())
    }
}

impl ScaleEntries {
    fn read(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        let mut this = Self::default();
        meta.parse_nested_meta(|meta| {
            match entry_name(&meta).as_str() {
                "spec_path" => this.spec_path = Some(text(&meta)?),
                "status_path" => this.status_path = Some(text(&meta)?),
                "selector_path" => this.selector_path = Some(text(&meta)?),
                _ => return Err(unknown(&meta, "scale", &SCALE)),
            }
            Ok(())
        })?;
        if this.spec_path.is_none() || this.status_path.is_none() {
            return Err(meta.error("scale needs `spec_path` and `status_path`, such as `.spec.replicas`"));
        }
        Ok(this)
    }

    fn tokens(&self, krate: &TokenStream) -> TokenStream {
        let Self {
            spec_path,
            status_path,
            selector_path,
        } = self;
        let selector = option(selector_path.as_ref());
        quote!(#krate::Scale { spec_path: #spec_path.into(), status_path: #status_path.into(), selector_path: #selector })
    }
}

impl ColumnEntries {
    fn read(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        let mut this = Self::default();
        meta.parse_nested_meta(|meta| {
            match entry_name(&meta).as_str() {
                "name" => this.name = Some(text(&meta)?),
                "type" => this.json_type = Some(word(&meta, &COLUMN_TYPES)?),
                "json_path" => this.json_path = Some(text(&meta)?),
                "description" => this.description = Some(text(&meta)?),
                "format" => this.format = Some(text(&meta)?),
                "priority" => this.priority = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?),
                _ => return Err(unknown(&meta, "a print column", &PRINT_COLUMN)),
            }
            Ok(())
        })?;
        if this.name.is_none() || this.json_type.is_none() || this.json_path.is_none() {
            return Err(meta.error("a print column needs `name`, `type` and `json_path`"));
        }
        Ok(this)
    }

    fn tokens(&self, krate: &TokenStream) -> TokenStream {
        let Self {
            name,
            json_type,
            json_path,
            description,
            format,
            priority,
        } = self;
        let (description, format) = (option(description.as_ref()), option(format.as_ref()));
        let priority = priority.map_or_else(|| quote!(None), |priority| quote!(Some(#priority)));
        quote!(#krate::PrintColumn {
            name: #name.into(), json_type: #json_type.into(), json_path: #json_path.into(),
            description: #description, format: #format, priority: #priority,
        })
    }
}

fn option(text: Option<&String>) -> TokenStream {
    text.map_or_else(|| quote!(None), |text| quote!(Some(#text.into())))
}

impl Resource {
    fn parse(input: &DeriveInput) -> Result<Self> {
        let mut entries = Entries::default();
        for attribute in input
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("resource"))
        {
            attribute.parse_nested_meta(|meta| entries.read(&meta))?;
        }
        let needed = |name: &str| {
            let missing = || {
                let message = format!("a custom resource needs `#[resource({name} = \"..\")]`");
                Error::new_spanned(&input.ident, message)
            };
            entries.texts.get(name).ok_or_else(missing)
        };
        let (group, version, kind) = (needed("group")?, needed("version")?, needed("kind")?);
        if !group.value().contains('.') {
            return Err(Error::new(
                group.span(),
                "the group of a custom resource is a domain, such as `example.com`",
            ));
        }
        let root: syn::Ident = kind
            .parse()
            .map_err(|_| Error::new(kind.span(), "the kind has to be a type's name"))?;
        if root == input.ident {
            let message =
                format!("the kind is the name of the type that is made; call this struct `{root}Spec`");
            return Err(Error::new_spanned(&input.ident, message));
        }
        let given = |name: &str| entries.texts.get(name).map(LitStr::value);
        let krate = entries.krate.clone().unwrap_or_else(default_crate);
        let serving = match &entries.serving {
            None => quote!(#krate::Serving::Served),
            Some(Serving::Unserved) => quote!(#krate::Serving::Unserved),
            Some(Serving::Deprecated(warning)) => quote!(#krate::Serving::Deprecated(#warning.into())),
        };
        let kind = kind.value();
        Ok(Self {
            group: group.value(),
            version: version.value(),
            plural: given("plural").unwrap_or_else(|| plural(&kind)),
            singular: given("singular").unwrap_or_else(|| kind.to_lowercase()),
            list_kind: given("list_kind").unwrap_or_else(|| format!("{kind}List")),
            kind,
            cluster: entries.cluster,
            scale: entries.scale.as_ref().map(|scale| scale.tokens(&krate)),
            print_columns: entries
                .print_columns
                .iter()
                .map(|column| column.tokens(&krate))
                .collect(),
            serving,
            root,
            spec: input.ident.clone(),
            short_names: entries.short_names,
            categories: entries.categories,
            status: entries.status,
            selectable_fields: entries.selectable_fields,
            derives: entries.derives,
            krate,
        })
    }

    fn root_type(&self, input: &DeriveInput) -> TokenStream {
        let Self {
            krate,
            root,
            spec,
            derives,
            ..
        } = self;
        let visibility = &input.vis;
        let own = docs(&input.attrs);
        let doc = if own.is_empty() {
            format!("A `{}` of the API group `{}`.", self.kind, self.group)
        } else {
            own
        };
        let status = self.status.as_ref().map(|status| {
            quote! {
                /// What the controller found; absent until it looked.
                pub status: ::core::option::Option<#status>,
            }
        });
        let no_status = self
            .status
            .as_ref()
            .map(|_| quote!(status: ::core::option::Option::None,));
        quote! {
            #[doc = #doc]
            #[derive(Clone, Debug, #(#derives),*)]
            #visibility struct #root {
                /// The object's metadata.
                pub metadata: #krate::__private::ObjectMeta,
                /// What the user asks for.
                pub spec: #spec,
                #status
            }

            impl #root {
                /// An object with a name and a spec. Its namespace is that of the request that creates it.
                #visibility fn new(name: impl ::core::convert::Into<::std::string::String>, spec: #spec) -> Self {
                    let metadata = #krate::__private::ObjectMeta {
                        name: ::core::option::Option::Some(name.into()),
                        ..::core::default::Default::default()
                    };
                    Self { metadata, spec, #no_status }
                }
            }
        }
    }

    fn trait_impls(&self) -> TokenStream {
        let Self {
            krate,
            root,
            spec,
            group,
            version,
            kind,
            plural,
            list_kind,
            ..
        } = self;
        let private = quote!(#krate::__private);
        let api_version = format!("{group}/{version}");
        let scope = if self.cluster {
            format_ident!("ClusterResourceScope")
        } else {
            format_ident!("NamespaceResourceScope")
        };
        let status_type = self.status_type();
        let (written, read) = match &self.status {
            Some(_) => (
                quote!(self.status.as_ref()),
                quote!(Self {
                    metadata,
                    spec,
                    status
                }),
            ),
            None => (
                quote!(::core::option::Option::<&()>::None),
                quote!({
                    let _ = status;
                    Self { metadata, spec }
                }),
            ),
        };
        quote! {
            impl #private::k8s_openapi::Resource for #root {
                const API_VERSION: &'static str = #api_version;
                const GROUP: &'static str = #group;
                const KIND: &'static str = #kind;
                const VERSION: &'static str = #version;
                const URL_PATH_SEGMENT: &'static str = #plural;
                type Scope = #private::k8s_openapi::#scope;
            }

            impl #private::k8s_openapi::ListableResource for #root {
                const LIST_KIND: &'static str = #list_kind;
            }

            impl #private::k8s_openapi::Metadata for #root {
                type Ty = #private::ObjectMeta;

                fn metadata(&self) -> &Self::Ty {
                    &self.metadata
                }

                fn metadata_mut(&mut self) -> &mut Self::Ty {
                    &mut self.metadata
                }
            }

            impl #private::serde::Serialize for #root {
                fn serialize<S: #private::serde::Serializer>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
                    #private::serialize_parts(self, &self.metadata, &self.spec, #written, serializer)
                }
            }

            impl<'de> #private::serde::Deserialize<'de> for #root {
                fn deserialize<D: #private::serde::Deserializer<'de>>(
                    deserializer: D,
                ) -> ::core::result::Result<Self, D::Error> {
                    let (metadata, spec, status) =
                        #private::deserialize_parts::<D, #spec, #status_type>(deserializer, #api_version, #kind)?;
                    ::core::result::Result::Ok(#read)
                }
            }
        }
    }

    fn status_type(&self) -> TokenStream {
        let krate = &self.krate;
        self.status
            .as_ref()
            .map_or_else(|| quote!(#krate::__private::NoStatus), |status| quote!(#status))
    }

    fn definition_impl(&self, input: &DeriveInput) -> TokenStream {
        let Self {
            krate,
            root,
            spec,
            group,
            version,
            kind,
            plural,
            singular,
            list_kind,
            ..
        } = self;
        let Self {
            short_names,
            categories,
            print_columns,
            selectable_fields,
            serving,
            ..
        } = self;
        let description = docs(&input.attrs);
        let status_type = self.status_type();
        let scope = if self.cluster {
            quote!(Cluster)
        } else {
            quote!(Namespaced)
        };
        let (status, status_node) = match &self.status {
            Some(status) => (
                quote!(Subresource),
                quote!(::core::option::Option::Some(generator.schema_of::<#status>())),
            ),
            None => (quote!(Absent), quote!(::core::option::Option::None)),
        };
        let scale = self
            .scale
            .as_ref()
            .map_or_else(|| quote!(None), |scale| quote!(Some(#scale)));
        quote! {
            impl #krate::CustomResourceExt for #root {
                type Spec = #spec;
                type Status = #status_type;

                fn definition() -> #krate::Definition {
                    let mut generator = #krate::Generator::default();
                    let spec = generator.schema_of::<#spec>();
                    let status = #status_node;
                    #krate::Definition {
                        group: #group.into(),
                        version: #version.into(),
                        kind: #kind.into(),
                        list_kind: #list_kind.into(),
                        plural: #plural.into(),
                        singular: #singular.into(),
                        short_names: vec![#(#short_names.into()),*],
                        categories: vec![#(#categories.into()),*],
                        scope: #krate::Scope::#scope,
                        status: #krate::Status::#status,
                        scale: #scale,
                        print_columns: vec![#(#print_columns),*],
                        selectable_fields: vec![#(#selectable_fields.into()),*],
                        serving: #serving,
                        schema: #krate::__private::root_schema(#description, spec, status),
                    }
                }
            }
        }
    }
}
