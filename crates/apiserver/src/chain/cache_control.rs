//! Clients must not keep answers that another identity might be refused (apiserver pkg/server/filters/cache_control.go).

use http::header::CACHE_CONTROL;
use http::{HeaderValue, Response};

/// Says so, unless the answer says otherwise.
pub(super) fn write<B>(response: &mut Response<B>) {
    let nobody = HeaderValue::from_static("no-cache, private");
    response.headers_mut().entry(CACHE_CONTROL).or_insert(nobody);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_says_itself_stays() {
        let mut response = Response::new(());
        write(&mut response);
        assert_eq!(response.headers()[CACHE_CONTROL], "no-cache, private");
        let public = HeaderValue::from_static("public");
        response.headers_mut().insert(CACHE_CONTROL, public);
        write(&mut response);
        assert_eq!(response.headers()[CACHE_CONTROL], "public");
    }
}
