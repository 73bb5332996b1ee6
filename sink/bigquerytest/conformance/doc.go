// Package conformance runs what Google's pages on change data capture and on
// the Storage Write API say as test cases, with Google's own clients, against
// sink/bigquerytest and, if asked for, against BigQuery itself. It has no code
// of its own besides its tests.
//
// # Cases
//
// A case is one example or one statement of a page: its id, the section that
// says it, what it says in our words, and a function that tries it. It returns
// an error where the server does otherwise. Conditions that take minutes on the
// real service (background applies, schema changes, idle connections) go
// through the target: the stand-in's clock is moved, the real one is waited for.
//
// testdata/coverage.txt lists every code block, table, picture and bullet of the
// change-data-capture page with the cases that stand for it, or why there is
// none. Given a copy of the page (-page=FILE, Markdown), TestPageUnits checks
// that the list has each of them; the page itself isn't part of this repository.
//
// # Against the stand-in
//
// go test ./sink/bigquerytest/conformance
//
// Each case has a server and a dataset of its own. What can't hold there by
// design is in testdata/differences.txt, with the stand-in's answer, the
// document and the reason. A difference that appears, vanishes or changes fails
// the test; -update writes the file anew.
//
// # Against BigQuery
//
// go test ./sink/bigquerytest/conformance -run=TestConformance -project=NAME [-location=EU] -parallel=20 -timeout=3h
//
// The credentials are the application's default ones. Each case makes a dataset
// cdc_conformance_RUN_CASE and deletes it with its tables afterwards; only what
// the run made is deleted. Every case is then expected to hold. A case that
// doesn't is a finding about the page or about the case. This has never been
// run: there is no BigQuery where this repository was made, and nothing in the
// rules of sink/bigquerytest was compared with the real service.
//
// # On failure
//
// A case fails with the page and the section that it is about. On a dataset
// that can't be deleted the test fails and names it. A BigQuery that can't be
// reached or refuses to list datasets fails the test before any case.
package conformance
