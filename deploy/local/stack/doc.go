// Package stack runs the whole pipeline on one machine: a real Postgres, the
// two stand-ins, and cdc-publisher and cdc-sink as separate processes that read
// one configuration file, as a deployment does. The demo and the end-to-end
// tests use it.
//
// It looks at the pipeline from outside and trusts none of its code for the
// verdict: what was committed is read from a second replication slot with
// another decoder, the expected rows are SELECTed from Postgres, the actual ones
// are queried with BigQuery's own client. Only Positions and keys are read out
// of the stored messages with package schema.
package stack
