//! Conversions that take a webhook, for the field manager, which waits for nobody.
//!
//! It asks for an object in another version and is refused; whoever runs it has the object converted, and runs it again, until it asks
//! for nothing more. What it does depends on nothing else, so it goes the same way each time.

use kubewright_smd::manager::ConversionError;
use parking_lot::Mutex;
use serde_json::Value;

/// What was converted for one request.
#[derive(Debug, Default)]
pub(crate) struct Conversions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: Vec<Known>,
    asked: Option<Asked>,
}

/// An object that is to be brought to a version.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) object: Value,
    pub(crate) to: String,
}

#[derive(Debug)]
struct Known {
    asked: Asked,
    result: Result<Value, ConversionError>,
}

impl Conversions {
    /// An object in the version `to`.
    ///
    /// # Errors
    /// What the webhook said; or that it has to be asked first.
    pub(super) fn convert(&self, object: &Value, to: &str) -> Result<Value, ConversionError> {
        let mut state = self.0.lock();
        let known = state
            .known
            .iter()
            .find(|known| known.asked.to == to && known.asked.object == *object);
        if let Some(known) = known {
            return known.result.clone();
        }
        state.asked = Some(Asked {
            object: object.clone(),
            to: to.to_owned(),
        });
        Err(ConversionError {
            message: format!("the object has to be converted to {to} first"),
        })
    }

    /// What was asked for last and is not known.
    pub(crate) fn take_asked(&self) -> Option<Asked> {
        self.0.lock().asked.take()
    }

    /// Notes the answer.
    pub(crate) fn answer(&self, asked: Asked, result: Result<Value, String>) {
        let result = result.map_err(|message| ConversionError { message });
        self.0.lock().known.push(Known { asked, result });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_for_is_known_after_it_was_answered() {
        let conversions = Conversions::default();
        let object = json!({"apiVersion": "a.io/v1"});
        for (to, answer) in [("a.io/v2", Ok(json!(2))), ("a.io/v3", Err("no".to_owned()))] {
            assert!(conversions.convert(&object, to).is_err());
            let asked = conversions.take_asked().unwrap();
            assert_eq!((&asked.object, asked.to.as_str()), (&object, to));
            conversions.answer(asked, answer.clone());
            let found = conversions.convert(&object, to).map_err(|error| error.message);
            assert_eq!(found, answer);
            assert_eq!(conversions.take_asked(), None);
        }
        assert!(conversions.convert(&json!({}), "a.io/v2").is_err());
        assert!(conversions.take_asked().is_some());
    }
}
