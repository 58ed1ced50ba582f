//! `timeout=30s` in a query: how long the client gives a request, which is not what a watch is given by `timeoutSeconds`.
//!
//! apiserver pkg/endpoints/filters/request_deadline.go; kubectl sends it for `--request-timeout`.

use std::time::Duration;

use kubewright_core::{Status, query};

use crate::error::ApiResult;

/// How long a request may take: what the query says, where that is less than `most`. 0 says nothing.
///
/// # Errors
/// 400 for what is no duration in Go's syntax.
pub(crate) fn time_limit(query: &str, most: Duration) -> ApiResult<Duration> {
    let Some(text) = query::first(query, "timeout").filter(|text| !text.is_empty()) else {
        return Ok(most);
    };
    match parse(&text) {
        Ok(seconds) if seconds > 0.0 => {
            Ok(Duration::try_from_secs_f64(seconds).map_or(most, |asked| asked.min(most)))
        }
        Ok(_) => Ok(most),
        Err(why) => {
            let message = format!("invalid timeout specified in the request URL - time: {why}");
            Err(Status::bad_request(message).into())
        }
    }
}

/// Seconds, as Go's `time.ParseDuration` reads them: `1h15m30.5s`, `-1.5h`, `300ms`.
fn parse(text: &str) -> Result<f64, String> {
    let invalid = || format!("invalid duration {text:?}");
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(0.0);
    }
    if unsigned.is_empty() {
        return Err(invalid());
    }
    let mut seconds = 0.0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let (number, more) = rest.split_at(rest.find(|c| !is_number(c)).unwrap_or(rest.len()));
        // `.5` and `5.` are numbers in both languages, a point alone is in neither.
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let (unit, more) = more.split_at(more.find(is_number).unwrap_or(more.len()));
        let scale = match unit {
            "" => return Err(format!("missing unit in duration {text:?}")),
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(format!("unknown unit {unit:?} in duration {text:?}")),
        };
        seconds += number * scale;
        rest = more;
    }
    // Go counts nanoseconds in an integer of 64 bits.
    if seconds > MOST_SECONDS {
        return Err(invalid());
    }
    Ok(if text.starts_with('-') { -seconds } else { seconds })
}

const MOST_SECONDS: f64 = 9_223_372_036.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_may_give_a_request_less_time() {
        let minute = Duration::from_secs(60);
        for (query, expect) in [
            ("", Ok(60_000)),
            ("timeoutSeconds=5", Ok(60_000)),
            ("timeout=", Ok(60_000)),
            ("timeout=0", Ok(60_000)),
            ("timeout=0s", Ok(60_000)),
            ("timeout=-5s", Ok(60_000)),
            ("timeout=5s", Ok(5_000)),
            ("timeout=5s&timeout=6s", Ok(5_000)),
            ("timeout=%2B1.5s", Ok(1_500)),
            ("timeout=.5s", Ok(500)),
            ("timeout=300ms", Ok(300)),
            ("timeout=1s200ms", Ok(1_200)),
            ("timeout=1h15m30.5s", Ok(60_000)),
            ("timeout=30", Err("missing unit in duration \"30\"")),
            ("timeout=abc", Err("invalid duration \"abc\"")),
            ("timeout=-", Err("invalid duration \"-\"")),
            ("timeout=.s", Err("invalid duration \".s\"")),
            ("timeout=1d", Err("unknown unit \"d\" in duration \"1d\"")),
            ("timeout=9999999h", Err("invalid duration \"9999999h\"")),
        ] {
            let found = time_limit(query, minute);
            let found = found.as_ref().map(Duration::as_millis).map_err(|error| {
                let status = error.status();
                assert_eq!(status.code, 400, "{query}");
                status
                    .message
                    .strip_prefix("invalid timeout specified in the request URL - time: ")
                    .unwrap()
            });
            assert_eq!(found, expect, "{query}");
        }
    }
}
