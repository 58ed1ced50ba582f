//! How long the first use of the table takes: `cargo bench -p kubewright-kinds`.
//!
//! The table loads once in a process, so this program measures one load and starts itself again for more samples.

use std::process::Command;
use std::time::Instant;

const CHILD: &str = "KUBEWRIGHT_BENCH_CHILD";
const SAMPLES: usize = 20;

fn main() {
    if std::env::var_os(CHILD).is_some() {
        let start = Instant::now();
        let types = kubewright_kinds::table().types().len();
        let micros = start.elapsed().as_micros();
        assert!(types > 0);
        write(&micros.to_string());
        return;
    }
    let mut samples: Vec<u64> = (0..SAMPLES).filter_map(|_| sample()).collect();
    samples.sort_unstable();
    let (Some(best), Some(worst)) = (samples.first(), samples.last()) else {
        return;
    };
    write(&format!(
        "table load: best {best} us, median {} us, worst {worst} us",
        samples[samples.len() / 2]
    ));
}

fn sample() -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).env(CHILD, "1").output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

#[expect(clippy::print_stdout, reason = "a measurement is there to be printed")]
fn write(line: &str) {
    println!("{line}");
}
