//! Code generation and checks that cargo cannot do.

mod codegen;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask codegen ...";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((command, rest)) if command == "codegen" => codegen::run(rest),
        _ => bail!("{USAGE}"),
    }
}
