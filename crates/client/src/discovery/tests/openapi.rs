//! Documents and how often they are read.

use super::*;

fn documents(hash: &str) -> String {
    json!({ "paths": {
        "api/v1": { "serverRelativeURL": format!("/openapi/v3/api/v1?hash={hash}") },
        "apis/apps/v1": { "serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=C" },
    } })
    .to_string()
}

#[tokio::test]
async fn a_document_is_read_once_for_each_hash() {
    let json = "application/json";
    let answers: Answers = Arc::new(Mutex::new(HashMap::from([
        ("/openapi/v3", (200, json, documents("A"))),
        ("/openapi/v3/api/v1", (200, json, "core".to_owned())),
        ("/openapi/v3/apis/apps/v1", (500, json, "down".to_owned())),
        ("/openapi/v2", (200, json, "two".to_owned())),
    ])));
    let (client, count) = server(&answers);
    let openapi = OpenApiClient::new(&client);
    let core = GroupVersion::new("", "v1");
    let paths = openapi.paths().await.unwrap();
    let path = &paths["api/v1"];
    assert_eq!(path.address, "/openapi/v3/api/v1?hash=A");
    for document in futures_util::future::join_all((0..5).map(|_| openapi.document(path))).await {
        assert_eq!(document.unwrap(), "core");
    }
    assert_eq!(count.swap(0, Ordering::Relaxed), 2);
    assert_eq!(openapi.document_of(&core).await.unwrap().unwrap(), "core");
    assert_eq!(count.swap(0, Ordering::Relaxed), 1);

    answers
        .lock()
        .unwrap()
        .insert("/openapi/v3", (200, json, documents("B")));
    answers
        .lock()
        .unwrap()
        .insert("/openapi/v3/api/v1", (200, json, "new".to_owned()));
    for expect in [2, 1] {
        assert_eq!(openapi.document_of(&core).await.unwrap().unwrap(), "new");
        assert_eq!(count.swap(0, Ordering::Relaxed), expect);
    }

    // A failure is not remembered.
    let apps = GroupVersion::new("apps", "v1");
    assert!(openapi.document_of(&apps).await.unwrap_err().is_internal_error());
    answers
        .lock()
        .unwrap()
        .insert("/openapi/v3/apis/apps/v1", (200, json, "apps".to_owned()));
    assert_eq!(openapi.document_of(&apps).await.unwrap().unwrap(), "apps");
    let unknown = GroupVersion::new("example.com", "v1");
    assert!(openapi.document_of(&unknown).await.unwrap().is_none());
    assert_eq!(openapi.v2(OpenApiFormat::Json).await.unwrap(), "two");
}

#[tokio::test]
async fn documents_are_bounded_in_number() {
    let service = HttpService::from_fn(|_| async { Ok(Response::new(Body::from("x"))) });
    let openapi = OpenApiClient::new(&Client::from_service(service, "default"));
    let path = |n: usize| OpenApiPath {
        name: n.to_string(),
        address: format!("/openapi/v3/{n}"),
    };
    let first = openapi.document(&path(0)).await.unwrap();
    // The same piece of memory, as long as it is remembered.
    assert_eq!(openapi.document(&path(0)).await.unwrap().as_ptr(), first.as_ptr());
    for n in 1..=MAX_DOCUMENTS {
        drop(openapi.document(&path(n)).await.unwrap());
    }
    assert_eq!(openapi.known(), 1);
}
