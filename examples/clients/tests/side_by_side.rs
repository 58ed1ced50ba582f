//! The four clients against a server in this process.

use kubewright::testing::{TestEnv, TestEnvOptions};

#[tokio::test]
async fn all_of_them_see_the_same() {
    let env = TestEnv::start(TestEnvOptions::without_controllers())
        .await
        .unwrap();
    let client = env.client();
    assert!(clients::by_rest(client).await.unwrap_err().is_not_found());
    clients::create(client).await.unwrap();
    assert_eq!(clients::by_rest(client).await.unwrap(), Some(2));
    // It sets another number first.
    assert_eq!(clients::by_type(client).await.unwrap(), Some(3));
    for name in ["deploy", "Deployment", "deployments.apps"] {
        assert_eq!(clients::by_name(client, name).await.unwrap(), Some(3), "{name}");
    }
    assert!(
        clients::by_name(client, "widgets")
            .await
            .unwrap_err()
            .is_no_match()
    );
    let scalable = clients::scalable(client).await.unwrap();
    for plural in [
        "deployments",
        "replicasets",
        "statefulsets",
        "replicationcontrollers",
    ] {
        assert!(scalable.iter().any(|found| found == plural), "{scalable:?}");
    }
    env.stop().await.unwrap();
}
