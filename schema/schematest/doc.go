// Package schematest holds what tests of several packages share: fixtures,
// seeded generators of tables, rows and transactions, and the checkers of the
// promises that a pipeline makes.
//
// The checkers are small state machines without goroutines, clocks or I/O. They
// are told what happened, one thing at a time, and count what must not have
// happened, so unit tests, simulations, end-to-end tests and the demo's verdict
// use the same ones. Their findings name tables, keys by hash, and Positions,
// never a row's value.
package schematest
