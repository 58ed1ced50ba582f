//! Copies, by a node that runs the commands it is given on this machine.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use kubewright_client::{Api, CopyError, CopyOptions, SkipReason};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::node::{CLOSE, STDERR, STDIN, STDOUT, SUCCESS, Socket, V4, V5, exit, pods_on};

/// Runs the command of a URI.
async fn run(uri: String, mut socket: Socket) {
    let query = uri.split_once('?').unwrap().1;
    let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let words: Vec<&String> = pairs
        .iter()
        .filter(|(name, _)| name == "command")
        .map(|(_, word)| word)
        .collect();
    let has_stdin = pairs.iter().any(|(name, _)| name == "stdin");
    let child = Command::new(words[0])
        .args(&words[1..])
        .stdin(if has_stdin { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let Ok(mut child) = child else {
        let status =
            r#"{"status":"Failure","message":"no such executable","reason":"InternalError","code":500}"#;
        return socket.end(status).await;
    };
    let (mut stdin, mut stdout, mut stderr) = (
        child.stdin.take(),
        child.stdout.take().unwrap(),
        child.stderr.take().unwrap(),
    );
    let (mut out, mut err) = (vec![0; 30_000], vec![0; 30_000]);
    let (mut is_out, mut is_err) = (true, true);
    while is_out || is_err {
        tokio::select! {
            length = stdout.read(&mut out), if is_out => match length.unwrap() {
                0 => is_out = false,
                length => socket.send(STDOUT, &out[..length]).await,
            },
            length = stderr.read(&mut err), if is_err => match length.unwrap() {
                0 => is_err = false,
                length => socket.send(STDERR, &err[..length]).await,
            },
            message = socket.receive() => {
                let message: Bytes = match message {
                    Some(message) => message,
                    None => return,
                };
                match message.as_ref() {
                    [CLOSE, STDIN] => stdin = None,
                    [STDIN, bytes @ ..] => {
                        if let Some(pipe) = &mut stdin && pipe.write_all(bytes).await.is_err() {
                            stdin = None;
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    let status = match child.wait().await.unwrap().code() {
        Some(0) => SUCCESS.to_owned(),
        code => exit(code.unwrap_or(137)),
    };
    socket.end(status).await;
}

fn machine(protocol: &'static str) -> Api<Pod> {
    pods_on(protocol, run)
}

/// All that is below a folder.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            let is = if path.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if path.is_dir() {
                folders.push(path);
                continue;
            } else {
                let content = fs::read(&path).unwrap();
                let sum = content.iter().fold(0_u64, |sum, byte| {
                    sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
                });
                format!("{} {sum}", content.len())
            };
            found.insert(name, is);
        }
    }
    found
}

fn fill(folder: &Path) {
    fs::create_dir_all(folder.join("deep/er/and er")).unwrap();
    let content: Vec<u8> = (0..400_000_u32).map(|number| ((number * 7) >> 3) as u8).collect();
    fs::write(folder.join("deep/er/and er/large"), content).unwrap();
    fs::write(folder.join("grüß"), "short").unwrap();
    fs::write(folder.join("x".repeat(200)), "long name").unwrap();
    fs::write(folder.join("none"), "").unwrap();
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn folders_there_and_back() {
    for protocol in [V5, V4] {
        let pods = machine(protocol);
        let home = tempfile::tempdir().unwrap();
        let (source, inside) = (home.path().join("source"), home.path().join("inside"));
        fill(&source);
        std::os::unix::fs::symlink("none", source.join("link")).unwrap();
        fs::create_dir(&inside).unwrap();
        let options = CopyOptions::default();
        let other = home.path().join("other");
        // Into a folder that exists, and by another name. Where a `tar` is waited for, one will do.
        let targets = [
            (path(&inside), inside.join("source")),
            (path(&other), other.clone()),
        ];
        for (remote, lies) in targets.iter().take(if protocol == V5 { 2 } else { 1 }) {
            match pods.copy_to("web", &source, remote, &options).await {
                // GNU's tar waits for an end that the server cannot tell it of. It has everything all the same.
                Err(CopyError::Unfinished) if protocol == V4 => {}
                sent => {
                    let report = sent.unwrap();
                    assert_eq!((report.files, report.skipped.len()), (5, 0));
                }
            }
            assert_eq!(tree(lies), tree(&source), "{protocol}");
        }
        let back = home.path().join("back");
        let report = pods
            .copy_from("web", path(&source), &back, &options)
            .await
            .unwrap();
        assert_eq!(report.files, 4);
        assert_eq!(
            report
                .skipped
                .iter()
                .map(|entry| entry.reason)
                .collect::<Vec<_>>(),
            [SkipReason::Link]
        );
        let mut expect = tree(&source);
        expect.remove("link");
        assert_eq!(tree(&back), expect);
    }
}

#[tokio::test]
async fn single_files() {
    let pods = machine(V5);
    let home = tempfile::tempdir().unwrap();
    let (here, there) = (home.path().join("here"), home.path().join("there"));
    fs::write(&here, "content").unwrap();
    let options = CopyOptions::default();
    pods.copy_to("web", &here, path(&there), &options).await.unwrap();
    assert_eq!(fs::read_to_string(&there).unwrap(), "content");
    let back = home.path().join("new/folder/back");
    let report = pods
        .copy_from("web", path(&there), &back, &options)
        .await
        .unwrap();
    assert_eq!((report.files, report.bytes), (1, 7));
    assert_eq!(fs::read_to_string(&back).unwrap(), "content");
}

#[tokio::test]
async fn what_goes_wrong() {
    let pods = machine(V5);
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("source");
    fill(&source);
    let options = CopyOptions::default();
    let missing = pods
        .copy_from("web", "/no/such/file", home.path().join("x"), &options)
        .await;
    match missing.unwrap_err() {
        CopyError::Command { code, text, .. } => {
            assert!(code != 0 && text.contains("/no/such/file"), "{text}")
        }
        other => panic!("{other}"),
    }
    let nowhere = pods.copy_to("web", &source, "/no/such/folder/x", &options).await;
    assert!(matches!(nowhere.unwrap_err(), CopyError::Command { .. }));
    let local = pods
        .copy_to("web", home.path().join("none"), "/tmp/x", &options)
        .await;
    assert!(matches!(local.unwrap_err(), CopyError::Local { .. }));
    let little = CopyOptions {
        max_bytes: 1000,
        ..CopyOptions::default()
    };
    let larger = pods
        .copy_from("web", path(&source), home.path().join("y"), &little)
        .await;
    assert!(matches!(larger.unwrap_err(), CopyError::TooLarge { limit: 1000 }));
    // What comes has no end, and nobody waits for it.
    let endless = pods_on(V5, |_, mut socket: Socket| async move {
        let mut header = tar::Header::new_gnu();
        header.set_path("etc").unwrap();
        header.set_size(1 << 40);
        header.set_cksum();
        socket.send(STDOUT, header.as_bytes().to_vec()).await;
        socket.send(STDOUT, vec![0; 4096]).await;
        std::future::pending::<()>().await;
    });
    let endless = endless
        .copy_from("web", "/etc", home.path().join("e"), &little)
        .await;
    assert!(matches!(
        endless.unwrap_err(),
        CopyError::TooLarge { limit: 1000 }
    ));
    // A container without the program.
    let bare = pods_on(V5, |_, socket: Socket| async move {
        let status = r#"{"status":"Failure","message":"exec: \"tar\": executable file not found in $PATH","reason":"InternalError","code":500}"#;
        socket.end(status).await;
    });
    let error = bare
        .copy_from("web", "/etc", home.path().join("z"), &options)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, CopyError::Client(_)) && error.to_string().contains("executable file not found"),
        "{error}"
    );
    // An archive that is cut off.
    let cut = pods_on(V5, |_, mut socket: Socket| async move {
        socket.send(STDOUT, vec![0; 100]).await;
    });
    let error = cut
        .copy_from("web", "/etc", home.path().join("z"), &options)
        .await
        .unwrap_err();
    assert!(matches!(error, CopyError::Client(_)), "{error}");
}
