//! What the builder methods accept for a field.

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::meta::v1::OwnerReference;

/// A value that a field of type `T` can be set to: the type itself, and what people write for it.
///
/// ```
/// # use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
/// # use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
/// use kubewright_apply::IntoField;
///
/// fn set<T>(value: impl IntoField<T>) -> T { value.into_field() }
///
/// assert_eq!(set::<String>("web"), "web");
/// assert_eq!(set::<Quantity>("100m"), Quantity("100m".to_owned()));
/// assert_eq!(set::<IntOrString>(8080), IntOrString::Int(8080));
/// assert_eq!(set::<IntOrString>("25%"), IntOrString::String("25%".to_owned()));
/// ```
pub trait IntoField<T> {
    /// The field's value.
    fn into_field(self) -> T;
}

impl<T> IntoField<T> for T {
    fn into_field(self) -> T {
        self
    }
}

/// `From` conversions by example: the field's type, what is accepted, how it becomes one.
macro_rules! accepts {
    ($($field:ty: $from:ty => $into:expr;)*) => {
        $(impl IntoField<$field> for $from {
            fn into_field(self) -> $field {
                $into(self)
            }
        })*
    };
}

accepts! {
    String: &str => str::to_owned;
    String: &String => String::clone;
    Quantity: &str => |text: &str| Quantity(text.to_owned());
    Quantity: String => Quantity;
    Quantity: kubewright_core::Quantity => |quantity: kubewright_core::Quantity| Quantity(quantity.to_string());
    IntOrString: i32 => IntOrString::Int;
    IntOrString: &str => |text: &str| IntOrString::String(text.to_owned());
    IntOrString: String => IntOrString::String;
    ByteString: Vec<u8> => ByteString;
    ByteString: &[u8] => |bytes: &[u8]| ByteString(bytes.to_owned());
    ByteString: &str => |text: &str| ByteString(text.as_bytes().to_owned());
}

/// What `kubewright_core::owner_reference` makes.
impl IntoField<OwnerReference> for kubewright_core::OwnerReference {
    fn into_field(self) -> OwnerReference {
        OwnerReference {
            api_version: Some(self.api_version),
            block_owner_deletion: self.block_owner_deletion,
            controller: self.controller,
            kind: Some(self.kind),
            name: Some(self.name),
            uid: Some(self.uid),
        }
    }
}
