//! What is counted of requests.

use std::collections::BTreeMap;
use std::time::Duration;

use kubewright_client::{RestMetrics, metric_names as names};
use prometheus_client::metrics::histogram::Histogram;

use super::Metrics;
use super::page::{Kind, Labels, Metric, Page};

/// The numbers of clients. There are as many series as servers, methods and codes of answers.
#[derive(Debug, Default)]
pub(super) struct RestFigures {
    requests: BTreeMap<Labels, u64>,
    retries: BTreeMap<Labels, u64>,
    durations: BTreeMap<Labels, Histogram>,
    request_sizes: BTreeMap<Labels, Histogram>,
    response_sizes: BTreeMap<Labels, Histogram>,
    rate_limiter: BTreeMap<Labels, Histogram>,
}

impl RestFigures {
    pub(super) fn read(&self, page: &mut Page) {
        for (metric, counts) in [(&REQUESTS, &self.requests), (&RETRIES, &self.retries)] {
            for (labels, count) in counts {
                page.count(metric, labels.clone(), *count);
            }
        }
        for (metric, histograms) in [
            (&DURATION, &self.durations),
            (&REQUEST_SIZE, &self.request_sizes),
            (&RESPONSE_SIZE, &self.response_sizes),
            (&RATE_LIMITER, &self.rate_limiter),
        ] {
            for (labels, histogram) in histograms {
                page.histogram(metric, labels.clone(), histogram);
            }
        }
    }
}

impl RestMetrics for Metrics {
    fn count_request(&self, code: &str, method: &str, host: &str) {
        let labels = vec![
            ("code", code.to_owned()),
            ("method", method.to_owned()),
            ("host", host.to_owned()),
        ];
        *self.0.rest.lock().requests.entry(labels).or_default() += 1;
    }

    fn count_retry(&self, code: &str, verb: &str, host: &str) {
        let mut labels = vec![("code", code.to_owned())];
        labels.extend(of(verb, host));
        *self.0.rest.lock().retries.entry(labels).or_default() += 1;
    }

    fn observe_duration(&self, verb: &str, host: &str, duration: Duration) {
        let figures = &mut self.0.rest.lock().durations;
        seconds(figures, verb, host, duration);
    }

    fn observe_request_size(&self, verb: &str, host: &str, bytes: u64) {
        let figures = &mut self.0.rest.lock().request_sizes;
        size(figures, verb, host, bytes);
    }

    fn observe_response_size(&self, verb: &str, host: &str, bytes: u64) {
        let figures = &mut self.0.rest.lock().response_sizes;
        size(figures, verb, host, bytes);
    }

    fn observe_rate_limiter(&self, verb: &str, host: &str, wait: Duration) {
        let figures = &mut self.0.rest.lock().rate_limiter;
        seconds(figures, verb, host, wait);
    }
}

fn of(verb: &str, host: &str) -> Labels {
    vec![("verb", verb.to_owned()), ("host", host.to_owned())]
}

fn seconds(histograms: &mut BTreeMap<Labels, Histogram>, verb: &str, host: &str, time: Duration) {
    histograms
        .entry(of(verb, host))
        .or_insert_with(|| Histogram::new(names::SECONDS))
        .observe(time.as_secs_f64());
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
fn size(histograms: &mut BTreeMap<Labels, Histogram>, verb: &str, host: &str, bytes: u64) {
    histograms
        .entry(of(verb, host))
        .or_insert_with(|| Histogram::new(names::BYTES))
        .observe(bytes as f64);
}

const REQUESTS: Metric = Metric {
    name: names::REQUESTS,
    help: "Requests, each try for itself; without an answer the code is <error>",
    kind: Kind::Counter,
};
const RETRIES: Metric = Metric {
    name: names::RETRIES,
    help: "Tries of requests but the first",
    kind: Kind::Counter,
};
const DURATION: Metric = Metric {
    name: names::DURATION,
    help: "Time until the head of the answer came or the request was given up",
    kind: Kind::Histogram,
};
const REQUEST_SIZE: Metric = Metric {
    name: names::REQUEST_SIZE,
    help: "Size of the bodies of requests",
    kind: Kind::Histogram,
};
const RESPONSE_SIZE: Metric = Metric {
    name: names::RESPONSE_SIZE,
    help: "Size of the bodies of answers, watches aside",
    kind: Kind::Histogram,
};
const RATE_LIMITER: Metric = Metric {
    name: names::RATE_LIMITER,
    help: "Time that requests waited for the client's own rate limit",
    kind: Kind::Histogram,
};
