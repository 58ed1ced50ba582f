//! The two forms of time in Kubernetes: whole seconds (`metav1.Time`) and microseconds (`metav1.MicroTime`).

use jiff::{SignedDuration, Timestamp};

/// How precise a time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    Seconds,
    Micros,
}

/// Reads RFC 3339 into seconds and nanoseconds, cut to the precision.
pub(super) fn parse(text: &str, precision: Precision) -> Option<(i64, i32)> {
    let time: Timestamp = text.parse().ok()?;
    // Times before 1970 count their fraction upwards from the second below, as protobuf wants it.
    let nanos = time.as_nanosecond();
    let seconds = i64::try_from(nanos.div_euclid(NANOS_PER_SECOND)).ok()?;
    let rest = i32::try_from(nanos.rem_euclid(NANOS_PER_SECOND)).ok()?;
    Some(match precision {
        Precision::Seconds => (seconds, 0),
        Precision::Micros => (seconds, rest - rest % 1000),
    })
}

/// Writes RFC 3339 in UTC. `None` for a time outside of the years -9999 to 9999.
pub(super) fn format(seconds: i64, nanos: i32, precision: Precision) -> Option<String> {
    let since_epoch = match precision {
        Precision::Seconds => SignedDuration::from_secs(seconds),
        Precision::Micros => {
            SignedDuration::from_secs(seconds).checked_add(SignedDuration::from_nanos(nanos.into()))?
        }
    };
    let time = Timestamp::from_duration(since_epoch).ok()?;
    Some(match precision {
        Precision::Seconds => format!("{time:.0}"),
        Precision::Micros => format!("{time:.6}"),
    })
}

const NANOS_PER_SECOND: i128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, precision: Precision, wire: (i64, i32), back: &str) {
        assert_eq!(parse(text, precision), Some(wire), "{text}");
        assert_eq!(format(wire.0, wire.1, precision).as_deref(), Some(back), "{text}");
    }

    #[test]
    fn times_are_cut_to_their_precision_and_written_in_utc() {
        check(
            "2008-01-01T01:01:01Z",
            Precision::Seconds,
            (1_199_149_261, 0),
            "2008-01-01T01:01:01Z",
        );
        check(
            "2008-01-01T02:01:01.9+01:00",
            Precision::Seconds,
            (1_199_149_261, 0),
            "2008-01-01T01:01:01Z",
        );
        check(
            "1970-01-01T00:00:00.1234567Z",
            Precision::Micros,
            (0, 123_456_000),
            "1970-01-01T00:00:00.123456Z",
        );
        check(
            "1970-01-01T00:00:00Z",
            Precision::Micros,
            (0, 0),
            "1970-01-01T00:00:00.000000Z",
        );
        check(
            "1969-12-31T23:59:59.5Z",
            Precision::Micros,
            (-1, 500_000_000),
            "1969-12-31T23:59:59.500000Z",
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        assert_eq!(parse("yesterday", Precision::Seconds), None);
        assert_eq!(format(i64::MAX, 0, Precision::Seconds), None);
        assert_eq!(format(i64::MIN, i32::MIN, Precision::Micros), None);
    }
}
