//! What one scrape shows: gathered from several places, written at once.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric as _, MetricEncoder, NoLabelSet, prometheus_text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// A metric: its name on the wire, what it means, and what becomes of several values for one series.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Values are added up. The name ends in `_total`.
    Counter,
    /// Values are added up.
    Sum,
    /// A gauge of which the largest value counts.
    Largest,
    /// A gauge of which the smallest value counts.
    Smallest,
    Histogram,
}

/// Names of labels with their values.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// Metrics in the order of their names, series in the order of their labels. No series comes twice: Prometheus would refuse
/// the whole text.
#[derive(Debug, Default)]
pub(crate) struct Page(BTreeMap<&'static str, Family>);

#[derive(Debug)]
struct Family {
    metric: &'static Metric,
    numbers: BTreeMap<Labels, f64>,
    histograms: BTreeMap<Labels, Histogram>,
}

impl Page {
    /// A number of a counter or a gauge.
    pub(crate) fn number(&mut self, metric: &'static Metric, labels: Labels, value: f64) {
        let numbers = &mut self.family(metric).numbers;
        numbers
            .entry(labels)
            .and_modify(|there| {
                *there = match metric.kind {
                    Kind::Largest => there.max(value),
                    Kind::Smallest => there.min(value),
                    _ => *there + value,
                }
            })
            .or_insert(value);
    }

    /// As [`number`](Self::number), of something that is counted.
    #[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
    pub(crate) fn count(&mut self, metric: &'static Metric, labels: Labels, value: u64) {
        self.number(metric, labels, value as f64);
    }

    /// A histogram, as it is when the page is written.
    pub(crate) fn histogram(&mut self, metric: &'static Metric, labels: Labels, histogram: &Histogram) {
        self.family(metric).histograms.insert(labels, histogram.clone());
    }

    fn family(&mut self, metric: &'static Metric) -> &mut Family {
        self.0.entry(metric.name).or_insert_with(|| Family {
            metric,
            numbers: BTreeMap::new(),
            histograms: BTreeMap::new(),
        })
    }

    /// The text.
    pub(crate) fn encode(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        if let Err(error) = prometheus_text::encode(&mut text, &registry) {
            // Writing to a string does not fail; a half of the numbers would look like the whole.
            tracing::error!(%error, "metrics cannot be written");
            text.clear();
        }
        text
    }
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in self.0.values() {
            let Metric { name, help, kind } = *family.metric;
            // The format adds the suffix of counters by itself.
            let (name, of_type) = match kind {
                Kind::Counter => (name.strip_suffix("_total").unwrap_or(name), MetricType::Counter),
                Kind::Sum | Kind::Largest | Kind::Smallest => (name, MetricType::Gauge),
                Kind::Histogram => (name, MetricType::Histogram),
            };
            let mut encoder = encoder.encode_descriptor(name, help, None, of_type)?;
            for (labels, value) in &family.numbers {
                write(encoder.encode_family(labels)?, of_type, *value)?;
            }
            for (labels, histogram) in &family.histograms {
                histogram.encode(encoder.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

/// Whole numbers are written without a fraction, as Go writes them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range was looked at"
)]
fn write(mut encoder: MetricEncoder<'_>, of_type: MetricType, value: f64) -> fmt::Result {
    let whole = (value.fract() == 0.0 && (0.0..EXACT).contains(&value)).then_some(value as i64);
    match (of_type, whole) {
        (MetricType::Counter, Some(whole)) => {
            encoder.encode_counter::<NoLabelSet, _, f64>(&(whole as u64), None)
        }
        (MetricType::Counter, None) => encoder.encode_counter::<NoLabelSet, _, f64>(&value, None),
        (_, Some(whole)) => encoder.encode_gauge(&whole),
        (_, None) => encoder.encode_gauge(&value),
    }
}

/// Whole numbers below are exact: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;
