//! What does not compile, and what the error says.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Result;

fn error(expand: impl Fn(&syn::DeriveInput) -> Result<TokenStream>, input: TokenStream) -> String {
    let parsed = syn::parse2(input.clone()).unwrap();
    match expand(&parsed) {
        Ok(_) => panic!("{input} should not compile"),
        Err(error) => error.to_string(),
    }
}

fn schema(input: TokenStream, expect: &str) {
    let error = error(crate::schema::expand, input);
    assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
}

fn resource(input: TokenStream, expect: &str) {
    let error = error(crate::resource::expand, input);
    assert!(error.contains(expect), "{error}\nshould contain\n{expect}");
}

#[test]
fn misspelt_entries() {
    schema(
        quote!(
            struct A {
                #[schema(minimun = 1)]
                a: i32,
            }
        ),
        "unknown entry `minimun` on a field: did you mean `minimum`? valid are minimum, maximum,",
    );
    schema(
        quote!(
            #[schema(minimum = 1)]
            struct A {
                a: i32,
            }
        ),
        "unknown entry `minimum` on a type: ",
    );
    schema(
        quote!(
            struct A {
                #[schema(items(nullable))]
                a: Vec<i32>,
            }
        ),
        "unknown entry `nullable` on items: ",
    );
    schema(
        quote!(
            #[schema(rule(rules = "x"))]
            struct A {
                a: i32,
            }
        ),
        "did you mean `rule`? valid are rule, message,",
    );
    resource(
        quote!(
            #[resource(group = "a.b", version = "v1", kind = "A", shortname = "x")]
            struct ASpec {}
        ),
        "unknown entry `shortname` on a resource: did you mean `short_name`? ",
    );
}

#[test]
fn wrong_values() {
    schema(
        quote!(
            struct A {
                #[schema(minimum = "1")]
                a: i32,
            }
        ),
        "expected a number",
    );
    schema(
        quote!(
            struct A {
                #[schema(min_length = -1)]
                a: String,
            }
        ),
        "expected a whole number that is not negative",
    );
    schema(
        quote!(
            struct A {
                #[schema(list_type = "bag")]
                a: Vec<i32>,
            }
        ),
        "`bag` is none of atomic, set, map",
    );
    schema(
        quote!(
            struct A {
                #[schema(list_type = "map")]
                a: Vec<B>,
            }
        ),
        "goes together with one or more `map_key",
    );
    schema(
        quote!(
            struct A {
                #[schema(map_key = "x")]
                a: Vec<B>,
            }
        ),
        "`map_key` needs `list_type = \"map\"`",
    );
    schema(
        quote!(
            #[schema(rule(message = "x"))]
            struct A {
                a: i32,
            }
        ),
        "a rule needs `rule = \"..\"`",
    );
}

#[test]
fn types_without_structural_form() {
    schema(
        quote!(
            struct A(i32, String);
        ),
        "name its fields",
    );
    schema(
        quote!(
            struct A;
        ),
        "write `struct A {}`",
    );
    schema(quote!(union A { a: i32 }), "a union has no schema");
    schema(
        quote!(
            enum A {}
        ),
        "an enum without variants",
    );
    schema(
        quote!(
            enum A {
                B,
                C { d: i32 },
            }
        ),
        "write `B {}`, or tag the enum with `#[serde(tag = \"type\")]`",
    );
    schema(
        quote!(
            enum A {
                B(i32, String),
            }
        ),
        "name its fields",
    );
    schema(
        quote!(
            #[serde(untagged)]
            enum A {
                B(i32),
                C(bool),
            }
        ),
        "implement `Schema` for `A` by hand",
    );
    schema(
        quote!(
            enum A {
                B {
                    c: i32,
                },
                #[serde(untagged)]
                D {
                    e: i32,
                },
            }
        ),
        "make the whole enum untagged",
    );
    schema(
        quote!(
            enum A {
                #[schema(minimum = 1)]
                B { c: i32 },
            }
        ),
        "put it on the field",
    );
}

#[test]
fn resources() {
    resource(
        quote!(
            struct ASpec {}
        ),
        "a custom resource needs `#[resource(group = \"..\")]`",
    );
    resource(
        quote!(
            #[resource(group = "a", version = "v1", kind = "A")]
            struct ASpec {}
        ),
        "the group of a custom resource is a domain",
    );
    resource(
        quote!(
            #[resource(group = "a.b", version = "v1", kind = "A")]
            struct A {}
        ),
        "call this struct `ASpec`",
    );
    resource(
        quote!(
            #[resource(group = "a.b", version = "v1", kind = "A", scope = "Global")]
            struct ASpec {}
        ),
        "`Global` is none of Namespaced, Cluster",
    );
    resource(
        quote!(
            #[resource(group = "a.b", version = "v1", kind = "A", scale(spec_path = ".x"))]
            struct ASpec {}
        ),
        "scale needs `spec_path` and `status_path`",
    );
    resource(
        quote!(
            #[resource(group = "a.b", version = "v1", kind = "A", print_column(name = "x"))]
            struct ASpec {}
        ),
        "a print column needs `name`, `type` and `json_path`",
    );
    resource(
        quote!(
            #[resource(group = "a.b", version = "v1", kind = "A")]
            struct ASpec<T> {
                t: T,
            }
        ),
        "cannot be generic",
    );
}
