// Package postgres gives tests a real PostgreSQL: a fresh database each, copied from a
// migrated template.
//
// The server is private to the test process and listens on a Unix socket only. A shell
// stands over it and waits on a pipe from the test process: when that closes, however the
// process ended, the shell stops the server and removes its files. OMOI_TEST_DATABASE_URL
// names a server to use instead; its user must be allowed to make databases.
package postgres
