//! The built-in types, from the table of kinds.

use std::borrow::Cow;

use kubewright_kinds::{PatchStrategy, Type, TypeId, Value};

use super::{Field, LookupError, MergeTypes, Strategy};

/// A built-in type as strategic merge patch sees it.
///
/// ```
/// use kubewright_smd::strategic::{KindTypes, patch};
/// use serde_json::json;
///
/// let pod = KindTypes::named("io.k8s.api.core.v1.Pod").unwrap();
/// let live = json!({"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y"}]}});
/// let change = json!({"spec": {"containers": [{"name": "a", "image": "x:2"}]}});
/// let patched = patch(live, &change, &pod)?;
/// assert_eq!(patched["spec"]["containers"], json!([{"name": "a", "image": "x:2"}, {"name": "b", "image": "y"}]));
/// # Ok::<(), kubewright_smd::strategic::PatchError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct KindTypes(Shape);

#[derive(Debug, Clone, Copy)]
enum Shape {
    Object(TypeId),
    /// A map, a list or a scalar: whatever has no fields.
    Other(Value),
}

impl KindTypes {
    /// The type of a definition name such as `io.k8s.api.core.v1.Pod`.
    pub fn named(name: &str) -> Option<Self> {
        kubewright_kinds::table().type_named(name).map(Self::from)
    }

    fn of(value: Value) -> Self {
        match value {
            Value::Object(id) => Self(Shape::Object(id)),
            other => Self(Shape::Other(other)),
        }
    }

    fn field(&self, name: &str, target: impl Fn(Value) -> Value) -> Result<Field<Self>, LookupError> {
        let not_a_struct = |kind: &str| LookupError::NotAStruct {
            kind: kind.to_owned(),
        };
        let ty = match self.0 {
            Shape::Object(id) => id.get(),
            Shape::Other(Value::Map(_)) => return Err(not_a_struct("map")),
            Shape::Other(Value::Array(_) | Value::Bytes) => return Err(not_a_struct("slice")),
            Shape::Other(Value::String) => return Err(not_a_struct("string")),
            Shape::Other(Value::Boolean) => return Err(not_a_struct("bool")),
            Shape::Other(_) => return Err(no_such_field("", name)),
        };
        let field = ty.field(name).ok_or_else(|| no_such_field(ty.name, name))?;
        Ok(Field {
            types: Self::of(target(field.value)),
            strategy: strategy(field.patch_strategy),
            merge_key: field.merge_key.map(Cow::Borrowed),
        })
    }
}

impl From<&Type> for KindTypes {
    fn from(ty: &Type) -> Self {
        Self(Shape::Object(ty.id()))
    }
}

impl MergeTypes for KindTypes {
    fn object_field(&self, name: &str) -> Result<Field<Self>, LookupError> {
        self.field(name, |value| value)
    }

    fn list_field(&self, name: &str) -> Result<Field<Self>, LookupError> {
        self.field(name, |value| match value {
            Value::Array(items) => *items,
            other => other,
        })
    }
}

fn strategy(strategy: PatchStrategy) -> Strategy {
    if strategy.merge {
        Strategy::Merge
    } else {
        Strategy::Unset
    }
}

fn no_such_field(type_name: &str, field: &str) -> LookupError {
    let type_name = type_name.rsplit('.').next().unwrap_or_default().to_owned();
    LookupError::NoSuchField {
        type_name,
        field: field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::strategic::patch;

    #[test]
    fn knows_the_built_in_lists() {
        let pod = KindTypes::named("io.k8s.api.core.v1.Pod").unwrap();
        let live = json!({
            "metadata": {"finalizers": ["a"], "annotations": {"k": "v"}},
            "spec": {
                "volumes": [{"name": "v", "emptyDir": {}}],
                "containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}], "args": ["x"]}],
                "tolerations": [{"key": "a"}],
            },
        });
        let change = json!({
            "metadata": {"finalizers": ["b"], "annotations": {"k": null, "l": "w"}},
            "spec": {
                "volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "m"}}],
                "containers": [{"name": "c", "ports": [{"containerPort": 80, "name": "http"}], "args": ["y"]}],
                "tolerations": [{"key": "b"}],
            },
        });
        let expect = json!({
            "metadata": {"finalizers": ["b", "a"], "annotations": {"l": "w"}},
            "spec": {
                "volumes": [{"name": "v", "configMap": {"name": "m"}}],
                "containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}], "args": ["y"]}],
                "tolerations": [{"key": "b"}],
            },
        });
        assert_eq!(patch(live, &change, &pod), Ok(expect));
    }

    #[test]
    fn refuses_unknown_fields() {
        let pod = KindTypes::named("io.k8s.api.core.v1.Pod").unwrap();
        let change = json!({"spec": {"nope": {"a": 1}}});
        let error = patch(json!({"spec": {"nope": {}}}), &change, &pod).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unable to find api field in struct PodSpec for the json field \"nope\""
        );
    }
}
