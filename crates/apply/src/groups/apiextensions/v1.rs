// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `apiextensions`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::ObjectMeta;
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// `CustomResourceColumnDefinition`, as far as an applier sets it.
    CustomResourceColumnDefinition {
        description with_description "description" String,
        format with_format "format" String,
        json_path with_json_path "jsonPath" String,
        name with_name "name" String,
        priority with_priority "priority" i32,
        type_ with_type "type" String,
    }
}

object! {
    /// `CustomResourceConversion`, as far as an applier sets it.
    CustomResourceConversion {
        strategy with_strategy "strategy" String,
        webhook with_webhook "webhook" WebhookConversion,
    }
}

object! {
    /// What an applier sets of a `CustomResourceDefinition` of `apiextensions.k8s.io/v1`.
    CustomResourceDefinition as "apiextensions.k8s.io/v1" "CustomResourceDefinition" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" CustomResourceDefinitionSpec,
        status with_status "status" CustomResourceDefinitionStatus,
    }
}
kind!(CustomResourceDefinition cluster);
applies! { CustomResourceDefinition: k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition }

object! {
    /// `CustomResourceDefinitionCondition`, as far as an applier sets it.
    CustomResourceDefinitionCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        /// Since 1.35.
        observed_generation with_observed_generation "observedGeneration" i64,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `CustomResourceDefinitionNames`, as far as an applier sets it.
    CustomResourceDefinitionNames {
        /// It has one owner as a whole.
        categories with_categories "categories" [String],
        kind with_kind "kind" String,
        list_kind with_list_kind "listKind" String,
        plural with_plural "plural" String,
        /// It has one owner as a whole.
        short_names with_short_names "shortNames" [String],
        singular with_singular "singular" String,
    }
}

object! {
    /// `CustomResourceDefinitionSpec`, as far as an applier sets it.
    CustomResourceDefinitionSpec {
        conversion with_conversion "conversion" CustomResourceConversion,
        group with_group "group" String,
        names with_names "names" CustomResourceDefinitionNames,
        preserve_unknown_fields with_preserve_unknown_fields "preserveUnknownFields" bool,
        scope with_scope "scope" String,
        /// It has one owner as a whole.
        versions with_versions "versions" [CustomResourceDefinitionVersion],
    }
}

object! {
    /// `CustomResourceDefinitionStatus`, as far as an applier sets it.
    CustomResourceDefinitionStatus {
        accepted_names with_accepted_names "acceptedNames" CustomResourceDefinitionNames,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [CustomResourceDefinitionCondition],
        /// Since 1.35.
        observed_generation with_observed_generation "observedGeneration" i64,
        /// It has one owner as a whole.
        stored_versions with_stored_versions "storedVersions" [String],
    }
}

object! {
    /// `CustomResourceDefinitionVersion`, as far as an applier sets it.
    CustomResourceDefinitionVersion {
        /// It has one owner as a whole.
        additional_printer_columns with_additional_printer_columns "additionalPrinterColumns" [CustomResourceColumnDefinition],
        deprecated with_deprecated "deprecated" bool,
        deprecation_warning with_deprecation_warning "deprecationWarning" String,
        name with_name "name" String,
        schema with_schema "schema" CustomResourceValidation,
        /// It has one owner as a whole.
        selectable_fields with_selectable_fields "selectableFields" [SelectableField],
        served with_served "served" bool,
        storage with_storage "storage" bool,
        subresources with_subresources "subresources" CustomResourceSubresources,
    }
}

object! {
    /// `CustomResourceSubresourceScale`, as far as an applier sets it.
    CustomResourceSubresourceScale {
        label_selector_path with_label_selector_path "labelSelectorPath" String,
        spec_replicas_path with_spec_replicas_path "specReplicasPath" String,
        status_replicas_path with_status_replicas_path "statusReplicasPath" String,
    }
}

object! {
    /// `CustomResourceSubresourceStatus`, as far as an applier sets it.
    CustomResourceSubresourceStatus {
    }
}

object! {
    /// `CustomResourceSubresources`, as far as an applier sets it.
    CustomResourceSubresources {
        scale with_scale "scale" CustomResourceSubresourceScale,
        status with_status "status" CustomResourceSubresourceStatus,
    }
}

object! {
    /// `CustomResourceValidation`, as far as an applier sets it.
    CustomResourceValidation {
        open_api_v3_schema with_open_api_v3_schema "openAPIV3Schema" JSONSchemaProps,
    }
}

object! {
    /// `SelectableField`, as far as an applier sets it.
    SelectableField {
        json_path with_json_path "jsonPath" String,
    }
}

object! {
    /// `ServiceReference`, as far as an applier sets it.
    ServiceReference {
        name with_name "name" String,
        namespace with_namespace "namespace" String,
        path with_path "path" String,
        port with_port "port" i32,
    }
}

object! {
    /// `WebhookClientConfig`, as far as an applier sets it.
    WebhookClientConfig {
        ca_bundle with_ca_bundle "caBundle" ByteString,
        service with_service "service" ServiceReference,
        url with_url "url" String,
    }
}

object! {
    /// `WebhookConversion`, as far as an applier sets it.
    WebhookConversion {
        client_config with_client_config "clientConfig" WebhookClientConfig,
        /// It has one owner as a whole.
        conversion_review_versions with_conversion_review_versions "conversionReviewVersions" [String],
    }
}
