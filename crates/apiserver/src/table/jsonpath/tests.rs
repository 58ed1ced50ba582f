use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// What a search prints: the texts of its values joined by blanks, or its error.
fn search(path: &str, document: &Value) -> String {
    let found = JsonPath::parse(path).and_then(|path| {
        let found = path.find(document)?;
        Ok(found.into_iter().map(text).collect::<Vec<_>>().join(" "))
    });
    found.unwrap_or_else(|error| format!("error: {error}"))
}

fn nodes() -> Value {
    json!({
        "kind": "List",
        "items": [
            {"kind": "None", "metadata": {"name": "10.0.0.1", "labels": {"kubernetes.io/hostname": "one"}},
             "status": {"capacity": {"cpu": "4"}, "ready": true, "addresses": [{"type": "Old", "address": "10.0.0.1"}]}},
            {"kind": "None", "metadata": {"name": "10.0.0.2", "labels": {"kubernetes.io/hostname": "two"}},
             "status": {"capacity": {"cpu": "8"}, "ready": false,
                        "addresses": [{"type": "Old", "address": "10.0.0.2"}, {"type": "New", "address": "10.0.0.3"}]}},
        ],
        "users": [{"name": "me", "user": {}}, {"name": "e2e", "user": {"password": "secret"}}],
        "numbers": [1, 2, 3, 4],
        "floats": [1.5, 2.25],
        "points": [{"id": "a", "x": 4}, {"id": "b", "x": -2, "z": 1}, {"id": "c", "x": null}],
        "text": "words",
    })
}

#[test]
fn paths_select() {
    let document = nodes();
    for (path, expect) in [
        (".kind", "List"),
        ("{.kind}", "List"),
        (" { .kind } ", "List"),
        ("$.kind", "List"),
        ("@.kind", "List"),
        ("['kind']", "List"),
        (".missing", ""),
        (".missing.deeper[3].still", ""),
        (".kind.sub", ""),
        (".", ""),
        (".items[*].metadata.name", "10.0.0.1 10.0.0.2"),
        (".items[0].metadata.name", "10.0.0.1"),
        (".items[-1].metadata.name", "10.0.0.2"),
        (".items[].metadata.name", "10.0.0.1"),
        (
            ".items[*]['metadata.name', 'status.capacity']",
            r#"10.0.0.1 10.0.0.2 {"cpu":"4"} {"cpu":"8"}"#,
        ),
        (r".items[0].metadata.labels.kubernetes\.io/hostname", "one"),
        (r".items[0].metadata.labels['kubernetes\.io/hostname']", "one"),
        (
            r#".items[?(@.metadata.labels.kubernetes\.io/hostname=="two")].metadata.name"#,
            "10.0.0.2",
        ),
        (
            ".items[*].status.addresses[*].address",
            "10.0.0.1 10.0.0.2 10.0.0.3",
        ),
        (".items[0].status.capacity.*", "4"),
        (".numbers", "[1,2,3,4]"),
        (".numbers[*]", "1 2 3 4"),
        (".numbers[0:2]", "1 2"),
        (".numbers[:2]", "1 2"),
        (".numbers[1:]", "2 3 4"),
        (".numbers[-2:]", "3 4"),
        (".numbers[:-1]", "1 2 3"),
        (".numbers[::2]", "1 3"),
        (".numbers[1::2]", "2 4"),
        (".numbers[1:1]", ""),
        (".numbers[0,2,3]", "1 3 4"),
        (".numbers[?(@<3)]", "1 2"),
        (".numbers[?(@ >= 3)]", "3 4"),
        (".numbers[?(@!=3)]", "1 2 4"),
        (".floats[?(@>2.0)]", "2.25"),
        (r#".users[?(@.name=="e2e")].user.password"#, "secret"),
        (r#".users[?(@.name=='e2e')].user.password"#, "secret"),
        (r#".users[?(@.name==")")].user.password"#, ""),
        (".items[?(@.status.ready==true)].metadata.name", "10.0.0.1"),
        (".items[?(@..ready==true)].metadata.name", "10.0.0.1"),
        (".points[?(@.z)].id", "b"),
        (
            r#".items[?(@.status.addresses[?(@.type)])].kind"#,
            "error: unterminated filter",
        ),
        (".points[-1]['x']", "null"),
        ("..password", "secret"),
        ("...password", "secret"),
        ("..addresses[0].type", "Old Old"),
        (r#""a\tb\u00e9\"""#, "a\tb\u{e9}\""),
        ("-7", "-7"),
        ("2.50", "2.5"),
    ] {
        assert_eq!(search(path, &document), expect, "{path}");
    }
}

#[test]
fn faults_are_told() {
    let document = nodes();
    for (path, expect) in [
        ("{.kind", "error: unterminated brace"),
        (".kind}", "error: unexpected '}' at byte 5"),
        ("{.kind}{.items}", "error: unexpected '}' at byte 5"),
        ("kind", "error: unknown word \"kind\""),
        (".kind)", ""),
        ("(", "error: unexpected '(' at byte 0"),
        (".items[0", "error: unterminated bracket"),
        (".items[x]", "error: [x] is no index, range, quoted key or filter"),
        (
            ".items[+1]",
            "error: [+1] is no index, range, quoted key or filter",
        ),
        (
            ".items[1:2:3:4]",
            "error: [1:2:3:4] is no index, range, quoted key or filter",
        ),
        (
            ".items[99999999999999999999]",
            "error: [99999999999999999999] is no index, range, quoted key or filter",
        ),
        (".items[?(@.a==1]", "error: unterminated filter"),
        (".items[?(@.a==1) ]", "error: unterminated filter"),
        (".items[?(@.a<>1)]", "error: unknown operator \"<>\""),
        ("\"open", "error: unterminated quotation"),
        (r#""\q""#, r#"error: "\q" is no valid literal"#),
        ("1.2.3", "error: 1.2.3 is no valid literal"),
        ("....a", "error: two recursive descents in a row"),
        (
            ".numbers[4]",
            "error: index 4 is out of bounds, the array has 4 elements",
        ),
        (
            ".numbers[-5]",
            "error: index -1 is out of bounds, the array has 4 elements",
        ),
        (
            ".numbers[0:9]",
            "error: index 8 is out of bounds, the array has 4 elements",
        ),
        (".numbers[3:1]", "error: the range [3:1:1] is not ascending"),
        (".numbers[0:2:0]", "error: the range [0:2:0] is not ascending"),
        (".kind[0]", "error: string is not an array"),
        (".items[0][?(@.a)]", "error: map is not an array"),
        (
            ".numbers[?(@==\"1\")]",
            "error: a filter cannot compare integer with string",
        ),
        (
            ".numbers[?(@<1.5)]",
            "error: a filter cannot compare integer with float",
        ),
        (
            ".points[?(@.x<1)].id",
            "error: a filter cannot compare null with integer",
        ),
        (
            ".items[?(@.status.addresses[*].type==\"New\")]",
            "error: a filter cannot compare a list of values with a value",
        ),
    ] {
        assert_eq!(search(path, &document), expect, "{path}");
    }
}

#[test]
fn fields_are_recognised() {
    let fields = |path| {
        JsonPath::parse(path)
            .unwrap()
            .as_fields()
            .map(|fields| fields.join("/"))
    };
    assert_eq!(fields(".spec.color").as_deref(), Some("spec/color"));
    assert_eq!(fields("{.spec['color']}").as_deref(), Some("spec/color"));
    assert_eq!(fields(".spec[0]"), None);
    assert_eq!(fields(".spec.*"), None);
    assert_eq!(
        JsonPath::of_fields(["spec", "color"]),
        JsonPath::parse(".spec.color").unwrap()
    );
}

#[test]
fn limits_hold() {
    let long = ".a".repeat(MAX_LENGTH / 2);
    assert!(JsonPath::parse(&long).is_ok());
    assert_eq!(
        JsonPath::parse(&format!("{long}x")),
        Err(Error::TooLong {
            length: MAX_LENGTH + 1
        })
    );

    // Every union triples what came before it.
    let union = format!(".a{}", "['b','b','b']".repeat(20));
    let mut document = json!("end");
    for _ in 0..20 {
        document = json!({ "b": document });
    }
    assert_eq!(
        JsonPath::parse(&union).unwrap().find(&json!({ "a": document })),
        Err(Error::TooManyValues)
    );

    let wide = json!(vec![vec![0; 1_000]; 1_001]);
    assert_eq!(
        JsonPath::parse("..").unwrap().find(&wide),
        Err(Error::TooManyValues)
    );
    assert_eq!(
        JsonPath::parse("[*][*]")
            .unwrap()
            .find(&wide)
            .map(|found| found.len()),
        Err(Error::TooManyValues)
    );
}

#[test]
fn text_is_spelt_as_in_go() {
    for (value, expect) in [
        (json!("<plain>"), "<plain>"),
        (json!(null), "null"),
        (json!(true), "true"),
        (json!(1.0), "1"),
        (json!(2.02), "2.02"),
        (json!(-0.0001), "-0.0001"),
        (json!(0.00001), "1e-05"),
        (json!(1e20), "100000000000000000000"),
        (json!(1e21), "1e+21"),
        (json!(1.5e300), "1.5e+300"),
        (
            json!({"b": "<&>", "a": [1.0, 0.5, 1e21, 1e-7, null]}),
            r#"{"a":[1,0.5,1e+21,1e-7,null],"b":"\u003c\u0026\u003e"}"#,
        ),
        (json!(["\u{2028}\n\""]), r#"["\u2028\n\""]"#),
    ] {
        assert_eq!(text(&value), expect);
    }
}

proptest! {
    #[test]
    fn no_path_panics(path in r#"[\[\]{}().?@$*'"\\a-c0-9:,<>=! \n\u{e9}-]{0,40}"#) {
        if let Ok(path) = JsonPath::parse(&path) {
            let _ = path.find(&json!({"a": [{"b": 1, "c": "x"}, {"b": 2, "c": null}], "b": {"a": {"c": [1, 2, 3]}}}));
        }
    }

    #[test]
    fn nesting_is_bounded(depth in 0_usize..200) {
        let path = format!("{}.a{}", "[?(".repeat(depth), ")]".repeat(depth));
        let _ = JsonPath::parse(&path);
    }
}
