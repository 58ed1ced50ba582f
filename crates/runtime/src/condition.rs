//! Conditions in a status (`metav1.Condition`; apimachinery `pkg/api/meta/conditions.go`).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// Sets the condition of its type: adds it, or changes what is there. `last_transition_time` is taken over only when the
/// status changes, so a condition that stays as it is keeps its time and the object does not change. Returns whether
/// anything changed.
pub fn set_condition(conditions: &mut Vec<Condition>, condition: Condition) -> bool {
    let Some(present) = conditions
        .iter_mut()
        .find(|present| present.type_ == condition.type_)
    else {
        conditions.push(condition);
        return true;
    };
    let condition = if present.status == condition.status {
        Condition {
            last_transition_time: present.last_transition_time.clone(),
            ..condition
        }
    } else {
        condition
    };
    let changed = *present != condition;
    *present = condition;
    changed
}

/// The condition of a type.
#[must_use]
pub fn find_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether there is a condition of a type and its status is `True`.
#[must_use]
pub fn condition_is_true(conditions: &[Condition], type_: &str) -> bool {
    find_condition(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// Removes the condition of a type. Returns whether there was one.
pub fn remove_condition(conditions: &mut Vec<Condition>, type_: &str) -> bool {
    let before = conditions.len();
    conditions.retain(|condition| condition.type_ != type_);
    conditions.len() != before
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn ready(status: &str, reason: &str, second: i64) -> Condition {
        Condition {
            last_transition_time: Time(Timestamp::from_second(second).unwrap()),
            message: String::new(),
            observed_generation: None,
            reason: reason.to_owned(),
            status: status.to_owned(),
            type_: "Ready".to_owned(),
        }
    }

    #[test]
    fn times_change_with_the_status_only() {
        // before, set, after, changed
        let rows = [
            (None, ready("True", "Up", 5), ready("True", "Up", 5), true),
            (
                Some(ready("True", "Up", 1)),
                ready("True", "Up", 5),
                ready("True", "Up", 1),
                false,
            ),
            (
                Some(ready("True", "Up", 1)),
                ready("True", "Better", 5),
                ready("True", "Better", 1),
                true,
            ),
            (
                Some(ready("True", "Up", 1)),
                ready("False", "Up", 5),
                ready("False", "Up", 5),
                true,
            ),
        ];
        for (before, set, after, changed) in rows {
            let mut conditions: Vec<_> = before.into_iter().collect();
            assert_eq!(set_condition(&mut conditions, set.clone()), changed, "{set:?}");
            assert_eq!(conditions, [after]);
        }
        let mut conditions = vec![ready("True", "Up", 1)];
        assert!(condition_is_true(&conditions, "Ready"));
        assert!(!condition_is_true(&conditions, "Synced"));
        assert!(remove_condition(&mut conditions, "Ready"));
        assert!(!remove_condition(&mut conditions, "Ready"));
    }
}
