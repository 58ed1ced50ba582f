//! What the server offers.
