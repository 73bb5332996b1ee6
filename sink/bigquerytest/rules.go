package bigquerytest

// Rule is one thing that the service refuses or does, and that this server
// does too.
type Rule struct {
	ID   string // stable; Counters.Refused counts by it
	Page string // the documentation, or the report, that it was taken from
	Text string
	Test string // the test that breaks the rule with Google's raw client
}

const (
	docs   = "https://docs.cloud.google.com/bigquery/docs/"
	quotas = "https://docs.cloud.google.com/bigquery/quotas"
	rest   = "https://docs.cloud.google.com/bigquery/docs/reference/rest/v2/"
	rpc    = "https://docs.cloud.google.com/bigquery/docs/reference/storage/rpc/google.cloud.bigquery.storage.v1"
	cdc    = docs + "change-data-capture"
	sql    = docs + "reference/standard-sql/"
)

// Ids of the rules that refuse something.
const (
	ruleNotFound        = "not-found"
	ruleDuplicate       = "duplicate"
	ruleDatasetName     = "dataset-name"
	ruleTableName       = "table-name"
	ruleColumnName      = "column-name"
	ruleReservedPrefix  = "reserved-prefix"
	ruleColumnUnique    = "column-unique"
	ruleColumnType      = "column-type"
	ruleColumnMode      = "column-mode"
	ruleColumnCount     = "column-count"
	ruleTypeParameters  = "type-parameters"
	ruleKeyCount        = "key-count"
	ruleKeyColumn       = "key-column"
	ruleKeyRepeated     = "key-repeated"
	ruleKeyType         = "key-type"
	ruleClusterCount    = "cluster-count"
	ruleClusterColumn   = "cluster-column"
	ruleClusterType     = "cluster-type"
	ruleETag            = "etag"
	rulePatchSchema     = "patch-schema"
	ruleUpdateQuota     = "update-quota"
	ruleInUse           = "dataset-not-empty"
	ruleBody            = "body"
	ruleSQL             = "sql"
	ruleAlter           = "alter-column"
	ruleRenameAlone     = "rename-column-alone"
	ruleRelax           = "drop-not-null"
	ruleRetype          = "set-data-type"
	ruleKeyTwice        = "one-primary-key"
	ruleDescription     = "description-length"
	ruleRenameStreaming = "rename-table"
	ruleKeyFixed        = "key-fixed"
	ruleDML             = "dml-on-cdc"
	ruleViewQuery       = "view-query"
	ruleViewKind        = "view-read-only"
	ruleViewData        = "view-data"
	ruleViewNesting     = "view-nesting"
	ruleDatasetQuota    = "dataset-quota"
	ruleInsertQuota     = "insert-quota"
	ruleQualify         = "qualify"
	ruleDenied          = "permissions"
	ruleStaleness       = "max-staleness"
	ruleUnhandled       = "unhandled"

	ruleStreamMissing  = "stream-not-found"
	ruleFirstRequest   = "first-request"
	ruleDescriptor     = "descriptor"
	ruleExtraFields    = "extra-fields"
	ruleFieldType      = "field-type"
	ruleUpsertNeedsKey = "upsert-needs-key"
	ruleKeyInRow       = "key-in-row"
	ruleChangeType     = "change-type"
	ruleMixedChanges   = "mixed-changes"
	ruleSequenceFormat = "sequence-format"
	ruleRequestSize    = "request-size"
	ruleOffset         = "offset"
	ruleMalformed      = "malformed-row"
	ruleRowErrors      = "row-errors"
	ruleRequired       = "required"
	ruleCDCColumns     = "cdc-columns"
	ruleIdle           = "idle-close"
	ruleRouting        = "routing-header"
	ruleMissingValues  = "missing-values"
	ruleDefaultStream  = "default-stream"

	ruleString    = "value-string"
	ruleBytes     = "value-bytes"
	ruleJSON      = "value-json"
	ruleNumeric   = "value-numeric"
	ruleDate      = "value-date"
	ruleDatetime  = "value-datetime"
	ruleTime      = "value-time"
	ruleTimestamp = "value-timestamp"
)

var valueRules = map[kind]string{
	kindString: ruleString, kindBytes: ruleBytes, kindJSON: ruleJSON,
	kindNumeric: ruleNumeric, kindBigNumeric: ruleNumeric,
	kindDate: ruleDate, kindDatetime: ruleDatetime, kindTime: ruleTime, kindTimestamp: ruleTimestamp,
}
