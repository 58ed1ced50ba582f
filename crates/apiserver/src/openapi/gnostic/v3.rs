//! The messages of OpenAPI v3 (`openapiv3/OpenAPIv3.proto`), as far as documents of this server use them.

use serde_json::Value;

use super::{Form, Message, member, object};

/// A whole document.
pub(crate) static DOCUMENT: Message = object(
    &[
        member("openapi", 1, Form::Text),
        member("info", 2, Form::Message(&INFO)),
        member("paths", 4, Form::Message(&PATHS)),
        member("components", 5, Form::Message(&COMPONENTS)),
    ],
    9,
);

static INFO: Message = object(
    &[
        member("title", 1, Form::Text),
        member("description", 2, Form::Text),
        member("version", 6, Form::Text),
    ],
    7,
);

static PATHS: Message = Message::Object {
    members: &[],
    entries: Some((1, Form::Message(&PATH_ITEM))),
    extensions: 2,
};

static PATH_ITEM: Message = object(
    &[
        member("get", 4, Form::Message(&OPERATION)),
        member("put", 5, Form::Message(&OPERATION)),
        member("post", 6, Form::Message(&OPERATION)),
        member("delete", 7, Form::Message(&OPERATION)),
        member("options", 8, Form::Message(&OPERATION)),
        member("head", 9, Form::Message(&OPERATION)),
        member("patch", 10, Form::Message(&OPERATION)),
        member("parameters", 13, Form::Messages(&PARAMETER_OR_REFERENCE)),
    ],
    14,
);

static OPERATION: Message = object(
    &[
        member("tags", 1, Form::Texts),
        member("summary", 2, Form::Text),
        member("description", 3, Form::Text),
        member("operationId", 5, Form::Text),
        member("parameters", 6, Form::Messages(&PARAMETER_OR_REFERENCE)),
        member("requestBody", 7, Form::Message(&REQUEST_BODY_OR_REFERENCE)),
        member("responses", 8, Form::Message(&RESPONSES)),
        member("deprecated", 10, Form::Flag),
    ],
    13,
);

static PARAMETER_OR_REFERENCE: Message = Message::OneOf(|_| Some((1, Form::Message(&PARAMETER))));

static PARAMETER: Message = object(
    &[
        member("name", 1, Form::Text),
        member("in", 2, Form::Text),
        member("description", 3, Form::Text),
        member("required", 4, Form::Flag),
        member("schema", 10, Form::Message(&SCHEMA_OR_REFERENCE)),
    ],
    14,
);

static REQUEST_BODY_OR_REFERENCE: Message = Message::OneOf(|_| Some((1, Form::Message(&REQUEST_BODY))));

static REQUEST_BODY: Message = object(
    &[
        member("description", 1, Form::Text),
        member("content", 2, Form::Message(&MEDIA_TYPES)),
        member("required", 3, Form::Flag),
    ],
    4,
);

static MEDIA_TYPES: Message = Message::Entries(Form::Message(&MEDIA_TYPE));

static MEDIA_TYPE: Message = object(&[member("schema", 1, Form::Message(&SCHEMA_OR_REFERENCE))], 5);

static RESPONSES: Message = Message::Object {
    members: &[member("default", 1, Form::Message(&RESPONSE_OR_REFERENCE))],
    entries: Some((2, Form::Message(&RESPONSE_OR_REFERENCE))),
    extensions: 3,
};

static RESPONSE_OR_REFERENCE: Message = Message::OneOf(|_| Some((1, Form::Message(&RESPONSE))));

static RESPONSE: Message = object(
    &[
        member("description", 1, Form::Text),
        member("content", 3, Form::Message(&MEDIA_TYPES)),
    ],
    5,
);

static COMPONENTS: Message = object(
    &[
        member("schemas", 1, Form::Message(&SCHEMAS)),
        member("securitySchemes", 7, Form::Message(&SECURITY_SCHEMES)),
    ],
    10,
);

static SCHEMAS: Message = Message::Entries(Form::Message(&SCHEMA_OR_REFERENCE));

static SCHEMA_OR_REFERENCE: Message = Message::OneOf(|value| {
    Some(if value.get("$ref").is_some() {
        (2, Form::Message(&REFERENCE))
    } else {
        (1, Form::Message(&SCHEMA))
    })
});

static REFERENCE: Message = object(
    &[
        member("$ref", 1, Form::Text),
        member("summary", 2, Form::Text),
        member("description", 3, Form::Text),
    ],
    0,
);

static SCHEMA: Message = object(
    &[
        member("nullable", 1, Form::Flag),
        member("readOnly", 3, Form::Flag),
        member("writeOnly", 4, Form::Flag),
        member("externalDocs", 6, Form::Message(&EXTERNAL_DOCS)),
        member("example", 7, Form::Any),
        member("deprecated", 8, Form::Flag),
        member("title", 9, Form::Text),
        member("multipleOf", 10, Form::Double),
        member("maximum", 11, Form::Double),
        member("exclusiveMaximum", 12, Form::Flag),
        member("minimum", 13, Form::Double),
        member("exclusiveMinimum", 14, Form::Flag),
        member("maxLength", 15, Form::Integer),
        member("minLength", 16, Form::Integer),
        member("pattern", 17, Form::Text),
        member("maxItems", 18, Form::Integer),
        member("minItems", 19, Form::Integer),
        member("uniqueItems", 20, Form::Flag),
        member("maxProperties", 21, Form::Integer),
        member("minProperties", 22, Form::Integer),
        member("required", 23, Form::Texts),
        member("enum", 24, Form::Anys),
        member("type", 25, Form::Text),
        member("allOf", 26, Form::Messages(&SCHEMA_OR_REFERENCE)),
        member("oneOf", 27, Form::Messages(&SCHEMA_OR_REFERENCE)),
        member("anyOf", 28, Form::Messages(&SCHEMA_OR_REFERENCE)),
        member("not", 29, Form::Message(&SCHEMA)),
        member("items", 30, Form::Message(&ITEMS)),
        member("properties", 31, Form::Message(&PROPERTIES)),
        member("additionalProperties", 32, Form::Message(&ADDITIONAL_PROPERTIES)),
        member("default", 33, Form::Message(&DEFAULT)),
        member("description", 34, Form::Text),
        member("format", 35, Form::Text),
    ],
    36,
);

static EXTERNAL_DOCS: Message = object(
    &[member("description", 1, Form::Text), member("url", 2, Form::Text)],
    3,
);

static ITEMS: Message = Message::Values(Form::Message(&SCHEMA_OR_REFERENCE));

static PROPERTIES: Message = Message::Entries(Form::Message(&SCHEMA_OR_REFERENCE));

static ADDITIONAL_PROPERTIES: Message = Message::OneOf(|value| match value {
    Value::Bool(_) => Some((2, Form::FlagOfMany)),
    _ => Some((1, Form::Message(&SCHEMA_OR_REFERENCE))),
});

/// Objects and lists have no place in the message; upstream sends them as an empty one.
static DEFAULT: Message = Message::OneOf(|value| match value {
    Value::Number(_) => Some((1, Form::DoubleOfMany)),
    Value::Bool(_) => Some((2, Form::FlagOfMany)),
    Value::String(_) => Some((3, Form::TextOfMany)),
    _ => None,
});

static SECURITY_SCHEMES: Message = Message::Entries(Form::Message(&SECURITY_SCHEME_OR_REFERENCE));

static SECURITY_SCHEME_OR_REFERENCE: Message = Message::OneOf(|_| Some((1, Form::Message(&SECURITY_SCHEME))));

static SECURITY_SCHEME: Message = object(
    &[
        member("type", 1, Form::Text),
        member("description", 2, Form::Text),
        member("name", 3, Form::Text),
        member("in", 4, Form::Text),
    ],
    9,
);
