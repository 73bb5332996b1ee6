// Package postgrestest finds a real Postgres on this machine and runs a throw-away server of it, for tests and for the demo.
// It is no stand-in: the server is the distribution's own.
//
//	s := postgrestest.Start(t)                  // ends with the test
//	s.MustExec(t, "postgres", "CREATE TABLE …") // several statements are fine
//	dsn := s.DSN("postgres")                    // postgres://…?sslmode=disable
//	repl := s.ReplicationDSN("postgres")        // the same with replication=database
//	s.Kill(); s.Restart()                       // a crash, and the same data on the same port again
//
// # Which server
//
// The first of these that holds both postgres and initdb, version 15 or newer (see [Find]):
//
//  1. the folder named by $CDC_POSTGRES_BIN. When it is set but useless, that is an error: nothing else is tried;
//  2. the folder of the postgres in PATH;
//  3. the highest of /usr/lib/postgresql/*/bin (Debian, Ubuntu);
//  4. the highest of Homebrew's postgresql@*/bin;
//  5. on Debian and Ubuntu, the distribution's package, downloaded by apt into a folder of ours and unpacked there (about
//     15 s and 20 to 70 MB, once). Nothing is installed, nothing needs root, the system's apt state isn't touched.
//
// When there is none, [Start] fails the test with the one command to type, and [Launch] returns it as an error that has
// Code, Fix and ExitCode. No test is ever skipped for want of a server.
//
// # What it never does
//
// It never uses port 5432, never starts, stops or reads a cluster of the system, and listens on 127.0.0.1 only, with a
// random password. As root, initdb and the server run as postgres, or nobody where there is no such account, because Postgres
// refuses to run as root.
//
// # The server's life
//
// A server is running, stopped ([Server.Stop], [Server.Kill]) or closed ([Server.Close]: data folder gone). Stopped servers
// start again with [Server.Restart], on the same port and data. A companion process (janitor.go) holds a pipe to the owner: when
// the owner dies in whatever way, SIGKILL included, it stops the server at once and removes its folder. The server has
// a session of its own, so ^C in a terminal reaches the owner and not the server.
//
// The data folder is a copy of a template made by initdb once per Postgres version, so a start takes well under a second.
// fsync is off unless [Fsync] asks for it: [Server.Kill] loses nothing either way, only a crash of the machine would.
//
// # The cache
//
// Templates and the unpacked package live in $CDC_CACHE, else in the user's cache folder under cdc/postgres. The account that
// runs the server must be able to reach them, so for root, whose home is closed to others, it is /var/cache/cdc/postgres. Deleting
// the folder is always safe when no test runs.
package postgrestest
