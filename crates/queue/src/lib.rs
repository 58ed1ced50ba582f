//! The work queue of a controller: deduplication, delays, rate limits and priorities.
