// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `core`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::Condition;
use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

object! {
    /// `AWSElasticBlockStoreVolumeSource`, as far as an applier sets it.
    AWSElasticBlockStoreVolumeSource {
        fs_type with_fs_type "fsType" String,
        partition with_partition "partition" i32,
        read_only with_read_only "readOnly" bool,
        volume_id with_volume_id "volumeID" String,
    }
}

object! {
    /// `Affinity`, as far as an applier sets it.
    Affinity {
        node_affinity with_node_affinity "nodeAffinity" NodeAffinity,
        pod_affinity with_pod_affinity "podAffinity" PodAffinity,
        pod_anti_affinity with_pod_anti_affinity "podAntiAffinity" PodAntiAffinity,
    }
}

object! {
    /// `AppArmorProfile`, as far as an applier sets it.
    AppArmorProfile {
        localhost_profile with_localhost_profile "localhostProfile" String,
        /// One of `Localhost`, `RuntimeDefault`, `Unconfined`.
        type_ with_type "type" String,
    }
}

object! {
    /// `AttachedVolume`, as far as an applier sets it.
    AttachedVolume {
        device_path with_device_path "devicePath" String,
        name with_name "name" String,
    }
}

object! {
    /// `AzureDiskVolumeSource`, as far as an applier sets it.
    AzureDiskVolumeSource {
        /// One of `None`, `ReadOnly`, `ReadWrite`.
        caching_mode with_caching_mode "cachingMode" String,
        disk_name with_disk_name "diskName" String,
        disk_uri with_disk_uri "diskURI" String,
        fs_type with_fs_type "fsType" String,
        /// One of `Dedicated`, `Managed`, `Shared`.
        kind with_kind "kind" String,
        read_only with_read_only "readOnly" bool,
    }
}

object! {
    /// `AzureFilePersistentVolumeSource`, as far as an applier sets it.
    AzureFilePersistentVolumeSource {
        read_only with_read_only "readOnly" bool,
        secret_name with_secret_name "secretName" String,
        secret_namespace with_secret_namespace "secretNamespace" String,
        share_name with_share_name "shareName" String,
    }
}

object! {
    /// `AzureFileVolumeSource`, as far as an applier sets it.
    AzureFileVolumeSource {
        read_only with_read_only "readOnly" bool,
        secret_name with_secret_name "secretName" String,
        share_name with_share_name "shareName" String,
    }
}

object! {
    /// `CSIPersistentVolumeSource`, as far as an applier sets it.
    CSIPersistentVolumeSource {
        controller_expand_secret_ref with_controller_expand_secret_ref "controllerExpandSecretRef" SecretReference,
        controller_publish_secret_ref with_controller_publish_secret_ref "controllerPublishSecretRef" SecretReference,
        driver with_driver "driver" String,
        fs_type with_fs_type "fsType" String,
        node_expand_secret_ref with_node_expand_secret_ref "nodeExpandSecretRef" SecretReference,
        node_publish_secret_ref with_node_publish_secret_ref "nodePublishSecretRef" SecretReference,
        node_stage_secret_ref with_node_stage_secret_ref "nodeStageSecretRef" SecretReference,
        read_only with_read_only "readOnly" bool,
        volume_attributes with_volume_attributes "volumeAttributes" {String},
        volume_handle with_volume_handle "volumeHandle" String,
    }
}

object! {
    /// `CSIVolumeSource`, as far as an applier sets it.
    CSIVolumeSource {
        driver with_driver "driver" String,
        fs_type with_fs_type "fsType" String,
        node_publish_secret_ref with_node_publish_secret_ref "nodePublishSecretRef" LocalObjectReference,
        read_only with_read_only "readOnly" bool,
        volume_attributes with_volume_attributes "volumeAttributes" {String},
    }
}

object! {
    /// `Capabilities`, as far as an applier sets it.
    Capabilities {
        /// It has one owner as a whole.
        add with_add "add" [String],
        /// It has one owner as a whole.
        drop with_drop "drop" [String],
    }
}

object! {
    /// `CephFSPersistentVolumeSource`, as far as an applier sets it.
    CephFSPersistentVolumeSource {
        /// It has one owner as a whole.
        monitors with_monitors "monitors" [String],
        path with_path "path" String,
        read_only with_read_only "readOnly" bool,
        secret_file with_secret_file "secretFile" String,
        secret_ref with_secret_ref "secretRef" SecretReference,
        user with_user "user" String,
    }
}

object! {
    /// `CephFSVolumeSource`, as far as an applier sets it.
    CephFSVolumeSource {
        /// It has one owner as a whole.
        monitors with_monitors "monitors" [String],
        path with_path "path" String,
        read_only with_read_only "readOnly" bool,
        secret_file with_secret_file "secretFile" String,
        secret_ref with_secret_ref "secretRef" LocalObjectReference,
        user with_user "user" String,
    }
}

object! {
    /// `CinderPersistentVolumeSource`, as far as an applier sets it.
    CinderPersistentVolumeSource {
        fs_type with_fs_type "fsType" String,
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" SecretReference,
        volume_id with_volume_id "volumeID" String,
    }
}

object! {
    /// `CinderVolumeSource`, as far as an applier sets it.
    CinderVolumeSource {
        fs_type with_fs_type "fsType" String,
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" LocalObjectReference,
        volume_id with_volume_id "volumeID" String,
    }
}

object! {
    /// `ClientIPConfig`, as far as an applier sets it.
    ClientIPConfig {
        timeout_seconds with_timeout_seconds "timeoutSeconds" i32,
    }
}

object! {
    /// `ClusterTrustBundleProjection`, as far as an applier sets it.
    ClusterTrustBundleProjection {
        label_selector with_label_selector "labelSelector" LabelSelector,
        name with_name "name" String,
        optional with_optional "optional" bool,
        path with_path "path" String,
        signer_name with_signer_name "signerName" String,
        /// Since 1.37.
        user with_user "user" i64,
    }
}

object! {
    /// What an applier sets of a `ConfigMap` of `v1`.
    ConfigMap as "v1" "ConfigMap" {
        binary_data with_binary_data "binaryData" {ByteString},
        data with_data "data" {String},
        immutable with_immutable "immutable" bool,
        metadata with_metadata "metadata" ObjectMeta,
    }
}
kind!(ConfigMap namespaced);
applies! { ConfigMap: k8s_openapi::api::core::v1::ConfigMap }

object! {
    /// `ConfigMapEnvSource`, as far as an applier sets it.
    ConfigMapEnvSource {
        name with_name "name" String,
        optional with_optional "optional" bool,
    }
}

object! {
    /// `ConfigMapKeySelector`, as far as an applier sets it. It has one owner as a whole.
    ConfigMapKeySelector {
        key with_key "key" String,
        name with_name "name" String,
        optional with_optional "optional" bool,
    }
}

object! {
    /// `ConfigMapNodeConfigSource`, as far as an applier sets it.
    ConfigMapNodeConfigSource {
        kubelet_config_key with_kubelet_config_key "kubeletConfigKey" String,
        name with_name "name" String,
        namespace with_namespace "namespace" String,
        resource_version with_resource_version "resourceVersion" String,
        uid with_uid "uid" String,
    }
}

object! {
    /// `ConfigMapProjection`, as far as an applier sets it.
    ConfigMapProjection {
        /// It has one owner as a whole.
        items with_items "items" [KeyToPath],
        name with_name "name" String,
        optional with_optional "optional" bool,
    }
}

object! {
    /// `ConfigMapVolumeSource`, as far as an applier sets it.
    ConfigMapVolumeSource {
        default_mode with_default_mode "defaultMode" i32,
        /// Since 1.37.
        default_user with_default_user "defaultUser" i64,
        /// It has one owner as a whole.
        items with_items "items" [KeyToPath],
        name with_name "name" String,
        optional with_optional "optional" bool,
    }
}

object! {
    /// `Container`, as far as an applier sets it.
    Container {
        /// It has one owner as a whole.
        args with_args "args" [String],
        /// It has one owner as a whole.
        command with_command "command" [String],
        /// Items are owned one by one, by `name`.
        env with_env "env" [EnvVar],
        /// It has one owner as a whole.
        env_from with_env_from "envFrom" [EnvFromSource],
        image with_image "image" String,
        /// One of `Always`, `IfNotPresent`, `Never`.
        image_pull_policy with_image_pull_policy "imagePullPolicy" String,
        lifecycle with_lifecycle "lifecycle" Lifecycle,
        liveness_probe with_liveness_probe "livenessProbe" Probe,
        name with_name "name" String,
        /// Items are owned one by one, by `containerPort` and `protocol`.
        ports with_ports "ports" [ContainerPort],
        readiness_probe with_readiness_probe "readinessProbe" Probe,
        /// It has one owner as a whole.
        resize_policy with_resize_policy "resizePolicy" [ContainerResizePolicy],
        resources with_resources "resources" ResourceRequirements,
        restart_policy with_restart_policy "restartPolicy" String,
        /// It has one owner as a whole. Since 1.34.
        restart_policy_rules with_restart_policy_rules "restartPolicyRules" [ContainerRestartRule],
        security_context with_security_context "securityContext" SecurityContext,
        startup_probe with_startup_probe "startupProbe" Probe,
        stdin with_stdin "stdin" bool,
        stdin_once with_stdin_once "stdinOnce" bool,
        termination_message_path with_termination_message_path "terminationMessagePath" String,
        /// One of `FallbackToLogsOnError`, `File`.
        termination_message_policy with_termination_message_policy "terminationMessagePolicy" String,
        tty with_tty "tty" bool,
        /// Items are owned one by one, by `devicePath`.
        volume_devices with_volume_devices "volumeDevices" [VolumeDevice],
        /// Items are owned one by one, by `mountPath`.
        volume_mounts with_volume_mounts "volumeMounts" [VolumeMount],
        working_dir with_working_dir "workingDir" String,
    }
}

object! {
    /// `ContainerExtendedResourceRequest`, as far as an applier sets it. Since 1.34.
    ContainerExtendedResourceRequest {
        container_name with_container_name "containerName" String,
        request_name with_request_name "requestName" String,
        resource_name with_resource_name "resourceName" String,
    }
}

object! {
    /// `ContainerImage`, as far as an applier sets it.
    ContainerImage {
        /// It has one owner as a whole.
        names with_names "names" [String],
        size_bytes with_size_bytes "sizeBytes" i64,
    }
}

object! {
    /// `ContainerPort`, as far as an applier sets it.
    ContainerPort {
        container_port with_container_port "containerPort" i32,
        host_ip with_host_ip "hostIP" String,
        host_port with_host_port "hostPort" i32,
        name with_name "name" String,
        /// One of `SCTP`, `TCP`, `UDP`.
        protocol with_protocol "protocol" String,
    }
}

object! {
    /// `ContainerResizePolicy`, as far as an applier sets it.
    ContainerResizePolicy {
        resource_name with_resource_name "resourceName" String,
        restart_policy with_restart_policy "restartPolicy" String,
    }
}

object! {
    /// `ContainerRestartRule`, as far as an applier sets it. Since 1.34.
    ContainerRestartRule {
        action with_action "action" String,
        exit_codes with_exit_codes "exitCodes" ContainerRestartRuleOnExitCodes,
    }
}

object! {
    /// `ContainerRestartRuleOnExitCodes`, as far as an applier sets it. Since 1.34.
    ContainerRestartRuleOnExitCodes {
        operator with_operator "operator" String,
        /// Items are owned one by one.
        values with_values "values" [i32],
    }
}

object! {
    /// `ContainerState`, as far as an applier sets it.
    ContainerState {
        running with_running "running" ContainerStateRunning,
        terminated with_terminated "terminated" ContainerStateTerminated,
        waiting with_waiting "waiting" ContainerStateWaiting,
    }
}

object! {
    /// `ContainerStateRunning`, as far as an applier sets it.
    ContainerStateRunning {
        started_at with_started_at "startedAt" Time,
    }
}

object! {
    /// `ContainerStateTerminated`, as far as an applier sets it.
    ContainerStateTerminated {
        container_id with_container_id "containerID" String,
        exit_code with_exit_code "exitCode" i32,
        finished_at with_finished_at "finishedAt" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        signal with_signal "signal" i32,
        started_at with_started_at "startedAt" Time,
    }
}

object! {
    /// `ContainerStateWaiting`, as far as an applier sets it.
    ContainerStateWaiting {
        message with_message "message" String,
        reason with_reason "reason" String,
    }
}

object! {
    /// `ContainerStatus`, as far as an applier sets it.
    ContainerStatus {
        allocated_resources with_allocated_resources "allocatedResources" {Quantity},
        /// Items are owned one by one, by `name`.
        allocated_resources_status with_allocated_resources_status "allocatedResourcesStatus" [ResourceStatus],
        container_id with_container_id "containerID" String,
        image with_image "image" String,
        image_id with_image_id "imageID" String,
        last_state with_last_state "lastState" ContainerState,
        name with_name "name" String,
        ready with_ready "ready" bool,
        resources with_resources "resources" ResourceRequirements,
        restart_count with_restart_count "restartCount" i32,
        started with_started "started" bool,
        state with_state "state" ContainerState,
        /// One of `SIGABRT`, `SIGALRM`, `SIGBUS`, `SIGCHLD`, `SIGCLD`, `SIGCONT`, `SIGFPE`, `SIGHUP`, `SIGILL`, `SIGINT`, `SIGIO`, `SIGIOT`, `SIGKILL`, `SIGPIPE`, `SIGPOLL`, `SIGPROF`, `SIGPWR`, `SIGQUIT`, `SIGRTMAX`, `SIGRTMAX-1`, `SIGRTMAX-10`, `SIGRTMAX-11`, `SIGRTMAX-12`, `SIGRTMAX-13`, `SIGRTMAX-14`, `SIGRTMAX-2`, `SIGRTMAX-3`, `SIGRTMAX-4`, `SIGRTMAX-5`, `SIGRTMAX-6`, `SIGRTMAX-7`, `SIGRTMAX-8`, `SIGRTMAX-9`, `SIGRTMIN`, `SIGRTMIN+1`, `SIGRTMIN+10`, `SIGRTMIN+11`, `SIGRTMIN+12`, `SIGRTMIN+13`, `SIGRTMIN+14`, `SIGRTMIN+15`, `SIGRTMIN+2`, `SIGRTMIN+3`, `SIGRTMIN+4`, `SIGRTMIN+5`, `SIGRTMIN+6`, `SIGRTMIN+7`, `SIGRTMIN+8`, `SIGRTMIN+9`, `SIGSEGV`, `SIGSTKFLT`, `SIGSTOP`, `SIGSYS`, `SIGTERM`, `SIGTRAP`, `SIGTSTP`, `SIGTTIN`, `SIGTTOU`, `SIGURG`, `SIGUSR1`, `SIGUSR2`, `SIGVTALRM`, `SIGWINCH`, `SIGXCPU`, `SIGXFSZ`.
        stop_signal with_stop_signal "stopSignal" String,
        user with_user "user" ContainerUser,
        /// Items are owned one by one, by `mountPath`.
        volume_mounts with_volume_mounts "volumeMounts" [VolumeMountStatus],
    }
}

object! {
    /// `ContainerUser`, as far as an applier sets it.
    ContainerUser {
        linux with_linux "linux" LinuxContainerUser,
    }
}

object! {
    /// `DaemonEndpoint`, as far as an applier sets it.
    DaemonEndpoint {
        port with_port "Port" i32,
    }
}

object! {
    /// `DownwardAPIProjection`, as far as an applier sets it.
    DownwardAPIProjection {
        /// It has one owner as a whole.
        items with_items "items" [DownwardAPIVolumeFile],
    }
}

object! {
    /// `DownwardAPIVolumeFile`, as far as an applier sets it.
    DownwardAPIVolumeFile {
        field_ref with_field_ref "fieldRef" ObjectFieldSelector,
        mode with_mode "mode" i32,
        path with_path "path" String,
        resource_field_ref with_resource_field_ref "resourceFieldRef" ResourceFieldSelector,
        /// Since 1.37.
        user with_user "user" i64,
    }
}

object! {
    /// `DownwardAPIVolumeSource`, as far as an applier sets it.
    DownwardAPIVolumeSource {
        default_mode with_default_mode "defaultMode" i32,
        /// Since 1.37.
        default_user with_default_user "defaultUser" i64,
        /// It has one owner as a whole.
        items with_items "items" [DownwardAPIVolumeFile],
    }
}

object! {
    /// `EmptyDirVolumeSource`, as far as an applier sets it.
    EmptyDirVolumeSource {
        medium with_medium "medium" String,
        /// Since 1.37.
        mode with_mode "mode" i32,
        size_limit with_size_limit "sizeLimit" Quantity,
    }
}

object! {
    /// `EndpointAddress`, as far as an applier sets it. It has one owner as a whole.
    EndpointAddress {
        hostname with_hostname "hostname" String,
        ip with_ip "ip" String,
        node_name with_node_name "nodeName" String,
        target_ref with_target_ref "targetRef" ObjectReference,
    }
}

object! {
    /// `EndpointPort`, as far as an applier sets it. It has one owner as a whole.
    EndpointPort {
        app_protocol with_app_protocol "appProtocol" String,
        name with_name "name" String,
        port with_port "port" i32,
        /// One of `SCTP`, `TCP`, `UDP`.
        protocol with_protocol "protocol" String,
    }
}

object! {
    /// `EndpointSubset`, as far as an applier sets it.
    EndpointSubset {
        /// It has one owner as a whole.
        addresses with_addresses "addresses" [EndpointAddress],
        /// It has one owner as a whole.
        not_ready_addresses with_not_ready_addresses "notReadyAddresses" [EndpointAddress],
        /// It has one owner as a whole.
        ports with_ports "ports" [EndpointPort],
    }
}

object! {
    /// What an applier sets of a `Endpoints` of `v1`.
    Endpoints as "v1" "Endpoints" {
        metadata with_metadata "metadata" ObjectMeta,
        /// It has one owner as a whole.
        subsets with_subsets "subsets" [EndpointSubset],
    }
}
kind!(Endpoints namespaced);
applies! { Endpoints: k8s_openapi::api::core::v1::Endpoints }

object! {
    /// `EnvFromSource`, as far as an applier sets it.
    EnvFromSource {
        config_map_ref with_config_map_ref "configMapRef" ConfigMapEnvSource,
        prefix with_prefix "prefix" String,
        secret_ref with_secret_ref "secretRef" SecretEnvSource,
    }
}

object! {
    /// `EnvVar`, as far as an applier sets it.
    EnvVar {
        name with_name "name" String,
        value with_value "value" String,
        value_from with_value_from "valueFrom" EnvVarSource,
    }
}

object! {
    /// `EnvVarSource`, as far as an applier sets it.
    EnvVarSource {
        config_map_key_ref with_config_map_key_ref "configMapKeyRef" ConfigMapKeySelector,
        field_ref with_field_ref "fieldRef" ObjectFieldSelector,
        /// Since 1.34.
        file_key_ref with_file_key_ref "fileKeyRef" FileKeySelector,
        resource_field_ref with_resource_field_ref "resourceFieldRef" ResourceFieldSelector,
        secret_key_ref with_secret_key_ref "secretKeyRef" SecretKeySelector,
    }
}

object! {
    /// `EphemeralContainer`, as far as an applier sets it.
    EphemeralContainer {
        /// It has one owner as a whole.
        args with_args "args" [String],
        /// It has one owner as a whole.
        command with_command "command" [String],
        /// Items are owned one by one, by `name`.
        env with_env "env" [EnvVar],
        /// It has one owner as a whole.
        env_from with_env_from "envFrom" [EnvFromSource],
        image with_image "image" String,
        /// One of `Always`, `IfNotPresent`, `Never`.
        image_pull_policy with_image_pull_policy "imagePullPolicy" String,
        lifecycle with_lifecycle "lifecycle" Lifecycle,
        liveness_probe with_liveness_probe "livenessProbe" Probe,
        name with_name "name" String,
        /// Items are owned one by one, by `containerPort` and `protocol`.
        ports with_ports "ports" [ContainerPort],
        readiness_probe with_readiness_probe "readinessProbe" Probe,
        /// It has one owner as a whole.
        resize_policy with_resize_policy "resizePolicy" [ContainerResizePolicy],
        resources with_resources "resources" ResourceRequirements,
        restart_policy with_restart_policy "restartPolicy" String,
        /// It has one owner as a whole. Since 1.34.
        restart_policy_rules with_restart_policy_rules "restartPolicyRules" [ContainerRestartRule],
        security_context with_security_context "securityContext" SecurityContext,
        startup_probe with_startup_probe "startupProbe" Probe,
        stdin with_stdin "stdin" bool,
        stdin_once with_stdin_once "stdinOnce" bool,
        target_container_name with_target_container_name "targetContainerName" String,
        termination_message_path with_termination_message_path "terminationMessagePath" String,
        /// One of `FallbackToLogsOnError`, `File`.
        termination_message_policy with_termination_message_policy "terminationMessagePolicy" String,
        tty with_tty "tty" bool,
        /// Items are owned one by one, by `devicePath`.
        volume_devices with_volume_devices "volumeDevices" [VolumeDevice],
        /// Items are owned one by one, by `mountPath`.
        volume_mounts with_volume_mounts "volumeMounts" [VolumeMount],
        working_dir with_working_dir "workingDir" String,
    }
}

object! {
    /// `EphemeralVolumeSource`, as far as an applier sets it.
    EphemeralVolumeSource {
        volume_claim_template with_volume_claim_template "volumeClaimTemplate" PersistentVolumeClaimTemplate,
    }
}

object! {
    /// What an applier sets of a `Event` of `v1`.
    Event as "v1" "Event" {
        action with_action "action" String,
        count with_count "count" i32,
        event_time with_event_time "eventTime" MicroTime,
        first_timestamp with_first_timestamp "firstTimestamp" Time,
        involved_object with_involved_object "involvedObject" ObjectReference,
        last_timestamp with_last_timestamp "lastTimestamp" Time,
        message with_message "message" String,
        metadata with_metadata "metadata" ObjectMeta,
        reason with_reason "reason" String,
        related with_related "related" ObjectReference,
        reporting_component with_reporting_component "reportingComponent" String,
        reporting_instance with_reporting_instance "reportingInstance" String,
        series with_series "series" EventSeries,
        source with_source "source" EventSource,
        type_ with_type "type" String,
    }
}
kind!(Event namespaced);
applies! { Event: k8s_openapi::api::core::v1::Event }

object! {
    /// `EventSeries`, as far as an applier sets it.
    EventSeries {
        count with_count "count" i32,
        last_observed_time with_last_observed_time "lastObservedTime" MicroTime,
    }
}

object! {
    /// `EventSource`, as far as an applier sets it.
    EventSource {
        component with_component "component" String,
        host with_host "host" String,
    }
}

object! {
    /// `EvictionResponder`, as far as an applier sets it. It has one owner as a whole. Since 1.37.
    EvictionResponder {
        name with_name "name" String,
        priority with_priority "priority" i32,
    }
}

object! {
    /// `ExecAction`, as far as an applier sets it.
    ExecAction {
        /// It has one owner as a whole.
        command with_command "command" [String],
    }
}

object! {
    /// `FCVolumeSource`, as far as an applier sets it.
    FCVolumeSource {
        fs_type with_fs_type "fsType" String,
        lun with_lun "lun" i32,
        read_only with_read_only "readOnly" bool,
        /// It has one owner as a whole.
        target_wwns with_target_wwns "targetWWNs" [String],
        /// It has one owner as a whole.
        wwids with_wwids "wwids" [String],
    }
}

object! {
    /// `FileKeySelector`, as far as an applier sets it. It has one owner as a whole. Since 1.34.
    FileKeySelector {
        key with_key "key" String,
        optional with_optional "optional" bool,
        path with_path "path" String,
        volume_name with_volume_name "volumeName" String,
    }
}

object! {
    /// `FlexPersistentVolumeSource`, as far as an applier sets it.
    FlexPersistentVolumeSource {
        driver with_driver "driver" String,
        fs_type with_fs_type "fsType" String,
        options with_options "options" {String},
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" SecretReference,
    }
}

object! {
    /// `FlexVolumeSource`, as far as an applier sets it.
    FlexVolumeSource {
        driver with_driver "driver" String,
        fs_type with_fs_type "fsType" String,
        options with_options "options" {String},
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" LocalObjectReference,
    }
}

object! {
    /// `FlockerVolumeSource`, as far as an applier sets it.
    FlockerVolumeSource {
        dataset_name with_dataset_name "datasetName" String,
        dataset_uuid with_dataset_uuid "datasetUUID" String,
    }
}

object! {
    /// `GCEPersistentDiskVolumeSource`, as far as an applier sets it.
    GCEPersistentDiskVolumeSource {
        fs_type with_fs_type "fsType" String,
        partition with_partition "partition" i32,
        pd_name with_pd_name "pdName" String,
        read_only with_read_only "readOnly" bool,
    }
}

object! {
    /// `GRPCAction`, as far as an applier sets it.
    GRPCAction {
        /// One of `Plaintext`, `TLS`. Since 1.37.
        mode with_mode "mode" String,
        port with_port "port" i32,
        service with_service "service" String,
    }
}

object! {
    /// `GitRepoVolumeSource`, as far as an applier sets it.
    GitRepoVolumeSource {
        directory with_directory "directory" String,
        repository with_repository "repository" String,
        revision with_revision "revision" String,
    }
}

object! {
    /// `GlusterfsPersistentVolumeSource`, as far as an applier sets it.
    GlusterfsPersistentVolumeSource {
        endpoints with_endpoints "endpoints" String,
        endpoints_namespace with_endpoints_namespace "endpointsNamespace" String,
        path with_path "path" String,
        read_only with_read_only "readOnly" bool,
    }
}

object! {
    /// `GlusterfsVolumeSource`, as far as an applier sets it.
    GlusterfsVolumeSource {
        endpoints with_endpoints "endpoints" String,
        path with_path "path" String,
        read_only with_read_only "readOnly" bool,
    }
}

object! {
    /// `HTTPGetAction`, as far as an applier sets it.
    HTTPGetAction {
        host with_host "host" String,
        /// It has one owner as a whole.
        http_headers with_http_headers "httpHeaders" [HTTPHeader],
        path with_path "path" String,
        port with_port "port" IntOrString,
        /// One of `HTTP1`, `HTTP2`. Since 1.37.
        protocol with_protocol "protocol" String,
        /// One of `HTTP`, `HTTPS`.
        scheme with_scheme "scheme" String,
    }
}

object! {
    /// `HTTPHeader`, as far as an applier sets it.
    HTTPHeader {
        name with_name "name" String,
        value with_value "value" String,
    }
}

object! {
    /// `HostAlias`, as far as an applier sets it.
    HostAlias {
        /// It has one owner as a whole.
        hostnames with_hostnames "hostnames" [String],
        ip with_ip "ip" String,
    }
}

object! {
    /// `HostIP`, as far as an applier sets it.
    HostIP {
        ip with_ip "ip" String,
    }
}

object! {
    /// `HostPathVolumeSource`, as far as an applier sets it.
    HostPathVolumeSource {
        path with_path "path" String,
        /// One of ``, `BlockDevice`, `CharDevice`, `Directory`, `DirectoryOrCreate`, `File`, `FileOrCreate`, `Socket`.
        type_ with_type "type" String,
    }
}

object! {
    /// `ISCSIPersistentVolumeSource`, as far as an applier sets it.
    ISCSIPersistentVolumeSource {
        chap_auth_discovery with_chap_auth_discovery "chapAuthDiscovery" bool,
        chap_auth_session with_chap_auth_session "chapAuthSession" bool,
        fs_type with_fs_type "fsType" String,
        initiator_name with_initiator_name "initiatorName" String,
        iqn with_iqn "iqn" String,
        iscsi_interface with_iscsi_interface "iscsiInterface" String,
        lun with_lun "lun" i32,
        /// It has one owner as a whole.
        portals with_portals "portals" [String],
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" SecretReference,
        target_portal with_target_portal "targetPortal" String,
    }
}

object! {
    /// `ISCSIVolumeSource`, as far as an applier sets it.
    ISCSIVolumeSource {
        chap_auth_discovery with_chap_auth_discovery "chapAuthDiscovery" bool,
        chap_auth_session with_chap_auth_session "chapAuthSession" bool,
        fs_type with_fs_type "fsType" String,
        initiator_name with_initiator_name "initiatorName" String,
        iqn with_iqn "iqn" String,
        iscsi_interface with_iscsi_interface "iscsiInterface" String,
        lun with_lun "lun" i32,
        /// It has one owner as a whole.
        portals with_portals "portals" [String],
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" LocalObjectReference,
        target_portal with_target_portal "targetPortal" String,
    }
}

object! {
    /// `ImageVolumeSource`, as far as an applier sets it.
    ImageVolumeSource {
        /// One of `Always`, `IfNotPresent`, `Never`.
        pull_policy with_pull_policy "pullPolicy" String,
        reference with_reference "reference" String,
    }
}

object! {
    /// `ImageVolumeStatus`, as far as an applier sets it. Since 1.36.
    ImageVolumeStatus {
        image_ref with_image_ref "imageRef" String,
    }
}

object! {
    /// `KeyToPath`, as far as an applier sets it.
    KeyToPath {
        key with_key "key" String,
        mode with_mode "mode" i32,
        path with_path "path" String,
        /// Since 1.37.
        user with_user "user" i64,
    }
}

object! {
    /// `Lifecycle`, as far as an applier sets it.
    Lifecycle {
        post_start with_post_start "postStart" LifecycleHandler,
        pre_stop with_pre_stop "preStop" LifecycleHandler,
        /// One of `SIGABRT`, `SIGALRM`, `SIGBUS`, `SIGCHLD`, `SIGCLD`, `SIGCONT`, `SIGFPE`, `SIGHUP`, `SIGILL`, `SIGINT`, `SIGIO`, `SIGIOT`, `SIGKILL`, `SIGPIPE`, `SIGPOLL`, `SIGPROF`, `SIGPWR`, `SIGQUIT`, `SIGRTMAX`, `SIGRTMAX-1`, `SIGRTMAX-10`, `SIGRTMAX-11`, `SIGRTMAX-12`, `SIGRTMAX-13`, `SIGRTMAX-14`, `SIGRTMAX-2`, `SIGRTMAX-3`, `SIGRTMAX-4`, `SIGRTMAX-5`, `SIGRTMAX-6`, `SIGRTMAX-7`, `SIGRTMAX-8`, `SIGRTMAX-9`, `SIGRTMIN`, `SIGRTMIN+1`, `SIGRTMIN+10`, `SIGRTMIN+11`, `SIGRTMIN+12`, `SIGRTMIN+13`, `SIGRTMIN+14`, `SIGRTMIN+15`, `SIGRTMIN+2`, `SIGRTMIN+3`, `SIGRTMIN+4`, `SIGRTMIN+5`, `SIGRTMIN+6`, `SIGRTMIN+7`, `SIGRTMIN+8`, `SIGRTMIN+9`, `SIGSEGV`, `SIGSTKFLT`, `SIGSTOP`, `SIGSYS`, `SIGTERM`, `SIGTRAP`, `SIGTSTP`, `SIGTTIN`, `SIGTTOU`, `SIGURG`, `SIGUSR1`, `SIGUSR2`, `SIGVTALRM`, `SIGWINCH`, `SIGXCPU`, `SIGXFSZ`.
        stop_signal with_stop_signal "stopSignal" String,
    }
}

object! {
    /// `LifecycleHandler`, as far as an applier sets it.
    LifecycleHandler {
        exec with_exec "exec" ExecAction,
        http_get with_http_get "httpGet" HTTPGetAction,
        sleep with_sleep "sleep" SleepAction,
        tcp_socket with_tcp_socket "tcpSocket" TCPSocketAction,
    }
}

object! {
    /// What an applier sets of a `LimitRange` of `v1`.
    LimitRange as "v1" "LimitRange" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" LimitRangeSpec,
    }
}
kind!(LimitRange namespaced);
applies! { LimitRange: k8s_openapi::api::core::v1::LimitRange }

object! {
    /// `LimitRangeItem`, as far as an applier sets it.
    LimitRangeItem {
        default with_default "default" {Quantity},
        default_request with_default_request "defaultRequest" {Quantity},
        max with_max "max" {Quantity},
        max_limit_request_ratio with_max_limit_request_ratio "maxLimitRequestRatio" {Quantity},
        min with_min "min" {Quantity},
        type_ with_type "type" String,
    }
}

object! {
    /// `LimitRangeSpec`, as far as an applier sets it.
    LimitRangeSpec {
        /// It has one owner as a whole.
        limits with_limits "limits" [LimitRangeItem],
    }
}

object! {
    /// `LinuxContainerUser`, as far as an applier sets it.
    LinuxContainerUser {
        gid with_gid "gid" i64,
        /// It has one owner as a whole.
        supplemental_groups with_supplemental_groups "supplementalGroups" [i64],
        uid with_uid "uid" i64,
    }
}

object! {
    /// `LoadBalancerIngress`, as far as an applier sets it.
    LoadBalancerIngress {
        hostname with_hostname "hostname" String,
        ip with_ip "ip" String,
        ip_mode with_ip_mode "ipMode" String,
        /// It has one owner as a whole.
        ports with_ports "ports" [PortStatus],
    }
}

object! {
    /// `LoadBalancerStatus`, as far as an applier sets it.
    LoadBalancerStatus {
        /// It has one owner as a whole.
        ingress with_ingress "ingress" [LoadBalancerIngress],
    }
}

object! {
    /// `LocalObjectReference`, as far as an applier sets it. It has one owner as a whole.
    LocalObjectReference {
        name with_name "name" String,
    }
}

object! {
    /// `LocalVolumeSource`, as far as an applier sets it.
    LocalVolumeSource {
        fs_type with_fs_type "fsType" String,
        path with_path "path" String,
    }
}

object! {
    /// `ModifyVolumeStatus`, as far as an applier sets it.
    ModifyVolumeStatus {
        /// One of `InProgress`, `Infeasible`, `Pending`.
        status with_status "status" String,
        target_volume_attributes_class_name with_target_volume_attributes_class_name "targetVolumeAttributesClassName" String,
    }
}

object! {
    /// `NFSVolumeSource`, as far as an applier sets it.
    NFSVolumeSource {
        path with_path "path" String,
        read_only with_read_only "readOnly" bool,
        server with_server "server" String,
    }
}

object! {
    /// What an applier sets of a `Namespace` of `v1`.
    Namespace as "v1" "Namespace" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" NamespaceSpec,
        status with_status "status" NamespaceStatus,
    }
}
kind!(Namespace cluster);
applies! { Namespace: k8s_openapi::api::core::v1::Namespace }

object! {
    /// `NamespaceCondition`, as far as an applier sets it.
    NamespaceCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `NamespaceSpec`, as far as an applier sets it.
    NamespaceSpec {
        /// It has one owner as a whole.
        finalizers with_finalizers "finalizers" [String],
    }
}

object! {
    /// `NamespaceStatus`, as far as an applier sets it.
    NamespaceStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [NamespaceCondition],
        /// One of `Active`, `Terminating`.
        phase with_phase "phase" String,
    }
}

object! {
    /// What an applier sets of a `Node` of `v1`.
    Node as "v1" "Node" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" NodeSpec,
        status with_status "status" NodeStatus,
    }
}
kind!(Node cluster);
applies! { Node: k8s_openapi::api::core::v1::Node }

object! {
    /// `NodeAddress`, as far as an applier sets it.
    NodeAddress {
        address with_address "address" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `NodeAffinity`, as far as an applier sets it.
    NodeAffinity {
        /// It has one owner as a whole.
        preferred_during_scheduling_ignored_during_execution with_preferred_during_scheduling_ignored_during_execution "preferredDuringSchedulingIgnoredDuringExecution" [PreferredSchedulingTerm],
        required_during_scheduling_ignored_during_execution with_required_during_scheduling_ignored_during_execution "requiredDuringSchedulingIgnoredDuringExecution" NodeSelector,
    }
}

object! {
    /// `NodeAllocatableMappedResources`, as far as an applier sets it. Since 1.37.
    NodeAllocatableMappedResources {
        name with_name "name" String,
        quantity with_quantity "quantity" Quantity,
    }
}

object! {
    /// `NodeAllocatableOverheadResources`, as far as an applier sets it. Since 1.37.
    NodeAllocatableOverheadResources {
        name with_name "name" String,
        per_container with_per_container "perContainer" Quantity,
        per_pod with_per_pod "perPod" Quantity,
    }
}

object! {
    /// `NodeAllocatableResourceClaimStatus`, as far as an applier sets it. Since 1.36.
    NodeAllocatableResourceClaimStatus {
        /// Items are owned one by one.
        containers with_containers "containers" [String],
        /// Items are owned one by one, by `name`. Since 1.37.
        mapping with_mapping "mapping" [NodeAllocatableMappedResources],
        /// Items are owned one by one, by `name`. Since 1.37.
        overhead with_overhead "overhead" [NodeAllocatableOverheadResources],
        resource_claim_name with_resource_claim_name "resourceClaimName" String,
    }
}

object! {
    /// `NodeCondition`, as far as an applier sets it.
    NodeCondition {
        last_heartbeat_time with_last_heartbeat_time "lastHeartbeatTime" Time,
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `NodeConfigSource`, as far as an applier sets it.
    NodeConfigSource {
        config_map with_config_map "configMap" ConfigMapNodeConfigSource,
    }
}

object! {
    /// `NodeConfigStatus`, as far as an applier sets it.
    NodeConfigStatus {
        active with_active "active" NodeConfigSource,
        assigned with_assigned "assigned" NodeConfigSource,
        error with_error "error" String,
        last_known_good with_last_known_good "lastKnownGood" NodeConfigSource,
    }
}

object! {
    /// `NodeDaemonEndpoints`, as far as an applier sets it.
    NodeDaemonEndpoints {
        kubelet_endpoint with_kubelet_endpoint "kubeletEndpoint" DaemonEndpoint,
    }
}

object! {
    /// `NodeFeatures`, as far as an applier sets it.
    NodeFeatures {
        supplemental_groups_policy with_supplemental_groups_policy "supplementalGroupsPolicy" bool,
    }
}

object! {
    /// `NodePodPreemptionPolicy`, as far as an applier sets it. Since 1.37.
    NodePodPreemptionPolicy {
        /// Items are owned one by one.
        disable_resize_preemption with_disable_resize_preemption "disableResizePreemption" [String],
    }
}

object! {
    /// `NodeRuntimeHandler`, as far as an applier sets it.
    NodeRuntimeHandler {
        features with_features "features" NodeRuntimeHandlerFeatures,
        name with_name "name" String,
    }
}

object! {
    /// `NodeRuntimeHandlerFeatures`, as far as an applier sets it.
    NodeRuntimeHandlerFeatures {
        recursive_read_only_mounts with_recursive_read_only_mounts "recursiveReadOnlyMounts" bool,
        user_namespaces with_user_namespaces "userNamespaces" bool,
    }
}

object! {
    /// `NodeSelector`, as far as an applier sets it. It has one owner as a whole.
    NodeSelector {
        /// It has one owner as a whole.
        node_selector_terms with_node_selector_terms "nodeSelectorTerms" [NodeSelectorTerm],
    }
}

object! {
    /// `NodeSelectorRequirement`, as far as an applier sets it.
    NodeSelectorRequirement {
        key with_key "key" String,
        /// One of `DoesNotExist`, `Exists`, `Gt`, `In`, `Lt`, `NotIn`.
        operator with_operator "operator" String,
        /// It has one owner as a whole.
        values with_values "values" [String],
    }
}

object! {
    /// `NodeSelectorTerm`, as far as an applier sets it. It has one owner as a whole.
    NodeSelectorTerm {
        /// It has one owner as a whole.
        match_expressions with_match_expressions "matchExpressions" [NodeSelectorRequirement],
        /// It has one owner as a whole.
        match_fields with_match_fields "matchFields" [NodeSelectorRequirement],
    }
}

object! {
    /// `NodeSpec`, as far as an applier sets it.
    NodeSpec {
        config_source with_config_source "configSource" NodeConfigSource,
        external_id with_external_id "externalID" String,
        pod_cidr with_pod_cidr "podCIDR" String,
        /// Items are owned one by one.
        pod_cidrs with_pod_cidrs "podCIDRs" [String],
        /// Since 1.37.
        pod_preemption_policy with_pod_preemption_policy "podPreemptionPolicy" NodePodPreemptionPolicy,
        provider_id with_provider_id "providerID" String,
        /// It has one owner as a whole.
        taints with_taints "taints" [Taint],
        unschedulable with_unschedulable "unschedulable" bool,
    }
}

object! {
    /// `NodeStatus`, as far as an applier sets it.
    NodeStatus {
        /// Items are owned one by one, by `type`.
        addresses with_addresses "addresses" [NodeAddress],
        allocatable with_allocatable "allocatable" {Quantity},
        capacity with_capacity "capacity" {Quantity},
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [NodeCondition],
        config with_config "config" NodeConfigStatus,
        daemon_endpoints with_daemon_endpoints "daemonEndpoints" NodeDaemonEndpoints,
        /// It has one owner as a whole. Since 1.35.
        declared_features with_declared_features "declaredFeatures" [String],
        features with_features "features" NodeFeatures,
        /// It has one owner as a whole.
        images with_images "images" [ContainerImage],
        node_info with_node_info "nodeInfo" NodeSystemInfo,
        /// One of `Pending`, `Running`, `Terminated`.
        phase with_phase "phase" String,
        /// It has one owner as a whole.
        runtime_handlers with_runtime_handlers "runtimeHandlers" [NodeRuntimeHandler],
        /// It has one owner as a whole.
        volumes_attached with_volumes_attached "volumesAttached" [AttachedVolume],
        /// It has one owner as a whole.
        volumes_in_use with_volumes_in_use "volumesInUse" [String],
    }
}

object! {
    /// `NodeSwapStatus`, as far as an applier sets it.
    NodeSwapStatus {
        capacity with_capacity "capacity" i64,
    }
}

object! {
    /// `NodeSystemInfo`, as far as an applier sets it.
    NodeSystemInfo {
        architecture with_architecture "architecture" String,
        boot_id with_boot_id "bootID" String,
        container_runtime_version with_container_runtime_version "containerRuntimeVersion" String,
        kernel_version with_kernel_version "kernelVersion" String,
        kube_proxy_version with_kube_proxy_version "kubeProxyVersion" String,
        kubelet_version with_kubelet_version "kubeletVersion" String,
        machine_id with_machine_id "machineID" String,
        operating_system with_operating_system "operatingSystem" String,
        os_image with_os_image "osImage" String,
        /// Since 1.37.
        running_in_user_namespace with_running_in_user_namespace "runningInUserNamespace" bool,
        swap with_swap "swap" NodeSwapStatus,
        system_uuid with_system_uuid "systemUUID" String,
    }
}

object! {
    /// `ObjectFieldSelector`, as far as an applier sets it. It has one owner as a whole.
    ObjectFieldSelector {
        api_version with_api_version "apiVersion" String,
        field_path with_field_path "fieldPath" String,
    }
}

object! {
    /// `ObjectReference`, as far as an applier sets it. It has one owner as a whole.
    ObjectReference {
        api_version with_api_version "apiVersion" String,
        field_path with_field_path "fieldPath" String,
        kind with_kind "kind" String,
        name with_name "name" String,
        namespace with_namespace "namespace" String,
        resource_version with_resource_version "resourceVersion" String,
        uid with_uid "uid" String,
    }
}

object! {
    /// What an applier sets of a `PersistentVolume` of `v1`.
    PersistentVolume as "v1" "PersistentVolume" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PersistentVolumeSpec,
        status with_status "status" PersistentVolumeStatus,
    }
}
kind!(PersistentVolume cluster);
applies! { PersistentVolume: k8s_openapi::api::core::v1::PersistentVolume }

object! {
    /// What an applier sets of a `PersistentVolumeClaim` of `v1`.
    PersistentVolumeClaim as "v1" "PersistentVolumeClaim" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PersistentVolumeClaimSpec,
        status with_status "status" PersistentVolumeClaimStatus,
    }
}
kind!(PersistentVolumeClaim namespaced);
applies! { PersistentVolumeClaim: k8s_openapi::api::core::v1::PersistentVolumeClaim }

object! {
    /// `PersistentVolumeClaimCondition`, as far as an applier sets it.
    PersistentVolumeClaimCondition {
        last_probe_time with_last_probe_time "lastProbeTime" Time,
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `PersistentVolumeClaimSpec`, as far as an applier sets it.
    PersistentVolumeClaimSpec {
        /// It has one owner as a whole. One of `ReadOnlyMany`, `ReadWriteMany`, `ReadWriteOnce`, `ReadWriteOncePod`.
        access_modes with_access_modes "accessModes" [String],
        data_source with_data_source "dataSource" TypedLocalObjectReference,
        data_source_ref with_data_source_ref "dataSourceRef" TypedObjectReference,
        resources with_resources "resources" VolumeResourceRequirements,
        selector with_selector "selector" LabelSelector,
        storage_class_name with_storage_class_name "storageClassName" String,
        volume_attributes_class_name with_volume_attributes_class_name "volumeAttributesClassName" String,
        /// One of `Block`, `Filesystem`.
        volume_mode with_volume_mode "volumeMode" String,
        volume_name with_volume_name "volumeName" String,
    }
}

object! {
    /// `PersistentVolumeClaimStatus`, as far as an applier sets it.
    PersistentVolumeClaimStatus {
        /// It has one owner as a whole. One of `ReadOnlyMany`, `ReadWriteMany`, `ReadWriteOnce`, `ReadWriteOncePod`.
        access_modes with_access_modes "accessModes" [String],
        allocated_resource_statuses with_allocated_resource_statuses "allocatedResourceStatuses" {String},
        allocated_resources with_allocated_resources "allocatedResources" {Quantity},
        capacity with_capacity "capacity" {Quantity},
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [PersistentVolumeClaimCondition],
        current_volume_attributes_class_name with_current_volume_attributes_class_name "currentVolumeAttributesClassName" String,
        /// Since 1.37.
        health_status with_health_status "healthStatus" VolumeHealthStatus,
        modify_volume_status with_modify_volume_status "modifyVolumeStatus" ModifyVolumeStatus,
        /// One of `Bound`, `Lost`, `Pending`.
        phase with_phase "phase" String,
    }
}

object! {
    /// `PersistentVolumeClaimTemplate`, as far as an applier sets it.
    PersistentVolumeClaimTemplate {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PersistentVolumeClaimSpec,
    }
}

object! {
    /// `PersistentVolumeClaimVolumeSource`, as far as an applier sets it.
    PersistentVolumeClaimVolumeSource {
        claim_name with_claim_name "claimName" String,
        read_only with_read_only "readOnly" bool,
    }
}

object! {
    /// `PersistentVolumeSpec`, as far as an applier sets it.
    PersistentVolumeSpec {
        /// It has one owner as a whole. One of `ReadOnlyMany`, `ReadWriteMany`, `ReadWriteOnce`, `ReadWriteOncePod`.
        access_modes with_access_modes "accessModes" [String],
        aws_elastic_block_store with_aws_elastic_block_store "awsElasticBlockStore" AWSElasticBlockStoreVolumeSource,
        azure_disk with_azure_disk "azureDisk" AzureDiskVolumeSource,
        azure_file with_azure_file "azureFile" AzureFilePersistentVolumeSource,
        capacity with_capacity "capacity" {Quantity},
        cephfs with_cephfs "cephfs" CephFSPersistentVolumeSource,
        cinder with_cinder "cinder" CinderPersistentVolumeSource,
        claim_ref with_claim_ref "claimRef" ObjectReference,
        csi with_csi "csi" CSIPersistentVolumeSource,
        fc with_fc "fc" FCVolumeSource,
        flex_volume with_flex_volume "flexVolume" FlexPersistentVolumeSource,
        flocker with_flocker "flocker" FlockerVolumeSource,
        gce_persistent_disk with_gce_persistent_disk "gcePersistentDisk" GCEPersistentDiskVolumeSource,
        glusterfs with_glusterfs "glusterfs" GlusterfsPersistentVolumeSource,
        host_path with_host_path "hostPath" HostPathVolumeSource,
        iscsi with_iscsi "iscsi" ISCSIPersistentVolumeSource,
        local with_local "local" LocalVolumeSource,
        /// It has one owner as a whole.
        mount_options with_mount_options "mountOptions" [String],
        nfs with_nfs "nfs" NFSVolumeSource,
        node_affinity with_node_affinity "nodeAffinity" VolumeNodeAffinity,
        /// One of `Delete`, `Recycle`, `Retain`.
        persistent_volume_reclaim_policy with_persistent_volume_reclaim_policy "persistentVolumeReclaimPolicy" String,
        photon_persistent_disk with_photon_persistent_disk "photonPersistentDisk" PhotonPersistentDiskVolumeSource,
        portworx_volume with_portworx_volume "portworxVolume" PortworxVolumeSource,
        quobyte with_quobyte "quobyte" QuobyteVolumeSource,
        rbd with_rbd "rbd" RBDPersistentVolumeSource,
        scale_io with_scale_io "scaleIO" ScaleIOPersistentVolumeSource,
        storage_class_name with_storage_class_name "storageClassName" String,
        storageos with_storageos "storageos" StorageOSPersistentVolumeSource,
        volume_attributes_class_name with_volume_attributes_class_name "volumeAttributesClassName" String,
        /// One of `Block`, `Filesystem`.
        volume_mode with_volume_mode "volumeMode" String,
        vsphere_volume with_vsphere_volume "vsphereVolume" VsphereVirtualDiskVolumeSource,
    }
}

object! {
    /// `PersistentVolumeStatus`, as far as an applier sets it.
    PersistentVolumeStatus {
        last_phase_transition_time with_last_phase_transition_time "lastPhaseTransitionTime" Time,
        message with_message "message" String,
        /// One of `Available`, `Bound`, `Failed`, `Pending`, `Released`.
        phase with_phase "phase" String,
        reason with_reason "reason" String,
    }
}

object! {
    /// `PhotonPersistentDiskVolumeSource`, as far as an applier sets it.
    PhotonPersistentDiskVolumeSource {
        fs_type with_fs_type "fsType" String,
        pd_id with_pd_id "pdID" String,
    }
}

object! {
    /// What an applier sets of a `Pod` of `v1`.
    Pod as "v1" "Pod" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PodSpec,
        status with_status "status" PodStatus,
    }
}
kind!(Pod namespaced);
applies! { Pod: k8s_openapi::api::core::v1::Pod }

object! {
    /// `PodAffinity`, as far as an applier sets it.
    PodAffinity {
        /// It has one owner as a whole.
        preferred_during_scheduling_ignored_during_execution with_preferred_during_scheduling_ignored_during_execution "preferredDuringSchedulingIgnoredDuringExecution" [WeightedPodAffinityTerm],
        /// It has one owner as a whole.
        required_during_scheduling_ignored_during_execution with_required_during_scheduling_ignored_during_execution "requiredDuringSchedulingIgnoredDuringExecution" [PodAffinityTerm],
    }
}

object! {
    /// `PodAffinityTerm`, as far as an applier sets it.
    PodAffinityTerm {
        label_selector with_label_selector "labelSelector" LabelSelector,
        /// It has one owner as a whole.
        match_label_keys with_match_label_keys "matchLabelKeys" [String],
        /// It has one owner as a whole.
        mismatch_label_keys with_mismatch_label_keys "mismatchLabelKeys" [String],
        namespace_selector with_namespace_selector "namespaceSelector" LabelSelector,
        /// It has one owner as a whole.
        namespaces with_namespaces "namespaces" [String],
        topology_key with_topology_key "topologyKey" String,
    }
}

object! {
    /// `PodAntiAffinity`, as far as an applier sets it.
    PodAntiAffinity {
        /// It has one owner as a whole.
        preferred_during_scheduling_ignored_during_execution with_preferred_during_scheduling_ignored_during_execution "preferredDuringSchedulingIgnoredDuringExecution" [WeightedPodAffinityTerm],
        /// It has one owner as a whole.
        required_during_scheduling_ignored_during_execution with_required_during_scheduling_ignored_during_execution "requiredDuringSchedulingIgnoredDuringExecution" [PodAffinityTerm],
    }
}

object! {
    /// `PodCertificateProjection`, as far as an applier sets it. Since 1.34.
    PodCertificateProjection {
        certificate_chain_path with_certificate_chain_path "certificateChainPath" String,
        credential_bundle_path with_credential_bundle_path "credentialBundlePath" String,
        key_path with_key_path "keyPath" String,
        key_type with_key_type "keyType" String,
        max_expiration_seconds with_max_expiration_seconds "maxExpirationSeconds" i32,
        signer_name with_signer_name "signerName" String,
        /// Since 1.37.
        user with_user "user" i64,
        /// Since 1.35.
        user_annotations with_user_annotations "userAnnotations" {String},
    }
}

object! {
    /// `PodCondition`, as far as an applier sets it.
    PodCondition {
        last_probe_time with_last_probe_time "lastProbeTime" Time,
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        observed_generation with_observed_generation "observedGeneration" i64,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `PodDNSConfig`, as far as an applier sets it.
    PodDNSConfig {
        /// It has one owner as a whole.
        nameservers with_nameservers "nameservers" [String],
        /// It has one owner as a whole.
        options with_options "options" [PodDNSConfigOption],
        /// It has one owner as a whole.
        searches with_searches "searches" [String],
    }
}

object! {
    /// `PodDNSConfigOption`, as far as an applier sets it.
    PodDNSConfigOption {
        name with_name "name" String,
        value with_value "value" String,
    }
}

object! {
    /// `PodExtendedResourceClaimStatus`, as far as an applier sets it. Since 1.34.
    PodExtendedResourceClaimStatus {
        /// It has one owner as a whole.
        request_mappings with_request_mappings "requestMappings" [ContainerExtendedResourceRequest],
        resource_claim_name with_resource_claim_name "resourceClaimName" String,
    }
}

object! {
    /// `PodIP`, as far as an applier sets it.
    PodIP {
        ip with_ip "ip" String,
    }
}

object! {
    /// `PodOS`, as far as an applier sets it.
    PodOS {
        name with_name "name" String,
    }
}

object! {
    /// `PodReadinessGate`, as far as an applier sets it.
    PodReadinessGate {
        condition_type with_condition_type "conditionType" String,
    }
}

object! {
    /// `PodResourceClaim`, as far as an applier sets it.
    PodResourceClaim {
        name with_name "name" String,
        resource_claim_name with_resource_claim_name "resourceClaimName" String,
        resource_claim_template_name with_resource_claim_template_name "resourceClaimTemplateName" String,
    }
}

object! {
    /// `PodResourceClaimStatus`, as far as an applier sets it.
    PodResourceClaimStatus {
        name with_name "name" String,
        resource_claim_name with_resource_claim_name "resourceClaimName" String,
    }
}

object! {
    /// `PodSchedulingGate`, as far as an applier sets it.
    PodSchedulingGate {
        name with_name "name" String,
    }
}

object! {
    /// `PodSchedulingGroup`, as far as an applier sets it. Since 1.36.
    PodSchedulingGroup {
        pod_group_name with_pod_group_name "podGroupName" String,
    }
}

object! {
    /// `PodSecurityContext`, as far as an applier sets it.
    PodSecurityContext {
        app_armor_profile with_app_armor_profile "appArmorProfile" AppArmorProfile,
        fs_group with_fs_group "fsGroup" i64,
        /// One of `Always`, `OnRootMismatch`.
        fs_group_change_policy with_fs_group_change_policy "fsGroupChangePolicy" String,
        run_as_group with_run_as_group "runAsGroup" i64,
        run_as_non_root with_run_as_non_root "runAsNonRoot" bool,
        run_as_user with_run_as_user "runAsUser" i64,
        se_linux_change_policy with_se_linux_change_policy "seLinuxChangePolicy" String,
        se_linux_options with_se_linux_options "seLinuxOptions" SELinuxOptions,
        seccomp_profile with_seccomp_profile "seccompProfile" SeccompProfile,
        /// It has one owner as a whole.
        supplemental_groups with_supplemental_groups "supplementalGroups" [i64],
        /// One of `Merge`, `Strict`.
        supplemental_groups_policy with_supplemental_groups_policy "supplementalGroupsPolicy" String,
        /// It has one owner as a whole.
        sysctls with_sysctls "sysctls" [Sysctl],
        windows_options with_windows_options "windowsOptions" WindowsSecurityContextOptions,
    }
}

object! {
    /// `PodSpec`, as far as an applier sets it.
    PodSpec {
        active_deadline_seconds with_active_deadline_seconds "activeDeadlineSeconds" i64,
        affinity with_affinity "affinity" Affinity,
        automount_service_account_token with_automount_service_account_token "automountServiceAccountToken" bool,
        /// Items are owned one by one, by `name`.
        containers with_containers "containers" [Container],
        dns_config with_dns_config "dnsConfig" PodDNSConfig,
        /// One of `ClusterFirst`, `ClusterFirstWithHostNet`, `Default`, `None`.
        dns_policy with_dns_policy "dnsPolicy" String,
        enable_service_links with_enable_service_links "enableServiceLinks" bool,
        /// Items are owned one by one, by `name`.
        ephemeral_containers with_ephemeral_containers "ephemeralContainers" [EphemeralContainer],
        /// Items are owned one by one, by `name`. Since 1.37.
        eviction_responders with_eviction_responders "evictionResponders" [EvictionResponder],
        /// Items are owned one by one, by `ip`.
        host_aliases with_host_aliases "hostAliases" [HostAlias],
        host_ipc with_host_ipc "hostIPC" bool,
        host_network with_host_network "hostNetwork" bool,
        host_pid with_host_pid "hostPID" bool,
        host_users with_host_users "hostUsers" bool,
        hostname with_hostname "hostname" String,
        /// Since 1.34.
        hostname_override with_hostname_override "hostnameOverride" String,
        /// Items are owned one by one, by `name`.
        image_pull_secrets with_image_pull_secrets "imagePullSecrets" [LocalObjectReference],
        /// Items are owned one by one, by `name`.
        init_containers with_init_containers "initContainers" [Container],
        node_name with_node_name "nodeName" String,
        /// It has one owner as a whole.
        node_selector with_node_selector "nodeSelector" {String},
        os with_os "os" PodOS,
        overhead with_overhead "overhead" {Quantity},
        /// One of `Never`, `PreemptLowerPriority`.
        preemption_policy with_preemption_policy "preemptionPolicy" String,
        priority with_priority "priority" i32,
        priority_class_name with_priority_class_name "priorityClassName" String,
        /// It has one owner as a whole.
        readiness_gates with_readiness_gates "readinessGates" [PodReadinessGate],
        /// Items are owned one by one, by `name`.
        resource_claims with_resource_claims "resourceClaims" [PodResourceClaim],
        resources with_resources "resources" ResourceRequirements,
        /// One of `Always`, `Never`, `OnFailure`.
        restart_policy with_restart_policy "restartPolicy" String,
        runtime_class_name with_runtime_class_name "runtimeClassName" String,
        scheduler_name with_scheduler_name "schedulerName" String,
        /// Items are owned one by one, by `name`.
        scheduling_gates with_scheduling_gates "schedulingGates" [PodSchedulingGate],
        /// Since 1.36.
        scheduling_group with_scheduling_group "schedulingGroup" PodSchedulingGroup,
        security_context with_security_context "securityContext" PodSecurityContext,
        service_account with_service_account "serviceAccount" String,
        service_account_name with_service_account_name "serviceAccountName" String,
        set_hostname_as_fqdn with_set_hostname_as_fqdn "setHostnameAsFQDN" bool,
        share_process_namespace with_share_process_namespace "shareProcessNamespace" bool,
        subdomain with_subdomain "subdomain" String,
        termination_grace_period_seconds with_termination_grace_period_seconds "terminationGracePeriodSeconds" i64,
        /// It has one owner as a whole.
        tolerations with_tolerations "tolerations" [Toleration],
        /// Items are owned one by one, by `topologyKey` and `whenUnsatisfiable`.
        topology_spread_constraints with_topology_spread_constraints "topologySpreadConstraints" [TopologySpreadConstraint],
        /// Items are owned one by one, by `name`.
        volumes with_volumes "volumes" [Volume],
    }
}

object! {
    /// `PodStatus`, as far as an applier sets it.
    PodStatus {
        /// Since 1.35.
        allocated_resources with_allocated_resources "allocatedResources" {Quantity},
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [PodCondition],
        /// It has one owner as a whole.
        container_statuses with_container_statuses "containerStatuses" [ContainerStatus],
        /// It has one owner as a whole.
        ephemeral_container_statuses with_ephemeral_container_statuses "ephemeralContainerStatuses" [ContainerStatus],
        /// Since 1.34.
        extended_resource_claim_status with_extended_resource_claim_status "extendedResourceClaimStatus" PodExtendedResourceClaimStatus,
        host_ip with_host_ip "hostIP" String,
        /// It has one owner as a whole.
        host_ips with_host_ips "hostIPs" [HostIP],
        /// It has one owner as a whole.
        init_container_statuses with_init_container_statuses "initContainerStatuses" [ContainerStatus],
        message with_message "message" String,
        /// Items are owned one by one, by `resourceClaimName`. Since 1.36.
        node_allocatable_resource_claim_statuses with_node_allocatable_resource_claim_statuses "nodeAllocatableResourceClaimStatuses" [NodeAllocatableResourceClaimStatus],
        nominated_node_name with_nominated_node_name "nominatedNodeName" String,
        observed_generation with_observed_generation "observedGeneration" i64,
        /// One of `Failed`, `Pending`, `Running`, `Succeeded`, `Unknown`.
        phase with_phase "phase" String,
        pod_ip with_pod_ip "podIP" String,
        /// Items are owned one by one, by `ip`.
        pod_ips with_pod_ips "podIPs" [PodIP],
        /// One of `BestEffort`, `Burstable`, `Guaranteed`.
        qos_class with_qos_class "qosClass" String,
        reason with_reason "reason" String,
        resize with_resize "resize" String,
        /// Items are owned one by one, by `name`.
        resource_claim_statuses with_resource_claim_statuses "resourceClaimStatuses" [PodResourceClaimStatus],
        /// Since 1.35.
        resources with_resources "resources" ResourceRequirements,
        start_time with_start_time "startTime" Time,
        /// Items are owned one by one, by `name`. Since 1.37.
        volume_health with_volume_health "volumeHealth" [PodVolumeHealth],
    }
}

object! {
    /// What an applier sets of a `PodTemplate` of `v1`.
    PodTemplate as "v1" "PodTemplate" {
        metadata with_metadata "metadata" ObjectMeta,
        template with_template "template" PodTemplateSpec,
    }
}
kind!(PodTemplate namespaced);
applies! { PodTemplate: k8s_openapi::api::core::v1::PodTemplate }

object! {
    /// `PodTemplateSpec`, as far as an applier sets it.
    PodTemplateSpec {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PodSpec,
    }
}

object! {
    /// `PodVolumeHealth`, as far as an applier sets it. Since 1.37.
    PodVolumeHealth {
        /// Items are owned one by one, by `status` and `reason`.
        health_conditions with_health_conditions "healthConditions" [VolumeHealthCondition],
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        name with_name "name" String,
    }
}

object! {
    /// `PortStatus`, as far as an applier sets it.
    PortStatus {
        error with_error "error" String,
        port with_port "port" i32,
        /// One of `SCTP`, `TCP`, `UDP`.
        protocol with_protocol "protocol" String,
    }
}

object! {
    /// `PortworxVolumeSource`, as far as an applier sets it.
    PortworxVolumeSource {
        fs_type with_fs_type "fsType" String,
        read_only with_read_only "readOnly" bool,
        volume_id with_volume_id "volumeID" String,
    }
}

object! {
    /// `PreferredSchedulingTerm`, as far as an applier sets it.
    PreferredSchedulingTerm {
        preference with_preference "preference" NodeSelectorTerm,
        weight with_weight "weight" i32,
    }
}

object! {
    /// `Probe`, as far as an applier sets it.
    Probe {
        exec with_exec "exec" ExecAction,
        failure_threshold with_failure_threshold "failureThreshold" i32,
        grpc with_grpc "grpc" GRPCAction,
        http_get with_http_get "httpGet" HTTPGetAction,
        initial_delay_seconds with_initial_delay_seconds "initialDelaySeconds" i32,
        period_seconds with_period_seconds "periodSeconds" i32,
        success_threshold with_success_threshold "successThreshold" i32,
        tcp_socket with_tcp_socket "tcpSocket" TCPSocketAction,
        termination_grace_period_seconds with_termination_grace_period_seconds "terminationGracePeriodSeconds" i64,
        timeout_seconds with_timeout_seconds "timeoutSeconds" i32,
    }
}

object! {
    /// `ProjectedVolumeSource`, as far as an applier sets it.
    ProjectedVolumeSource {
        default_mode with_default_mode "defaultMode" i32,
        /// Since 1.37.
        default_user with_default_user "defaultUser" i64,
        /// It has one owner as a whole.
        sources with_sources "sources" [VolumeProjection],
    }
}

object! {
    /// `QuobyteVolumeSource`, as far as an applier sets it.
    QuobyteVolumeSource {
        group with_group "group" String,
        read_only with_read_only "readOnly" bool,
        registry with_registry "registry" String,
        tenant with_tenant "tenant" String,
        user with_user "user" String,
        volume with_volume "volume" String,
    }
}

object! {
    /// `RBDPersistentVolumeSource`, as far as an applier sets it.
    RBDPersistentVolumeSource {
        fs_type with_fs_type "fsType" String,
        image with_image "image" String,
        keyring with_keyring "keyring" String,
        /// It has one owner as a whole.
        monitors with_monitors "monitors" [String],
        pool with_pool "pool" String,
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" SecretReference,
        user with_user "user" String,
    }
}

object! {
    /// `RBDVolumeSource`, as far as an applier sets it.
    RBDVolumeSource {
        fs_type with_fs_type "fsType" String,
        image with_image "image" String,
        keyring with_keyring "keyring" String,
        /// It has one owner as a whole.
        monitors with_monitors "monitors" [String],
        pool with_pool "pool" String,
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" LocalObjectReference,
        user with_user "user" String,
    }
}

object! {
    /// What an applier sets of a `ReplicationController` of `v1`.
    ReplicationController as "v1" "ReplicationController" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ReplicationControllerSpec,
        status with_status "status" ReplicationControllerStatus,
    }
}
kind!(ReplicationController namespaced);
applies! { ReplicationController: k8s_openapi::api::core::v1::ReplicationController }

object! {
    /// `ReplicationControllerCondition`, as far as an applier sets it.
    ReplicationControllerCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `ReplicationControllerSpec`, as far as an applier sets it.
    ReplicationControllerSpec {
        min_ready_seconds with_min_ready_seconds "minReadySeconds" i32,
        replicas with_replicas "replicas" i32,
        /// It has one owner as a whole.
        selector with_selector "selector" {String},
        template with_template "template" PodTemplateSpec,
    }
}

object! {
    /// `ReplicationControllerStatus`, as far as an applier sets it.
    ReplicationControllerStatus {
        available_replicas with_available_replicas "availableReplicas" i32,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [ReplicationControllerCondition],
        fully_labeled_replicas with_fully_labeled_replicas "fullyLabeledReplicas" i32,
        observed_generation with_observed_generation "observedGeneration" i64,
        ready_replicas with_ready_replicas "readyReplicas" i32,
        replicas with_replicas "replicas" i32,
    }
}

object! {
    /// `ResourceClaim`, as far as an applier sets it.
    ResourceClaim {
        name with_name "name" String,
        request with_request "request" String,
    }
}

object! {
    /// `ResourceFieldSelector`, as far as an applier sets it. It has one owner as a whole.
    ResourceFieldSelector {
        container_name with_container_name "containerName" String,
        divisor with_divisor "divisor" Quantity,
        resource with_resource "resource" String,
    }
}

object! {
    /// `ResourceHealth`, as far as an applier sets it.
    ResourceHealth {
        health with_health "health" String,
        /// Since 1.36.
        message with_message "message" String,
        resource_id with_resource_id "resourceID" String,
    }
}

object! {
    /// What an applier sets of a `ResourceQuota` of `v1`.
    ResourceQuota as "v1" "ResourceQuota" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ResourceQuotaSpec,
        status with_status "status" ResourceQuotaStatus,
    }
}
kind!(ResourceQuota namespaced);
applies! { ResourceQuota: k8s_openapi::api::core::v1::ResourceQuota }

object! {
    /// `ResourceQuotaSpec`, as far as an applier sets it.
    ResourceQuotaSpec {
        hard with_hard "hard" {Quantity},
        scope_selector with_scope_selector "scopeSelector" ScopeSelector,
        /// It has one owner as a whole. One of `BestEffort`, `CrossNamespacePodAffinity`, `NotBestEffort`, `NotTerminating`, `PriorityClass`, `Terminating`, `VolumeAttributesClass`.
        scopes with_scopes "scopes" [String],
    }
}

object! {
    /// `ResourceQuotaStatus`, as far as an applier sets it.
    ResourceQuotaStatus {
        hard with_hard "hard" {Quantity},
        used with_used "used" {Quantity},
    }
}

object! {
    /// `ResourceRequirements`, as far as an applier sets it.
    ResourceRequirements {
        /// Items are owned one by one, by `name`.
        claims with_claims "claims" [ResourceClaim],
        limits with_limits "limits" {Quantity},
        requests with_requests "requests" {Quantity},
    }
}

object! {
    /// `ResourceStatus`, as far as an applier sets it.
    ResourceStatus {
        name with_name "name" String,
        /// Items are owned one by one, by `resourceID`.
        resources with_resources "resources" [ResourceHealth],
    }
}

object! {
    /// `SELinuxOptions`, as far as an applier sets it.
    SELinuxOptions {
        level with_level "level" String,
        role with_role "role" String,
        type_ with_type "type" String,
        user with_user "user" String,
    }
}

object! {
    /// `ScaleIOPersistentVolumeSource`, as far as an applier sets it.
    ScaleIOPersistentVolumeSource {
        fs_type with_fs_type "fsType" String,
        gateway with_gateway "gateway" String,
        protection_domain with_protection_domain "protectionDomain" String,
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" SecretReference,
        ssl_enabled with_ssl_enabled "sslEnabled" bool,
        storage_mode with_storage_mode "storageMode" String,
        storage_pool with_storage_pool "storagePool" String,
        system with_system "system" String,
        volume_name with_volume_name "volumeName" String,
    }
}

object! {
    /// `ScaleIOVolumeSource`, as far as an applier sets it.
    ScaleIOVolumeSource {
        fs_type with_fs_type "fsType" String,
        gateway with_gateway "gateway" String,
        protection_domain with_protection_domain "protectionDomain" String,
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" LocalObjectReference,
        ssl_enabled with_ssl_enabled "sslEnabled" bool,
        storage_mode with_storage_mode "storageMode" String,
        storage_pool with_storage_pool "storagePool" String,
        system with_system "system" String,
        volume_name with_volume_name "volumeName" String,
    }
}

object! {
    /// `ScopeSelector`, as far as an applier sets it. It has one owner as a whole.
    ScopeSelector {
        /// It has one owner as a whole.
        match_expressions with_match_expressions "matchExpressions" [ScopedResourceSelectorRequirement],
    }
}

object! {
    /// `ScopedResourceSelectorRequirement`, as far as an applier sets it.
    ScopedResourceSelectorRequirement {
        /// One of `DoesNotExist`, `Exists`, `In`, `NotIn`.
        operator with_operator "operator" String,
        /// One of `BestEffort`, `CrossNamespacePodAffinity`, `NotBestEffort`, `NotTerminating`, `PriorityClass`, `Terminating`, `VolumeAttributesClass`.
        scope_name with_scope_name "scopeName" String,
        /// It has one owner as a whole.
        values with_values "values" [String],
    }
}

object! {
    /// `SeccompProfile`, as far as an applier sets it.
    SeccompProfile {
        localhost_profile with_localhost_profile "localhostProfile" String,
        /// One of `Localhost`, `RuntimeDefault`, `Unconfined`.
        type_ with_type "type" String,
    }
}

object! {
    /// What an applier sets of a `Secret` of `v1`.
    Secret as "v1" "Secret" {
        data with_data "data" {ByteString},
        immutable with_immutable "immutable" bool,
        metadata with_metadata "metadata" ObjectMeta,
        string_data with_string_data "stringData" {String},
        type_ with_type "type" String,
    }
}
kind!(Secret namespaced);
applies! { Secret: k8s_openapi::api::core::v1::Secret }

object! {
    /// `SecretEnvSource`, as far as an applier sets it.
    SecretEnvSource {
        name with_name "name" String,
        optional with_optional "optional" bool,
    }
}

object! {
    /// `SecretKeySelector`, as far as an applier sets it. It has one owner as a whole.
    SecretKeySelector {
        key with_key "key" String,
        name with_name "name" String,
        optional with_optional "optional" bool,
    }
}

object! {
    /// `SecretProjection`, as far as an applier sets it.
    SecretProjection {
        /// It has one owner as a whole.
        items with_items "items" [KeyToPath],
        name with_name "name" String,
        optional with_optional "optional" bool,
    }
}

object! {
    /// `SecretReference`, as far as an applier sets it. It has one owner as a whole.
    SecretReference {
        name with_name "name" String,
        namespace with_namespace "namespace" String,
    }
}

object! {
    /// `SecretVolumeSource`, as far as an applier sets it.
    SecretVolumeSource {
        default_mode with_default_mode "defaultMode" i32,
        /// Since 1.37.
        default_user with_default_user "defaultUser" i64,
        /// It has one owner as a whole.
        items with_items "items" [KeyToPath],
        optional with_optional "optional" bool,
        secret_name with_secret_name "secretName" String,
    }
}

object! {
    /// `SecurityContext`, as far as an applier sets it.
    SecurityContext {
        allow_privilege_escalation with_allow_privilege_escalation "allowPrivilegeEscalation" bool,
        app_armor_profile with_app_armor_profile "appArmorProfile" AppArmorProfile,
        capabilities with_capabilities "capabilities" Capabilities,
        privileged with_privileged "privileged" bool,
        /// One of `Default`, `Unmasked`.
        proc_mount with_proc_mount "procMount" String,
        read_only_root_filesystem with_read_only_root_filesystem "readOnlyRootFilesystem" bool,
        run_as_group with_run_as_group "runAsGroup" i64,
        run_as_non_root with_run_as_non_root "runAsNonRoot" bool,
        run_as_user with_run_as_user "runAsUser" i64,
        se_linux_options with_se_linux_options "seLinuxOptions" SELinuxOptions,
        seccomp_profile with_seccomp_profile "seccompProfile" SeccompProfile,
        windows_options with_windows_options "windowsOptions" WindowsSecurityContextOptions,
    }
}

object! {
    /// What an applier sets of a `Service` of `v1`.
    Service as "v1" "Service" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ServiceSpec,
        status with_status "status" ServiceStatus,
    }
}
kind!(Service namespaced);
applies! { Service: k8s_openapi::api::core::v1::Service }

object! {
    /// What an applier sets of a `ServiceAccount` of `v1`.
    ServiceAccount as "v1" "ServiceAccount" {
        automount_service_account_token with_automount_service_account_token "automountServiceAccountToken" bool,
        /// It has one owner as a whole.
        image_pull_secrets with_image_pull_secrets "imagePullSecrets" [LocalObjectReference],
        metadata with_metadata "metadata" ObjectMeta,
        /// Items are owned one by one, by `name`.
        secrets with_secrets "secrets" [ObjectReference],
    }
}
kind!(ServiceAccount namespaced);
applies! { ServiceAccount: k8s_openapi::api::core::v1::ServiceAccount }

object! {
    /// `ServiceAccountTokenProjection`, as far as an applier sets it.
    ServiceAccountTokenProjection {
        audience with_audience "audience" String,
        expiration_seconds with_expiration_seconds "expirationSeconds" i64,
        path with_path "path" String,
        /// Since 1.37.
        user with_user "user" i64,
    }
}

object! {
    /// `ServicePort`, as far as an applier sets it.
    ServicePort {
        app_protocol with_app_protocol "appProtocol" String,
        name with_name "name" String,
        node_port with_node_port "nodePort" i32,
        port with_port "port" i32,
        /// One of `SCTP`, `TCP`, `UDP`.
        protocol with_protocol "protocol" String,
        target_port with_target_port "targetPort" IntOrString,
    }
}

object! {
    /// `ServiceSpec`, as far as an applier sets it.
    ServiceSpec {
        allocate_load_balancer_node_ports with_allocate_load_balancer_node_ports "allocateLoadBalancerNodePorts" bool,
        cluster_ip with_cluster_ip "clusterIP" String,
        /// It has one owner as a whole.
        cluster_ips with_cluster_ips "clusterIPs" [String],
        /// It has one owner as a whole.
        external_ips with_external_ips "externalIPs" [String],
        external_name with_external_name "externalName" String,
        /// One of `Cluster`, `Local`.
        external_traffic_policy with_external_traffic_policy "externalTrafficPolicy" String,
        health_check_node_port with_health_check_node_port "healthCheckNodePort" i32,
        /// One of `Cluster`, `Local`.
        internal_traffic_policy with_internal_traffic_policy "internalTrafficPolicy" String,
        /// It has one owner as a whole. One of ``, `IPv4`, `IPv6`.
        ip_families with_ip_families "ipFamilies" [String],
        /// One of `PreferDualStack`, `RequireDualStack`, `SingleStack`.
        ip_family_policy with_ip_family_policy "ipFamilyPolicy" String,
        load_balancer_class with_load_balancer_class "loadBalancerClass" String,
        load_balancer_ip with_load_balancer_ip "loadBalancerIP" String,
        /// It has one owner as a whole.
        load_balancer_source_ranges with_load_balancer_source_ranges "loadBalancerSourceRanges" [String],
        /// Items are owned one by one, by `port` and `protocol`.
        ports with_ports "ports" [ServicePort],
        publish_not_ready_addresses with_publish_not_ready_addresses "publishNotReadyAddresses" bool,
        /// It has one owner as a whole.
        selector with_selector "selector" {String},
        /// One of `ClientIP`, `None`.
        session_affinity with_session_affinity "sessionAffinity" String,
        session_affinity_config with_session_affinity_config "sessionAffinityConfig" SessionAffinityConfig,
        traffic_distribution with_traffic_distribution "trafficDistribution" String,
        /// One of `ClusterIP`, `ExternalName`, `LoadBalancer`, `NodePort`.
        type_ with_type "type" String,
    }
}

object! {
    /// `ServiceStatus`, as far as an applier sets it.
    ServiceStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        load_balancer with_load_balancer "loadBalancer" LoadBalancerStatus,
    }
}

object! {
    /// `SessionAffinityConfig`, as far as an applier sets it.
    SessionAffinityConfig {
        client_ip with_client_ip "clientIP" ClientIPConfig,
    }
}

object! {
    /// `SleepAction`, as far as an applier sets it.
    SleepAction {
        seconds with_seconds "seconds" i64,
    }
}

object! {
    /// `StorageOSPersistentVolumeSource`, as far as an applier sets it.
    StorageOSPersistentVolumeSource {
        fs_type with_fs_type "fsType" String,
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" ObjectReference,
        volume_name with_volume_name "volumeName" String,
        volume_namespace with_volume_namespace "volumeNamespace" String,
    }
}

object! {
    /// `StorageOSVolumeSource`, as far as an applier sets it.
    StorageOSVolumeSource {
        fs_type with_fs_type "fsType" String,
        read_only with_read_only "readOnly" bool,
        secret_ref with_secret_ref "secretRef" LocalObjectReference,
        volume_name with_volume_name "volumeName" String,
        volume_namespace with_volume_namespace "volumeNamespace" String,
    }
}

object! {
    /// `Sysctl`, as far as an applier sets it.
    Sysctl {
        name with_name "name" String,
        value with_value "value" String,
    }
}

object! {
    /// `TCPSocketAction`, as far as an applier sets it.
    TCPSocketAction {
        host with_host "host" String,
        port with_port "port" IntOrString,
    }
}

object! {
    /// `Taint`, as far as an applier sets it.
    Taint {
        /// One of `NoExecute`, `NoSchedule`, `PreferNoSchedule`.
        effect with_effect "effect" String,
        key with_key "key" String,
        time_added with_time_added "timeAdded" Time,
        value with_value "value" String,
    }
}

object! {
    /// `Toleration`, as far as an applier sets it.
    Toleration {
        /// One of `NoExecute`, `NoSchedule`, `PreferNoSchedule`.
        effect with_effect "effect" String,
        key with_key "key" String,
        /// One of `Equal`, `Exists`, `Gt`, `Lt`.
        operator with_operator "operator" String,
        toleration_seconds with_toleration_seconds "tolerationSeconds" i64,
        value with_value "value" String,
    }
}

object! {
    /// `TopologySelectorLabelRequirement`, as far as an applier sets it.
    TopologySelectorLabelRequirement {
        key with_key "key" String,
        /// It has one owner as a whole.
        values with_values "values" [String],
    }
}

object! {
    /// `TopologySelectorTerm`, as far as an applier sets it. It has one owner as a whole.
    TopologySelectorTerm {
        /// It has one owner as a whole.
        match_label_expressions with_match_label_expressions "matchLabelExpressions" [TopologySelectorLabelRequirement],
    }
}

object! {
    /// `TopologySpreadConstraint`, as far as an applier sets it.
    TopologySpreadConstraint {
        label_selector with_label_selector "labelSelector" LabelSelector,
        /// It has one owner as a whole.
        match_label_keys with_match_label_keys "matchLabelKeys" [String],
        max_skew with_max_skew "maxSkew" i32,
        min_domains with_min_domains "minDomains" i32,
        /// One of `Honor`, `Ignore`.
        node_affinity_policy with_node_affinity_policy "nodeAffinityPolicy" String,
        /// One of `Honor`, `Ignore`.
        node_taints_policy with_node_taints_policy "nodeTaintsPolicy" String,
        topology_key with_topology_key "topologyKey" String,
        /// One of `DoNotSchedule`, `ScheduleAnyway`.
        when_unsatisfiable with_when_unsatisfiable "whenUnsatisfiable" String,
    }
}

object! {
    /// `TypedLocalObjectReference`, as far as an applier sets it. It has one owner as a whole.
    TypedLocalObjectReference {
        api_group with_api_group "apiGroup" String,
        kind with_kind "kind" String,
        name with_name "name" String,
    }
}

object! {
    /// `TypedObjectReference`, as far as an applier sets it.
    TypedObjectReference {
        api_group with_api_group "apiGroup" String,
        kind with_kind "kind" String,
        name with_name "name" String,
        namespace with_namespace "namespace" String,
    }
}

object! {
    /// `Volume`, as far as an applier sets it.
    Volume {
        aws_elastic_block_store with_aws_elastic_block_store "awsElasticBlockStore" AWSElasticBlockStoreVolumeSource,
        azure_disk with_azure_disk "azureDisk" AzureDiskVolumeSource,
        azure_file with_azure_file "azureFile" AzureFileVolumeSource,
        cephfs with_cephfs "cephfs" CephFSVolumeSource,
        cinder with_cinder "cinder" CinderVolumeSource,
        config_map with_config_map "configMap" ConfigMapVolumeSource,
        csi with_csi "csi" CSIVolumeSource,
        downward_api with_downward_api "downwardAPI" DownwardAPIVolumeSource,
        empty_dir with_empty_dir "emptyDir" EmptyDirVolumeSource,
        ephemeral with_ephemeral "ephemeral" EphemeralVolumeSource,
        fc with_fc "fc" FCVolumeSource,
        flex_volume with_flex_volume "flexVolume" FlexVolumeSource,
        flocker with_flocker "flocker" FlockerVolumeSource,
        gce_persistent_disk with_gce_persistent_disk "gcePersistentDisk" GCEPersistentDiskVolumeSource,
        git_repo with_git_repo "gitRepo" GitRepoVolumeSource,
        glusterfs with_glusterfs "glusterfs" GlusterfsVolumeSource,
        host_path with_host_path "hostPath" HostPathVolumeSource,
        image with_image "image" ImageVolumeSource,
        iscsi with_iscsi "iscsi" ISCSIVolumeSource,
        name with_name "name" String,
        nfs with_nfs "nfs" NFSVolumeSource,
        persistent_volume_claim with_persistent_volume_claim "persistentVolumeClaim" PersistentVolumeClaimVolumeSource,
        photon_persistent_disk with_photon_persistent_disk "photonPersistentDisk" PhotonPersistentDiskVolumeSource,
        portworx_volume with_portworx_volume "portworxVolume" PortworxVolumeSource,
        projected with_projected "projected" ProjectedVolumeSource,
        quobyte with_quobyte "quobyte" QuobyteVolumeSource,
        rbd with_rbd "rbd" RBDVolumeSource,
        scale_io with_scale_io "scaleIO" ScaleIOVolumeSource,
        secret with_secret "secret" SecretVolumeSource,
        storageos with_storageos "storageos" StorageOSVolumeSource,
        vsphere_volume with_vsphere_volume "vsphereVolume" VsphereVirtualDiskVolumeSource,
    }
}

object! {
    /// `VolumeDevice`, as far as an applier sets it.
    VolumeDevice {
        device_path with_device_path "devicePath" String,
        name with_name "name" String,
    }
}

object! {
    /// `VolumeHealthCondition`, as far as an applier sets it. Since 1.37.
    VolumeHealthCondition {
        message with_message "message" String,
        reason with_reason "reason" String,
        /// One of `DataLoss`, `Degraded`, `Inaccessible`.
        status with_status "status" String,
    }
}

object! {
    /// `VolumeHealthStatus`, as far as an applier sets it. Since 1.37.
    VolumeHealthStatus {
        /// Items are owned one by one, by `status` and `reason`.
        health_conditions with_health_conditions "healthConditions" [VolumeHealthCondition],
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
    }
}

object! {
    /// `VolumeMount`, as far as an applier sets it.
    VolumeMount {
        /// Items are owned one by one. Since 1.37.
        bind_mount_options with_bind_mount_options "bindMountOptions" [String],
        mount_path with_mount_path "mountPath" String,
        /// One of `Bidirectional`, `HostToContainer`, `None`.
        mount_propagation with_mount_propagation "mountPropagation" String,
        name with_name "name" String,
        read_only with_read_only "readOnly" bool,
        recursive_read_only with_recursive_read_only "recursiveReadOnly" String,
        sub_path with_sub_path "subPath" String,
        sub_path_expr with_sub_path_expr "subPathExpr" String,
    }
}

object! {
    /// `VolumeMountStatus`, as far as an applier sets it.
    VolumeMountStatus {
        mount_path with_mount_path "mountPath" String,
        name with_name "name" String,
        read_only with_read_only "readOnly" bool,
        recursive_read_only with_recursive_read_only "recursiveReadOnly" String,
        /// Since 1.36.
        volume_status with_volume_status "volumeStatus" VolumeStatus,
    }
}

object! {
    /// `VolumeNodeAffinity`, as far as an applier sets it.
    VolumeNodeAffinity {
        required with_required "required" NodeSelector,
    }
}

object! {
    /// `VolumeProjection`, as far as an applier sets it.
    VolumeProjection {
        cluster_trust_bundle with_cluster_trust_bundle "clusterTrustBundle" ClusterTrustBundleProjection,
        config_map with_config_map "configMap" ConfigMapProjection,
        downward_api with_downward_api "downwardAPI" DownwardAPIProjection,
        /// Since 1.34.
        pod_certificate with_pod_certificate "podCertificate" PodCertificateProjection,
        secret with_secret "secret" SecretProjection,
        service_account_token with_service_account_token "serviceAccountToken" ServiceAccountTokenProjection,
    }
}

object! {
    /// `VolumeResourceRequirements`, as far as an applier sets it.
    VolumeResourceRequirements {
        limits with_limits "limits" {Quantity},
        requests with_requests "requests" {Quantity},
    }
}

object! {
    /// `VolumeStatus`, as far as an applier sets it. Since 1.36.
    VolumeStatus {
        image with_image "image" ImageVolumeStatus,
    }
}

object! {
    /// `VsphereVirtualDiskVolumeSource`, as far as an applier sets it.
    VsphereVirtualDiskVolumeSource {
        fs_type with_fs_type "fsType" String,
        storage_policy_id with_storage_policy_id "storagePolicyID" String,
        storage_policy_name with_storage_policy_name "storagePolicyName" String,
        volume_path with_volume_path "volumePath" String,
    }
}

object! {
    /// `WeightedPodAffinityTerm`, as far as an applier sets it.
    WeightedPodAffinityTerm {
        pod_affinity_term with_pod_affinity_term "podAffinityTerm" PodAffinityTerm,
        weight with_weight "weight" i32,
    }
}

object! {
    /// `WindowsSecurityContextOptions`, as far as an applier sets it.
    WindowsSecurityContextOptions {
        gmsa_credential_spec with_gmsa_credential_spec "gmsaCredentialSpec" String,
        gmsa_credential_spec_name with_gmsa_credential_spec_name "gmsaCredentialSpecName" String,
        host_process with_host_process "hostProcess" bool,
        run_as_user_name with_run_as_user_name "runAsUserName" String,
    }
}
