// Package cli implements the command line of omoi. [Run] takes arguments, environment and streams as parameters, so
// that tests run commands in process.
package cli
