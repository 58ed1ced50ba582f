//! What is kept on disk, and what becomes of files that are not as they should be.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::*;

fn cache(folder: &Path) -> DiskCache {
    DiskCache::new(folder, "https://127.0.0.1:6443").unwrap()
}

fn counted(count: &AtomicUsize) -> usize {
    count.swap(0, Ordering::Relaxed)
}

/// Asks once, as a new process.
async fn ask(client: &Client, folder: &Path) -> PartialDiscovery {
    let cache = CachedDiscovery::on_disk(client, cache(folder));
    cache.discover().await.unwrap().as_ref().clone()
}

#[test]
fn folders_are_named_as_by_kubectl() {
    let rows = [
        ("https://127.0.0.1:6443", Some("127.0.0.1_6443")),
        ("http://localhost", Some("localhost")),
        ("https://[::1]:443/", Some("___1__443")),
        (
            "https://proxy:1/k8s//clusters/c-m/./x",
            Some("proxy_1/k8s/clusters/c_m/x"),
        ),
        ("127.0.0.1:8080", Some("127.0.0.1_8080")),
        ("https://HOST_(1)ä", Some("HOST_(1)_")),
        ("https://a/b/../c", Some("a/c")),
        ("https://a/../..", None),
        ("https://..", None),
        ("", None),
    ];
    for (server, expect) in rows {
        let folder = DiskCache::new("/c", server);
        let found = folder
            .as_ref()
            .map(|cache| cache.folder().strip_prefix("/c/discovery").unwrap());
        assert_eq!(found, expect.map(Path::new), "{server}");
    }
}

#[tokio::test]
async fn what_one_process_found_the_next_one_reads() {
    let folder = tempfile::tempdir().unwrap();
    let (client, count) = server(&aggregated());
    let (live, _) = ask(&client, folder.path()).await.into_parts();
    assert_eq!(counted(&count), 2);
    let (read, failures) = ask(&client, folder.path()).await.into_parts();
    assert_eq!((counted(&count), failures.len()), (0, 0));
    assert_eq!(read, live);

    let root = cache(folder.path()).folder().to_owned();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&root), 0o750 & !umask());
    assert_eq!(mode(&root.join("servergroups.json")), 0o660);
    assert_eq!(mode(&root.join("apps/v1/serverresources.json")), 0o660);
    let names: Vec<_> = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

/// What new folders lack; the one of the test was made with it too.
fn umask() -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    fs::create_dir(&path).unwrap();
    !fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn files_that_are_not_as_they_should_be_are_asked_for() {
    let groups = "servergroups.json";
    let apps = "apps/v1/serverresources.json";
    let list = r#"{"kind":"APIResourceList","apiVersion":"v1","resources":[]}"#;
    // The file, what it is overwritten with (gone if `None`), and how many requests follow.
    let rows = [
        (groups, None, 2),
        (groups, Some(""), 2),
        (
            groups,
            Some(r#"{"kind":"APIGroupList","apiVersion":"v1","groups":["#),
            2,
        ),
        (
            groups,
            Some(r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#),
            2,
        ),
        (
            groups,
            Some(r#"{"kind":"APIGroupList","apiVersion":"v2","groups":[{"name":""}]}"#),
            2,
        ),
        (groups, Some(list), 2),
        (apps, None, 1),
        (apps, Some("{"), 1),
        (apps, Some("null"), 1),
        (
            apps,
            Some(r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#),
            1,
        ),
        (apps, Some(list), 0),
        (
            apps,
            Some(r#"{"kind":"APIResourceList","apiVersion":"v1","resources":null}"#),
            0,
        ),
    ];
    let answers = aggregated();
    let body = json!({ "resources": [{ "name": "deployments", "kind": "Deployment", "namespaced": true }] });
    let answer = (200, "application/json", body.to_string());
    answers.lock().unwrap().insert("/apis/apps/v1", answer);
    let (client, count) = server(&answers);
    for (file, text, expect) in rows {
        let folder = tempfile::tempdir().unwrap();
        drop(ask(&client, folder.path()).await);
        counted(&count);
        let path = cache(folder.path()).folder().join(file);
        match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let (discovery, failures) = ask(&client, folder.path()).await.into_parts();
        assert_eq!(counted(&count), expect, "{file} {text:?}");
        let names: Vec<&str> = discovery.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["", "apps", "events.k8s.io"], "{file} {text:?}");
        assert!(failures.iter().all(|failure| failure.error.is_none()));
        // What was asked for is kept.
        drop(ask(&client, folder.path()).await);
        assert_eq!(counted(&count), 0, "{file} {text:?}");
    }
}

#[tokio::test]
async fn files_are_believed_for_six_hours() {
    let folder = tempfile::tempdir().unwrap();
    let (client, count) = server(&aggregated());
    drop(ask(&client, folder.path()).await);
    counted(&count);
    let groups = cache(folder.path()).folder().join("servergroups.json");
    let minute = Duration::from_secs(60);
    for (age, expect) in [
        (DISK_CACHE_TTL - minute, 0),
        (DISK_CACHE_TTL + minute, 2),
        (Duration::ZERO, 0),
    ] {
        let file = fs::File::options().write(true).open(&groups).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        drop(ask(&client, folder.path()).await);
        assert_eq!(counted(&count), expect, "{age:?}");
    }
    let short = cache(folder.path()).with_ttl(Duration::ZERO);
    let cache = CachedDiscovery::on_disk(&client, short);
    drop(cache.discover().await.unwrap());
    assert_eq!(counted(&count), 2);
}

#[tokio::test]
async fn a_miss_in_files_asks_the_server_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let answers = aggregated();
    let (client, count) = server(&answers);
    drop(ask(&client, folder.path()).await);
    counted(&count);
    let list = json!({ "items": [{ "metadata": { "name": "example.com" }, "versions": [
        { "version": "v1", "resources": [resource("widgets", "Widget", "Namespaced", &["wd"])] },
    ] }] });
    answers
        .lock()
        .unwrap()
        .insert("/apis", (200, AGGREGATED, list.to_string()));
    let mapper = RestMapper::of(
        CachedDiscovery::on_disk(&client, cache(folder.path())),
        MapperOptions::default(),
    );
    assert_eq!(mapper.find("po").await.unwrap().resource.kind, "Pod");
    assert_eq!(counted(&count), 0);
    assert_eq!(mapper.find("wd").await.unwrap().resource.kind, "Widget");
    assert_eq!(counted(&count), 2);
    // The next process reads what was found.
    let (discovery, _) = ask(&client, folder.path()).await.into_parts();
    assert!(discovery.find("widgets").is_ok() && discovery.find("deployments").is_err());
    // What was forgotten on purpose is not taken from files.
    mapper.invalidate();
    assert!(mapper.find("wd").await.is_ok());
    assert_eq!(counted(&count), 2);
}

/// The first question of a process, too: what files lack is no miss before the server has said so.
#[tokio::test]
async fn a_first_question_that_files_do_not_answer_goes_to_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let answers = aggregated();
    let (client, count) = server(&answers);
    let new_process = || CachedDiscovery::on_disk(&client, cache(folder.path()));
    drop(ask(&client, folder.path()).await);
    let list = |version: &str| {
        let resources = [resource("widgets", "Widget", "Namespaced", &["wd"])];
        let versions = [json!({ "version": version, "resources": resources })];
        json!({ "items": [{ "metadata": { "name": "example.com" }, "versions": versions }] }).to_string()
    };
    let is_now = |version: &str| {
        counted(&count);
        answers
            .lock()
            .unwrap()
            .insert("/apis", (200, AGGREGATED, list(version)));
        GroupVersion::new("example.com", version)
    };

    is_now("v1");
    let mapper = RestMapper::of(new_process(), MapperOptions::default());
    assert_eq!(mapper.find("wd").await.unwrap().resource.kind, "Widget");
    assert_eq!(counted(&count), 2);

    let v2 = is_now("v2");
    let discovery = new_process();
    assert_eq!(discovery.version(&v2).await.unwrap().resources.len(), 1);
    assert_eq!(counted(&count), 2);
    // What the server itself did not list is not asked for again.
    let v3 = is_now("v3");
    assert!(discovery.version(&v3).await.unwrap_err().is_no_match());
    assert_eq!(counted(&count), 0);
}

/// One of two that begin at once reads the files, and the other is told by it: both ask the server for what they miss.
#[tokio::test(start_paused = true)]
async fn what_another_clone_read_is_no_answer_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let (client, count) = server(&aggregated());
    drop(ask(&client, folder.path()).await);
    counted(&count);
    let discovery = CachedDiscovery::on_disk(&client, cache(folder.path()));
    let mapper = || RestMapper::of(discovery.clone(), MapperOptions::default());
    let (one, two) = (mapper(), mapper());
    let (one, two) = tokio::join!(one.find("wd"), two.find("wd"));
    assert!(one.unwrap_err().is_no_match() && two.unwrap_err().is_no_match());
    assert_eq!(counted(&count), 2, "one question for both");
}

#[tokio::test]
async fn a_list_with_holes_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (client, _) = server(&legacy());
    drop(ask(&client, folder.path()).await);
    let root = cache(folder.path()).folder().to_owned();
    assert!(!root.join("servergroups.json").exists());
    assert!(root.join("v1/serverresources.json").exists());
    assert!(!root.join("metrics.k8s.io").exists());
}

#[tokio::test]
async fn names_from_the_server_stay_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let version = |group: &str, version: &str| {
        json!({ "metadata": { "name": group }, "versions": [
            { "version": version, "resources": [resource("evils", "Evil", "Cluster", &[])] },
        ] })
    };
    let list = json!({ "items": [
        version("../../..", "v1"), version("..", ".."), version("a/b", "v1"), version("a", "../v1"), version("a", "."),
    ] });
    let answers = aggregated();
    answers
        .lock()
        .unwrap()
        .insert("/apis", (200, AGGREGATED, list.to_string()));
    let (client, _) = server(&answers);
    drop(ask(&client, folder.path()).await);
    let mut found = Vec::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    let root = cache(folder.path()).folder().to_owned();
    found.sort();
    assert_eq!(
        found,
        [
            root.join("servergroups.json"),
            root.join("v1/serverresources.json")
        ]
    );
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let (client, count) = server(&aggregated());
    for _ in 0..2 {
        drop(ask(&client, &file).await);
        assert_eq!(counted(&count), 2);
    }
}
