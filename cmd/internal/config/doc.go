// Package config reads the one configuration file of a database, which both
// services share: deploy/config.example.yaml shows it, deploy/CONFIG.md and
// deploy/config.schema.json describe it and are generated from the structs here.
//
// The file is authoritative; nothing else sets a value, apart from the secrets
// that it names by ${NAME} or file:/path. Reading is strict. All findings of a
// file come at once, each with its line, column, key and what to do: unknown
// and repeated keys, wrong types, values out of range, fields that don't fit
// each other. A file with a finding is refused whole (Findings, exit code 2).
//
// Secrets stay references in Config and are resolved when they are used, each
// time anew, by the service that uses them: cdc-sink never resolves what stands
// under source, cdc-publisher never what stands under bigquery.
//
// Config knows which keys the file sets. NotYet uses it to refuse, before a
// service runs, what this version accepts in a file but doesn't do.
package config
