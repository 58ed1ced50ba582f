//! Two field sets from any text: reading, writing, and the laws of sets.
#![no_main]

use kubewright_smd::fields::FieldSet;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (left, right) = text.split_once('\n').unwrap_or((text, "{}"));
    let (Ok(left), Ok(right)) = (FieldSet::from_json(left), FieldSet::from_json(right)) else {
        return;
    };
    for set in [&left, &right] {
        let again = FieldSet::from_json(&set.to_json()).expect("what was written can be read");
        assert_eq!(again.to_json(), set.to_json());
        assert_eq!(again.iter().count(), set.len());
    }
    let union = left.clone().union(right.clone());
    let both = left.intersection(&right);
    let only_left = left.clone().difference(&right);
    let only_right = right.clone().difference(&left);
    assert_eq!(union, right.clone().union(left.clone()));
    assert_eq!(both, right.intersection(&left));
    assert_eq!(only_left.clone().union(both.clone()).union(only_right), union);
    assert!(only_left.intersection(&both).is_empty());
    assert!(left.clone().recursive_difference(&left).is_empty());
    let _ = union.leaves();
});
