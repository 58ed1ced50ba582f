//! The messages of OpenAPI v2 (`openapiv2/OpenAPIv2.proto`), as far as documents of this server use them.
//!
//! Parameters are of queries and paths, or a body; definitions of security are keys.

use serde_json::Value;

use super::{Form, Member, Message, member, object};

/// A member of `paths`.
pub(crate) static PATH_ITEM: Message = object(
    &[
        member("$ref", 1, Form::Text),
        member("get", 2, Form::Message(&OPERATION)),
        member("put", 3, Form::Message(&OPERATION)),
        member("post", 4, Form::Message(&OPERATION)),
        member("delete", 5, Form::Message(&OPERATION)),
        member("options", 6, Form::Message(&OPERATION)),
        member("head", 7, Form::Message(&OPERATION)),
        member("patch", 8, Form::Message(&OPERATION)),
        member("parameters", 9, Form::Messages(&PARAMETERS_ITEM)),
    ],
    10,
);

/// A schema: a member of `definitions`.
pub(crate) static SCHEMA: Message = object(
    &[
        member("$ref", 1, Form::Text),
        member("format", 2, Form::Text),
        member("title", 3, Form::Text),
        member("description", 4, Form::Text),
        member("default", 5, Form::Any),
        member("multipleOf", 6, Form::Double),
        member("maximum", 7, Form::Double),
        member("exclusiveMaximum", 8, Form::Flag),
        member("minimum", 9, Form::Double),
        member("exclusiveMinimum", 10, Form::Flag),
        member("maxLength", 11, Form::Integer),
        member("minLength", 12, Form::Integer),
        member("pattern", 13, Form::Text),
        member("maxItems", 14, Form::Integer),
        member("minItems", 15, Form::Integer),
        member("uniqueItems", 16, Form::Flag),
        member("maxProperties", 17, Form::Integer),
        member("minProperties", 18, Form::Integer),
        member("required", 19, Form::Texts),
        member("enum", 20, Form::Anys),
        member("additionalProperties", 21, Form::Message(&ADDITIONAL_PROPERTIES)),
        member("type", 22, Form::Message(&TYPE)),
        member("items", 23, Form::Message(&ITEMS)),
        member("allOf", 24, Form::Messages(&SCHEMA)),
        member("properties", 25, Form::Message(&PROPERTIES)),
        member("discriminator", 26, Form::Text),
        member("readOnly", 27, Form::Flag),
        member("externalDocs", 29, Form::Message(&EXTERNAL_DOCS)),
        member("example", 30, Form::Any),
    ],
    31,
);

/// All of a document but its paths and definitions, which are [`PATHS`] with [`PATH`] and [`DEFINITIONS`] with [`DEFINITION`].
pub(crate) static FRAME: Message = object(
    &[
        member("swagger", 1, Form::Text),
        member("info", 2, Form::Message(&INFO)),
        member("parameters", 10, Form::Message(&PARAMETER_DEFINITIONS)),
        member("security", 12, Form::Messages(&SECURITY_REQUIREMENT)),
        member("securityDefinitions", 13, Form::Message(&SECURITY_DEFINITIONS)),
    ],
    16,
);

/// The tag of a document's paths.
pub(crate) const PATHS: u32 = 8;
/// The tag of a path in them.
pub(crate) const PATH: u32 = 2;
/// The tag of a document's definitions.
pub(crate) const DEFINITIONS: u32 = 9;
/// The tag of a definition in them.
pub(crate) const DEFINITION: u32 = 1;

static INFO: Message = object(
    &[
        member("title", 1, Form::Text),
        member("version", 2, Form::Text),
        member("description", 3, Form::Text),
    ],
    7,
);

static OPERATION: Message = object(
    &[
        member("tags", 1, Form::Texts),
        member("summary", 2, Form::Text),
        member("description", 3, Form::Text),
        member("operationId", 5, Form::Text),
        member("produces", 6, Form::Texts),
        member("consumes", 7, Form::Texts),
        member("parameters", 8, Form::Messages(&PARAMETERS_ITEM)),
        member("responses", 9, Form::Message(&RESPONSES)),
        member("schemes", 10, Form::Texts),
        member("deprecated", 11, Form::Flag),
    ],
    13,
);

static PARAMETER_DEFINITIONS: Message = Message::Entries(Form::Message(&PARAMETER));

static PARAMETERS_ITEM: Message = Message::OneOf(|value| {
    Some(match value.get("$ref") {
        Some(_) => (2, Form::Message(&JSON_REFERENCE)),
        None => (1, Form::Message(&PARAMETER)),
    })
});

static JSON_REFERENCE: Message = object(&[member("$ref", 1, Form::Text)], 0);

static PARAMETER: Message = Message::OneOf(|value| {
    Some(if value["in"] == "body" {
        (1, Form::Message(&BODY_PARAMETER))
    } else {
        (2, Form::Message(&NON_BODY_PARAMETER))
    })
});

static BODY_PARAMETER: Message = object(
    &[
        member("description", 1, Form::Text),
        member("name", 2, Form::Text),
        member("in", 3, Form::Text),
        member("required", 4, Form::Flag),
        member("schema", 5, Form::Message(&SCHEMA)),
    ],
    6,
);

static NON_BODY_PARAMETER: Message = Message::OneOf(|value| match value["in"].as_str() {
    Some("query") => Some((3, Form::Message(&QUERY_PARAMETER))),
    Some("path") => Some((4, Form::Message(&PATH_PARAMETER))),
    _ => None,
});

static QUERY_PARAMETER: Message = object(
    &[
        PARAMETER_MEMBERS[0],
        PARAMETER_MEMBERS[1],
        PARAMETER_MEMBERS[2],
        PARAMETER_MEMBERS[3],
        member("type", 6, Form::Text),
        member("format", 7, Form::Text),
        member("uniqueItems", 20, Form::Flag),
    ],
    23,
);

static PATH_PARAMETER: Message = object(
    &[
        PARAMETER_MEMBERS[0],
        PARAMETER_MEMBERS[1],
        PARAMETER_MEMBERS[2],
        PARAMETER_MEMBERS[3],
        member("type", 5, Form::Text),
        member("format", 6, Form::Text),
        member("uniqueItems", 19, Form::Flag),
    ],
    22,
);

/// What parameters of queries and paths have alike.
const PARAMETER_MEMBERS: [Member; 4] = [
    member("required", 1, Form::Flag),
    member("in", 2, Form::Text),
    member("description", 3, Form::Text),
    member("name", 4, Form::Text),
];

static RESPONSES: Message = Message::Object {
    members: &[],
    entries: Some((1, Form::Message(&RESPONSE_VALUE))),
    extensions: 2,
};

static RESPONSE_VALUE: Message = Message::OneOf(|_| Some((1, Form::Message(&RESPONSE))));

static RESPONSE: Message = object(
    &[
        member("description", 1, Form::Text),
        member("schema", 2, Form::Message(&SCHEMA_ITEM)),
    ],
    5,
);

static SCHEMA_ITEM: Message = Message::OneOf(|_| Some((1, Form::Message(&SCHEMA))));

static ADDITIONAL_PROPERTIES: Message = Message::OneOf(|value| match value {
    Value::Bool(_) => Some((2, Form::FlagOfMany)),
    _ => Some((1, Form::Message(&SCHEMA))),
});

static TYPE: Message = Message::OneOf(|value| match value {
    Value::Array(_) => Some((1, Form::Texts)),
    _ => Some((1, Form::Text)),
});

static ITEMS: Message = Message::Values(Form::Message(&SCHEMA));

static PROPERTIES: Message = Message::Entries(Form::Message(&SCHEMA));

static EXTERNAL_DOCS: Message = object(
    &[member("description", 1, Form::Text), member("url", 2, Form::Text)],
    3,
);

static SECURITY_REQUIREMENT: Message = Message::Entries(Form::Message(&STRING_ARRAY));

static STRING_ARRAY: Message = Message::Values(Form::Text);

static SECURITY_DEFINITIONS: Message = Message::Entries(Form::Message(&SECURITY_DEFINITION));

static SECURITY_DEFINITION: Message = Message::OneOf(|_| Some((2, Form::Message(&API_KEY))));

static API_KEY: Message = object(
    &[
        member("type", 1, Form::Text),
        member("name", 2, Form::Text),
        member("in", 3, Form::Text),
        member("description", 4, Form::Text),
    ],
    5,
);
