// Package state keeps what capture must know again after a restart: the lineage
// of the source, the epoch, the checkpoint, and for each table what it looked
// like when its changes were last handed on. There are two places for it: the
// schema cdc of the source (Postgres) and a file (File), with one contract and
// one conformance test.
//
// The state is authoritative for what has been published: the slot's confirmed
// LSN must never be above the checkpoint. Its states are: none; intended (Put
// with a zero checkpoint: the slot is about to be made); complete. Put never
// overwrites a complete state.
//
// One instance owns it at a time. Acquire takes the ownership by raising the
// owner token; whoever holds an older token (an instance that was paused and
// came back) gets ErrSuperseded from every write and must stop. A checkpoint
// never moves back, whatever is written. Every write is durable when it returns
// nil; if it returns an error it may or may not have happened and may be
// repeated.
package state
