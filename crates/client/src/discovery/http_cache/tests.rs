use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use jiff::Timestamp;
use kubewright_net::{Body, HttpService};
use proptest::prelude::*;
use tower_layer::Layer as _;

use super::*;
use crate::client::{Client, ClientOptions};
use crate::layers::Gzip;

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let pairs = lines.iter().map(|(name, value)| {
        let name: HeaderName = name.parse().unwrap();
        (name, HeaderValue::from_str(value).unwrap())
    });
    pairs.collect()
}

#[test]
fn an_answer_is_good_for_as_long_as_it_says() {
    let date = ("date", "Sat, 28 Nov 2026 17:22:39 GMT");
    let year = ("expires", "Sun, 28 Nov 2027 17:22:39 GMT");
    let tag = ("etag", "\"A\"");
    // Headers, whether it is kept, and whether it is fresh after a minute.
    type Row<'a> = (&'a [(&'a str, &'a str)], bool, bool);
    let rows: [Row<'_>; 11] = [
        (&[date, tag], true, false),
        (&[date, tag, ("cache-control", "no-cache, private")], true, false),
        (
            &[date, tag, ("cache-control", "public, immutable"), year],
            true,
            true,
        ),
        (&[date, year], true, true),
        (&[date, year, ("cache-control", "no-cache")], true, false),
        (&[date, ("cache-control", "max-age=61")], true, true),
        (&[date, ("cache-control", "max-age=60")], true, false),
        (&[date, ("cache-control", "max-age=soon"), year], false, false),
        (&[date, tag, ("cache-control", "No-Store")], false, false),
        (&[tag, year], true, false),
        (&[date, ("cache-control", "private")], false, false),
    ];
    let later = "2026-11-28T17:23:39Z".parse::<Timestamp>().unwrap();
    for (lines, kept, fresh) in rows {
        let headers = headers(lines);
        assert_eq!(freshness::is_worth_keeping(&headers), kept, "{lines:?}");
        assert_eq!(freshness::is_fresh(&headers, later), fresh, "{lines:?}");
    }
}

#[test]
fn what_go_wrote_is_read() {
    let rows: [(&str, Option<&str>); 12] = [
        (
            "HTTP/2.0 200 OK\r\nContent-Length: 2\r\nEtag: \"A\"\r\n\r\n{}",
            Some("{}"),
        ),
        ("HTTP/1.1 200 OK\r\nEtag: \"A\"\r\n\r\n{}", Some("{}")),
        (
            "HTTP/1.1 200 OK\r\nEtag: \"A\"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\n3\r\na\":\r\n2;x=y\r\n1}\r\n0\r\n\r\n",
            Some("{\"a\":1}"),
        ),
        ("HTTP/1.1 200 OK\r\nEtag: \"A\"\r\nX:\r\n\r\n", Some("")),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", None),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
            None,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n{}",
            None,
        ),
        ("HTTP/1.1 404 Not Found\r\n\r\n{}", None),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n{}", None),
        ("HTTP/1.1 200 OK\r\n", None),
        ("SSH-2.0 200 OK\r\n\r\n", None),
        ("", None),
    ];
    for (text, expect) in rows {
        let entry = Entry::parse(text.as_bytes());
        let found = entry.as_ref().map(|entry| &entry.body[..]);
        assert_eq!(found, expect.map(str::as_bytes), "{text:?}");
        if let Some(entry) = entry.filter(|entry| !entry.body.is_empty()) {
            assert_eq!(entry.headers, headers(&[("etag", "\"A\"")]));
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        lines in prop::collection::vec(("[a-z]{1,9}", "[!-~]([ -~]{0,9}[!-~])?"), 0..5),
        body in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0_usize..100,
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let entry = Entry::new(headers, &HeaderMap::new(), Bytes::from(body));
        let sealed = seal(&entry.to_bytes());
        prop_assert_eq!(Entry::parse(unseal(&sealed).unwrap()), Some(entry));
        // Half a file is none, nor is one with a wrong byte.
        let cut = cut.min(sealed.len() - 1);
        prop_assert_eq!(unseal(&sealed[..cut]), None);
        let mut wrong = sealed;
        wrong[cut] ^= 1;
        prop_assert_eq!(unseal(&wrong), None);
    }

    #[test]
    fn no_file_is_a_surprise(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Entry::parse(&bytes);
        let _ = Entry::parse(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &bytes[..]].concat());
        let _ = unseal(&bytes);
    }
}

fn zipped(text: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap().into()
}

/// A server whose answer has the given headers and body, and which knows its own ETag; with a log of what it answered.
fn server(
    lines: &'static [(&'static str, &'static str)],
    body: Bytes,
) -> (HttpService, Arc<Mutex<Vec<u16>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&log);
    let service = HttpService::from_fn(move |request| {
        let mut response = Response::new(Body::from(body.clone()));
        *response.headers_mut() = headers(lines);
        let known = request.headers().get(header::IF_NONE_MATCH);
        if known.is_some() && known == response.headers().get(header::ETAG) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
        }
        seen.lock().unwrap().push(response.status().as_u16());
        async move { Ok(response) }
    });
    (service, log)
}

fn ask(accept: &str) -> Request<Body> {
    let request = Request::get("https://h:1/api?timeout=32s").header(header::ACCEPT, accept);
    request.body(Body::empty()).unwrap()
}

async fn places() -> (tempfile::TempDir, [HttpCache; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let disk = HttpCache::on_disk(folder.path().join("http"));
    (folder, [HttpCache::in_memory(), disk])
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let both = format!("{V2},application/json");
    let three = format!("{V2},{V2}beta1,application/json");
    // What the server says, what is asked for twice, and what the server answers.
    let aggregated: &[_] = &[("etag", "\"A\""), ("vary", "Accept"), ("content-type", V2)];
    let protobuf: &[_] = &[
        ("etag", "\"A\""),
        ("vary", "Accept"),
        ("content-type", "x/protobuf"),
    ];
    let plain: &[_] = &[("etag", "\"A\"")];
    let nothing: &[_] = &[("content-type", "application/json")];
    let gzip: &[_] = &[
        ("etag", "\"A\""),
        ("content-encoding", "gzip"),
        ("vary", "Accept-Encoding"),
    ];
    let foreign: &[_] = &[("etag", "\"A\""), ("content-encoding", "zstd")];
    let forever: &[_] = &[
        ("date", "Sat, 28 Nov 2026 17:22:39 GMT"),
        ("cache-control", "max-age=9999999999"),
    ];
    type Row<'a> = (
        &'static [(&'static str, &'static str)],
        [&'a str; 2],
        &'static [u16],
    );
    let rows: [Row<'_>; 9] = [
        (plain, ["a", "b"], &[200, 304]),
        (aggregated, [&both, &both], &[200, 304]),
        (aggregated, [&both, &three], &[200, 304]),
        (aggregated, [&both, "application/json"], &[200, 200]),
        (protobuf, ["x/protobuf", "application/json"], &[200, 200]),
        (nothing, ["a", "a"], &[200, 200]),
        (gzip, ["a", "a"], &[200, 304]),
        (foreign, ["a", "a"], &[200, 200]),
        (forever, ["a", "a"], &[200]),
    ];
    for (lines, accepts, expect) in rows {
        let (_folder, places) = places().await;
        for cache in places {
            let body = match lines.contains(&("content-encoding", "gzip")) {
                true => zipped(b"body"),
                false => Bytes::from_static(b"body"),
            };
            let (service, log) = server(lines, body);
            let service = HttpCacheLayer::new(cache.clone()).layer(service);
            for accept in accepts {
                let response = service.send(ask(accept)).await.unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                let names: Vec<_> = response
                    .headers()
                    .keys()
                    .filter(|name| name.as_str().starts_with("x-"))
                    .collect();
                assert!(names.is_empty(), "{names:?}");
                let body = response.into_body().collect_limited(100).await.unwrap();
                assert_eq!(body, "body");
            }
            assert_eq!(*log.lock().unwrap(), expect, "{cache:?} {lines:?} {accepts:?}");
        }
    }
}

/// Whatever clients ask for: the files of one that wants gzip do for one that does not, and the other way round.
#[tokio::test]
async fn clients_that_ask_for_gzip_share_what_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&log);
    let service = HttpService::from_fn(move |request: Request<Body>| {
        let asked = request.headers().contains_key(header::ACCEPT_ENCODING);
        let mut response = Response::builder()
            .header(header::ETAG, "\"A\"")
            .header(header::VARY, "Accept, Accept-Encoding");
        let status = match request.headers().contains_key(header::IF_NONE_MATCH) {
            true => StatusCode::NOT_MODIFIED,
            false => StatusCode::OK,
        };
        seen.lock().unwrap().push((status.as_u16(), asked));
        let body = match (status, asked) {
            (StatusCode::NOT_MODIFIED, _) => Body::empty(),
            (_, false) => Body::from("body"),
            (_, true) => {
                response = response.header(header::CONTENT_ENCODING, "gzip");
                Body::from(zipped(b"body"))
            }
        };
        async move { Ok(response.status(status).body(body).unwrap()) }
    });
    let rows = [
        (Gzip::Always, (200, true)),
        (Gzip::Never, (304, false)),
        (Gzip::Always, (304, true)),
    ];
    for (gzip, expect) in rows {
        let options = ClientOptions {
            gzip,
            ..ClientOptions::default()
        };
        let client = Client::from_service(service.clone(), "default").with_client_options(options);
        let client = client.layer(&HttpCacheLayer::new(HttpCache::on_disk(folder.path())));
        let request = Request::get("/apis").body(Vec::new()).unwrap();
        assert_eq!(client.request_bytes(request).await.unwrap(), "body");
        assert_eq!(log.lock().unwrap().pop(), Some(expect), "{gzip:?}");
    }
}

#[tokio::test]
async fn writes_and_reads_with_conditions_pass_by() {
    let (service, log) = server(&[("etag", "\"A\"")], Bytes::from_static(b"body"));
    let service = HttpCacheLayer::new(HttpCache::in_memory()).layer(service);
    service.send(ask("a")).await.unwrap();
    let mut conditional = ask("a");
    conditional
        .headers_mut()
        .insert(header::IF_NONE_MATCH, "\"A\"".parse().unwrap());
    let answer = service.send(conditional).await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_MODIFIED);
    let mut write = ask("a");
    *write.method_mut() = http::Method::POST;
    service.send(write).await.unwrap();
    assert_eq!(*log.lock().unwrap(), [200, 304, 200]);
}

#[tokio::test]
async fn what_is_too_large_is_handed_on() {
    let body = Bytes::from(vec![b'x'; MAX_KEPT_BYTES + 1]);
    let pieces: Vec<Bytes> = [&body[..10], &body[10..MAX_KEPT_BYTES], &body[MAX_KEPT_BYTES..]]
        .map(|piece| body.slice_ref(piece))
        .to_vec();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let service = HttpService::from_fn(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        let pieces = futures_util::stream::iter(pieces.clone().into_iter().map(Ok));
        let mut response = Response::new(Body::stream(pieces));
        *response.headers_mut() = headers(&[
            ("date", "Sat, 28 Nov 2026 17:22:39 GMT"),
            ("cache-control", "max-age=9999999999"),
        ]);
        async move { Ok(response) }
    });
    let service = HttpCacheLayer::new(HttpCache::in_memory()).layer(service);
    for n in 1..=2 {
        let answer = service.send(ask("a")).await.unwrap();
        let whole = answer
            .into_body()
            .collect_limited(MAX_KEPT_BYTES + 1)
            .await
            .unwrap();
        assert_eq!(
            (whole.len(), count.load(Ordering::Relaxed)),
            (MAX_KEPT_BYTES + 1, n)
        );
    }
}

#[test]
fn memory_is_bounded() {
    let mut memory = Memory::default();
    let entry = |bytes: usize| Entry::new(HeaderMap::new(), &HeaderMap::new(), Bytes::from(vec![0; bytes]));
    let half = MAX_MEMORY_BYTES / 2;
    memory.put("a".to_owned(), entry(half));
    memory.put("b".to_owned(), entry(half));
    memory.put("b".to_owned(), entry(half));
    assert!(memory.get("a").is_some() && memory.get("b").is_some());
    memory.put("c".to_owned(), entry(1));
    assert!(memory.get("a").is_none() && memory.get("c").is_some());
    memory.put("d".to_owned(), entry(MAX_MEMORY_BYTES + 1));
    assert!(memory.get("d").is_none() && memory.get("b").is_some());
    assert_eq!(memory.bytes, half + 1);
    // Many small ones count, too.
    for number in 0..=MAX_MEMORY_ENTRIES {
        memory.put(number.to_string(), entry(0));
    }
    assert!(memory.get("b").is_none() && memory.entries.len() == MAX_MEMORY_ENTRIES);
}

#[tokio::test]
async fn damaged_files_count_as_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let cache = HttpCache::on_disk(folder.path());
    let (service, log) = server(&[("etag", "\"A\"")], Bytes::from_static(b"body"));
    let service = HttpCacheLayer::new(cache).layer(service);
    service.send(ask("a")).await.unwrap();
    let file = folder.path().join(file_name("https://h:1/api?timeout=32s"));
    let whole = std::fs::read(&file).unwrap();
    for damaged in [&whole[..whole.len() - 1], &whole[..20], b"", b"foreign"] {
        std::fs::write(&file, damaged).unwrap();
        service.send(ask("a")).await.unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), whole);
    }
    // A folder in its place, and nowhere to write.
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    service.send(ask("a")).await.unwrap();
    assert_eq!(*log.lock().unwrap(), [200; 6]);
}
