//! The corner cases of kubectl's reading, as data.

mod limits;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

#[track_caller]
fn reads(text: &str, expect: Value) {
    match from_str::<Value>(text) {
        Ok(value) => assert_eq!(value, expect, "{text:?}"),
        Err(error) => panic!("{text:?}: {error}"),
    }
}

#[track_caller]
fn fails(text: &str, line: usize, column: usize, message: &str) {
    let error = from_str::<Value>(text).expect_err(text);
    assert!(error.kind().to_string().contains(message), "{text:?}: {error}");
    assert_eq!(
        (error.line(), error.column()),
        (line, column),
        "{text:?}: {error}"
    );
}

#[test]
fn plain_scalars() {
    for text in [
        "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE",
    ] {
        reads(&format!("a: {text}"), json!({"a": true}));
    }
    for text in [
        "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE",
    ] {
        reads(&format!("a: {text}"), json!({"a": false}));
    }
    for text in ["", "~", "null", "Null", "NULL"] {
        reads(&format!("a: {text}"), json!({"a": null}));
    }
    for text in [
        "yES", "oN", "tRUE", "nULL", "_1", "1.2.3", "0x", "0xg", "12h", "1e", "1:30", "-.5.", ".",
    ] {
        reads(&format!("a: {text}"), json!({"a": text}));
    }
    let rows = [
        ("0", json!(0)),
        ("-0", json!(0)),
        ("+7", json!(7)),
        ("0644", json!(420)),
        ("-0644", json!(-420)),
        ("0o644", json!(420)),
        ("0x1F", json!(31)),
        ("-0x1f", json!(-31)),
        ("0b101", json!(5)),
        ("-0b101", json!(-5)),
        ("0b-101", json!(-5)),
        ("1_000", json!(1000)),
        ("1__0", json!(10)),
        ("9223372036854775807", json!(i64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("9223372036854775808", json!(9_223_372_036_854_775_808_u64)),
        ("18446744073709551615", json!(u64::MAX)),
        ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ("1.5", json!(1.5)),
        ("1.0", json!(1)),
        ("1.", json!(1)),
        (".5", json!(0.5)),
        ("+.5", json!(0.5)),
        ("1e3", json!(1000)),
        ("1E-3", json!(0.001)),
        ("08", json!(8)),
        ("089.5", json!(89.5)),
        ("1e400", json!("1e400")),
        ("2001-01-01", json!("2001-01-01")),
        (
            "2001-12-14t21:59:43.10-05:00",
            json!("2001-12-14t21:59:43.10-05:00"),
        ),
    ];
    for (text, expect) in rows {
        reads(&format!("a: {text}"), json!({ "a": expect }));
    }
}

#[test]
fn quotes_and_tags() {
    let rows = [
        ("\"yes\"", json!("yes")),
        ("'0644'", json!("0644")),
        ("!!str yes", json!("yes")),
        ("!!str 0644", json!("0644")),
        ("!!int '5'", json!(5)),
        ("!!float 1", json!(1)),
        ("!!bool 'on'", json!(true)),
        ("!!null ''", json!(null)),
        ("!!timestamp 2001-01-01", json!("2001-01-01")),
        ("! '5'", json!(5)),
        ("!custom 5", json!("5")),
        ("!!binary aGVsbG8=", json!("hello")),
        ("!!binary |\n  aGVs\n  bG8=\n", json!("hello")),
        ("!!binary /w==", json!("\u{fffd}")),
        ("|\n  two\n  lines", json!("two\nlines")),
        ("|-\n  two\n  lines\n", json!("two\nlines")),
        (">\n  one\n  line\n", json!("one line\n")),
        ("{a: 1, b: [yes, 'no']}", json!({"a": 1, "b": [true, "no"]})),
        ("\"\\u00e9\\n\"", json!("é\n")),
    ];
    for (text, expect) in rows {
        reads(&format!("v: {text}"), json!({ "v": expect }));
    }
}

#[test]
fn keys() {
    let rows = [
        ("5: x", json!({"5": "x"})),
        ("0x10: x", json!({"16": "x"})),
        ("yes: x", json!({"true": "x"})),
        ("1.5: x", json!({"1.5": "x"})),
        ("1.0: x", json!({"1": "x"})),
        ("1e6: x", json!({"1e+06": "x"})),
        ("0.00001: x", json!({"1e-05": "x"})),
        ("'null': x", json!({"null": "x"})),
        ("? a\n: b", json!({"a": "b"})),
        ("'<<': {a: 1}", json!({"<<": {"a": 1}})),
        ("a: <<", json!({"a": "<<"})),
    ];
    for (text, expect) in rows {
        reads(text, expect);
    }
}

#[test]
fn anchors_and_merges() {
    let rows = [
        ("a: &x [1]\nb: *x", json!({"a": [1], "b": [1]})),
        (
            "a: &x {k: 1}\nb: {<<: *x, l: 2}",
            json!({"a": {"k": 1}, "b": {"k": 1, "l": 2}}),
        ),
        (
            "a: &x {k: 1}\nb: {k: 2, <<: *x}",
            json!({"a": {"k": 1}, "b": {"k": 2}}),
        ),
        (
            "a: &x {k: 1}\nb: {<<: *x, k: 2}",
            json!({"a": {"k": 1}, "b": {"k": 2}}),
        ),
        (
            "a: &x {k: 1, l: 1}\nb: &y {k: 2, m: 2}\nc: {<<: [*x, *y]}",
            json!({"a": {"k": 1, "l": 1}, "b": {"k": 2, "m": 2}, "c": {"k": 1, "l": 1, "m": 2}}),
        ),
        ("a: &x 1\nb: &x 2\nc: *x", json!({"a": 1, "b": 2, "c": 2})),
        ("&k a: 1\nb: *k", json!({"a": 1, "b": "a"})),
    ];
    for (text, expect) in rows {
        reads(text, expect);
    }
}

#[test]
fn layout() {
    let rows = [
        ("\u{feff}a: 1\n", json!({"a": 1})),
        ("a: 1\r\nb:\r\n- x\r\n", json!({"a": 1, "b": ["x"]})),
        ("# only\n---\na: 1\n...\n", json!({"a": 1})),
        ("%YAML 1.1\n---\na: yes\n", json!({"a": true})),
        ("{\"a\":\t1}", json!({"a": 1})),
        ("", json!(null)),
        ("# nothing\n", json!(null)),
        ("a: b#c # d", json!({"a": "b#c"})),
        ("a: http://x:1/y", json!({"a": "http://x:1/y"})),
    ];
    for (text, expect) in rows {
        reads(text, expect);
    }
}

#[test]
fn failures_have_places() {
    let rows = [
        ("a: 1\na: 2", 2, 1, "duplicate key \"a\" (first on line 1)"),
        ("1: x\n'1': y", 2, 1, "duplicate key \"1\""),
        (
            "a: &x {k: 1}\nb: {<<: *x, k: 1, k: 2}",
            2,
            19,
            "duplicate key \"k\"",
        ),
        ("a:\n  ~: x", 2, 3, "null cannot be a key"),
        ("a: {{ x }}", 1, 5, "a mapping cannot be a key"),
        ("a:\n  - .nan", 2, 5, "cannot read \".nan\" as a JSON number"),
        ("a: !!int x", 1, 4, "cannot read \"x\" as int"),
        ("a: !!int 1.0", 1, 4, "cannot read \"1.0\" as int"),
        ("a: !!binary '*'", 1, 4, "as base64"),
        ("a: {<<: 1}", 1, 9, "a merge key needs"),
        ("a: {<<: [1]}", 1, 10, "a merge key needs"),
        ("a: &x [*x]", 1, 8, "contains itself"),
        ("a: *x", 1, 4, "anchor"),
        ("a: 1\n---\nb: 1", 3, 1, "more than one document"),
        ("a:\n\t- 1", 2, 1, "cannot start any token"),
        ("a: [1", 2, 1, ""),
    ];
    for (text, line, column, message) in rows {
        if column == 1 && message.is_empty() {
            assert!(from_str::<Value>(text).expect_err(text).line() > 0);
        } else {
            fails(text, line, column, message);
        }
    }
}

/// As a kube-apiserver 1.37 answers.
#[test]
fn faults_in_the_words_of_go() {
    let long = "x".repeat(1025);
    let too_long = "yaml: mapping values are not allowed in this context";
    let rows = [
        ("a: [\n", "yaml: line 1: did not find expected node content"),
        ("a: [", "yaml: line 1: did not find expected node content"),
        ("a: {\n", "yaml: line 1: did not find expected node content"),
        ("[a,\n\n", "yaml: line 2: did not find expected node content"),
        ("[a, b\n", "yaml: line 1: did not find expected ',' or ']'"),
        ("[x}\n", "yaml: did not find expected ',' or ']'"),
        ("a: \"x\n", "yaml: line 2: found unexpected end of stream"),
        ("a: 'x\n", "yaml: line 2: found unexpected end of stream"),
        (
            "a: b: c\n",
            "yaml: mapping values are not allowed in this context",
        ),
        (
            "a:\n b: 1\n  c: 2\n",
            "yaml: line 3: mapping values are not allowed in this context",
        ),
        ("- a\nb\n", "yaml: line 3: could not find expected ':'"),
        ("a: b\nc\n", "yaml: line 3: could not find expected ':'"),
        (
            "a\nb: c\n",
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        ("a: *b\n", "yaml: unknown anchor 'b' referenced"),
        ("x: &a {b: *a}\n", "yaml: anchor 'a' value contains itself"),
        (
            "a: &\n",
            "yaml: did not find expected alphabetic or numeric character",
        ),
        ("@x\n", "yaml: found character that cannot start any token"),
        ("a: }\n", "yaml: did not find expected node content"),
        ("x: y\na: ]\n", "yaml: line 1: did not find expected node content"),
        ("a: |x\n", "yaml: did not find expected comment or line break"),
        ("a: |0\n x\n", "yaml: found an indentation indicator equal to 0"),
        (
            "a: |12\n x\n",
            "yaml: did not find expected comment or line break",
        ),
        ("a: \"\\x\"\n", "yaml: did not find expected hexdecimal number"),
        ("a: \"\\q\"\n", "yaml: found unknown escape character"),
        (
            "a: \"\\ud800\"\n",
            "yaml: found invalid Unicode character escape code",
        ),
        (
            "- - a\n - b\n",
            "yaml: line 1: did not find expected '-' indicator",
        ),
        ("\ta: b\n", "yaml: found character that cannot start any token"),
        (
            "a:\n\tb: c\n",
            "yaml: line 2: found character that cannot start any token",
        ),
        (
            "a: b\n\tc: d\n",
            "yaml: line 2: found a tab character that violates indentation",
        ),
        (
            "a: b\n\t\n",
            "yaml: line 2: found a tab character that violates indentation",
        ),
        (
            "a: |\n\tb\n",
            "yaml: line 2: found a tab character where an indentation space is expected",
        ),
        ("- \t- a\n", "yaml: found character that cannot start any token"),
        (
            "a:\t- b\n",
            "yaml: block sequence entries are not allowed in this context",
        ),
        ("? a\n?b\n", "yaml: line 3: could not find expected ':'"),
        ("%YAML 1.2\n---\na: b\n", "yaml: found incompatible YAML document"),
        (
            "%YAML 1.1\n%YAML 1.1\n---\na: b\n",
            "yaml: line 1: found duplicate %YAML directive",
        ),
        (
            "%YAML 1.1\na: b\n",
            "yaml: line 1: did not find expected <document start>",
        ),
        ("%YAML\n---\n", "yaml: did not find expected version number"),
        (
            "%YAML 1\n---\n",
            "yaml: did not find expected digit or '.' character",
        ),
        ("%YAML 1.100\n---\n", "yaml: found extremely long version number"),
        (
            "%YAML 1.1 x\n---\n",
            "yaml: did not find expected comment or line break",
        ),
        ("%FOO bar\n---\na: b\n", "yaml: found unknown directive name"),
        ("% x\n---\n", "yaml: could not find expected directive name"),
        ("%Y%\n---\n", "yaml: found unexpected non-alphabetical character"),
        ("%TAG x y\n---\n", "yaml: did not find expected '!'"),
        ("%TAG !a b\n---\n", "yaml: did not find expected '!'"),
        ("%TAG !\n---\n", "yaml: did not find expected whitespace"),
        ("%TAG ! \n---\n", "yaml: did not find expected tag URI"),
        (
            "%TAG !a! x\n%TAG !a! y\n---\na: b\n",
            "yaml: line 1: found duplicate %TAG directive",
        ),
        ("a: !u!x y\n", "yaml: found undefined tag handle"),
        ("a: !<x y\n", "yaml: did not find the expected '>'"),
        ("a: !%4 y\n", "yaml: did not find URI escaped octet"),
        ("a: !%80 y\n", "yaml: found an incorrect leading UTF-8 octet"),
        ("a: !%c3%41 y\n", "yaml: found an incorrect trailing UTF-8 octet"),
        (
            "--- a: b\n",
            "yaml: mapping values are not allowed in this context",
        ),
        ("? [\n", "yaml: line 1: did not find expected node content"),
        (
            "?\n",
            "unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>",
        ),
        ("a: {\n: b}\n", "yaml: line 1: did not find expected node content"),
        (
            "~: x\n",
            "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"x\"",
        ),
        ("[a]: x\n", "yaml: invalid map key: []interface {}{\"a\"}"),
        ("a: !!int x\n", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: !!bool 5\n", "yaml: cannot decode !!int `5` as a !!bool"),
        ("a: !!int 1.5\n", "yaml: cannot decode !!float `1.5` as a !!int"),
        ("a: !!null x\n", "yaml: cannot decode !!str `x` as a !!null"),
        (
            "a: !!binary x\n",
            "yaml: !!binary value contains invalid base64 data",
        ),
        ("a: .nan\n", "json: unsupported value: NaN"),
        ("a: -.inf\n", "json: unsupported value: -Inf"),
        (
            "<<: x\n",
            "yaml: map merge requires map or sequence of maps as the value",
        ),
        (
            "<<: [x]\n",
            "yaml: map merge requires map or sequence of maps as the value",
        ),
        ("a: \u{1}\n", "yaml: control characters are not allowed"),
        ("a: b\n\u{7f}\n", "yaml: control characters are not allowed"),
        (
            "a: \"b\n---\nc\"\n",
            "yaml: line 2: found unexpected document indicator",
        ),
        (
            "a: - b\n",
            "yaml: block sequence entries are not allowed in this context",
        ),
        ("a: ? b\n", "yaml: mapping keys are not allowed in this context"),
        (
            "'a\n b': c\n",
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        (": a\n", "yaml: did not find expected key"),
        ("a: {b]}\n", "yaml: did not find expected ',' or '}'"),
        (
            "- a\n- b\nc: d\n",
            "yaml: line 2: did not find expected '-' indicator",
        ),
        ("{a\n", "yaml: line 1: did not find expected ',' or '}'"),
        ("{a: b,,}\n", "yaml: did not find expected node content"),
        (
            "{a: 1}: x\n",
            "yaml: invalid map key: map[interface {}]interface {}{\"a\":1}",
        ),
        (
            "[~, {a: }]: x\n",
            "yaml: invalid map key: []interface {}{interface {}(nil), map[interface {}]interface {}{\"a\":interface {}(nil)}}",
        ),
        (&format!("{long}: y\n"), too_long),
        (
            &format!("{}: y\n", "[".repeat(10_001)),
            "yaml: exceeded max depth of 100",
        ),
    ];
    for (text, expect) in rows {
        let error = documents(text).find_map(Result::err).expect(text);
        assert_eq!(error.in_go_words(), expect, "{text:?}");
        assert!(error.line() > 0, "{text:?}");
    }
}

/// What YAML 1.2 has otherwise, and libyaml reads.
#[test]
fn libyaml_is_lax_too() {
    let rows = [
        ("a: 'x'#c\n", json!({"a": "x"})),
        ("a: {b: c}#d\n", json!({"a": {"b": "c"}})),
        ("a: &k b\n*k: c\n", json!({"a": "b", "b": "c"})),
        ("a: x\u{85} y\n", json!({"a": "x y"})),
        ("a: 'x\u{2028}y'\n", json!({"a": "x\u{2028}y"})),
        (
            "a: [b, c: d, ? e, {f}]\n",
            json!({"a": ["b", {"c": "d"}, {"e": null}, {"f": null}]}),
        ),
        ("a: [b,\tc]\t\n", json!({"a": ["b", "c"]})),
        (
            "a:\n- b\n-\n- - c\nd:\n",
            json!({"a": ["b", null, ["c"]], "d": null}),
        ),
        ("? a\n: b\n? c\n", json!({"a": "b", "c": null})),
        ("a: b\n... x\n", json!({"a": "b"})),
        (
            "%TAG !e! tag:yaml.org,2002:\n---\na: !e!str 5\nb: !<tag:yaml.org,2002:int> '7'\n",
            json!({"a": "5", "b": 7}),
        ),
        (
            "a: |+\n  b\n\n  c\n\n\nd: >2-\n    e\n   f\n",
            json!({"a": "b\n\nc\n\n\n", "d": "  e\n f"}),
        ),
        (
            "a: \"b\\\n    \\tc\\x41\\u00e4\\U0001f600\\_\\N\"\n",
            json!({"a": "b\tcA\u{e4}\u{1f600}\u{a0}\u{85}"}),
        ),
        (
            "a: 'b\n\n  c\n d'\ne: f\n  g\n\n  h\n",
            json!({"a": "b\nc d", "e": "f g\nh"}),
        ),
    ];
    for (text, expect) in rows {
        let value = documents(text).next().and_then(Result::ok);
        assert_eq!(value, Some(expect), "{text:?}");
    }
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    replicas: i32,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    ports: BTreeMap<u16, bool>,
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
enum Mode {
    Fast,
    Slow { percent: u8 },
}

#[test]
fn typed_values_and_their_errors() {
    let spec: Spec =
        from_str("replicas: 1e1\nlabels: {a: 'on'}\nmode: {Slow: {percent: 5}}\nports: {80: yes}").unwrap();
    assert_eq!(
        spec,
        Spec {
            replicas: 10,
            labels: BTreeMap::from([("a".into(), "on".into())]),
            mode: Some(Mode::Slow { percent: 5 }),
            ports: BTreeMap::from([(80, true)]),
        }
    );
    assert_eq!(
        from_str::<Spec>("replicas: 1\nmode: Fast").unwrap().mode,
        Some(Mode::Fast)
    );
    let rows = [
        (
            "replicas: x",
            1,
            11,
            "invalid type: string \"x\", expected i32",
            None,
        ),
        ("replicas: 99999999999", 1, 11, "expected i32", None),
        (
            "replicas: 1\nlabels:\n  a: b\n  c: on",
            4,
            6,
            "expected a string",
            Some("quote the value to make it a string"),
        ),
        (
            "replicas: 1\nmode: {Slow: {percent: 999}}",
            2,
            24,
            "expected u8",
            None,
        ),
        ("replicas: 1\nmode: Fats", 2, 7, "unknown variant `Fats`", None),
        ("replicas: 1\nlabel: {}", 2, 1, "unknown field `label`", None),
        ("labels: {}", 1, 1, "missing field `replicas`", None),
        ("replicas: 1\nports: {x: true}", 2, 9, "expected u16", None),
    ];
    for (text, line, column, message, hint) in rows {
        let error = from_str::<Spec>(text).expect_err(text);
        assert!(error.kind().to_string().contains(message), "{text:?}: {error}");
        assert_eq!(
            (error.line(), error.column(), error.hint()),
            (line, column, hint),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn the_message_shows_the_line() {
    let error = from_str::<Spec>("replicas: 1\nlabels:\n  a: on\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 3, column 6: invalid type: boolean `true`, expected a string\n3 |   a: on\n         ^\n\
         hint: quote the value to make it a string"
    );
}

#[test]
fn streams() {
    let text = "---\n# empty\n---\na: 1\n--- # c\n~\n---\n- 2\n...\n---\nx";
    let values: Result<Vec<_>, _> = documents(text).collect();
    assert_eq!(values.unwrap(), [json!({"a": 1}), json!([2]), json!("x")]);
    assert_eq!(
        from_str_multi::<BTreeMap<String, u8>>("a: 1\n---\nb: 2")
            .unwrap()
            .len(),
        2
    );

    let options = Options {
        duplicate_keys: DuplicateKeys::KeepLast,
        ..Options::default()
    };
    let documents: Result<Vec<_>, _> = documents_with("a: 1\n---\nb: 1\nb: 2\n", &options).collect();
    let documents = documents.unwrap();
    assert_eq!((documents[0].line, documents[1].line), (1, 3));
    assert_eq!(documents[0].duplicates, []);
    assert_eq!(documents[1].value, json!({"b": 2}));
    assert_eq!(
        documents[1].duplicates,
        [DuplicateKey {
            key: "b".into(),
            spelling: "\"b\"".into(),
            value_line: 4,
            line: 4,
            column: 1,
            first_line: 3
        }]
    );

    // A server reads merges as go-yaml does: the last of all keys counts.
    let text = "- {a: 1, <<: {a: 2}}\n- {<<: {a: 1}, a: 2}\n- {<<: [{a: 1}, {a: 2}]}\n";
    let merged = documents_with(text, &options).next().unwrap().unwrap();
    assert_eq!(merged.value, json!([{"a": 2}, {"a": 2}, {"a": 1}]));
    assert_eq!(merged.duplicates.len(), 3);

    let results: Vec<_> = super::documents("a: 1\n---\na: [\n---\nb: 1").collect();
    assert_eq!(results.len(), 2, "the first failure ends the stream");
    assert!(results[0].is_ok() && results[1].is_err());
}

#[test]
fn bytes() {
    assert_eq!(from_slice::<Value>(b"a: 1").unwrap(), json!({"a": 1}));
    let error = from_slice::<Value>(b"a: 1\nb: \xff").unwrap_err();
    assert_eq!(
        (error.kind(), error.line(), error.column()),
        (&ErrorKind::NotUtf8, 2, 4)
    );
    assert_eq!(
        json_or_yaml::<Value>(b" {\"a\": \"yes\"}").unwrap(),
        json!({"a": "yes"})
    );
    assert_eq!(json_or_yaml::<Value>(b"{a: yes}").unwrap(), json!({"a": true}));
    assert_eq!(json_or_yaml::<Value>(b"a: yes").unwrap(), json!({"a": true}));
}

#[test]
fn what_is_written() {
    let value = json!({
        "bool": true,
        "empty": {"list": [], "map": {}, "text": ""},
        "list": [{"name": "a", "v": 1}, {"name": "b"}],
        "multi": "two\nlines\n",
        "num": 1.5,
        "plain": "a b",
        "url": "http://x:1/y",
    });
    let expect = "\
bool: true
empty:
  list: []
  map: {}
  text: \"\"
list:
- name: a
  v: 1
- name: b
multi: |
  two
  lines
num: 1.5
plain: a b
url: http://x:1/y
";
    assert_eq!(to_string(&value).unwrap(), expect);
    for text in [
        "yes",
        "on",
        "y",
        "n",
        "off",
        "true",
        "null",
        "~",
        "",
        "0644",
        "1e3",
        "0x1f",
        "1_000",
        ".inf",
        "2001-01-01",
        "1:30",
        "- a",
        "a: b",
        "# c",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "{a",
        " a",
        "a ",
        "12",
        "-1.5",
    ] {
        let written = to_string(&BTreeMap::from([("k", text)])).unwrap();
        assert!(
            written.starts_with("k: \"") || written.starts_with("k: '"),
            "{text:?} -> {written:?}"
        );
        let long = "x ".repeat(300) + "y";
        assert_eq!(
            to_string(&json!([long])).unwrap().lines().count(),
            1,
            "long lines stay whole"
        );
    }
    assert_eq!(
        to_string_multi([json!({"a": 1}), json!({"b": 2})]).unwrap(),
        "a: 1\n---\nb: 2\n"
    );
    // Struct fields keep their order.
    let spec = Spec {
        replicas: 1,
        labels: BTreeMap::new(),
        mode: Some(Mode::Fast),
        ports: BTreeMap::new(),
    };
    assert_eq!(
        to_string(&spec).unwrap(),
        "replicas: 1\nlabels: {}\nmode: Fast\nports: {}\n"
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,8}",
        "[-+0-9._eExob:]{1,6}",
        "(?s).{0,6}",
        "[a-z \n\t#:-]{0,24}",
        Just("yes".to_owned()),
        Just("  lead\nline\n\n".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
        (-1000i32..1000).prop_map(|i| Value::from(f64::from(i) / 8.0 + 0.03)),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn written_values_read_back_the_same(value in any_json()) {
        let text = to_string(&value).unwrap();
        match from_str::<Value>(&text) {
            Ok(read) => prop_assert_eq!(read, value, "{}", text),
            Err(error) => return Err(TestCaseError::fail(format!("{text:?}: {error}"))),
        }
    }

    #[test]
    fn json_is_yaml(value in any_json()) {
        let text = value.to_string();
        // YAML forbids these even inside quotes; so does goyaml.v2.
        prop_assume!(!text.chars().any(|c| matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')));
        prop_assert_eq!(from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn no_text_panics(text in "[-a:#&*!|>'\"{}\\[\\], \n\t0-9<%@`?~.]{0,40}") {
        let _ = from_str::<Value>(&text);
        let _ = json_or_yaml::<Value>(text.as_bytes());
    }
}
