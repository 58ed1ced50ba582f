//! Builds the fuzz targets on the stable compiler and runs each for a while.

use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::root;

/// The targets, by name (`fuzz/targets`).
const TARGETS: [&str; 8] = [
    "apply",
    "decode",
    "field_sets",
    "lists",
    "patches",
    "protobuf",
    "requests",
    "schemas",
];

/// How long each runs unless told otherwise, in seconds.
const SECONDS: u32 = 60;

/// What `cargo fuzz` tells the compiler too: libFuzzer learns which branches an input takes. Without a sanitizer, since there is
/// no unsafe code here to look into.
const FLAGS: &str = "--cfg fuzzing -Clink-dead-code -Ccodegen-units=1 -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// `cargo xtask fuzz [SECONDS [TARGET]]`: what was found stays in `target/fuzz/found`, what was learned in `target/fuzz/corpus`. With 0
/// seconds the seeds and what was learned are run once each, which takes as long every time.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds = match arguments.first() {
        Some(text) => text.parse().context("SECONDS is a number")?,
        None => SECONDS,
    };
    let targets: Vec<&str> = match arguments.get(1) {
        None => TARGETS.to_vec(),
        Some(name) => match TARGETS.iter().find(|target| *target == name) {
            Some(target) => vec![*target],
            None => bail!("there is no target {name}; there are {}", TARGETS.join(", ")),
        },
    };
    let root = root().canonicalize()?;
    let build = root.join("target/fuzz");
    // An explicit target keeps the flags from build scripts and macros.
    let host = host()?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(root.join("fuzz"))
        .args([
            "build",
            "--release",
            "--locked",
            "--target",
            &host,
            "--target-dir",
        ])
        .arg(&build)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", FLAGS);
    ensure!(cargo.status()?.success(), "the fuzz targets do not build");
    for target in targets {
        let (corpus, found) = (
            build.join("corpus").join(target),
            build.join("found").join(target),
        );
        std::fs::create_dir_all(&corpus)?;
        std::fs::create_dir_all(&found)?;
        let extent = match seconds {
            0 => "-runs=0".to_owned(),
            seconds => format!("-max_total_time={seconds}"),
        };
        let status = Command::new(build.join(&host).join("release").join(target))
            .arg(&corpus)
            .arg(root.join("fuzz/seeds").join(target))
            .args([
                &*extent,
                "-max_len=8192",
                "-timeout=10",
                "-rss_limit_mb=2048",
                "-print_final_stats=1",
                "-verbosity=0",
            ])
            .arg(format!("-artifact_prefix={}/", found.display()))
            .status()?;
        ensure!(
            status.success(),
            "{target} failed; the input that shows it is in {}",
            found.display()
        );
        println!("{target}: nothing found");
    }
    Ok(())
}

/// The name of the platform that this compiler builds for.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("rustc names its host")?.to_owned())
}
