// Package cli is the command line of omoi. [Run] is all that main calls, so a test can run
// any command as the binary would: arguments, environment and streams are parameters.
package cli
