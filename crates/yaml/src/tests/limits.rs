//! How much one text may hold, and what its aliases may add up to.

use super::*;

#[test]
fn limits() {
    let with = |text: &str, limits: Limits| {
        from_str_with::<Value>(
            text,
            &Options {
                limits,
                ..Options::default()
            },
        )
    };
    let small = Limits {
        bytes: 4,
        ..Limits::default()
    };
    assert!(with("a: 1", small.clone()).is_ok());
    assert!(with("a: 12", small).unwrap_err().is_limit());

    let shallow = Limits {
        depth: 3,
        ..Limits::default()
    };
    assert!(with("[[[1]]]", shallow.clone()).is_ok());
    assert!(with("[[[[1]]]]", shallow.clone()).unwrap_err().is_limit());
    assert!(with("a:\n b:\n  c:\n   d: 1", shallow).unwrap_err().is_limit());
    let deep = "[".repeat(100_000);
    assert!(from_str::<Value>(&deep).is_err());

    let few = Limits {
        alias_nodes: 4,
        ..Limits::default()
    };
    assert!(with("[&a [1], *a, *a]", few.clone()).is_ok());
    assert!(with("[&a [1], *a, *a, *a]", few).unwrap_err().is_limit());
    let mut laughs = "a0: &a0 [lol]\n".to_owned();
    for i in 1..30 {
        laughs.push_str(&format!(
            "a{i}: &a{i} [{}]\n",
            vec![format!("*a{}", i - 1); 9].join(", ")
        ));
    }
    assert!(from_str::<Value>(&laughs).unwrap_err().is_limit());

    // One long text is as many copies.
    let copies = |bytes: usize, aliases: usize| {
        format!(
            "x: &x {}\ny: [{}]\n",
            "a".repeat(bytes),
            vec!["*x"; aliases].join(",")
        )
    };
    assert!(from_str::<Value>(&copies(1 << 20, 3)).is_ok());
    assert!(from_str::<Value>(&copies(1 << 20, 4)).unwrap_err().is_limit());
    let error = from_str::<Value>(&copies(10_000, 20_000)).unwrap_err();
    assert!(error.to_string().contains("bytes made by aliases"), "{error}");
    let keys = format!(
        "x: &x {{{}: 1}}\ny: [{}]\n",
        "k".repeat(1_000),
        vec!["*x"; 20_000].join(",")
    );
    assert!(from_str::<Value>(&keys).unwrap_err().is_limit());

    // Every anchor keeps all that is below it, whether or not an alias comes.
    let nested = |anchors: usize, scalars: usize| {
        let open: String = (0..anchors).map(|i| format!("&a{i} [")).collect();
        format!("{open}{}{}", "1, ".repeat(scalars), "]".repeat(anchors))
    };
    assert!(from_str::<Value>(&nested(90, 1_000)).is_ok());
    assert!(from_str::<Value>(&nested(90, 2_000)).unwrap_err().is_limit());
    // Text of depth two, value of depth a hundred and more.
    let ladder = |steps: usize| -> String {
        let steps = (1..steps).map(|i| format!("a{i}: &a{i} [*a{}]\n", i - 1));
        std::iter::once("a0: &a0 [1]\n".to_owned()).chain(steps).collect()
    };
    assert!(from_str::<Value>(&ladder(99)).is_ok());
    assert!(from_str::<Value>(&ladder(101)).unwrap_err().is_limit());
}

#[test]
fn directives() {
    // Many take no longer than few: each is looked up.
    let many: String = (0..50_000).map(|i| format!("%TAG !{i:x}! tag:a,b:\n")).collect();
    assert_eq!(from_str::<Value>(&format!("{many}--- 1\n")).unwrap(), json!(1));
    let prefix = |bytes: usize| format!("%TAG !a! {}\n--- 1\n", "p".repeat(bytes));
    assert!(from_str::<Value>(&prefix(1024)).is_ok());
    assert!(from_str::<Value>(&prefix(1025)).is_err());
    assert!(from_str::<Value>("%TAG !a! x\n%TAG !a! y\n--- 1\n").is_err());
    assert_eq!(
        from_str::<Value>("%TAG ! tag:yaml.org,2002:\n--- !str 1\n").unwrap(),
        json!("1")
    );
}
