// Sim runs the product's state machines in a made-up world: no goroutine, clock,
// lock or I/O within a run; a seed picks each next step. The checkers of
// schematest run beside it.
package main
